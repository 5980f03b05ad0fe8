/** The exit status of every command. */
export const EXIT = {
  done: 0,
  /** Something could not be judged, read or written; the output says what. */
  incomplete: 1,
  /** Wrong usage or configuration; nothing was done. */
  usage: 2,
} as const;

/** An error of the user: printed without a stack, exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
