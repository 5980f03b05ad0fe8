import { z } from 'zod';
import { printable } from '../printable.ts';
import type { Path } from './yaml-values.ts';

/** A problem about several values. */
export interface RuleProblem {
  readonly path: Path;
  readonly message: string;
}

type Bare<S> = S extends
  | z.ZodOptional<infer Inner>
  | z.ZodExactOptional<infer Inner>
  | z.ZodNullable<infer Inner>
  | z.ZodPrefault<infer Inner>
  | z.ZodPipe<infer Inner>
  ? Bare<Inner>
  : S;
type Fields<S> = Bare<S> extends z.ZodObject<infer Shape> ? Shape : never;
type KeyOf<Shape> = Shape extends unknown ? keyof Shape & string : never;
type Field<Shape, Key extends string> = Shape extends Readonly<Record<Key, infer Schema>> ? Schema : never;
type Picked<S, K extends string> = Pick<z.output<z.ZodObject<Fields<S>>>, K & keyof z.output<z.ZodObject<Fields<S>>>>;
type Entry<S> = Bare<S> extends z.ZodArray<infer Element> ? Element : never;

/** Unwraps a schema from optional and transform; of a union, the member with keys. */
export function bare(schema: unknown): unknown {
  if (schema instanceof z.ZodPipe) return bare(schema.in);
  if (schema instanceof z.ZodUnion) return schema.options.find((option) => option instanceof z.ZodObject);
  return schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodPrefault
    ? bare(schema.unwrap())
    : schema;
}

/**
 * A place in the file, valid or not, with its schema. A rule about several values reads only those, so that a mistake
 * elsewhere hides nothing: zod runs no refinement on a value with an invalid part.
 */
export class Written<S> {
  readonly #schema: unknown;
  readonly #value: unknown;
  readonly #problems: RuleProblem[];
  readonly #path: Path;

  /** @param problems of the whole file, to which rules add theirs */
  constructor(schema: unknown, value: unknown, problems: RuleProblem[], path: Path = []) {
    this.#schema = schema;
    this.#value = value === undefined && schema instanceof z.ZodPrefault ? schema.def.defaultValue : value;
    this.#problems = problems;
    this.#path = path;
  }

  /** `discovery[0].accounts` */
  get place(): string {
    return placeOf(this.#path);
  }

  get isSection(): boolean {
    return isSection(this.#value);
  }

  get isMissing(): boolean {
    return this.#value === undefined;
  }

  get text(): string | undefined {
    return typeof this.#value === 'string' ? this.#value : undefined;
  }

  get valid(): z.output<S> | undefined {
    const read = this.#schema instanceof z.ZodType ? this.#schema.safeParse(this.#value) : undefined;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `at` and `list` give each value its schema
    return read?.data as z.output<S> | undefined;
  }

  get list(): readonly Written<Entry<S>>[] | undefined {
    const schema = bare(this.#schema);
    if (!Array.isArray(this.#value) || !(schema instanceof z.ZodArray)) return undefined;
    return this.#value.map((entry, index) => this.#inside(schema.element, entry, index));
  }

  get entries(): readonly Written<Entry<S>>[] {
    return this.list ?? [];
  }

  get keys(): readonly string[] {
    return isSection(this.#value) ? Object.keys(this.#value) : [];
  }

  at<K extends KeyOf<Fields<S>>>(key: K): Written<Field<Fields<S>, K>> {
    const schema = bare(this.#schema);
    return isSection(this.#value) && schema instanceof z.ZodObject
      ? this.#inside(schema.shape[key], this.#value[key], key)
      : this.#inside(undefined, undefined, key);
  }

  /** These fields; undefined if one is invalid. */
  pick<K extends KeyOf<Fields<S>>>(...keys: readonly K[]): Picked<S, K> | undefined {
    if (!isSection(this.#value)) return undefined;
    const fields: Record<string, unknown> = {};
    for (const key of keys) {
      const field = this.at(key);
      if (field.isMissing && field.#schema instanceof z.ZodExactOptional) continue;
      if (!(field.#schema instanceof z.ZodType)) return undefined;
      const read = field.#schema.safeParse(field.#value);
      if (!read.success) return undefined;
      fields[key] = read.data;
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each was read by its schema
    return fields as Picked<S, K>;
  }

  /** Adds a problem of this value, or of the value at `below`. */
  refuse(message: string, ...below: Path): void {
    this.#problems.push({ path: [...this.#path, ...below], message });
  }

  #inside<T>(schema: unknown, value: unknown, step: string | number): Written<T> {
    return new Written(schema, value, this.#problems, [...this.#path, step]);
  }
}

export function placeOf(path: Path): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('');
}

function isSection(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Each entry whose key an earlier entry has, with the first of those. */
export function repeats<T>(
  entries: readonly T[],
  keyOf: (entry: T) => string | undefined,
): readonly (readonly [again: T, first: T, key: string])[] {
  const first = new Map<string, T>();
  return entries.flatMap((entry) => {
    const key = keyOf(entry);
    if (key === undefined) return [];
    const earlier = first.get(key);
    if (earlier !== undefined) return [[entry, earlier, key] as const];
    first.set(key, entry);
    return [];
  });
}

interface Named extends Pick<Written<unknown>, 'place' | 'refuse'> {
  at: (key: 'name') => { readonly valid: string | undefined };
}

/** Rejects a name that an earlier entry has. */
export function distinctNames(entries: readonly Named[]): void {
  for (const [again, { place }, name] of repeats(entries, (entry) => entry.at('name').valid))
    again.refuse(`"${name}" is the name of ${place} too; give each its own name`, 'name');
}

/** Rejects duplicates in lists, at the second place. */
export function distinctEntries(...lists: readonly Written<z.ZodType<readonly string[]>>[]): void {
  for (const { entries } of lists)
    for (const [again, , text] of repeats(entries, (entry) => entry.text))
      again.refuse(`"${printable(text, 100)}" appears twice; keep one of the two`);
}

/** The first three of many. */
export function few(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}
