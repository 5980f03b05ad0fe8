import * as z from 'zod/mini';

// An object that leaves a process is declared once, by a schema, which is its type, its reader and its bounds.

export type Contract<S extends z.core.$ZodType> = ReadOnly<z.core.output<S>>;

export type ReadOnly<T> = T extends object ? { readonly [Key in keyof T]: ReadOnly<T[Key]> } : T;

export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/**
 * Reads a value by its schema. Never throws: an invalid value becomes a problem with place and reason, and nothing of
 * the content. Unknown fields are dropped: during a deploy, functions of two versions run for some minutes.
 *
 * @param name of the whole value, with its article
 */
export function read<S extends z.ZodMiniType>(schema: S, value: unknown, name = 'the message'): Reading<Contract<S>> {
  const { success, data, error } = schema.safeParse(value, { error: wordsOf });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same type, read-only
  if (success) return { ok: true, value: data as Contract<S> };
  const [first] = error.issues;
  return { ok: false, problem: first === undefined ? `${name} is not valid` : problemOf(first, name) };
}

/**
 * {@link read}, of JSON.
 *
 * @param most bytes
 */
export function readJson<S extends z.ZodMiniType>(schema: S, body: string, most: number): Reading<Contract<S>> {
  if (Buffer.byteLength(body) > most) return { ok: false, problem: `the message is longer than ${most} bytes` };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { ok: false, problem: 'the message is not JSON' };
  }
  return read(schema, value);
}

/** An optional part: dropped if invalid, while the rest of its object stays. */
export function lossy<S extends z.ZodMiniType>(part: S) {
  return z.catch(z.optional(part), undefined);
}

/** A list of at most `most` elements; invalid ones are dropped. */
export function lossyList<S extends z.ZodMiniType>(element: S, most: number) {
  return z.pipe(
    list(z.catch(z.nullable(element), null), most),
    z.transform((elements) => elements.filter((one) => one !== null)),
  );
}

/** An object with at most `most` entries; those with an invalid key or value are dropped. */
export function lossyRecord<S extends z.ZodMiniType>(value: S, most: number, key = /^/) {
  return z.pipe(
    record(z.string(), z.catch(z.nullable(value), null), most),
    z.transform(
      (entries): Record<string, z.core.output<S>> =>
        Object.fromEntries(
          Object.entries(entries).flatMap(([name, one]) => (one === null || !key.test(name) ? [] : [[name, one]])),
        ),
    ),
  );
}

export function list<S extends z.ZodMiniType>(element: S, most: number) {
  const problem = `is not a list of at most ${most} entries`;
  return z.array(element, problem).check(z.maxLength(most, problem));
}

/** An object with any valid keys, at most `most` of them. */
export function record<K extends z.ZodMiniType<string, string>, S extends z.ZodMiniType>(
  key: K,
  value: S,
  most: number,
) {
  return z
    .record(key, value)
    .check(z.refine((entries) => Object.keys(entries).length <= most, `has more than ${most} entries`));
}

/** Strings of this form. @param what it is, with its article */
export function matching(pattern: RegExp, what: string) {
  return z.string(`is not ${what}`).check(z.regex(pattern, `is not ${what}`));
}

/** Strings of at most `most` characters. */
export function text(most: number) {
  const problem = `is not text of at most ${most} characters`;
  return z.string(problem).check(z.maxLength(most, problem));
}

/** Text of at most `most` characters, escaped by `printable`. */
export function printed(most: number) {
  return text(2 * most + 1);
}

function problemOf({ code, path, message }: z.core.$ZodIssue, name: string): string {
  if (code === 'invalid_key') return `a key of ${placeOf(path.slice(0, -1), name)} is not allowed`;
  return `${placeOf(path, name)} ${message}`;
}

function placeOf(path: readonly PropertyKey[], name: string): string {
  const [first, ...rest] = path.map(String).map((key) => (FIELD.test(key) ? key : '?'));
  return rest.reduce((sum, key) => (/^\d/.test(key) ? `${sum}[${key}]` : `${sum}.${key}`), first ?? name);
}

/** Names of fields and positions; other keys are content. */
const FIELD = /^(?:\d{1,9}|[a-z][A-Za-z0-9]{0,39})$/;

function wordsOf(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_type') return TYPES[issue.expected] ?? 'is not valid';
  if (issue.code === 'invalid_value' && issue.values.length === 1) return `is not ${String(issue.values[0])}`;
  if (issue.code === 'invalid_value') return `is not one of ${issue.values.join(', ')}`;
  if (issue.code === 'invalid_union' && Array.isArray(issue.options))
    return `is not one of ${issue.options.join(', ')}`;
  return 'is not valid';
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'is not a list',
  boolean: 'is neither true nor false',
  number: 'is not a number',
  object: 'is not an object',
  record: 'is not an object',
  string: 'is not text',
};
