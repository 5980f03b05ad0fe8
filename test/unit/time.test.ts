import { expect, it } from 'vitest';
import { timestamp } from '../../lambdas/time.ts';

it.each([
  [0, '1970-01-01T00:00:00.000Z'],
  [-6e14, '0000-01-01T00:00:00.000Z'],
  [6e14, '9999-12-31T23:59:59.999Z'],
  [Number.NEGATIVE_INFINITY, '0000-01-01T00:00:00.000Z'],
  [Number.NaN, '9999-12-31T23:59:59.999Z'],
])('writes %d as RFC 3339 can', (time, text) => expect(timestamp(time)).toBe(text));
