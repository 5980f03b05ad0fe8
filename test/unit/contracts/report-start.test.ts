import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeReportStart, encodeReportStart } from '../../../lambdas/contracts/report-start.ts';
import { encodeOutcome, encodeOutcomes } from '../../../lambdas/fleet/outcome-message.ts';
import { NOW, swept } from '../fleet/values.ts';

it('carries the tick, and whatever a later version adds is dropped', () => {
  expect(decodeReportStart(encodeReportStart({ tick: NOW }))).toEqual({ ok: true, value: { tick: NOW } });
  expect(decodeReportStart(JSON.stringify({ tick: NOW, later: 1 }))).toEqual({ ok: true, value: { tick: NOW } });
});

it.each([
  ['', 'the message is not JSON'],
  [' '.repeat(1_001), 'the message is longer than 1000 bytes'],
  ['{"tick":-1}', 'tick is not a time in milliseconds since the epoch'],
  ['{"tick":"2026-11-21T10:00:00.000Z"}', 'tick is not a time in milliseconds since the epoch'],
  [encodeOutcomes([encodeOutcome(swept())]), 'tick is not a time in milliseconds since the epoch'],
])('is refused where it is %.40s', (body, problem) => {
  expect(decodeReportStart(body)).toEqual({ ok: false, problem });
});

it('gives a value for every text', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json({ maxDepth: 3 })), (body) => {
      expect(decodeReportStart(body).ok).toBe(false);
    }),
    { seed: 17, numRuns: 150 },
  );
});
