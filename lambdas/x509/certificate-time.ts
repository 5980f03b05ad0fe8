import { type DerReader, Refused } from './der.ts';

const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;

// RFC 5280 §4.1.2.5 requires seconds and Z; some older certificates lack seconds or have an offset, and still mean one
// instant.
const UTC = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{4})$/;
const GENERALIZED = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.\d{1,9})?(Z|[+-]\d{4})$/;

/**
 * Reads the next value as a Time (RFC 5280 §4.1.2.5). Milliseconds since the epoch; negative before 1970.
 *
 * @throws Refused without a time zone
 */
export function readTime(reader: DerReader, what: string): number {
  const tag = reader.nextTag;
  if (tag !== UTC_TIME && tag !== GENERALIZED_TIME) throw new Refused('UnexpectedStructure', `${what}: no time found`);
  const octets = reader.octets(tag, what);
  const text = octets.length <= 32 ? octets.toString('latin1') : '';
  const found = (tag === UTC_TIME ? UTC : GENERALIZED).exec(text);
  if (found === null) throw new Refused('UnexpectedStructure', `${what}: not a time in UTC`);
  const [, digits = '', month, day, hour, minute, second = '00', zone = 'Z'] = found;
  // Two-digit years are 1950 to 2049.
  const year = tag === GENERALIZED_TIME ? digits : `${Number(digits) < 50 ? 20 : 19}${digits}`;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // Date accepts hour 24, and day 31 of every month, as the day after.
  if (new Date(time).getUTCDate() !== Number(day)) {
    throw new Refused('UnexpectedStructure', `${what}: ${text} does not exist`);
  }
  return time - offsetMs(zone);
}

function offsetMs(zone: string): number {
  if (zone === 'Z') return 0;
  const size = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3));
  return (zone.startsWith('-') ? -size : size) * 60_000;
}
