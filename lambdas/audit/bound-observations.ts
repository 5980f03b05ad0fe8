import type { Observation } from '../contracts/observation.ts';
import { mapInSteps, type Steps } from '../steps.ts';
import { REMEMBERED_SOURCES } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { compare, timeOf } from '../words.ts';
import type { Draft } from './rules/draft.ts';

/** Bytes of the observations of a snapshot; ordinary ones have under 800. */
const MAX_BYTES = 40 * 1024 * 1024;

/**
 * The observations that fit in a snapshot: those of the cluster itself before those of nodes, and these before what
 * workloads and requesters can multiply; of each, what expires next. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function* boundInSteps(all: readonly Observation[], now: number): Steps<readonly Observation[]> {
  const sized = yield* mapInSteps(all, (one) => ({ one, bytes: Buffer.byteLength(JSON.stringify(one)) + 1 }));
  let room = MAX_BYTES;
  if (sized.reduce((sum, { bytes }) => sum + bytes, 0) <= room) return all;
  const weighed = yield* mapInSteps(sized, (each) => ({ ...each, ...weightOf(each.one, now) }));
  weighed.sort((a, b) => a.layer - b.layer || a.away - b.away || compare(a.place, b.place));
  return weighed.flatMap(({ one, bytes }) => {
    if (bytes > room) return [];
    room -= bytes;
    return [one];
  });
}

function weightOf(one: Observation, now: number) {
  const [what, place] = ['what' in one ? one.what : undefined, 'where' in one ? one.where : undefined];
  const { layer } = what === undefined ? { layer: undefined } : CERTIFICATE_CLASSES[what];
  const isOfRequester = REMEMBERED_SOURCES.has(one.source) && 'where' in one && one.member === undefined;
  const isOfAnyone = layer === 'workload' || isOfRequester || (layer === undefined && place !== undefined);
  return {
    layer: isOfAnyone ? 2 : Number(layer === 'node'),
    // What ends soon, or just ended, comes first, and places that were not read last.
    away:
      one.kind === 'certificate' ? Math.abs((timeOf(one.notAfter) ?? now) - now) : one.kind === 'unread' ? Infinity : 0,
    place: place ?? '',
  };
}

/** Reported by every audit that drops observations: they are unknown if their source cannot be read next time. */
export function cutFindings(all: readonly Observation[], kept: readonly Observation[]): readonly Draft[] {
  const left = all.length - kept.length;
  if (left === 0) return [];
  return [
    {
      code: 'SourcePartial',
      severity: 'warning',
      object: 'snapshot',
      facts: { of: 'snapshot', count: left, all: all.length },
    },
  ];
}
