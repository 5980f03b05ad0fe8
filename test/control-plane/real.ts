import { TestRunner } from 'vitest';
import { type Binaries, resolveBinaries } from './binaries.ts';
import type { Component } from './components.ts';

/** What is skipped, and why: of a test file, for the summary at the end of a run. */
export interface Skipped {
  readonly suite: string;
  readonly reason: string;
}

declare module 'vitest' {
  interface TaskMeta {
    skipped?: Skipped[];
  }
}

/**
 * Says at once and at the end of the run why a suite is skipped, because none must vanish silently. Call it at the top level of a test file.
 *
 * @param reason one sentence: what is missing, and what to do
 * @throws Error with that same sentence under `CERTMARSHAL_REQUIRE_REAL=1`: CI must fail, not skip
 */
export function skip(suite: string, reason: string): void {
  if (process.env['CERTMARSHAL_REQUIRE_REAL'] === '1') throw new Error(`CERTMARSHAL_REQUIRE_REAL=1, but ${reason}`);
  note(suite, reason);
}

/** {@link skip}, of what a machine of CI need not have. */
export function note(suite: string, reason: string): void {
  process.stderr.write(`\nSKIPPED: ${suite}\n  ${reason}\n`);
  if (process.env['VITEST_WORKER_ID'] === undefined) return;
  const { meta } = TestRunner.getCurrentSuite().file;
  meta.skipped = [...(meta.skipped ?? []), { suite, reason }];
}

/** What a suite of real components runs with. */
export interface RealComponents<C extends Component> {
  /** Paths; only to be read by tests and hooks of a suite that is not skipped. */
  readonly binaries: Binaries<C>;
  /** Why the suite has to be skipped, or undefined: `describe.skipIf(missing)`. */
  readonly missing: string | undefined;
}

/**
 * Finds (and builds, once) the real components of a suite. Await it at the top level of a test file.
 *
 * @param suite what is skipped without them, for the message: see {@link skip}.
 */
export async function realComponents<C extends Component>(
  suite: string,
  ...components: readonly C[]
): Promise<RealComponents<C>> {
  const found = await resolveBinaries(...components);
  if (!('missing' in found)) return { binaries: found, missing: undefined };
  skip(suite, found.missing);
  return { binaries: unreadable(found.missing), missing: found.missing };
}

/** Paths that do not exist: reading one is a mistake in the test, and says so. */
function unreadable<C extends Component>(reason: string): Binaries<C> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every property read throws, so no shape is claimed
  return new Proxy(
    {},
    {
      get: () => {
        throw new Error(reason);
      },
    },
  ) as Binaries<C>;
}
