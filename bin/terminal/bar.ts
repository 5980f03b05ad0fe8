/**
 * A progress bar of `width` columns. Only 0 and 1 show as empty and full: an almost finished bar must not look
 * finished.
 *
 * @param share from 0 to 1
 */
export function bar(share: number, width: number): string {
  const exact = Math.round(share * width);
  const filled = share >= 1 ? width : share <= 0 ? 0 : Math.min(width - 1, Math.max(1, exact));
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
