/**
 * A bar of so many columns, filled to a share. It is full, or empty, only at the very end: what is almost over is not over.
 *
 * @param share from 0 to 1
 */
export function bar(share: number, width: number): string {
  const exact = Math.round(share * width);
  const filled = share >= 1 ? width : share <= 0 ? 0 : Math.min(width - 1, Math.max(1, exact));
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
