/** Careful steps through JSON that came from a cluster: a field of the wrong type is absent, never an exception. */

export function field(value: unknown, ...path: readonly string[]): unknown {
  let at: unknown = value;
  for (const key of path) {
    if (!isRecord(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

/** A JSON object of which nothing is known yet. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function text(value: unknown, ...path: readonly string[]): string | undefined {
  const found = field(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

export function list(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = field(value, ...path);
  return Array.isArray(found) ? found : [];
}
