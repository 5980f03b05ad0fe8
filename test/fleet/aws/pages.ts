/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly nextToken?: string;
}

/**
 * Cuts a list into pages. Tokens say where to go on, so that a list that changes meanwhile shows what a real one shows.
 *
 * @returns undefined when the token is none of ours.
 */
export function pageOf<T>(items: readonly T[], size: number, token: string | null | undefined): Page<T> | undefined {
  const start = token == null ? 0 : offsetOf(token);
  if (start === undefined || start > items.length) return undefined;
  const end = start + size;
  return { items: items.slice(start, end), nextToken: end < items.length ? tokenOf(end) : undefined };
}

function tokenOf(offset: number): string {
  return Buffer.from(`page ${offset}`).toString('base64url');
}

function offsetOf(token: string): number | undefined {
  const offset = /^page (\d{1,9})$/.exec(Buffer.from(token, 'base64url').toString('utf8'))?.[1];
  return offset === undefined ? undefined : Number(offset);
}
