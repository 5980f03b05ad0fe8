import { LAST_INSTANT } from '../time.ts';

// The types of the SDK are promises that nothing has checked.

/** Characters of base64: two certificates are under 4,000. */
export const MAX_CA = 65_536;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isMatch(value: unknown, pattern: RegExp): value is string {
  return isText(value) && pattern.test(value);
}

export function isTime(value: unknown): value is Date {
  return value instanceof Date && value.getTime() >= 0 && value.getTime() <= LAST_INSTANT;
}

/** Base64 of certificates. */
export function isCa(value: unknown): value is string {
  return isText(value) && value.length <= MAX_CA && BASE64.test(value);
}
