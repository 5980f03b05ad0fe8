import { didYouMean } from '../did-you-mean.ts';
import { printable } from '../printable.ts';
import { isoOf } from '../words.ts';

// Readers of values that came as JSON. Each gives the value, typed and harmless, or says what it should have been.

/** What a value should have been, with its article: `a whole number`. */
export class Expected {
  readonly words: string;
  /** The texts it may be, where these are few. */
  readonly choices: readonly string[];
  constructor(words: string, choices: readonly string[] = []) {
    this.words = words;
    this.choices = choices;
  }
}

/** Told of a value at a path. The words are made where somebody reads them: there may be as many problems as values. */
export type Report = (path: string, problem: () => string) => void;

/** What is wrong with a value that is not what was expected: `is not a whole number`. */
export function wrongValue(value: unknown, { words, choices }: Expected): string {
  if (value === undefined) return `is missing: ${words}`;
  const meant = typeof value === 'string' ? didYouMean(value, choices) : undefined;
  return meant === undefined ? `is not ${words}` : `is not known: did you mean ${meant}?`;
}

/** Tells of fields that nothing reads: behind each may be one that is missing. */
export function reportUnknown(from: Fields, known: readonly string[], report: Report): void {
  for (const field of Object.keys(from))
    if (!known.includes(field)) report(printable(field, 60), () => unknownField(field, from, known));
}

function unknownField(field: string, from: Fields, known: readonly string[]): string {
  const absent = known.filter((other) => !Object.hasOwn(from, other));
  const meant = didYouMean(field, absent);
  if (meant !== undefined) return `is not known: did you mean ${meant}?`;
  return known.length > MOST_LISTED ? 'is not known' : `is not known: there are ${known.join(', ')}`;
}

/** Of fields, where none is near. */
const MOST_LISTED = 8;

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
  const expected = new Expected(`one of ${choices.join(', ')}`, choices);
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

/**
 * The known fields of an object; the others are passed over, because a newer version may have written them, and told of only where a required one is
 * missing.
 *
 * @param also fields that somebody else reads
 */
export function readShape(
  from: Fields,
  { required, optional }: Shape,
  defaults: Fields,
  report: Report,
  also: readonly string[] = [],
): Fields | undefined {
  const read: Record<string, unknown> = {};
  let ok = true;
  let complete = true;
  const take = (field: string, reader: Reader, value: unknown): void => {
    const result = reader(value);
    if (result instanceof Expected) {
      ok = false;
      if (value === undefined) complete = false;
      report(field, () => wrongValue(value, result));
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
  if (!complete) reportUnknown(from, [...also, ...Object.keys(required), ...Object.keys(optional)], report);
  return ok ? read : undefined;
}

/** `constructor` is a field like any other. */
export function own(from: Fields, field: string): unknown {
  return Object.hasOwn(from, field) ? from[field] : undefined;
}
