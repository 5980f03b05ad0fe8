import { setTimeout as sleep } from 'node:timers/promises';

/** What a test waits for and has not come by then will not come: a busy machine takes a tenth of this. */
export const PATIENCE_MS = 10 * 60_000;

interface Waiting {
  /** @default 100 */
  readonly everyMs?: number;
  /** Said when it never comes. */
  readonly state?: () => Promise<string>;
}

/** Looks until it is so. @throws Error when it never is */
export async function waitFor(
  what: string,
  isSo: () => Promise<boolean>,
  { everyMs = 100, state = async () => '' }: Waiting = {},
): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await isSo()); await sleep(everyMs))
    if (Date.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS} ms; ${await state()}`);
}
