/** JSON without spaces, with sorted names (in the manner of RFC 8785): the same for the same value, in whatever order its fields are and whether one is undefined or absent. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, sorted);
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
