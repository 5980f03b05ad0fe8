import type { Observation } from '../contracts/observation.ts';
import { MAX_OBSERVATIONS } from '../contracts/snapshot.ts';
import { eachInSteps, mapInSteps, type Steps, sortInSteps } from '../steps.ts';
import type { SourceId } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES, type Layer } from '../tables/certificate-classes.ts';
import { compare, timeOf } from '../words.ts';
import { classOf } from './certificates.ts';
import type { Draft } from './rules/draft.ts';

/** Bytes of the JSON of all observations; ordinary ones have under 800. */
const MAX_BYTES = 40 * 1024 * 1024;

export interface BoundObservations {
  /** In their original order. */
  readonly kept: readonly Observation[];
  readonly left: readonly Observation[];
}

/**
 * Limits the observations of an audit. Above the limits, the least important go first: whatever workloads can multiply
 * before anything of the cluster itself. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function* boundInSteps(all: readonly Observation[], now: number): Steps<BoundObservations> {
  const sizes = new Map(yield* mapInSteps(all, (observation) => [observation, bytesOf(observation)]));
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  if (all.length <= MAX_OBSERVATIONS && total <= MAX_BYTES) return { kept: all, left: [] };
  const kept = new Set<Observation>();
  let room = MAX_BYTES;
  yield* eachInSteps(yield* byImportance(all, now), (observation) => {
    const size = sizes.get(observation) ?? 0;
    if (kept.size >= MAX_OBSERVATIONS || size > room) return;
    kept.add(observation);
    room -= size;
  });
  return { kept: all.filter((one) => kept.has(one)), left: all.filter((one) => !kept.has(one)) };
}

/** Reported by every audit that drops observations: they are unknown if their source cannot be read next time. */
export function cutFindings({ kept, left }: BoundObservations): readonly Draft[] {
  if (left.length === 0) return [];
  const bySource = [...Map.groupBy(left, ({ source }) => source)].toSorted(
    ([a, one], [b, other]) => other.length - one.length || compare(a, b),
  );
  const own = left.filter((observation) => tierOf(observation) !== 'workloads').length;
  return [
    {
      code: 'SourcePartial',
      severity: 'warning',
      object: 'snapshot',
      facts: {
        of: 'snapshot',
        count: left.length,
        all: kept.length + left.length,
        cluster: own,
        sources: bySource.map(([source, { length }]) => ({ source, count: length })),
      },
    },
  ];
}

/** The most important first. The number of requesters that are not nodes is unbounded. */
const TIERS = ['cluster', 'control plane', 'nodes', 'requesters', 'workloads'] as const;
type Tier = (typeof TIERS)[number];

/** Sources whose places workloads create. */
const OF_WORKLOADS: ReadonlySet<SourceId> = new Set<SourceId>([
  'signing-requests',
  'webhooks',
  'api-services',
  'crd-conversions',
  'cert-manager',
  'tls-secrets',
]);

function tierOf(observation: Observation): Tier {
  if ('issued' in observation && observation.issued !== undefined && observation.member === undefined)
    return 'requesters';
  switch (observation.kind) {
    case 'certificate':
      if (observation.issued?.verdict === 'names-another') return 'control plane';
      return tierOfLayer(CERTIFICATE_CLASSES[classOf(observation)].layer);
    case 'unread':
      if (observation.where === undefined) return 'cluster';
      if (observation.what !== undefined) return tierOfLayer(CERTIFICATE_CLASSES[observation.what].layer);
      return OF_WORKLOADS.has(observation.source) ? 'workloads' : 'nodes';
    case 'member':
    case 'renewal':
      return 'nodes';
    case 'group':
    case 'requests':
    case 'authority':
    case 'clock':
    case 'read':
    case 'off':
      return 'cluster';
  }
}

function tierOfLayer(layer: Layer): Tier {
  if (layer === 'workload') return 'workloads';
  return layer === 'node' ? 'nodes' : 'control plane';
}

/**
 * Sorts by tier. Within a tier, certificates whose expiry is nearest to now, past or future, come first, unread places
 * last.
 */
function* byImportance(all: readonly Observation[], now: number): Steps<readonly Observation[]> {
  const weighed = yield* mapInSteps(all, (observation) => ({
    observation,
    tier: TIERS.indexOf(tierOf(observation)),
    away:
      observation.kind === 'certificate'
        ? Math.abs((timeOf(observation.notAfter) ?? now) - now)
        : Number(observation.kind === 'unread') * Number.MAX_SAFE_INTEGER,
    place: 'where' in observation ? observation.where : '',
  }));
  const sorted = yield* sortInSteps(
    weighed,
    (a, b) => a.tier - b.tier || a.away - b.away || compare(a.place ?? '', b.place ?? ''),
  );
  return sorted.map(({ observation }) => observation);
}

function bytesOf(observation: Observation): number {
  return Buffer.byteLength(JSON.stringify(observation)) + 1;
}
