import { z } from 'zod';
import { printable } from '../printable.ts';
import { ACCEPTANCES, DEFAULT_ROLLOUT_POLICY, FLOOR_DAYS } from '../rollout/policy.ts';
import { WEEKDAYS } from '../window/window.ts';
import { kindOf } from './describe-issue.ts';
import { formatDuration } from './duration.ts';
import { timeZone } from './time-values.ts';
import { duration, fleetGlob, list, text } from './values.ts';

const DAY_SECONDS = 24 * 60 * 60;
/** Kubernetes issues for a year: earlier than that a new certificate would be due. Whoever issues for ten has time enough, too. */
const LONGEST_DAYS = 300;
const SHORTEST_PAUSE_SECONDS = 10 * 60;
const LONGEST_PAUSE_SECONDS = 30 * DAY_SECONDS;
const MOST_AT_ONCE = 10;
const MOST_ENTRIES = 100;
const MOST_WINDOWS = 20;

const DAYS_FORM = 'write a whole number of days';
const SHARE_FORM = 'write a share of the life above 0 and below 1, for example 0.3';
const AT_ONCE_FORM = `write a whole number, 1 to ${MOST_AT_ONCE}`;

/** @param least days below which it cannot be meant, and why */
function lead(least: number, tooFew: string) {
  const daysProblem = (days: number): string | undefined => {
    if (days < least) return tooFew;
    if (days > LONGEST_DAYS)
      return `almost the whole year that these certificates live; write ${LONGEST_DAYS}d or less`;
    return Number.isInteger(days) ? undefined : 'no whole number of days; write, for example, 45d';
  };
  const share = { share: shareOfLife.exactOptional() };
  return z.union([
    duration().refine((seconds) => daysProblem(seconds / DAY_SECONDS) === undefined, {
      error: ({ input }) => `${formatDuration(Number(input))} is ${daysProblem(Number(input) / DAY_SECONDS)}`,
    }),
    z.strictObject({
      days: z
        .int({
          error: ({ input }) => (input === undefined ? `missing; ${DAYS_FORM}` : `${DAYS_FORM}, not ${kindOf(input)}`),
          abort: true,
        })
        .refine((days) => daysProblem(days) === undefined, {
          error: ({ input }) => `${String(input)} days is ${daysProblem(Number(input))}`,
        })
        .meta({ description: 'Days before the end.', examples: [45] }),
      ...share,
    }),
  ]);
}

const wrongShare = ({ input }: { readonly input?: unknown }) => `${SHARE_FORM}, not ${kindOf(input)}`;
const shareOfLife = z
  .number({ error: wrongShare })
  .gt(0, { error: wrongShare })
  .lt(1, { error: wrongShare })
  .meta({ description: 'Or this share of the whole life, where that is less.', examples: [0.3] });

const { begin, stop } = DEFAULT_ROLLOUT_POLICY;

const weekdays = list(z.enum(WEEKDAYS)).refine((days) => new Set(days).size === days.length, {
  error: 'a day is there twice; keep one of the two',
});

/** Which of the two kinds it is, and that both of its times are of that kind, are rules of the file. */
const RolloutWindow = z.strictObject({
  days: weekdays
    .exactOptional()
    .meta({ description: 'Every week: the days on which it begins. Left out, it is once.', examples: [['sat']] }),
  from: text('when it begins').meta({
    description: 'When it begins: the time of a day, or where it is once a date and time with its zone.',
    examples: ['02:00', '2026-12-05T20:00:00+01:00'],
  }),
  until: text('when it ends').meta({
    description:
      'When it ends. Every week it is on the next day where that is not after from, so that the same time is a whole day.',
    examples: ['06:00', '2026-12-06T04:00:00+01:00'],
  }),
  timeZone: timeZone
    .exactOptional()
    .meta({ description: 'Every week: by the clock of which time zone.', examples: ['Europe/Berlin'] }),
});

/** Who means to close every window must not open them all. */
const NO_WINDOW = 'an empty list; leave it out for any time, or write a window';

const ETCD_MODES = ['assist', 'auto-experimental'] as const;

/** No "did you mean": nobody is to be led to what is experimental by a misspelling. */
const wrongEtcd = ({ input }: { readonly input?: unknown }) =>
  `${typeof input === 'string' ? `"${printable(input, 60)}" is not known here; ` : ''}write one of ${ETCD_MODES.join(', ')}${typeof input === 'string' ? '' : `, not ${kindOf(input)}`}`;

/** An entry of `rollouts.clusters`. */
export const RolloutEntry = z
  .strictObject({
    clusters: list(fleetGlob).meta({
      description:
        'Ids of the clusters: management/namespace/name and account/Region/name of those that are found, else what this file calls them. * stands for any characters but a slash, and alone for every cluster; names do not count, because whoever makes a cluster chooses its own. The first entry that matches counts.',
      examples: [['berlin-mgmt/eksa-system/*']],
    }),
    begin: lead(FLOOR_DAYS + 1, `too late to begin; write ${FLOOR_DAYS + 1}d or more`)
      .exactOptional()
      .meta({
        description: `How long before the end of the certificates a rollout may begin: days, or a share of their life where that is less. Default: ${begin.days}d, or a share of ${begin.share}.`,
        examples: ['45d', { days: 45, share: 0.3 }],
      }),
    stop: lead(FLOOR_DAYS, `too short to mend what goes wrong; write ${FLOOR_DAYS}d or more`)
      .exactOptional()
      .meta({
        description: `From when on none begins by itself any more: from then on people have to. Default: ${stop.days}d, or a share of ${stop.share}.`,
        examples: ['10d', { days: 10, share: 0.1 }],
      }),
    windows: z.array(RolloutWindow).min(1, { error: NO_WINDOW }).max(MOST_WINDOWS).exactOptional().meta({
      description: 'Where there are any, nothing begins outside of them. Default: none, so that any time is good.',
    }),
    etcd: z
      .enum(ETCD_MODES, { error: wrongEtcd })
      .prefault(DEFAULT_ROLLOUT_POLICY.etcd)
      .meta({
        description:
          'Clusters with external etcd: assist tells a person the command, auto-experimental renews etcd too. Default: assist.',
        examples: ['assist'],
      }),
    accepted: z
      .array(z.enum(ACCEPTANCES))
      .prefault([])
      .refine((all) => new Set(all).size === all.length, { error: 'something is there twice; keep one of the two' })
      .meta({
        description:
          'What no API tells, and you vouch for. single-replica: the API server is away while its one machine is replaced. no-surge: a machine goes before its successor comes. spare-capacity: there is room for one machine more. etcd-backup: etcd is backed up, and that was tried.',
        examples: [['spare-capacity', 'etcd-backup']],
      }),
    nodeGroups: z.boolean().prefault(DEFAULT_ROLLOUT_POLICY.nodeGroups).meta({
      description:
        'EKS: update managed node groups whose nodes are older than the successor of the authority. Default: false.',
    }),
  })
  .meta({ title: 'Rollouts' });

/** `rollouts`: control planes whose machines are replaced before their certificates end. */
export const Rollouts = z.strictObject({
  atOnce: z
    .int({ error: ({ input }) => `${AT_ONCE_FORM}, not ${kindOf(input)}`, abort: true })
    .min(1, { error: ({ input }) => `${String(input)} lets nothing begin; ${AT_ONCE_FORM}` })
    .max(MOST_AT_ONCE, { error: ({ input }) => `${String(input)} at once is too much of a fleet; ${AT_ONCE_FORM}` })
    .exactOptional()
    .meta({
      description: `Clusters of the fleet that roll at a time: 1 to ${MOST_AT_ONCE}. Default: 1.`,
      examples: [1],
    }),
  pause: duration()
    .refine((seconds) => seconds >= SHORTEST_PAUSE_SECONDS && seconds <= LONGEST_PAUSE_SECONDS, {
      error: ({ input }) =>
        Number(input) < SHORTEST_PAUSE_SECONDS
          ? `${formatDuration(Number(input))} shows nothing of how the last one went; write 10m or more`
          : `${formatDuration(Number(input))} is too long for a fleet to get done; write 30d or less`,
    })
    .exactOptional()
    .meta({ description: 'Between two starts: 10m to 30d. Default: 1h.', examples: ['1h'] }),
  clusters: z.array(RolloutEntry).max(MOST_ENTRIES).nullish().meta({
    description:
      'Clusters whose owner agreed, in the annotation certmarshal.dev/rollout-mode too. Without an entry nothing rolls.',
  }),
});
