import { z } from 'zod';
import { ALARM_IDS, ALARM_SEVERITIES, ALARMS, type AlarmId } from '../tables/alarms.ts';
import { WEEKDAYS } from '../window/window.ts';
import { kindOf } from './describe-issue.ts';
import { formatDuration } from './duration.ts';
import { DEFAULT_MONITORING } from './fleet.ts';
import { clockTime, instant, timeZone } from './time-values.ts';
import { duration, fleetGlob, list, text } from './values.ts';

// Every alarm has an entry, with the threshold that its metric can have, so that one that never rings, or always, is refused here.

/** A sweep is a minute apart from the next, and its alarm takes two or three of them. */
const SHORTEST_SECONDS = 2 * 60;
/** An alarm that waits longer is no alarm. */
const LONGEST_SECONDS = 7 * 24 * 60 * 60;
const MOST_COUNTED = 1_000_000;
const LEAST_OBJECTIVE = 0.9;

const severity = z.enum([...ALARM_SEVERITIES, 'off']).exactOptional();

function alarm(id: AlarmId) {
  const threshold = thresholdOf(id);
  const entry = { severity: severityOf(id) };
  return z
    .strictObject(threshold === undefined ? entry : { threshold: threshold.exactOptional(), ...entry })
    .exactOptional()
    .meta({ description: ALARMS[id].meaning });
}

/** Undefined where the alarm has no threshold to choose. */
function thresholdOf(id: AlarmId) {
  const { setting } = ALARMS[id];
  if (setting === 'none') return undefined;
  if (setting === 'seconds') return seconds(id);
  if (setting === 'count') return count(id);
  return setting === 'burn' ? burn(id) : share(id, setting.shareOf);
}

function severityOf(id: AlarmId) {
  return severity.meta({
    description: `critical pages, warning is for the morning, off makes no alarm. Default: ${ALARMS[id].severity}.`,
    examples: ['warning'],
  });
}

function seconds(id: AlarmId) {
  const builtIn = formatDuration(ALARMS[id].threshold);
  return duration()
    .refine((value) => value >= SHORTEST_SECONDS && value <= LONGEST_SECONDS, {
      error: ({ input }) => {
        const value = Number(input);
        return value < SHORTEST_SECONDS
          ? `${formatDuration(value)} is over before anything is wrong; write 2m or more`
          : `${formatDuration(value)} is too long for an alarm; write 7d or less`;
      },
    })
    .meta({ description: `From when on it rings: 2m to 7d. Default: ${builtIn}.`, examples: [builtIn] });
}

function count(id: AlarmId) {
  const form = 'write a whole number, 1 or more';
  return z
    .int({ error: ({ input }) => `${form}, not ${kindOf(input)}`, abort: true })
    .min(1, { error: ({ input }) => `${String(input)} would always ring; ${form}` })
    .max(MOST_COUNTED, { error: `more than a fleet has; write ${MOST_COUNTED} or less` })
    .meta({ description: `From how many on it rings. Default: ${ALARMS[id].threshold}.`, examples: [5] });
}

/** @param of what it is a share of */
function share(id: AlarmId, of: string) {
  const form = 'write a share above 0 and below 1, for example 0.9';
  const wrong = ({ input }: { readonly input?: unknown }) => `${form}, not ${kindOf(input)}`;
  return z
    .number({ error: wrong })
    .gt(0, { error: wrong })
    .lt(1, { error: wrong })
    .meta({
      description: `From which share of ${of} on it rings. Default: ${ALARMS[id].threshold}.`,
      examples: [ALARMS[id].threshold],
    });
}

export function burn(id: AlarmId) {
  const form = 'write how many times faster than allowed, above 0, for example 14.4';
  const wrong = ({ input }: { readonly input?: unknown }) => `${form}, not ${kindOf(input)}`;
  return z
    .number({ error: wrong })
    .gt(0, { error: wrong })
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

const weekdays = list(z.enum(WEEKDAYS)).refine((days) => new Set(days).size === days.length, {
  error: 'a day is there twice; keep one of the two',
});

/** An entry of `monitoring.maintenance`. That it has one kind of time is a rule of the file. */
export const MaintenanceEntry = z
  .strictObject({
    clusters: list(fleetGlob).meta({
      description: 'Names or ids of the clusters. * stands for any characters.',
      examples: [['berlin-*']],
    }),
    reason: text('why, in a few words')
      .min(1, { error: 'an empty text; write why, in a few words, or remove the key' })
      .max(200, { error: 'write at most 200 characters' })
      .exactOptional()
      .meta({ description: 'Why; it is shown with the cluster.', examples: ['change 4711: new hypervisors'] }),
    from: instant.exactOptional().meta({ description: 'When it begins.', examples: ['2026-12-05T20:00:00+01:00'] }),
    until: instant.exactOptional().meta({ description: 'When it ends.', examples: ['2026-12-06T04:00:00+01:00'] }),
    weekly: z
      .strictObject({
        days: weekdays.meta({ description: 'The days on which it begins.', examples: [['sat']] }),
        from: clockTime.meta({ description: 'When it begins.', examples: ['02:00'] }),
        until: clockTime.meta({
          description:
            'When it ends; on the next day where that is not after from, so that the same time is a whole day.',
          examples: ['06:00'],
        }),
        timeZone: timeZone.meta({ description: 'By the clock of which time zone.', examples: ['Europe/Berlin'] }),
      })
      .exactOptional()
      .meta({ description: 'Every week, in place of from and until.' }),
  })
  .meta({ title: 'Maintenance' });

const OBJECTIVE_FORM = `write a share of the requests, ${LEAST_OBJECTIVE} or more and below 1, for example 0.999`;

/** `monitoring`: when somebody is told, and of what. */
export const Monitoring = z.strictObject({
  alarms: AlarmsSection.nullish().meta({
    description: 'Alarms that differ from what is built in, by name: another threshold, another severity, or off.',
    examples: [{ ClusterUnreadable: { threshold: '20m', severity: 'warning' } }],
  }),
  maintenance: z.array(MaintenanceEntry).max(100).nullish().meta({
    description:
      'When clusters are expected not to answer. It hides what that explains, and nothing else: a certificate that ends is told all the same.',
  }),
  objective: z
    .number({
      error: ({ input }) => `${OBJECTIVE_FORM}, not ${kindOf(input)}`,
    })
    .gte(LEAST_OBJECTIVE, { error: ({ input }) => `${String(input)} promises too little; ${OBJECTIVE_FORM}` })
    .lt(1, { error: ({ input }) => `${String(input)} leaves nothing that may fail; ${OBJECTIVE_FORM}` })
    .prefault(DEFAULT_MONITORING.objective)
    .meta({
      description: `The share of the requests of nodes that is accepted in time. Default: ${DEFAULT_MONITORING.objective}.`,
      examples: [0.999],
    }),
  digest: z
    .strictObject({
      at: clockTime
        .prefault(DEFAULT_MONITORING.digest.at)
        .meta({ description: `Default: ${DEFAULT_MONITORING.digest.at}.`, examples: ['07:00'] }),
      timeZone: timeZone.prefault(DEFAULT_MONITORING.digest.timeZone).meta({
        description: `By the clock of which time zone. Default: ${DEFAULT_MONITORING.digest.timeZone}.`,
        examples: ['Europe/Berlin'],
      }),
    })
    .prefault({})
    .meta({ description: 'When the daily digest goes out.' }),
  reportLinks: z.boolean().prefault(DEFAULT_MONITORING.reportLinks).meta({
    description:
      'Notifications carry a link that opens the report page, for whoever has it and for a few hours. Default: true.',
  }),
});
