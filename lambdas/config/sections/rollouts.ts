import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import { printable } from '../../printable.ts';
import {
  ACCEPTANCES,
  DEFAULT_ROLLOUT_LIMITS,
  DEFAULT_ROLLOUT_POLICY,
  FLOOR_DAYS,
  type Lead,
  type RolloutPolicy,
} from '../../rollout/policy.ts';
import { WEEKDAYS } from '../../window/window.ts';
import { kindOf } from '../describe-issue.ts';
import { clockTime, instant, timeZone, weekdays } from '../time-values.ts';
import { distinct, duration, fleetGlob, list, refusing, section, share, text, whole, wrong } from '../values.ts';
import { repeats, type Written } from '../written.ts';

const DAY_SECONDS = 24 * 60 * 60;
/**
 * Kubernetes issues for a year: with an earlier lead a new certificate would already be due. An issuer of ten years
 * leaves enough time, too.
 */
const MAX_DAYS = 300;
const SHORTEST_PAUSE_SECONDS = 10 * 60;
const MAX_PAUSE_SECONDS = 30 * DAY_SECONDS;
const MAX_AT_ONCE = 10;
const MAX_ENTRIES = 100;
const MAX_WINDOWS = 20;

const DAYS_FORM = 'write a whole number of days';
const SHARE_FORM = 'write a share of the lifetime above 0 and below 1, for example 0.3';
const AT_ONCE_FORM = `write a whole number, 1 to ${MAX_AT_ONCE}`;

const shareOfLife = share(SHARE_FORM).meta({
  description: 'Or this share of the whole lifetime, if that is less.',
  examples: [0.3],
});

/** @param least days below which it is surely a mistake, and why */
function lead(least: number, tooFew: string) {
  const daysProblem = (days: number): string | undefined => {
    if (days < least) return `is ${tooFew}`;
    if (days > MAX_DAYS)
      return `is almost the whole year that these certificates are valid; write ${MAX_DAYS}d or less`;
    return Number.isInteger(days) ? undefined : 'is not a whole number of days; write, for example, 45d';
  };
  return z.union([
    duration((seconds) => daysProblem(seconds / DAY_SECONDS)),
    z.strictObject({
      days: refusing(whole(DAYS_FORM), daysProblem, (days) => `${days} days`).meta({
        description: 'Days before the certificates expire.',
        examples: [45],
      }),
      share: shareOfLife.exactOptional(),
    }),
  ]);
}

const { begin, stop } = DEFAULT_ROLLOUT_POLICY;

/** Rules of the file check its kind, and that both of its times are of that kind. */
const RolloutWindow = z.strictObject({
  days: weekdays.exactOptional().meta({
    description: 'Weekly: the days on which it begins. Without days, the window is open once.',
    examples: [['sat']],
  }),
  from: text('when it begins').meta({
    description: 'When it begins: a time of day, or for a window that is open once, a date and time with zone.',
    examples: ['02:00', '2026-12-05T20:00:00+01:00'],
  }),
  until: text('when it ends').meta({
    description:
      'When it ends. If a weekly window does not end after from, it ends on the next day; the same time means a whole day.',
    examples: ['06:00', '2026-12-06T04:00:00+01:00'],
  }),
  timeZone: timeZone
    .exactOptional()
    .meta({ description: 'Weekly: time zone of the times.', examples: ['Europe/Berlin'] }),
});

/** An empty list, meant to close every window, must not open them all. */
const NO_WINDOW = 'an empty list; leave it out for any time, or write a window';

const ETCD_MODES = ['assist', 'auto-experimental'] as const;

/** No "did you mean": a typing error must not lead to an experimental option. */
const wrongEtcd = ({ input }: { readonly input?: unknown }) =>
  `${typeof input === 'string' ? `"${printable(input, 60)}" is not known here; ` : ''}write one of ${ETCD_MODES.join(', ')}${typeof input === 'string' ? '' : `, not ${kindOf(input)}`}`;

/** An entry of `rollouts.clusters`. */
const RolloutEntry = z
  .strictObject({
    clusters: list(fleetGlob).meta({
      description:
        'Ids of the clusters: management/namespace/name or account/Region/name for discovered ones, the id in this file for others. * stands for any characters but a slash; alone it stands for every cluster. Names do not count, because the creator of a cluster chooses its name. The first entry that matches counts.',
      examples: [['berlin-mgmt/eksa-system/*']],
    }),
    begin: lead(FLOOR_DAYS + 1, `too late to begin; write ${FLOOR_DAYS + 1}d or more`)
      .exactOptional()
      .meta({
        description: `How long before the certificates expire a rollout may begin: days, or a share of their lifetime if that is less. Default: ${begin.days}d, or a share of ${begin.share}.`,
        examples: ['45d', { days: 45, share: 0.3 }],
      }),
    stop: lead(FLOOR_DAYS, `too short to fix what goes wrong; write ${FLOOR_DAYS}d or more`)
      .exactOptional()
      .meta({
        description: `From then on no rollout begins automatically; a person has to begin it. Default: ${stop.days}d, or a share of ${stop.share}.`,
        examples: ['10d', { days: 10, share: 0.1 }],
      }),
    windows: z
      .array(RolloutWindow)
      .min(1, { error: NO_WINDOW })
      .max(MAX_WINDOWS)
      .exactOptional()
      .describe('Rollouts begin only in these windows. Default: none; any time is allowed.'),
    etcd: z
      .enum(ETCD_MODES, { error: wrongEtcd })
      .prefault(DEFAULT_ROLLOUT_POLICY.etcd)
      .meta({
        description:
          'Clusters with external etcd: assist shows the command for a person, auto-experimental renews etcd too. Default: assist.',
        examples: ['assist'],
      }),
    accepted: distinct(z.array(z.enum(ACCEPTANCES)), 'something appears twice')
      .prefault([])
      .meta({
        description:
          'Facts that no API shows and that you vouch for. single-replica: the API server may be down while its only machine is replaced. no-surge: a machine is removed before its successor is created. spare-capacity: there is room for one more machine. etcd-backup: etcd is backed up, and restoring was tested.',
        examples: [['spare-capacity', 'etcd-backup']],
      }),
  })
  .meta({ title: 'Rollouts' })
  .transform(
    ({ begin: begins, stop: stops, windows = [], ...entry }): RolloutPolicy => ({
      ...entry,
      begin: leadOf(begins, begin),
      stop: leadOf(stops, stop),
      // Without a time zone, which a rule rejects, it is never open.
      windows: windows.map(({ days, timeZone: zone = '', ...times }) =>
        days === undefined ? times : { days, ...times, timeZone: zone },
      ),
    }),
  );

/** `rollouts`: control planes whose machines are replaced before their certificates expire. */
export const Rollouts = section(
  z
    .strictObject({
      atOnce: whole(AT_ONCE_FORM)
        .min(1, wrong(`allows no rollout at all; ${AT_ONCE_FORM}`))
        .max(MAX_AT_ONCE, wrong(`at the same time is too much of a fleet; ${AT_ONCE_FORM}`))
        .exactOptional()
        .meta({
          description: `Clusters of the fleet that roll at the same time: 1 to ${MAX_AT_ONCE}. Default: 1.`,
          examples: [1],
        }),
      pause: duration(pauseProblem)
        .exactOptional()
        .meta({ description: 'Pause between two starts: 10m to 30d. Default: 1h.', examples: ['1h'] }),
      clusters: z
        .array(RolloutEntry)
        .max(MAX_ENTRIES)
        .nullish()
        .describe(
          'Clusters whose owner also agreed, by the annotation certmarshal.dev/rollout-mode. Without an entry nothing rolls.',
        ),
    })
    .transform(({ atOnce, pause, clusters }) => ({
      atOnce: atOnce ?? DEFAULT_ROLLOUT_LIMITS.atOnce,
      pauseMs: pause === undefined ? DEFAULT_ROLLOUT_LIMITS.pauseMs : pause * 1_000,
      clusters: clusters ?? [],
    })),
  {},
).describe('Control planes whose machines are replaced before their certificates expire. Only listed ones are.');

export type FleetRollouts = Contract<typeof Rollouts>;

function pauseProblem(seconds: number): string | undefined {
  if (seconds < SHORTEST_PAUSE_SECONDS) return 'is too short to see how the last one went; write 10m or more';
  return seconds > MAX_PAUSE_SECONDS ? 'is too long to get through a fleet; write 30d or less' : undefined;
}

/** Days and share from the file, the rest from the defaults. */
function leadOf(said: z.output<ReturnType<typeof lead>> | undefined, builtIn: Lead): Lead {
  return typeof said === 'number' ? { ...builtIn, days: said / DAY_SECONDS } : { ...builtIn, ...said };
}

type WrittenEntry = Written<typeof RolloutEntry>;

export function rolloutRules(rollouts: Written<typeof Rollouts>): void {
  const { entries } = rollouts.at('clusters');
  firstMatch(entries);
  for (const entry of entries) {
    stopsAfterItBegins(entry);
    for (const window of entry.at('windows').entries) windowRules(window);
  }
}

/** The smaller of the two counts, so both must be in order: for short lifetimes it is the share. */
function stopsAfterItBegins(entry: WrittenEntry): void {
  const read = entry.pick('begin', 'stop');
  if (read === undefined) return;
  const [begins, stops] = [leadOf(read.begin, begin), leadOf(read.stop, stop)];
  const refuse = (ofBegin: string, ofStop: string) =>
    read.stop === undefined ? entry.refuse(ofBegin, 'begin') : entry.refuse(ofStop, 'stop');
  if (begins.days <= stops.days)
    refuse(
      `${begins.days} days before expiry is not before stop, ${stops.days} days before it; nothing could begin, so write more days, or stop too`,
      `${stops.days} days before expiry is not after begin, ${begins.days} days before it; nothing could begin, so write fewer days`,
    );
  else if (begins.share <= stops.share)
    refuse(
      `a share of ${begins.share} is not above that of stop, ${stops.share}; with a short lifetime nothing could begin, so write more`,
      `a share of ${stops.share} is not below that of begin, ${begins.share}; with a short lifetime nothing could begin, so write less`,
    );
}

function windowRules(window: Written<typeof RolloutWindow>): void {
  const [days, from, until, zone] = [window.at('days'), window.at('from'), window.at('until'), window.at('timeZone')];
  if (days.isMissing && !zone.isMissing)
    return zone.refuse(
      'only a weekly window has one; write days too, or remove it: a window that is open once has the zone in its times',
    );
  if (!days.isMissing && zone.isMissing) zone.refuse('missing; write a time zone, for example Europe/Berlin');
  const kind = days.isMissing ? instant : clockTime;
  const [begins, ends] = [from, until].map((time) => {
    const read = kind.safeParse(time.text);
    if (time.text !== undefined && !read.success) time.refuse(read.error.issues[0]?.message ?? '');
    return read.data;
  });
  if (begins === undefined || ends === undefined) return;
  if (days.isMissing && Date.parse(ends) <= Date.parse(begins))
    until.refuse(`${ends} is not after from, ${begins}; write a later time`);
  // An always open window is none, and should be written so.
  const written = days.entries.map(({ text: day }) => day);
  if (!zone.isMissing && begins === ends && WEEKDAYS.every((day) => written.includes(day)))
    window.refuse('never ends: it covers every day completely; remove it, because without windows any time is allowed');
}

/** The first matching entry counts: a second one with the same glob never does, nor any after one for all clusters. */
function firstMatch(entries: readonly WrittenEntry[]): void {
  const all = entries.findIndex((entry) => entry.at('clusters').entries.some(({ text: glob }) => glob === '*'));
  const counting = all === -1 ? entries : entries.slice(0, all + 1);
  for (const entry of entries.slice(counting.length))
    if (entry.at('clusters').list !== undefined)
      entry.refuse(
        `never counts: ${entries[all]?.place} is for "*", and the first one that matches counts; write this one before it`,
      );
  const globs = counting.flatMap((entry) => entry.at('clusters').entries.map((glob) => ({ entry, glob })));
  for (const [{ glob }, { entry }, key] of repeats(globs, (each) => each.glob.text))
    glob.refuse(`"${printable(key, 100)}" is in ${entry.place} already, and the first one counts; keep one of the two`);
}
