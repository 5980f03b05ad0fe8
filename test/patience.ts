/** What a test waits for and has not come by then will not come: a busy machine takes a tenth of this. */
export const PATIENCE_MS = 10 * 60_000;
