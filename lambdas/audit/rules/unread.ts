import type { ExpiryFinding } from '../../contracts/finding.ts';
import type { CertificateObservation, Observation, UnreadObservation } from '../../contracts/observation.ts';
import { REMEMBERED_SOURCES, type SourceId } from '../../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../../tables/certificate-classes.ts';
import { codeOfUnread, type FindingCode, SEVERITIES } from '../../tables/finding-codes.ts';
import { DAY_MS } from '../../time.ts';
import { compare, counted, firstOf, isoOf, span, timeOf } from '../../words.ts';
import type { KnownCertificate } from '../certificates.ts';
import { type KnownObservations, placeOf } from '../keep-observations.ts';
import type { Draft } from './draft.ts';
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
    const verb = isPartial ? 'could be read only in part' : 'could not be read';
    const long = isLost ? ` for ${span(now - since)}` : '';
    const failed =
      failure === undefined ? `was not checked${long}` : `${verb}${long} (${failure.problem}: ${failure.message})`;
    const holds =
      count === 0 ? '' : `; ${counted(count, 'certificate')} seen there earlier still count${count === 1 ? 's' : ''}`;
    return {
      code: isLost ? 'SourceLost' : isPartial ? 'SourcePartial' : 'SourceUnread',
      severity: isBiting ? 'critical' : 'warning',
      object: `source ${source}`,
      message: `the source ${source} ${failed}${holds}${advice(failure)}`,
      lastSeen,
      since: isoOf(since),
      words: { source },
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
    .filter((place) => place.issued === undefined && (place.usual !== true || seen(place) !== undefined));
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
    const longAgo = isLost ? `; ${count} of them ${count === 1 ? 'was' : 'were'} last seen over a day ago` : '';
    const { severity, effect } = stakeOf(first);
    const looks = sorted.flatMap((place) => seen(place) ?? []);
    return [
      {
        code: isLost ? 'SourceLost' : code,
        severity: isBiting ? 'critical' : severity,
        object: what === undefined ? `places of ${source}` : `${source} ${what}`,
        what,
        places: wheres,
        message: `${storyOf(code, wheres, sorted, what)}${effect === undefined ? '' : `: ${effect}`}${longAgo}${advice(first)}`,
        lastSeen: looks.reduce<number | undefined>((oldest, at) => Math.min(oldest ?? at, at), undefined),
        // Reading them was no problem: the first one shows it.
        words: { where: wheres.length === 1 || code === 'CertificateUnreadable' ? wheres[0] : undefined, source },
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

function storyOf(
  code: ReturnType<typeof codeOfUnread>,
  wheres: readonly string[],
  unread: readonly UnreadObservation[],
  what: CertificateClass | undefined,
): string {
  const [first] = unread;
  const thing = what === undefined ? '' : ` (${CERTIFICATE_CLASSES[what].title})`;
  const verb = {
    Unreachable:
      first?.source === 'tls' ? ['does not answer', 'do not answer'] : ['could not be read', 'could not be read'],
    CertificateUnreadable: ['shows no readable certificate', 'show no readable certificate'],
    SourcePartial: ['is left out', 'are left out'],
  }[code];
  if (wheres.length === 1) return `${wheres[0]}${thing} ${verb[0]} (${first?.problem}: ${first?.message})`;
  const problems = [...Map.groupBy(unread, ({ problem }) => problem)]
    .toSorted(([a], [b]) => compare(a, b))
    .map(([problem, same]) => `${same.length} ${problem}`);
  return `${wheres.length} places${thing} ${verb[1]}: ${firstOf(wheres)} (${firstOf(problems)})`;
}

/** Whether a certificate known only from these expires soon, or has expired. */
function bites({ certificates, thresholds, now }: Unknown, only: (said: CertificateObservation) => boolean): boolean {
  return certificates.some(
    ({ said, lives, what, unknown }) =>
      !unknown && said.every(only) && lives.some((life) => expirySeverity(life, what, thresholds, now) !== undefined),
  );
}

function advice(unread: UnreadObservation | undefined): string {
  const remedy = unread?.remedy.replace(/\.$/, '') ?? '';
  return remedy === '' ? '' : `; ${remedy.charAt(0).toLowerCase()}${remedy.slice(1)}`;
}
