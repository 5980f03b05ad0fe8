import { namesOf } from '../../contracts/facts.ts';
import type { ExpiryFinding } from '../../contracts/finding.ts';
import type { CertificateObservation, Observation, UnreadObservation } from '../../contracts/observation.ts';
import { REMEMBERED_SOURCES, type SourceId } from '../../tables/audit-sources.ts';
import { codeOfUnread, type FindingCode, SEVERITIES } from '../../tables/finding-codes.ts';
import { DAY_MS, timestamp } from '../../time.ts';
import { compare, timeOf } from '../../words.ts';
import type { KnownCertificate } from '../certificates.ts';
import { type KnownObservations, placeOf } from '../keep-observations.ts';
import type { Draft } from './draft.ts';
import { issuedOf } from './issued.ts';
import type { Stake } from './stakes.ts';
import { expirySeverity, type Thresholds } from './thresholds.ts';

const GAPS: ReadonlySet<FindingCode> = new Set(['SourceUnread', 'SourcePartial', 'SourceLost']);

/** A shorter failure is a disturbance; after this, the state of the cluster is unknown. Milliseconds. */
const LOST_MS = DAY_MS;

export interface Unknown {
  readonly known: KnownObservations;
  readonly certificates: readonly KnownCertificate[];
  readonly staked: ReadonlyMap<Observation, Stake>;
  /** Findings of the previous audit. */
  readonly findings: readonly ExpiryFinding[];
  readonly thresholds: Thresholds;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Findings about what could not be read: never silent, and worse after a day. */
export function unreadFindings(unknown: Unknown): readonly Draft[] {
  return [...unreadSources(unknown), ...unreadPlaces(unknown)];
}

/** Sources that failed completely, and those with earlier observations that were not read now. */
function unreadSources(unknown: Unknown): readonly Draft[] {
  const { known, findings, now } = unknown;
  const failures = new Map<SourceId, UnreadObservation>();
  const looked = new Set<SourceId>();
  for (const observation of known.all) {
    const { source } = observation;
    if (observation.kind === 'unread' && observation.where === undefined) {
      const other = failures.get(source);
      if (other === undefined || compare(observation.message, other.message) < 0) failures.set(source, observation);
    } else if (!known.kept.has(observation)) looked.add(source);
  }
  const keptOf = Map.groupBy(known.kept, ({ source }) => source);
  // The clock is read from other answers: if there were none, other findings say so.
  const silent = [...keptOf.keys()].filter(
    (source) => source !== 'clock' && !looked.has(source) && !failures.has(source),
  );
  return [...failures.keys(), ...silent].map((source) => {
    const failure = failures.get(source);
    const kept = keptOf.get(source) ?? [];
    const lastSeen = lastSeenOf(source, kept);
    const since = Math.min(now, lastSeen ?? now, ...beginningsOf(findings, source));
    const count = kept.filter(({ kind }) => kind === 'certificate').length;
    const isLost = now - since > LOST_MS;
    const isBiting = isLost && bites(unknown, (said) => said.source === source && known.kept.has(said));
    const isPartial = looked.has(source);
    return {
      code: isLost ? 'SourceLost' : isPartial ? 'SourcePartial' : 'SourceUnread',
      severity: isBiting ? 'critical' : 'warning',
      object: `source ${source}`,
      lastSeen,
      since: timestamp(since),
      facts: {
        of: 'source',
        source,
        problem: failure?.problem,
        message: failure?.message,
        remedy: failure?.remedy,
        isPartial: isPartial || undefined,
        certificates: count,
      },
    };
  });
}

function lastSeenOf(source: SourceId, kept: readonly Observation[]): number | undefined {
  // Remembered observations are old even if their source was read.
  if (REMEMBERED_SOURCES.has(source)) return undefined;
  return greatest(kept.flatMap(({ kind, observedAt }) => (kind === 'unread' ? [] : (timeOf(observedAt) ?? []))));
}

/** Since when a source has gaps, according to the previous audit. */
function beginningsOf(findings: readonly ExpiryFinding[], source: SourceId): readonly number[] {
  const objects = [`source ${source}`, `places of ${source}`];
  return findings
    .filter(({ code, object }) => GAPS.has(code) && objects.includes(object))
    .flatMap(({ since }) => timeOf(since) ?? []);
}

/** One finding for each source, class and kind of problem: a broken network is one problem, not thousands. */
function unreadPlaces(unknown: Unknown): readonly Draft[] {
  const { known, staked, now } = unknown;
  const seenAt = lastSeenAt(known.kept);
  const seen = (place: UnreadObservation): number | undefined => seenAt.get(placeOf(place));
  const places = known.all
    .filter((observation) => observation.kind === 'unread')
    .filter(isPlace)
    // Verdicts report issued certificates.
    .filter((place) => issuedOf(place) === undefined && (place.usual !== true || seen(place) !== undefined));
  const stakeOf = (place: UnreadObservation): Stake => staked.get(place) ?? { severity: 'warning' };
  const groups = Map.groupBy(places, ({ source, what, problem }) => `${codeOfUnread(problem)} ${source} ${what}`);
  return [...groups.values()].flatMap((group) => {
    const sorted = group.toSorted(
      (a, b) =>
        SEVERITIES.indexOf(stakeOf(a).severity) - SEVERITIES.indexOf(stakeOf(b).severity) ||
        compare(a.where, b.where) ||
        compare(a.problem, b.problem) ||
        compare(a.message, b.message),
    );
    const [first] = sorted;
    if (first === undefined) return [];
    const { source, what } = first;
    const wheres = [...new Set(sorted.map(({ where }) => where))];
    const old = sorted.filter((place) => now - (seen(place) ?? now) > LOST_MS);
    const code = codeOfUnread(first.problem);
    const isLost = code === 'Unreachable' && old.length > 0;
    const lost = new Set(old.map(placeOf));
    const isBiting = isLost && bites(unknown, (said) => lost.has(placeOf(said)));
    const count = new Set(old.map(({ where }) => where)).size;
    const { severity, effect } = stakeOf(first);
    const looks = sorted.flatMap((place) => seen(place) ?? []);
    return [
      {
        code: isLost ? 'SourceLost' : code,
        severity: isBiting ? 'critical' : severity,
        object: what === undefined ? `places of ${source}` : `${source} ${what}`,
        what,
        places: wheres,
        lastSeen: looks.reduce<number | undefined>((oldest, at) => Math.min(oldest ?? at, at), undefined),
        facts: {
          of: 'places',
          source,
          places: namesOf(wheres),
          problems: [...Map.groupBy(sorted, ({ problem }) => problem)]
            .toSorted(([a], [b]) => compare(a, b))
            .slice(0, 20)
            .map(([problem, same]) => ({ problem, count: same.length })),
          message: first.message,
          remedy: first.remedy,
          effect,
          lost: count,
        },
      },
    ];
  });
}

function isPlace(unread: UnreadObservation): unread is UnreadObservation & { readonly where: string } {
  return unread.where !== undefined;
}

function greatest(numbers: readonly number[]): number | undefined {
  return numbers.reduce<number | undefined>((most, number) => Math.max(most ?? number, number), undefined);
}

/** When each unread place was last seen. */
function lastSeenAt(kept: ReadonlySet<Observation>): ReadonlyMap<string, number> {
  const seenAt = new Map<string, number>();
  for (const observation of kept) {
    if (observation.kind !== 'certificate') continue;
    const at = timeOf(observation.observedAt) ?? 0;
    const place = placeOf(observation);
    seenAt.set(place, Math.max(seenAt.get(place) ?? at, at));
  }
  return seenAt;
}

/** Whether a certificate known only from these expires soon, or has expired. */
function bites({ certificates, thresholds, now }: Unknown, only: (said: CertificateObservation) => boolean): boolean {
  return certificates.some(
    ({ said, lives, what, unknown }) =>
      !unknown && said.every(only) && lives.some((life) => expirySeverity(life, what, thresholds, now) !== undefined),
  );
}
