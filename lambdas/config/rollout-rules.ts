import { z } from 'zod';
import { printable } from '../printable.ts';
import { DEFAULT_ROLLOUT_POLICY, type Lead } from '../rollout/policy.ts';
import { WEEKDAYS } from '../window/window.ts';
import { AUTHORITY_PIN, RecoveryEntry } from './recovery-entry.ts';
import { RolloutEntry } from './rollout-entry.ts';
import { type RuleProblem, readable, type Sections } from './rule.ts';
import { clockTime, instant } from './time-values.ts';
import type { Path } from './yaml-values.ts';

const Leads = z.object({ begin: RolloutEntry.shape.begin, stop: RolloutEntry.shape.stop });
const Windows = z.object({ windows: z.array(z.unknown()) });
const WindowFields = z.object({
  days: z.array(z.unknown()).optional(),
  from: z.string().optional(),
  until: z.string().optional(),
  timeZone: z.unknown().optional(),
});
const Globs = z.object({ clusters: z.array(z.unknown()) });
const RecoveredCluster = z.object({ cluster: z.string() });

const CLUSTERS = ['rollouts', 'clusters'] as const;
const DAY_SECONDS = 24 * 60 * 60;

export function rolloutRules({ rollouts, recovery }: Sections): readonly RuleProblem[] {
  return [
    ...stopsBeforeItBegins(rollouts),
    ...readable(rollouts, Windows).flatMap(({ index, data: { windows } }) =>
      windows.flatMap((window, at) => windowProblems(window, [...CLUSTERS, index, 'windows', at])),
    ),
    ...repeatedGlobs(rollouts),
    ...repeatedClusters(recovery),
    ...agesOfFingerprints(recovery),
  ];
}

/** Days and share as the file says, the rest as is built in. */
export function leadOf(said: z.output<typeof RolloutEntry.shape.begin> | undefined, builtIn: Lead): Lead {
  if (said === undefined) return builtIn;
  return typeof said === 'number' ? { ...builtIn, days: said / DAY_SECONDS } : { ...builtIn, ...said };
}

/** Of both the lesser counts, so that both have to be in order: for short lives it is the share. */
function stopsBeforeItBegins(rollouts: readonly unknown[]): readonly RuleProblem[] {
  return readable(rollouts, Leads).flatMap(({ index, data }) => {
    const begin = leadOf(data.begin, DEFAULT_ROLLOUT_POLICY.begin);
    const stop = leadOf(data.stop, DEFAULT_ROLLOUT_POLICY.stop);
    const key = data.stop === undefined ? 'begin' : 'stop';
    const path = [...CLUSTERS, index, key];
    if (begin.days <= stop.days)
      return [
        {
          path,
          message:
            key === 'stop'
              ? `${stop.days} days before the end is not after begin, ${begin.days} days before it; nothing could begin, so write fewer days`
              : `${begin.days} days before the end is not before stop, ${stop.days} days before it; nothing could begin, so write more days, or stop too`,
        },
      ];
    if (begin.share <= stop.share)
      return [
        {
          path,
          message:
            key === 'stop'
              ? `a share of ${stop.share} is not below that of begin, ${begin.share}; with a short life nothing could begin, so write less`
              : `a share of ${begin.share} is not above that of stop, ${stop.share}; with a short life nothing could begin, so write more`,
        },
      ];
    return [];
  });
}

function windowProblems(window: unknown, path: Path): readonly RuleProblem[] {
  const read = WindowFields.safeParse(window);
  if (!read.success) return [];
  const { days, from, until, timeZone } = read.data;
  if (days === undefined) {
    const wrong = wrongTimes({ from, until }, instant, path);
    if (timeZone !== undefined)
      return [
        {
          path: [...path, 'timeZone'],
          message:
            'only what is every week has one; write days too, or remove it: times of a day that are once carry their zone',
        },
      ];
    if (wrong.length > 0 || from === undefined || until === undefined) return wrong;
    return Date.parse(until) > Date.parse(from)
      ? []
      : [{ path: [...path, 'until'], message: `${until} is not after from, ${from}; write a later time` }];
  }
  const wrong = wrongTimes({ from, until }, clockTime, path);
  if (timeZone === undefined)
    return [
      ...wrong,
      { path: [...path, 'timeZone'], message: 'missing; write a time zone, for example Europe/Berlin' },
    ];
  // Whoever opens it always has none, and had better say so.
  return wrong.length === 0 && from !== undefined && from === until && WEEKDAYS.every((day) => days.includes(day))
    ? [
        {
          path,
          message: 'never ends: every day it is a whole day; remove it, because without windows any time is good',
        },
      ]
    : wrong;
}

function wrongTimes(
  times: Readonly<Record<'from' | 'until', string | undefined>>,
  kind: z.ZodType<string>,
  path: Path,
): readonly RuleProblem[] {
  return Object.entries(times).flatMap(([key, time]) => {
    if (time === undefined) return [];
    const read = kind.safeParse(time);
    return (read.error?.issues ?? []).slice(0, 1).map(({ message }) => ({ path: [...path, key], message }));
  });
}

/** The first entry that matches a cluster counts: a second one with the same glob never does, nor does any after one for all clusters. */
function repeatedGlobs(rollouts: readonly unknown[]): readonly RuleProblem[] {
  const first = new Map<string, number>();
  return readable(rollouts, Globs).flatMap(({ index, data: { clusters } }) => {
    const all = first.get('*');
    if (all !== undefined) {
      const message = `never counts: rollouts.clusters[${all}] is for "*", and the first one that matches counts; write this one before it`;
      return [{ path: [...CLUSTERS, index], message }];
    }
    return clusters.flatMap((glob, at) => {
      if (typeof glob !== 'string') return [];
      const earlier = first.get(glob);
      first.set(glob, earlier ?? index);
      if (earlier === undefined) return [];
      const message = `"${printable(glob, 100)}" is in rollouts.clusters[${earlier}] already, and the first one counts; keep one of the two`;
      return [{ path: [...CLUSTERS, index, 'clusters', at], message }];
    });
  });
}

/** A fingerprint is accepted at any age. */
function agesOfFingerprints(recovery: readonly unknown[]): readonly RuleProblem[] {
  return readable(recovery, RecoveryEntry).flatMap(({ index, data: { pin, expiredAtMost } }) =>
    expiredAtMost === undefined || pin === AUTHORITY_PIN
      ? []
      : [
          {
            path: ['recovery', index, 'expiredAtMost'],
            message: 'goes with pin: authority; a fingerprint is accepted at any age, so take it out',
          },
        ],
  );
}

function repeatedClusters(recovery: readonly unknown[]): readonly RuleProblem[] {
  const first = new Map<string, number>();
  return readable(recovery, RecoveredCluster).flatMap(({ index, data: { cluster } }) => {
    const earlier = first.get(cluster);
    first.set(cluster, earlier ?? index);
    if (earlier === undefined) return [];
    const message = `"${printable(cluster, 100)}" is the cluster of recovery[${earlier}] too; keep one of the two`;
    return [{ path: ['recovery', index, 'cluster'], message }];
  });
}
