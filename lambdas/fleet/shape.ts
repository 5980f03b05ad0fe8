import { addressRanges } from '../approval/names.ts';

// Readers of values that came as JSON: from a queue, or from S3. Each is given a value and its path, and gives the value back typed.

export type Fields = Readonly<Record<string, unknown>>;

/** A value is not what it has to be. Says where and what, and nothing of its content. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
}

export type Read<T> = (value: unknown, path: string) => T;

export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** Reads a whole document; what it lacks is a value, never an exception. */
export function reading<T>(read: () => T): Reading<T> {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (error instanceof ShapeError) return { ok: false, problem: error.message };
    throw error;
  }
}

/** @throws ShapeError */
export function parsed(body: string, largest: number): Fields {
  if (body.length > largest) throw new ShapeError(`the message is longer than ${largest} characters`);
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new ShapeError('the message is not JSON');
  }
  if (!isFields(value)) throw new ShapeError('the message is not a JSON object');
  return value;
}

export function fields(value: unknown, path: string): Fields {
  if (!isFields(value)) throw new ShapeError(`${path} is not an object`);
  return value;
}

export function versionOf({ version }: Fields, expected: number): void {
  if (version !== expected) throw new ShapeError(`version is not ${expected}`);
}

/** Text of at most `limit` characters. */
export function text(limit: number): Read<string> {
  return (value, path) => {
    if (typeof value !== 'string' || value.length > limit)
      throw new ShapeError(`${path} is not a text of at most ${limit} characters`);
    return value;
  };
}

/** @param what with its article */
export function matching(pattern: RegExp, what: string): Read<string> {
  return (value, path) => {
    if (typeof value !== 'string' || !pattern.test(value)) throw new ShapeError(`${path} is not ${what}`);
    return value;
  };
}

export function oneOf<T extends string>(choices: readonly T[]): Read<T> {
  return (value, path) => {
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) throw new ShapeError(`${path} is not one of ${choices.join(', ')}`);
    return choice;
  };
}

export const flag: Read<boolean> = (value, path) => {
  if (typeof value !== 'boolean') throw new ShapeError(`${path} is neither true nor false`);
  return value;
};

/** For what is either there, as true, or absent. */
export const mark: Read<true> = (value, path) => {
  if (value !== true) throw new ShapeError(`${path} is not true`);
  return true;
};

export const count: Read<number> = (value, path) => {
  if (!isCount(value)) throw new ShapeError(`${path} is not a whole number`);
  return value;
};

/** Milliseconds since the epoch, up to the end of the year 9999. */
export const instant: Read<number> = (value, path) => {
  if (!isCount(value) || value > LAST_INSTANT)
    throw new ShapeError(`${path} is not a time in milliseconds since the epoch`);
  return value;
};

const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** RFC 3339 as `Date.toISOString` writes it, so that texts compare as times do. */
export const time: Read<string> = (value, path) => {
  if (typeof value !== 'string' || !TIME.test(value) || Number.isNaN(Date.parse(value)))
    throw new ShapeError(`${path} is not a time as in 2026-11-21T10:02:17.250Z`);
  return value;
};

/** Clocks differ. Milliseconds. */
const CLOCKS_DIFFER_MS = 10 * 60_000;

/**
 * Whether a time is too far ahead to be only of another clock: compared with it everything would be old until then.
 *
 * @param at RFC 3339, or milliseconds since the epoch, as `now`
 */
export function isAhead(at: string | number, now: number): boolean {
  return (typeof at === 'number' ? at : Date.parse(at)) - now > CLOCKS_DIFFER_MS;
}

/** What is told with a sweep was seen in it, and no function runs longer. Milliseconds. */
const LONGEST_SWEEP_MS = 15 * 60_000;

/** Whether a time can be of the sweep that began then. Both RFC 3339. */
export function isDuring(startedAt: string, at: string): boolean {
  const after = Date.parse(at) - Date.parse(startedAt);
  return after >= 0 && after <= LONGEST_SWEEP_MS;
}

export const httpsUrl: Read<string> = (value, path) => {
  const url = typeof value === 'string' && value.length <= 512 && URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '')
    throw new ShapeError(`${path} is not an https URL`);
  return String(value);
};

/** What a decision will do with them, and what must not throw there. */
export function cidrs(most: number): Read<readonly string[]> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length > most || !value.every((entry) => typeof entry === 'string'))
      throw new ShapeError(`${path} is not a list of CIDRs`);
    try {
      addressRanges(value);
    } catch {
      throw new ShapeError(`${path} is not a list of CIDRs`);
    }
    return value;
  };
}

export function list<T>(item: Read<T>, most: number): Read<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length > most)
      throw new ShapeError(`${path} is not a list of at most ${most} entries`);
    return value.map((entry, index) => item(entry, `${path}[${index}]`));
  };
}

/** An object with any keys that match, as a map from a hostile one to its values would be. */
export function table<T>(key: RegExp, item: Read<T>, most: number): Read<Readonly<Record<string, T>>> {
  return (value, path) => {
    const entries = Object.entries(fields(value, path));
    if (entries.length > most) throw new ShapeError(`${path} has more than ${most} entries`);
    return Object.fromEntries(
      entries.map(([name, entry], index) => {
        if (!key.test(name)) throw new ShapeError(`a key of ${path} is not allowed`);
        return [name, item(entry, `${path}[${index}]`)];
      }),
    );
  };
}

export function optional<T>(item: Read<T>): Read<T | undefined> {
  return (value, path) => (value === undefined ? undefined : item(value, path));
}

/** What cannot be read is left out, as if it were absent: what stands beside it must not be lost with it. */
export function readable<T>(item: Read<T>): Read<T | undefined> {
  return (value, path) => {
    const read = reading(() => optional(item)(value, path));
    return read.ok ? read.value : undefined;
  };
}

/** Without the fields that are undefined: absent and undefined are the same in JSON. */
export function present<T extends object>(value: T): Present<T>;
export function present(value: object): object {
  const found: Record<string, unknown> = {};
  // The index of a large fleet has many small objects: no lists of their entries.
  for (const [key, entry] of Object.entries(value)) if (entry !== undefined) found[key] = entry;
  return found;
}

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** An entry of a table whose keys come from outside: `constructor` is one of them like any other. */
export function entryOf<T>(entries: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return entries !== undefined && Object.hasOwn(entries, key) ? entries[key] : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A whole number from 0 on. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
