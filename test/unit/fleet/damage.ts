/**
 * Copies of a JSON document, each with one value in it replaced by one that is of no use there.
 *
 * @returns the path of the value, and the document
 */
export function damagedCopies(document: unknown): readonly (readonly [path: string, damaged: unknown])[] {
  return pathsIn(document, []).flatMap((path) =>
    [Number.NaN, ['\u0000']].map((value) => [path.join('.'), replaced(document, path, value)] as const),
  );
}

function pathsIn(value: unknown, path: readonly string[]): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, entry]) => pathsIn(entry, [...path, key]))];
}

function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy: unknown = Array.isArray(value) ? [...value] : { ...(value as object) };
  const fields = copy as Record<string, unknown>;
  fields[key] = replaced(fields[key], rest, by);
  return copy;
}
