/**
 * The first items that fit. Pure.
 *
 * @param bytes of their JSON
 */
export function fitting<T>(entries: readonly T[], most: number, bytes: number): readonly T[] {
  let size = 0;
  const end = entries.findIndex((entry, index) => {
    size += Buffer.byteLength(JSON.stringify(entry)) + 1;
    return index >= most || size > bytes;
  });
  return end === -1 ? entries : entries.slice(0, end);
}
