import type { DerReader } from './der.ts';
import { Refused } from './refused.ts';

const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;

// RFC 5280 §4.1.2.5 wants seconds and Z; certificates from before it have neither seconds nor Z at times, and still mean one instant.
const UTC = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{4})$/;
const GENERALIZED = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.\d{1,9})?(Z|[+-]\d{4})$/;

/** Reads the next value as a Time (RFC 5280 §4.1.2.5). Milliseconds since the epoch; negative before 1970. A text without a time zone is refused. */
export function readTime(reader: DerReader, what: string): number {
  const tag = reader.nextTag;
  if (tag !== UTC_TIME && tag !== GENERALIZED_TIME) throw new Refused('UnexpectedStructure', `${what}: no time found`);
  const octets = reader.octets(tag, what);
  const text = octets.length <= 32 ? octets.toString('latin1') : '';
  const found = (tag === UTC_TIME ? UTC : GENERALIZED).exec(text);
  if (found === null) throw new Refused('UnexpectedStructure', `${what}: not a time in UTC`);
  const [, yearText = '', month = '', day = '', hour = '', minute = '', second = '0', zone = 'Z'] = found;
  const read = Number(yearText);
  let year = read;
  // Two digits are 1950 to 2049.
  if (tag === UTC_TIME) year = read < 50 ? 2000 + read : 1900 + read;

  const time = new Date(0);
  // Not Date.UTC, which takes the years 0 to 99 for 1900 to 1999.
  time.setUTCFullYear(year, Number(month) - 1, Number(day));
  time.setUTCHours(Number(hour), Number(minute), Number(second));
  const exists =
    time.getUTCMonth() === Number(month) - 1 &&
    time.getUTCDate() === Number(day) &&
    time.getUTCHours() === Number(hour) &&
    time.getUTCMinutes() === Number(minute) &&
    time.getUTCSeconds() === Number(second);
  if (!exists) throw new Refused('UnexpectedStructure', `${what}: ${text} does not exist`);
  return time.getTime() - offsetMs(zone);
}

function offsetMs(zone: string): number {
  if (zone === 'Z') return 0;
  const size = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3));
  return (zone.startsWith('-') ? -size : size) * 60_000;
}
