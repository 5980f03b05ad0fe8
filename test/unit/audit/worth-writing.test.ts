import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assessExpiry } from '../../../lambdas/audit/assess.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { worthWriting } from '../../../lambdas/cluster/stages/audit.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type { CertificateObservation, Observation } from '../../../lambdas/contracts/observation.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import { at, DAY, expiryFinding, MINUTE, NOW } from '../fleet/values.ts';
import { certificate as plain, read as readAt, unread } from './fixtures.ts';
import { decodeSnapshot, encodeSnapshot } from './stored-snapshot.ts';

const QUARTER = 15 * MINUTE;
const HOUR = 60 * MINUTE;

const certificate = (when: number, changed: Partial<CertificateObservation> = {}) =>
  plain({
    observedAt: at(when),
    where: '10.0.0.1:6443',
    notBefore: at(-30 * DAY),
    notAfter: at(300 * DAY),
    fingerprint: 'a'.repeat(64),
    ...changed,
  });
const read = (when: number) => readAt('tls', Date.parse(at(when)));
const clock = (when: number, skewMs: number): Observation => ({
  kind: 'clock',
  source: 'clock',
  observedAt: at(when),
  server: 'a:443',
  skewMs,
});
function snapshot(when: number, observations: readonly Observation[], changed: Partial<Snapshot> = {}): Snapshot {
  return {
    version: 1,
    cluster: 'paris',
    provider: 'eks-anywhere',
    auditedAt: at(when),
    observations,
    findings: [],
    ...changed,
  };
}

const BEFORE = snapshot(0, [certificate(0), read(0)]);
const again = (when: number, changed: Partial<Snapshot> = {}) =>
  snapshot(when, [read(when), certificate(when)], changed);

describe('worthWriting', () => {
  it('is false of the same in another order, until what is stored is two hours old', () => {
    const worth = (when: number) => worthWriting(BEFORE, again(when));
    expect([0, QUARTER, 2 * HOUR - 1, 2 * HOUR, DAY].map(worth)).toEqual([false, false, false, true, true]);
    // The clock was set back, or the time is none.
    expect(worth(-1)).toBe(true);
    expect(worthWriting({ ...BEFORE, auditedAt: 'x' }, again(QUARTER))).toBe(true);
  });

  it.each<[string, Snapshot]>([
    ['another certificate', snapshot(QUARTER, [certificate(QUARTER, { fingerprint: 'b'.repeat(64) }), read(QUARTER)])],
    ['another end', snapshot(QUARTER, [certificate(QUARTER, { notAfter: at(301 * DAY) }), read(QUARTER)])],
    [
      'another verdict',
      snapshot(QUARTER, [certificate(QUARTER, { issued: { verdict: 'names-another', why: 'w' } }), read(QUARTER)]),
    ],
    ['one less', snapshot(QUARTER, [read(QUARTER)])],
    ['one more', snapshot(QUARTER, [certificate(QUARTER), certificate(QUARTER, { where: 'b:1' }), read(QUARTER)])],
    ['one twice', snapshot(QUARTER, [certificate(QUARTER), certificate(QUARTER)])],
    ['a finding', again(QUARTER, { findings: [expiryFinding()] })],
    ['another provider', again(QUARTER, { provider: 'eks' })],
  ])('is true of %s', (_, next) => {
    expect(worthWriting(BEFORE, next)).toBe(true);
  });

  it.each<[keyof ExpiryFinding, Partial<ExpiryFinding>, boolean]>([
    ['facts', { facts: { where: 'x', source: 'tls', basis: 'status' } }, false],
    ['severity', { severity: 'info' }, true],
    ['object', { object: 'another' }, true],
    ['code', { code: 'Unreachable' }, true],
    ['since', { since: at(-9 * DAY) }, true],
    ['due', { due: at(99 * DAY) }, true],
    ['places', { places: ['b'] }, true],
    ['lastSeen', { lastSeen: at(-HOUR) }, true],
  ])('looks at what a finding says, not at its words: %s', (_, changed, expected) => {
    const before = { ...BEFORE, findings: [expiryFinding()] };
    expect(worthWriting(before, again(QUARTER, { findings: [expiryFinding(changed)] }))).toBe(expected);
  });

  it('writes a failure and its end, and not that it goes on', () => {
    const failed = (when: number) => snapshot(when, [certificate(0), unread('tls', { observedAt: at(when) })]);
    expect(worthWriting(BEFORE, failed(QUARTER))).toBe(true);
    expect(worthWriting(failed(0), failed(QUARTER))).toBe(false);
    expect(worthWriting(failed(0), again(QUARTER))).toBe(true);
  });

  it('does not take the noise of a clock for news, and a clock that goes wrong for none', () => {
    const worth = (one: number, other: number) =>
      worthWriting(snapshot(0, [clock(0, one)]), snapshot(QUARTER, [clock(QUARTER, other)]));
    expect([worth(0, -1), worth(0, 2_900), worth(0, 31_000), worth(600_000, 0)]).toEqual([false, false, true, true]);
  });

  it('knows what was stored and read again', async () => {
    const next = snapshot(QUARTER, [
      certificate(QUARTER, { member: 'm', isAuthority: true, key: 'P-256' }),
      clock(QUARTER, 0),
    ]);
    expect(worthWriting((await decodeSnapshot(await encodeSnapshot(next))) ?? BEFORE, next)).toBe(false);
  });

  it('never makes the audits after it milder, later or fewer', () => {
    const where = fc.constantFrom('10.0.0.1:6443', '10.0.0.2:6443', '10.0.0.3:6443');
    const anyAudit = fc.record({
      minutes: fc.constantFrom(15, 15, 15, 15, 60, 24 * 60),
      // By place: seen so many days before its end, or not at all; mostly what was seen the last time.
      seen: fc.option(
        fc.uniqueArray(fc.record({ where, days: fc.constantFrom(-1, 3, 20, 300) }), { selector: (one) => one.where }),
        { freq: 1 },
      ),
      how: fc.constantFrom('read', 'read', 'read', 'usually hidden', 'place fails', 'source fails', 'not looked at'),
    });
    const rank = { critical: 0, warning: 1, info: 2 };
    let skipped = 0;
    fc.assert(
      fc.property(fc.array(anyAudit, { minLength: 2, maxLength: 12 }), (audits) => {
        let now = NOW;
        let always: Snapshot | undefined;
        let stored: Snapshot | undefined;
        let seen: NonNullable<(typeof audits)[number]['seen']> = [];
        for (const { minutes, seen: changed, how } of audits) {
          seen = changed ?? seen;
          now += minutes * MINUTE;
          const observedAt = new Date(now).toISOString();
          const certificates = seen.map(({ where: place, days }) =>
            certificate(0, { where: place, observedAt, notAfter: at(days * DAY) }),
          );
          const done = readAt('tls', now);
          const silent = (n: number, more: object = {}) =>
            unread('tls', { observedAt, where: `10.0.0.${n}:6443`, what: 'kube-apiserver', ...more });
          const shown = certificates.filter(({ where: place }) => place !== '10.0.0.3:6443');
          const observations = {
            read: [...certificates, done],
            'usually hidden': [...shown, silent(3, { usual: true }), done],
            'place fails': [...certificates.slice(1), silent(1), done],
            'source fails': [unread('tls', { observedAt })],
            'not looked at': [],
          }[how];
          const assessed = (previous: Snapshot | undefined): Snapshot => ({
            ...snapshot(0, [], { auditedAt: observedAt }),
            ...assessExpiry({ id: 'paris', provider: 'eks-anywhere' }, observations, previous, DEFAULT_THRESHOLDS, now),
          });
          always = assessed(always);
          const mine = assessed(stored);
          for (const expected of always.findings) {
            const found =
              mine.findings.find(({ code, object }) => code === expected.code && object === expected.object) ??
              // The same a little sooner.
              mine.findings.find(({ code, object }) => code === 'SourceLost' && object === expected.object);
            expect(found, `${expected.code} ${expected.object}`).toBeDefined();
            if (found === undefined) continue;
            expect(rank[found.severity]).toBeLessThanOrEqual(rank[expected.severity]);
            expect(found.since <= expected.since).toBe(true);
            expect((found.due ?? '') <= (expected.due ?? '')).toBe(true);
          }
          if (stored === undefined || worthWriting(stored, mine)) stored = mine;
          else skipped += 1;
        }
      }),
      { seed: 7, numRuns: 400 },
    );
    expect(skipped).toBeGreaterThan(100);
  });
});
