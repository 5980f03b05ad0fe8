import type { CertificateObservation, Observation } from '../contracts/observation.ts';
import type { Provider } from '../identifiers.ts';
import { finished, flatMapInSteps, groupInSteps, mapInSteps, type Steps } from '../steps.ts';
import {
  CERTIFICATE_CLASSES,
  type CertificateClass,
  renewedBy,
  renewedOnceExpired,
} from '../tables/certificate-classes.ts';
import { SEVERITIES } from '../tables/finding-codes.ts';
import { compare, timeOf } from '../words.ts';
import { namesOf } from './keep-observations.ts';
import { memberName } from './machine-name.ts';
import { AGREE_MS, inferredLife, withinEvidence } from './rules/inferred-ends.ts';
import { isProven } from './rules/proof.ts';
import { type Stake, stakes, WHOLE_STAKE } from './rules/stakes.ts';
import type { Life } from './rules/thresholds.ts';

/** One certificate, with everything that sources say about it. */
export interface KnownCertificate {
  readonly what: CertificateClass;
  /** `kube-apiserver berlin-cp-1`: stable across audits. */
  readonly object: string;
  readonly best: CertificateObservation;
  readonly member?: string;
  /** Where it was seen, the best place first. */
  readonly places: readonly string[];
  /**
   * Every believed life: of `best`, of later observations if `best` is old, and of what a server shows without proof.
   */
  readonly lives: readonly Life[];
  /** The earliest end of these. Milliseconds since the epoch. */
  readonly notAfter: number;
  readonly said: readonly CertificateObservation[];
  /** What a server shows for it without proof: it counts if it expires earlier. */
  readonly unproven?: CertificateObservation;
  /** When it was last seen, in milliseconds since the epoch; only if it was not seen now. */
  readonly lastSeen?: number;
  readonly stake: Stake;
  /**
   * What an inferred end follows from: the age of its machine, another certificate of it, or only the age of a Machine,
   * which is younger than the machine after a move or restore.
   */
  readonly estimate?: 'age' | 'run' | 'latest' | undefined;
  /** What shows that the machine of an inferred end was renewed in place; whether this certificate was is unknown. */
  readonly renewed?: CertificateObservation | undefined;
  /** Its end is a refuted guess: it has passed, or its machine was renewed in place. */
  readonly unknown?: boolean;
}

/** Groups observations by certificate. Skips those whose expiry is not a time. */
export function* knownCertificates(
  observations: readonly Observation[],
  kept: ReadonlySet<Observation>,
  now: number,
  staked: ReadonlyMap<Observation, Stake> = finished(stakes(observations, now)),
): Steps<readonly KnownCertificate[]> {
  const nodes = nodesOfMembers(observations);
  const ending = yield* flatMapInSteps(observations, (observation) =>
    observation.kind === 'certificate' && timeOf(observation.notAfter) !== undefined ? [observation] : [],
  );
  const slots = yield* groupInSteps(ending, (certificate) => slotOf(certificate, nodes));
  const certificates = withinEvidence(
    yield* mapInSteps(slots.values(), (said) => believed(said, kept, nodes, staked, now)),
    observations,
    nodes,
    now,
  );
  const identities = yield* groupInSteps(certificates, identityOf);
  return yield* flatMapInSteps(identities.values(), mergedByMember);
}

/** The Node of each Machine, as one machine has two names. */
function nodesOfMembers(observations: readonly Observation[]): ReadonlyMap<string, string> {
  const nodes = new Map<string, string>();
  for (const observation of observations) {
    if (observation.kind !== 'member') continue;
    const names = namesOf(observation);
    const node = memberName(observation);
    for (const name of names) {
      const known = nodes.get(name);
      // A Machine with its Node says more than an earlier one without. Of two Nodes the alphabetically first counts.
      if (known === undefined || known === names[1] || (node !== names[1] && node < known)) nodes.set(name, node);
    }
  }
  return nodes;
}

/** A CA that a server sends along is not its own certificate. */
export function classOf({ what, isAuthority, position = 0 }: CertificateObservation): CertificateClass {
  return isAuthority === true && position > 0 && !CERTIFICATE_CLASSES[what].authority ? 'ca-bundle' : what;
}

/** What renews it now, for people. */
export function renewalOf(
  { best, what, notAfter }: Pick<KnownCertificate, 'best' | 'what' | 'notAfter'>,
  provider: Provider,
  now: number,
): string | undefined {
  const once = notAfter <= now ? renewedOnceExpired(what, provider) : undefined;
  return once ?? best.renewedBy ?? renewedBy(what, provider);
}

/** One certificate per member and class; without a member, one per place; if a place can have several, each is one. */
function slotOf(observation: CertificateObservation, nodes: ReadonlyMap<string, string>): string {
  const { where, position = 0, member, fingerprint } = observation;
  const what = classOf(observation);
  if (member === undefined && CERTIFICATE_CLASSES[what].severalAtAPlace)
    return `${what}\n${where}\n${position}\n${fingerprint}`;
  return member === undefined || position > 0
    ? `${what}\n${where}\n${position}`
    : `${what}\n${nodes.get(member) ?? member}`;
}

/**
 * Lower is better: the certificate itself, the current status of its owner, the newest issued certificate, an
 * annotation, an inference from age. A request shows what was issued, not what is in use.
 */
function rankOf({ basis, source }: CertificateObservation): number {
  if (basis === 'certificate') return source === 'signing-requests' ? 2 : 0;
  return { status: 1, annotation: 3, inference: 4 }[basis];
}
const ISSUED = 2;

/** Longer than one audit: what was seen this much later is of another audit. */
const LATER_AUDIT_MS = 10 * 60_000;

function believed(
  said: readonly CertificateObservation[],
  kept: ReadonlySet<Observation>,
  nodes: ReadonlyMap<string, string>,
  staked: ReadonlyMap<Observation, Stake>,
  now: number,
): KnownCertificate {
  const unproven = said.filter((observation) => !isProven(observation)).toSorted(byEnd);
  const latest = latestEnd(said, now);
  const proven = said.filter(
    (observation) => isProven(observation) && !(isRecorded(observation) && endOf(observation) > latest),
  );
  const counting = proven.length > 0 ? proven : unproven;
  const rank = counting.map(rankOf).reduce(lesser);
  const ranked = counting
    .filter((observation) => rankOf(observation) === rank)
    .toSorted(rank === ISSUED ? byNewest : byEnd);
  const [best] = ranked;
  if (best === undefined) throw new Error('a slot without observations');
  const isOld = kept.has(best);
  const seenAt = momentOf(best.observedAt);
  // An old certificate may have been replaced: later observations of a lower rank count too.
  const later = isOld
    ? counting.filter(
        (other) =>
          rankOf(other) > rank && other.basis !== 'inference' && momentOf(other.observedAt) > seenAt + LATER_AUDIT_MS,
      )
    : [];
  const lives = [best, ...later, ...(proven.length > 0 ? unproven : [])].map((observation) =>
    lifeOf(observation, best),
  );
  const what = classOf(best);
  const member = best.member === undefined ? undefined : (nodes.get(best.member) ?? best.member);
  const { where, position = 0 } = best;
  return {
    what,
    object: `${what} ${member === undefined || position > 0 ? `${where}${position > 0 ? ` #${position + 1}` : ''}` : member}`,
    best,
    member,
    places: [...new Set(ranked.map((observation) => observation.where))],
    lives,
    notAfter: lives.map(({ notAfter }) => notAfter).reduce(lesser),
    said,
    unproven: unproven[0],
    lastSeen: isOld ? seenAt : undefined,
    stake: staked.get(best) ?? WHOLE_STAKE,
  };
}

/** An observation with only an end means a certificate that lives as long as the best one. */
function lifeOf(observation: CertificateObservation, best: CertificateObservation): Life {
  const notAfter = endOf(observation);
  const notBefore = timeOf(observation.notBefore);
  const [from, to] = [timeOf(best.notBefore), timeOf(best.notAfter)];
  if (notBefore !== undefined || from === undefined || to === undefined) return { notBefore, notAfter };
  return { notBefore: notAfter - (to - from), notAfter };
}

function byEnd(a: CertificateObservation, b: CertificateObservation): number {
  return endOf(a) - endOf(b) || byPlace(a, b);
}

function byNewest(a: CertificateObservation, b: CertificateObservation): number {
  return momentOf(b.notBefore ?? b.notAfter) - momentOf(a.notBefore ?? a.notAfter) || byEnd(a, b);
}

/** Makes the result independent of the order of observations. */
function byPlace(a: CertificateObservation, b: CertificateObservation): number {
  return (
    compare(a.where, b.where) ||
    compare(a.source, b.source) ||
    compare(a.fingerprint ?? '', b.fingerprint ?? '') ||
    compare(b.observedAt, a.observedAt) ||
    compare(JSON.stringify(a), JSON.stringify(b))
  );
}

/** The same bytes are the same certificate. */
function identityOf({ best, object }: KnownCertificate): string {
  return best.basis === 'certificate' && best.fingerprint !== undefined && best.fingerprint !== ''
    ? best.fingerprint
    : `\n${object}`;
}

/**
 * Merges equal certificates by member. A server can show anything, even what another machine or a ConfigMap has: what
 * it shows counts as its own, and takes no other's name. An endpoint leads to servers of machines: what both show, of
 * one class, is one certificate.
 */
function mergedByMember(same: readonly KnownCertificate[]): readonly KnownCertificate[] {
  const sorted = same.toSorted(byTelling);
  const servers = [...Map.groupBy(sorted.filter(isOfMember), ({ member }) => member).values()];
  const others = sorted.filter((certificate) => !isOfMember(certificate));
  for (const places of Map.groupBy(others, isOfServer).values()) {
    const server = servers.find(([first]) => first?.what === places[0]?.what);
    if (server === undefined) servers.push(places);
    else server.push(...places);
  }
  return servers.map(merged);
}

function isOfMember({ member, best: { position = 0 } }: KnownCertificate): boolean {
  return member !== undefined && position === 0;
}

function isOfServer({ best: { source, position = 0 } }: KnownCertificate): boolean {
  return source === 'tls' && position === 0;
}

function byTelling(a: KnownCertificate, b: KnownCertificate): number {
  return (
    Number(CERTIFICATE_CLASSES[a.what].generic) - Number(CERTIFICATE_CLASSES[b.what].generic) ||
    // Behind an endpoint, another machine may answer next time.
    Number(a.member === undefined) - Number(b.member === undefined) ||
    SEVERITIES.indexOf(a.stake.severity) - SEVERITIES.indexOf(b.stake.severity) ||
    compare(a.object, b.object) ||
    byPlace(a.best, b.best)
  );
}

function lesser(a: number, b: number): number {
  return Math.min(a, b);
}

function greater(a: number, b: number): number {
  return Math.max(a, b);
}

function merged(same: readonly KnownCertificate[]): KnownCertificate {
  const sorted = same.toSorted(byTelling);
  const [first] = sorted;
  if (first === undefined) throw new Error('a certificate without observations');
  const looks = same.flatMap((known) => known.lastSeen ?? []);
  return {
    ...first,
    places: [
      ...new Set(sorted.flatMap(({ places, stake }) => (stake.severity === first.stake.severity ? places : []))),
    ],
    lives: same.flatMap(({ lives }) => lives),
    notAfter: same.map(({ notAfter }) => notAfter).reduce(lesser),
    said: same.flatMap(({ said }) => said),
    unproven: same.flatMap(({ unproven }) => unproven ?? [])[0],
    lastSeen: looks.length === same.length ? looks.reduce(greater) : undefined,
  };
}

/** By another object than the certificate. */
function isRecorded({ basis }: CertificateObservation): boolean {
  return basis === 'status' || basis === 'annotation';
}

/** No issuer has given a later end yet, according to the life that is inferred. Milliseconds since the epoch. */
function latestEnd(said: readonly CertificateObservation[], now: number): number {
  const lives = said.flatMap((one) => (one.basis === 'inference' ? (inferredLife(one) ?? []) : []));
  return lives.length === 0 ? Number.POSITIVE_INFINITY : now + Math.max(...lives) + AGREE_MS;
}

function endOf({ notAfter }: CertificateObservation): number {
  return momentOf(notAfter);
}

function momentOf(time: string): number {
  return timeOf(time) ?? 0;
}

/** Records of another expiry than the best one; inferences and requests never disagree. */
export function dissenters({ best, said }: KnownCertificate): readonly CertificateObservation[] {
  if (rankOf(best) === ISSUED) return [];
  return said
    .filter(
      (other) =>
        isRecorded(other) &&
        Math.abs(endOf(other) - endOf(best)) > AGREE_MS + (other.precisionMs ?? 0) + (best.precisionMs ?? 0),
    )
    .toSorted(byPlace);
}
