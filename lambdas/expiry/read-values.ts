import { printable } from '../printable.ts';
import { isoOf } from './words.ts';

// Readers of values that came as JSON. Each gives the value, typed and harmless, or says what it should have been.

/** What a value should have been, with its article: `a whole number`. */
export class Expected {
  readonly words: string;
  constructor(words: string) {
    this.words = words;
  }
}

export type Reader = (value: unknown) => unknown;

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Printable text, cut to `limit` characters. */
export function text(limit: number): Reader {
  const expected = new Expected(`a text of at most ${limit * 16} characters`);
  return (value) => (typeof value !== 'string' || value.length > limit * 16 ? expected : printable(value, limit));
}

const TIME = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const AS_WRITTEN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const A_TIME = new Expected('a time as in 2026-11-21T10:02:17Z');

/** RFC 3339, given back as `Date.toISOString` writes it, so that texts compare as times do. */
export const time: Reader = (value) => {
  if (typeof value !== 'string' || !TIME.test(value)) return A_TIME;
  const at = Date.parse(value);
  if (Number.isNaN(at)) return A_TIME;
  return AS_WRITTEN.test(value) ? value : isoOf(at);
};

const A_COUNT = new Expected('a whole number');
export const count: Reader = (value) => (Number.isSafeInteger(value) && Number(value) >= 0 ? value : A_COUNT);

const A_NUMBER = new Expected('a number');
export const number: Reader = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : A_NUMBER);

const A_FLAG = new Expected('true or false');
export const flag: Reader = (value) => (typeof value === 'boolean' ? value : A_FLAG);

const TRUE = new Expected('true');
export const mark: Reader = (value) => (value === true ? value : TRUE);

export function oneOf(choices: readonly string[]): Reader {
  const known = new Set(choices);
  const expected = new Expected(`one of ${choices.join(', ')}`);
  return (value) => (typeof value === 'string' && known.has(value) ? value : expected);
}

/** At most so many; the others are passed over. */
export function texts(limit: number, most: number): Reader {
  const item = text(limit);
  const expected = new Expected('a list of texts');
  return (value) => {
    if (!Array.isArray(value)) return expected;
    const read = value.slice(0, most).map(item);
    return read.some((entry) => entry instanceof Expected) ? expected : read;
  };
}

export interface Shape {
  readonly required: Readonly<Record<string, Reader>>;
  readonly optional: Readonly<Record<string, Reader>>;
}

/** The known fields of an object; the others are passed over, because a newer version may have written them. */
export function readShape(
  from: Fields,
  { required, optional }: Shape,
  defaults: Fields,
  report: (field: string, problem: string) => void,
): Fields | undefined {
  const read: Record<string, unknown> = {};
  let ok = true;
  const take = (field: string, reader: Reader, value: unknown): void => {
    const result = reader(value);
    if (result instanceof Expected) {
      ok = false;
      report(field, value === undefined ? `is missing: ${result.words}` : `is not ${result.words}`);
    } else read[field] = result;
  };
  for (const field in required) {
    const reader = required[field];
    if (reader !== undefined) take(field, reader, own(from, field) ?? defaults[field]);
  }
  for (const field in optional) {
    const value = own(from, field);
    const reader = optional[field];
    if (value !== undefined && value !== null && reader !== undefined) take(field, reader, value);
  }
  return ok ? read : undefined;
}

/** `constructor` is a field like any other. */
export function own(from: Fields, field: string): unknown {
  return Object.hasOwn(from, field) ? from[field] : undefined;
}
