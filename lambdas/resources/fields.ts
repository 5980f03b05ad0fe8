/**
 * Safe access to JSON from a cluster: a field of the wrong type is absent, never an exception. For a {@link Raw}
 * object, an unknown field does not compile.
 */

/** An unchecked JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

declare const KIND: unique symbol;

/** JSON that should be a `T`: only its field names are trusted. */
export interface Raw<T> {
  readonly [KIND]?: T;
}

export function raw<T>(object: unknown): Raw<T>;
export function raw(object: unknown): unknown {
  return object;
}

type KindOf<V> = V extends { readonly [KIND]?: infer T } ? T : unknown;

type Path<T, P extends readonly string[]> = unknown extends T
  ? P
  : P extends readonly [infer K extends string, ...infer R extends readonly string[]]
    ? K extends keyof NonNullable<T>
      ? readonly [K, ...Path<NonNullable<T>[K], R>]
      : readonly [keyof NonNullable<T>, ...string[]]
    : readonly [];

type Known<V, P extends readonly string[]> = P extends Path<KindOf<V>, P> ? P : Path<KindOf<V>, P>;

type At<T, P extends readonly string[]> = P extends readonly [infer K, ...infer R extends readonly string[]]
  ? K extends keyof NonNullable<T>
    ? At<NonNullable<T>[K], R>
    : unknown
  : T;

type Entry<T> = NonNullable<T> extends readonly (infer E extends object)[] ? Raw<E> : unknown;

/** Reads the field at a path. */
export type FieldReader<R> = <V, const P extends readonly string[]>(value: V, ...path: Known<V, P>) => R;

/** @param of converts a present value; undefined if absent */
export function reader<R>(of: (found: unknown) => R): FieldReader<R> {
  return (value, ...path) => of(at(value, path));
}

function at(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    if (!isJsonObject(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}

export const field = reader((found) => found);

export const text = reader((found) => (typeof found === 'string' ? found : undefined));

export function list<V, const P extends readonly string[]>(
  value: V,
  ...path: Known<V, P>
): readonly Entry<At<KindOf<V>, P>>[] {
  const found = at(value, path);
  return Array.isArray(found) ? found : [];
}
