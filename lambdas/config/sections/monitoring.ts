import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import type { MaintenanceWindow } from '../../health/maintenance.ts';
import { ALARM_IDS, ALARM_SEVERITIES, ALARMS, type AlarmId, type AlarmSettings } from '../../tables/alarms.ts';
import { WEEKDAYS } from '../../window/window.ts';
import { formatDuration } from '../duration.ts';
import { DEFAULT_MONITORING } from '../fleet.ts';
import { clockTime, instant, timeZone, weekdays } from '../time-values.ts';
import { distinct, duration, fleetGlob, list, section, share, text, wanted, whole, wrong } from '../values.ts';
import type { Written } from '../written.ts';

// Every alarm has an entry with the possible thresholds of its metric: one that would never or always fire is rejected
// here.

/** Sweeps are a minute apart, and their alarm needs two or three of them. */
const SHORTEST_SECONDS = 2 * 60;
/** A longer wait is useless for an alarm. */
const MAX_SECONDS = 7 * 24 * 60 * 60;
const MAX_COUNTED = 1_000_000;
const LEAST_OBJECTIVE = 0.9;

const severity = z.enum([...ALARM_SEVERITIES, 'off']).exactOptional();

function alarm(id: AlarmId) {
  const threshold = thresholdOf(id);
  const entry = { severity: severityOf(id) };
  return z
    .strictObject(threshold === undefined ? entry : { threshold: threshold.exactOptional(), ...entry })
    .exactOptional()
    .describe(ALARMS[id].meaning);
}

/** Undefined if the alarm has no configurable threshold. */
function thresholdOf(id: AlarmId) {
  const { setting } = ALARMS[id];
  if (setting === 'none') return undefined;
  if (setting === 'seconds') return seconds(id);
  if (setting === 'count') return count(id);
  if (setting === 'burn') return burn(id);
  return share('write a share above 0 and below 1, for example 0.9').meta({
    description: `Fires from this share of ${setting.shareOf}. Default: ${ALARMS[id].threshold}.`,
    examples: [ALARMS[id].threshold],
  });
}

function severityOf(id: AlarmId) {
  return severity.meta({
    description: `critical pages, warning can wait until the morning, off creates no alarm. Default: ${ALARMS[id].severity}.`,
    examples: ['warning'],
  });
}

function seconds(id: AlarmId) {
  const builtIn = formatDuration(ALARMS[id].threshold);
  return duration((value) => {
    if (value < SHORTEST_SECONDS) return 'is too short to mean that anything is wrong; write 2m or more';
    return value > MAX_SECONDS ? 'is too long for an alarm; write 7d or less' : undefined;
  }).meta({ description: `Fires after this time: 2m to 7d. Default: ${builtIn}.`, examples: [builtIn] });
}

function count(id: AlarmId) {
  const form = 'write a whole number, 1 or more';
  return whole(form)
    .min(1, wrong(`would always fire; ${form}`))
    .max(MAX_COUNTED, { error: `more than a fleet has; write ${MAX_COUNTED} or less` })
    .meta({ description: `Fires from this number. Default: ${ALARMS[id].threshold}.`, examples: [5] });
}

function burn(id: AlarmId) {
  const wantedBurn = wanted('write how many times faster than allowed, above 0, for example 14.4');
  return z
    .number(wantedBurn)
    .gt(0, wantedBurn)
    .meta({
      description: `How many times faster than allowed the error budget must burn. Default: ${ALARMS[id].threshold}.`,
      examples: [ALARMS[id].threshold],
    });
}

/** `monitoring.alarms`: one key for each alarm. */
export const AlarmsSection = z.strictObject(
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
  Object.fromEntries(ALARM_IDS.map((id) => [id, alarm(id)])) as Record<AlarmId, ReturnType<typeof alarm>>,
);

const Weekly = z.strictObject({
  days: weekdays.meta({ description: 'Days on which it begins.', examples: [['sat']] }),
  from: clockTime.meta({ description: 'When it begins.', examples: ['02:00'] }),
  until: clockTime.meta({
    description: 'When it ends. A time that is not after from is on the next day; the same time means a whole day.',
    examples: ['06:00'],
  }),
  timeZone: timeZone.meta({ description: 'Time zone of the times.', examples: ['Europe/Berlin'] }),
});

/** An entry of `monitoring.maintenance`. A rule of the file checks that it has one kind of time. */
const MaintenanceEntry = z
  .strictObject({
    clusters: list(fleetGlob).meta({
      description: 'Names or ids of the clusters. * stands for any characters.',
      examples: [['berlin-*']],
    }),
    reason: text('why, in a few words')
      .min(1, { error: 'an empty text; write why, in a few words, or remove the key' })
      .max(200, { error: 'write at most 200 characters' })
      .exactOptional()
      .meta({ description: 'The reason; it is shown with the cluster.', examples: ['change 4711: new hypervisors'] }),
    from: instant.exactOptional().meta({ description: 'When it begins.', examples: ['2026-12-05T20:00:00+01:00'] }),
    until: instant.exactOptional().meta({ description: 'When it ends.', examples: ['2026-12-06T04:00:00+01:00'] }),
    weekly: Weekly.exactOptional().describe('Weekly, instead of from and until.'),
  })
  .meta({ title: 'Maintenance' })
  // Without a time, which a rule rejects, it is never open.
  .transform(
    ({ from = '', until = '', weekly, ...window }): MaintenanceWindow => ({
      ...window,
      when: weekly ?? { from, until },
    }),
  );

const OBJECTIVE_FORM = `write a share of the requests, ${LEAST_OBJECTIVE} or more and below 1, for example 0.999`;

const URL_FORM = 'write an https URL of at most 200 characters, without user, query, fragment or a slash at its end';

/** Part of the description of every alarm, and of each message. */
const runbooksUrl = text('the URL at which docs/runbooks is published').refine(
  isRunbooksUrl,
  wrong(`cannot be the URL of the runbooks; ${URL_FORM}`),
);

function isRunbooksUrl(value: string): boolean {
  if (value.length > 200 || !/^https:\/\/[!-~]+[^/]$/.test(value) || /[<>"'`\\?#@]/.test(value)) return false;
  return URL.canParse(value);
}

const ADDRESS_FORM = 'write an e-mail address, for example oncall@example.com, or an https URL';
const ADDRESS = /^(?:[^\s@:/]{1,64}@[A-Za-z0-9.-]{1,190}|https:\/\/[!-~]{1,1000})$/;

/** Never printed: the URL of a paging service contains its key. */
const address = z
  .string({ error: ADDRESS_FORM })
  .regex(ADDRESS, { error: ADDRESS_FORM })
  .meta({ examples: ['oncall@example.com'] });
const addresses = distinct(list(address).max(20), 'an address appears twice').exactOptional();

/** The topics to which e-mail and HTTPS fit; Amazon Q subscribes to chat itself. */
const Subscribe = z.strictObject({
  critical: addresses.describe('Who gets critical messages, also those that notify could not send.'),
  warning: addresses.describe('Who gets warnings and the daily message.'),
  pager: addresses.describe('Paging services, for critical incidents.'),
  fallback: addresses.describe('Whom CloudWatch itself notifies when certmarshal is broken.'),
});

/** `monitoring`: who is notified when, and of what. */
export const Monitoring = section(
  z
    .strictObject({
      alarms: AlarmsSection.nullish().meta({
        description: 'Alarms that differ from what is built in, by name: another threshold, another severity, or off.',
        examples: [{ ClusterUnreadable: { threshold: '20m', severity: 'warning' } }],
      }),
      maintenance: z
        .array(MaintenanceEntry)
        .max(100)
        .nullish()
        .describe(
          'When clusters are expected not to answer. It hides only what that explains: alarms on expiring certificates still fire.',
        ),
      objective: z
        .number(wanted(OBJECTIVE_FORM))
        .gte(LEAST_OBJECTIVE, wrong(`promises too little; ${OBJECTIVE_FORM}`))
        .lt(1, wrong(`leaves no error budget; ${OBJECTIVE_FORM}`))
        .prefault(DEFAULT_MONITORING.objective)
        .meta({
          description: `The share of the provable requests of nodes that is issued within 15 minutes. Default: ${DEFAULT_MONITORING.objective}.`,
          examples: [0.999],
        }),
      daily: z
        .strictObject({
          at: clockTime
            .prefault(DEFAULT_MONITORING.daily.at)
            .meta({ description: `Default: ${DEFAULT_MONITORING.daily.at}.`, examples: ['07:00'] }),
          timeZone: timeZone.prefault(DEFAULT_MONITORING.daily.timeZone).meta({
            description: `Time zone of the times. Default: ${DEFAULT_MONITORING.daily.timeZone}.`,
            examples: ['Europe/Berlin'],
          }),
        })
        .prefault({})
        .describe('When the message is sent that lists what is critical and warning, or says that all is well.'),
      subscribe: section(Subscribe, {}).describe(
        'Subscriptions of the topics: e-mail addresses and https URLs, which are visible in the stack.',
      ),
      reportLinks: z
        .boolean()
        .prefault(DEFAULT_MONITORING.reportLinks)
        .describe(
          'Whether notifications have a link with which anyone can open the report page for a few hours. Default: true.',
        ),
      dashboard: z
        .boolean()
        .prefault(DEFAULT_MONITORING.dashboard)
        .describe('Whether CloudWatch gets a dashboard, which costs $3 a month. Default: true.'),
      runbooks: runbooksUrl.exactOptional().meta({
        description:
          'URL at which docs/runbooks is published. With it, messages have the URL of each runbook; without it, the command that prints it.',
        examples: ['https://github.com/example/certmarshal/blob/main/docs/runbooks'],
      }),
    })
    .transform(({ alarms, maintenance, ...said }) => ({
      ...DEFAULT_MONITORING,
      ...said,
      alarms: settingsOf(alarms ?? {}),
      maintenance: maintenance ?? [],
    })),
  {},
).describe('When people are notified, and about what. Everything has a default.');

export type FleetMonitoring = Contract<typeof Monitoring>;

/** Changing one of the two keeps the other. */
function settingsOf(said: z.output<typeof AlarmsSection>): AlarmSettings {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema has no other keys
  const ids = Object.keys(said) as AlarmId[];
  return Object.fromEntries(
    ids.map((id) => {
      const { threshold, severity: builtIn } = ALARMS[id];
      return [id, { threshold, severity: builtIn, ...said[id] }];
    }),
  );
}

export function monitoringRules(monitoring: Written<typeof Monitoring>): void {
  for (const entry of monitoring.at('maintenance').entries) {
    clearTimes(entry);
    const { from, until } = entry.pick('from', 'until') ?? {};
    if (from !== undefined && until !== undefined && Date.parse(until) <= Date.parse(from))
      entry.refuse(`${until} is not after from, ${from}; write a later time`, 'until');
    endsSometimes(entry.at('weekly'));
  }
  for (const id of ALARM_IDS) if (ALARMS[id].setting === 'burn') canRing(monitoring, id);
}

function clearTimes(entry: Written<typeof MaintenanceEntry>): void {
  if (!entry.isSection) return;
  const [from, until] = [entry.at('from'), entry.at('until')];
  const isOnce = !from.isMissing || !until.isMissing;
  if (!entry.at('weekly').isMissing) {
    if (isOnce) entry.refuse('is both weekly and once; keep weekly, or from and until');
  } else if (!isOnce) entry.refuse('has no time; write from and until, or weekly');
  else if (from.isMissing) from.refuse('missing; write when it begins');
  else if (until.isMissing) until.refuse('missing; write when it ends: open-ended maintenance is forgotten');
}

/** Windows that open on each day when the last one closes are one window that is always open. */
function endsSometimes(weekly: Written<typeof Weekly>): void {
  const from = weekly.at('from').text;
  const days = weekly.at('days').entries.map(({ text: day }) => day);
  if (from !== undefined && from === weekly.at('until').text && WEEKDAYS.every((day) => days.includes(day)))
    weekly.refuse('never ends: it covers every day completely; write fewer days, or an end before it begins again');
}

/** If every request is missed, a budget of a hundredth burns a hundred times faster than allowed, never faster. */
function canRing(monitoring: Written<typeof Monitoring>, id: AlarmId): void {
  const objective = monitoring.at('objective').valid;
  if (objective === undefined) return;
  const most = 1 / (1 - objective);
  const rounded = Math.round(most * 10) / 10;
  const builtIn = ALARMS[id].threshold;
  const written = monitoring.at('alarms').at(id).at('threshold');
  const threshold = written.valid;
  if ((threshold ?? builtIn) < most) return;
  if (threshold === undefined)
    monitoring.refuse(
      `${objective} can burn at most ${rounded} times faster than allowed, and alarm ${id} fires at ${builtIn}; write monitoring.alarms.${id}.threshold too, below ${rounded}`,
      'objective',
    );
  else
    written.refuse(
      `${threshold} is never reached: with an objective of ${objective} the budget burns at most ${rounded} times faster than allowed; write less`,
    );
}
