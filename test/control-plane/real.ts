import { type Binaries, resolveBinaries } from './binaries.ts';
import type { Component } from './components.ts';

/** What a suite of real components runs with. */
export interface RealComponents<C extends Component> {
  /** Paths; only to be read by tests and hooks of a suite that is not skipped. */
  readonly binaries: Binaries<C>;
  /** Why the suite has to be skipped, or undefined: `describe.skipIf(missing)`. */
  readonly missing: string | undefined;
}

/**
 * Finds (and builds, once) the real components of a suite. Await it at the top level of a test file. Where they cannot
 * be had it says so on stderr, because a suite must not vanish silently.
 *
 * @param suite what is skipped without them, for the message.
 * @throws Error under `CERTMARSHAL_REQUIRE_REAL=1` instead of reporting them missing.
 */
export async function realComponents<C extends Component>(
  suite: string,
  ...components: readonly C[]
): Promise<RealComponents<C>> {
  const found = await resolveBinaries(...components);
  if (!('missing' in found)) return { binaries: found, missing: undefined };
  process.stderr.write(`\nSKIPPED: ${suite}\n  ${found.missing}\n`);
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
