import { describe, expect, it } from 'vitest';
import { DEFAULT_MONITORING } from '../../../lambdas/config/fleet.ts';
import { parseFleet } from '../../../lambdas/config/load-fleet.ts';
import { AlarmsSection } from '../../../lambdas/config/sections/monitoring.ts';
import { ALARMS } from '../../../lambdas/tables/alarms.ts';
import { accepts, fleet, problemsOf, refusesIn } from './parsing.ts';

const INSTANT = 'write a date and time with its zone, for example 2026-12-05T20:00:00+01:00';
const COUNT = 'write a whole number, 1 or more';
const SHARE = 'write a share above 0 and below 1, for example 0.9';
const OBJECTIVE = 'write a share of the requests, 0.9 or more and below 1, for example 0.999';
const window = (time: string) => `version: 1\nmonitoring: { maintenance: [{ clusters: [a], ${time} }] }`;
const monitoring = (text: string) => `version: 1\nmonitoring: ${text}`;
const alarms = (text: string) => monitoring(`{ alarms: { ${text} } }`);

describe('monitoring in fleet.yaml', () => {
  it.each(['', '{}', '{ alarms: , maintenance: , subscribe: }', '{ alarms: {}, maintenance: [], daily: {} }'])(
    'has its defaults by %j',
    (text) => {
      const parsed = parseFleet(`version: 1\nmonitoring: ${text}\n`, 'f');
      expect(parsed).toMatchObject({ ok: true, fleet: { monitoring: DEFAULT_MONITORING } });
    },
  );

  it('knows every alarm, and no other', () => {
    expect(Object.keys(AlarmsSection.shape)).toEqual(Object.keys(ALARMS));
  });

  it('keeps the threshold of an alarm whose severity changes, and the other way round', () => {
    const parsed = parseFleet(
      `${alarms('AuditStale: { severity: critical }, KubeletOverdue: { threshold: 3 }')}\n`,
      'f',
    );
    expect(parsed).toMatchObject({
      fleet: {
        monitoring: {
          alarms: {
            AuditStale: { threshold: ALARMS.AuditStale.threshold, severity: 'critical' },
            KubeletOverdue: { threshold: 3, severity: 'warning' },
          },
        },
      },
    });
  });

  it('has whom it notifies, by topic', () => {
    const subscribe = { critical: ['on+call@example.com'], pager: ['https://pager.example.com/KEY/enqueue?a=b'] };
    const parsed = parseFleet(`version: 1\nmonitoring: { subscribe: ${JSON.stringify(subscribe)} }\n`, 'f');
    expect(parsed).toMatchObject({ fleet: { monitoring: { subscribe } } });
  });

  const NO_ADDRESS = 'write an e-mail address, for example oncall@example.com, or an https URL';

  // An URL may have a key: no message has any.
  it.each<[subscribe: string, problem: string]>([
    ["critical: ['mailto:oncall@example.com']", `critical[0]: ${NO_ADDRESS}`],
    ["critical: ['http://example.com/SECRET']", `critical[0]: ${NO_ADDRESS}`],
    ["critical: ['https://example.com/SE CRET']", `critical[0]: ${NO_ADDRESS}`],
    ["critical: ['arn:aws:sqs:eu-central-1:111122223333:SECRET']", `critical[0]: ${NO_ADDRESS}`],
    ['critical: [4711]', `critical[0]: ${NO_ADDRESS}`],
    [
      "pager: ['https://example.com/SECRET', 'https://example.com/SECRET']",
      'pager: an address appears twice; keep one of the two',
    ],
  ])('notifies no one by %s', (subscribe, problem) => {
    const problems = problemsOf(`version: 1\nmonitoring: { subscribe: { ${subscribe} } }`);
    expect(problems).toEqual([expect.stringContaining(`monitoring.subscribe.${problem}`)]);
    expect(problems.join('')).not.toContain('SECRET');
  });

  it('has no place of the runbooks but the one that is written', () => {
    const runbooks = 'https://github.com/example/certmarshal/blob/main/docs/runbooks';
    expect(parseFleet(`version: 1\nmonitoring: { runbooks: ${runbooks} }\n`, 'f')).toMatchObject({
      fleet: { monitoring: { runbooks } },
    });
    expect(DEFAULT_MONITORING).not.toHaveProperty('runbooks');
  });

  it.each([
    'http://example.com/runbooks',
    'https://example.com/runbooks/',
    'https://user:secret@example.com/runbooks',
    'https://example.com/runbooks?token=secret',
    'https://example.com/#runbooks',
    'https://example.com/run books',
    `https://example.com/${'x'.repeat(200)}`,
    'runbooks',
  ])('does not take %j for the place of the runbooks', (runbooks) => {
    expect(problemsOf(`version: 1\nmonitoring: { runbooks: '${runbooks}' }\n`).join()).toContain(
      'cannot be the URL of the runbooks; write an https URL',
    );
  });

  refusesIn(alarms, 'monitoring.alarms.', [
    ['ClusterUnreadble: {}', '2:25: ClusterUnreadble: unknown key; did you mean "ClusterUnreadable"?'],
    ['AuditStale: { severity: of }', '2:49: AuditStale.severity: "of" is not known here; did you mean "off"?'],
    ['PlanHeartbeat: { threshold: 1 }', '2:42: PlanHeartbeat.threshold: unknown key; known here: severity'],
    [
      'AuditStale: { threshold: 60s }',
      '2:50: AuditStale.threshold: 1m is too short to mean that anything is wrong; write 2m or more',
    ],
    ['AuditStale: { threshold: 8d }', '2:50: AuditStale.threshold: 8d is too long for an alarm; write 7d or less'],
    [
      'AuditStale: { threshold: 7200 }',
      '2:50: AuditStale.threshold: write a whole number and a unit, for example 90s, 15m, 2h or 366d, not 7200',
    ],
    [
      'SweepTimeout: {}, RequestsStuck: { threshold: 0 }',
      `2:71: RequestsStuck.threshold: 0 would always fire; ${COUNT}`,
    ],
    ['RequestsStuck: { threshold: 0.5 }', `2:53: RequestsStuck.threshold: ${COUNT}, not 0.5`],
    ['SweepTimeout: { threshold: 1 }', `2:52: SweepTimeout.threshold: ${SHARE}, not 1`],
    [
      'SloSlowBurn: { threshold: 0 }',
      '2:51: SloSlowBurn.threshold: write how many times faster than allowed, above 0, for example 14.4, not 0',
    ],
    [
      'SloFastBurn: { threshold: 1000 }',
      '2:51: SloFastBurn.threshold: 1000 is never reached: with an objective of 0.999 the budget burns at most 1000 times faster than allowed; write less',
    ],
  ]);

  refusesIn(window, 'monitoring.maintenance[0]', [
    ['from: 2026-12-05T20:00:00Z', '2:29: .until: missing; write when it ends: open-ended maintenance is forgotten'],
    ['until: 2026-12-05T20:00:00Z', '2:29: .from: missing; write when it begins'],
    [
      'from: 2026-12-05T20:00:00+01:00, until: 2026-12-05T19:00:00Z',
      '2:86: .until: 2026-12-05T19:00:00Z is not after from, 2026-12-05T20:00:00+01:00; write a later time',
    ],
    [
      'from: 2026-12-05T20:00:00Z, weekly: { days: [sat], from: 02:00, until: 06:00, timeZone: UTC }',
      '2:29: : is both weekly and once; keep weekly, or from and until',
    ],
    [
      'from: 2026-12-05T20:00:00, until: 2027-12-05T20:00:00Z',
      `2:52: .from: "2026-12-05T20:00:00" is not a time as RFC 3339 writes it; ${INSTANT}`,
    ],
    [
      'from: 2026-02-30T20:00:00Z, until: 2027-12-05T20:00:00Z',
      `2:52: .from: "2026-02-30T20:00:00Z" is a day that does not exist; ${INSTANT}`,
    ],
    [
      'weekly: { days: [mon, tue, wed, thu, fri, sat, sun], from: 02:00, until: 02:00, timeZone: UTC }',
      '2:46: .weekly: never ends: it covers every day completely; write fewer days, or an end before it begins again',
    ],
    [
      'weekly: { days: [sat, sat], from: 02:00, until: 06:00, timeZone: UTC }',
      '2:56: .weekly.days: a day appears twice; keep one of the two',
    ],
    [
      'weekly: { days: [samstag], from: 02:00, until: 06:00, timeZone: UTC }',
      '2:63: .weekly.days[0]: "samstag" is not known here; write one of mon, tue, wed, thu, fri, sat, sun',
    ],
    [
      'weekly: { days: [sat], from: 02:00, until: 24:00, timeZone: UTC }',
      '2:89: .weekly.until: "24:00" is not the time of a day; write hours and minutes, from 00:00 to 23:59',
    ],
  ]);

  refusesIn(monitoring, 'monitoring.', [
    [
      '{ objective: 0.9 }',
      '2:26: objective: 0.9 can burn at most 10 times faster than allowed, and alarm SloFastBurn fires at 14.4; write monitoring.alarms.SloFastBurn.threshold too, below 10',
    ],
    ['{ objective: 1 }', `2:26: objective: 1 leaves no error budget; ${OBJECTIVE}`],
    ['{ objective: 99.9 }', `2:26: objective: 99.9 leaves no error budget; ${OBJECTIVE}`],
    ['{ objective: 0.5 }', `2:26: objective: 0.5 promises too little; ${OBJECTIVE}`],
    ['{ maintenance: [{ clusters: [a] }] }', '2:29: maintenance[0]: has no time; write from and until, or weekly'],
    [
      '{ maintenance: [{ clusters: ["a?"], from: 2026-12-05T20:00:00Z, until: 2026-12-06T20:00:00Z }] }',
      '2:42: maintenance[0].clusters[0]: "a?" is not a pattern of cluster names or ids; use letters, digits, any of - _ . / : and at most four "*", which stands for any characters',
    ],
    [
      '{ daily: { timeZone: Europe/Berln } }',
      '2:34: daily.timeZone: "Europe/Berln" is not a time zone; did you mean "Europe/Berlin"?',
    ],
    [
      '{ daily: { timeZone: europe/berlin } }',
      '2:34: daily.timeZone: "europe/berlin" is not a time zone; did you mean "Europe/Berlin"?',
    ],
    [
      '{ daily: { timeZone: "+01:00" } }',
      '2:34: daily.timeZone: "+01:00" is not a time zone; write its IANA name, for example Europe/Berlin or UTC',
    ],
  ]);

  accepts([
    ['a window of a whole day', window('weekly: { days: [sat], from: 02:00, until: 02:00, timeZone: UTC }')],
    ['an older name of a time zone', 'version: 1\nmonitoring: { daily: { timeZone: Asia/Calcutta } }'],
    ['a newer name of a time zone', 'version: 1\nmonitoring: { daily: { timeZone: Asia/Kolkata } }'],
    ['a leap day', window('from: 2028-02-29T20:00:00Z, until: 2028-03-01T20:00:00.5Z')],
    [
      'a low objective with an alarm that fits',
      'version: 1\nmonitoring: { objective: 0.9, alarms: { SloFastBurn: { threshold: 9.9 } } }',
    ],
  ]);
});

describe('journal in fleet.yaml', () => {
  it.each([
    [
      'version: 1\njournal: { objectLock: { mode: complience, days: 1 } }',
      '2:32: journal.objectLock.mode: "complience" is not known here; did you mean "compliance"?',
    ],
    [
      'version: 1\njournal: { objectLock: { mode: compliance } }',
      '2:12: journal.objectLock.days: missing; write a whole number of days, 1 to 3650',
    ],
    [
      'version: 1\njournal: { objectLock: { mode: compliance, days: 0 } }',
      '2:50: journal.objectLock.days: 0 keeps nothing; write a whole number of days, 1 to 3650',
    ],
    [
      'version: 1\njournal: { objectLock: { mode: compliance, days: 36500 } }',
      '2:50: journal.objectLock.days: 36500 days is probably a mistake, and cannot be undone; write a whole number of days, 1 to 3650',
    ],
    ['version: 1\njournal: { bucket: x }', '2:12: journal.bucket: unknown key; known here: objectLock'],
    [
      'version: 1\njournal: { objectLock: of }',
      '2:24: journal.objectLock: "of" is not known here; did you mean "off"?',
    ],
    ['version: 1\njournal: { objectLock: false }', '2:24: journal.objectLock: write off, not false'],
    [
      'version: 1\njournal: { objectLock: { mode: governance, days: 1, atCreation: false } }',
      '2:65: journal.objectLock.atCreation: write true, not false',
    ],
  ])('refuses %s', (section, problem) => {
    expect(problemsOf(section)).toEqual([problem]);
  });

  it.each<[string, unknown]>([
    ['', { mode: 'governance', days: 90 }],
    ['journal:', { mode: 'governance', days: 90 }],
    ['journal: { objectLock: off }', 'off'],
    ['journal: { objectLock: "off" }', 'off'],
    ['journal: { objectLock: { mode: compliance, days: 7 } }', { mode: 'compliance', days: 7 }],
  ])('of %j locks the bucket as it says', (section, objectLock) => {
    expect(fleet(`version: 1\n${section}\n`).journal).toEqual({ objectLock });
  });
});
