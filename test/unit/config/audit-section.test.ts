import { describe, expect, it } from 'vitest';
import { DEFAULT_AUDIT } from '../../../lambdas/config/fleet.ts';
import { fleet, problemsOf } from './parsing.ts';

const LEVELS = 'warning: { share: 0.2 }, critical: { share: 0.1 }';

describe('audit in fleet.yaml', () => {
  it.each(['', '{}', '{ every: 15m }', '{ thresholds: }', '{ thresholds: [] }'])('has its defaults by %j', (audit) => {
    expect(fleet(`version: 1\naudit: ${audit}\n`).audit).toEqual(DEFAULT_AUDIT);
  });

  it.each([
    ['{ every: 5m }', 5],
    ['{ every: 300s }', 5],
    ['{ every: 24h }', 1_440],
    ['{ every: 1d }', 1_440],
  ])('%s is every %i minutes', (audit, everyMinutes) => {
    expect(fleet(`version: 1\naudit: ${audit}\n`).audit.everyMinutes).toBe(everyMinutes);
  });

  it('accepts findings until a date', () => {
    const accepted = '{ cluster: berlin-prod, code: WeakKey, until: 2027-01-31T18:00:00+01:00, reason: new hardware }';
    expect(fleet(`version: 1\naudit: { accept: [${accepted}] }\n`).audit.accept).toEqual([
      { cluster: 'berlin-prod', code: 'WeakKey', until: '2027-01-31T18:00:00+01:00', reason: 'new hardware' },
    ]);
    const wrong = "{ cluster: 'berlin-*', code: WeakKeys, until: tomorrow, reason: '' }";
    expect(problemsOf(`version: 1\naudit: { accept: [${wrong}] }\n`)).toEqual([
      expect.stringContaining('audit.accept[0].cluster: "berlin-*" is not the id of a cluster'),
      expect.stringContaining('audit.accept[0].code: "WeakKeys" is not known here; did you mean "WeakKey"?'),
      expect.stringContaining('audit.accept[0].until: "tomorrow" is not a time'),
      expect.stringContaining('audit.accept[0].reason: "" says nothing'),
    ]);
  });

  it.each([
    ['{ every: 4m }', ['audit.every: 4m is too often for a whole fleet; write 5m or more']],
    ['{ every: 25h }', ['audit.every: 25h is too rare to rely on; write 24h or less']],
    ['{ every: 330s }', ['audit.every: 330s is not a whole number of minutes; write, for example, 6m']],
    ['{ every: 15 }', ['audit.every: write a whole number and a unit, for example 90s, 15m, 2h or 366d, not 15']],
    [
      `{ thresholds: [{ classes: [kubelet-servin], ${LEVELS} }] }`,
      ['audit.thresholds[0].classes[0]: "kubelet-servin" is not known here; did you mean "kubelet-serving"?'],
    ],
    [
      '{ thresholds: [{ warning: { share: 0.1 }, critical: { share: 0.1 } }] }',
      [
        'audit.thresholds[0].critical.share: 0.1 is not below warning.share, 0.1; nothing would be a warning before it is critical, so write less',
      ],
    ],
    [
      '{ thresholds: [{ warning: { share: 0.2, floor: 3d }, critical: { share: 0.1, floor: 14d } }] }',
      ['audit.thresholds[0].critical.floor: 14d is above warning.floor, 3d; write at most that'],
    ],
    [
      '{ thresholds: [{ warning: { share: 0.2, floor: 14d, ceiling: 7d }, critical: { share: 0.1, ceiling: 7d } }] }',
      [
        'audit.thresholds[0].warning.ceiling: 7d is below floor, 14d; write at least that',
        'audit.thresholds[0].critical.ceiling: 7d is not below warning.ceiling, 7d; nothing would be a warning before it is critical, so write less',
      ],
    ],
    [
      '{ thresholds: [{ warning: { share: 0.2, ceiling: 90m }, critical: { share: 0.1, ceiling: 0s } }] }',
      [
        'audit.thresholds[0].warning.ceiling: 90m is too late for anyone to act; write 1d or more',
        'audit.thresholds[0].critical.ceiling: 0s is too late for anyone to act; write 1d or more',
      ],
    ],
    [
      '{ thresholds: [{ warning: { share: 0.2, ceiling: 90d }, critical: { share: 0.1 } }] }',
      [
        'audit.thresholds[0].critical: warning has a ceiling, 90d, and critical has none; a long life would be critical before it is a warning, so write a ceiling below that',
      ],
    ],
    [
      '{ thresholds: [{ warning: { share: 20 }, critical: { share: "x" } }] }',
      [
        'audit.thresholds[0].warning.share: 20 is more than the whole lifetime; write the share of the lifetime that is left, above 0 and at most 1, for example 0.2',
        'audit.thresholds[0].critical.share: write the share of the lifetime that is left, above 0 and at most 1, for example 0.2, not text',
      ],
    ],
    [
      '{ thresholds: [{ critical: { share: 0.1 } }] }',
      ['audit.thresholds[0].warning: missing; write a section with keys'],
    ],
    [
      `{ thresholds: [{ ${LEVELS} }, { ${LEVELS} }] }`,
      ['audit.thresholds[1]: audit.thresholds[0] names no classes either; write classes in one of them, or remove one'],
    ],
    [
      `{ thresholds: [{ classes: [etcd-ca], ${LEVELS} }, { classes: [endpoint, etcd-ca], ${LEVELS} }] }`,
      ['audit.thresholds[1].classes[1]: "etcd-ca" is in audit.thresholds[0] already; keep one of the two'],
    ],
    ['{ ever: 5m }', ['audit.ever: unknown key; did you mean "every"?']],
  ])('refuses %s', (audit, problems) => {
    expect(problemsOf(`version: 1\naudit: ${audit}\n`).map((line) => line.replace(/^\S+ /, ''))).toEqual(problems);
  });

  it('tells of every problem at once', () => {
    expect(
      problemsOf(
        'version: 1\naudit: { every: 1m, thresholds: [{ classes: [x], warning: { share: 0.1 }, critical: { share: 0.2 } }] }',
      ),
    ).toHaveLength(3);
  });
});
