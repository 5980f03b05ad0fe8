import type {
  CertificateObservation,
  MemberObservation,
  Observation,
  UnreadObservation,
} from '../contracts/observation.ts';
import { REMEMBERED_SOURCES, type SourceId } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { codeOfUnread } from '../tables/finding-codes.ts';
import { isBad } from '../tables/issued-verdicts.ts';
import { DAY_MS } from '../time.ts';
import { timeOf } from '../words.ts';
import { isOfServer, provesLess } from './rules/proof.ts';

/** What is known: this audit's observations, and the last good ones of each place that it could not read. */
export interface KnownObservations {
  /** Current ones first. */
  readonly all: readonly Observation[];
  /** The earlier ones. */
  readonly kept: ReadonlySet<Observation>;
}

/** A certificate issued by request need not be renewed, so it is forgotten a week after it expired. */
const FORGET_AFTER_MS = 7 * DAY_MS;

/** Sources of the CAs that may have signed a certificate. */
const AUTHORITY_SOURCES: ReadonlySet<SourceId> = new Set([
  'trust-configmaps',
  'cluster-secrets',
  'eks-cluster',
  'eks-authorities',
]);

/**
 * Of each source and place, the last good answer counts: a failed read keeps it, a source that was read to its end
 * replaces all but the places that failed inside it, and a member that is gone from every complete list is gone with
 * all its places. A server of the control plane that proves less than before gave no good answer.
 */
export function keepObservations(
  now: readonly Observation[],
  previous: readonly Observation[],
  at: number,
): KnownObservations {
  const looked = new Set(now.map(({ source }) => source));
  const [read, off] = [wholeSources(now, 'read'), wholeSources(now, 'off')];
  const answers = Map.groupBy(now.filter(isAnswer), (one) => `${one.kind} ${placeOf(one)}`);
  const unread = now.filter((one) => one.kind === 'unread').filter(({ where }) => where !== undefined);
  const failures = Map.groupBy(unread, placeOf);
  // A machine gets the name of its Node late.
  const failuresAt = Map.groupBy(unread, addressOf);
  const isGone = goneMembers(now, previous, read);
  const remembers = rememberedRequests(now, previous, read, at);

  const kept = previous.flatMap((before): readonly Observation[] => {
    const { source, kind } = before;
    if (kind === 'read' || kind === 'off' || off.has(source)) return [];
    if (kind === 'unread' && before.where === undefined) return looked.has(source) ? [] : [before];
    const place = placeOf(before);
    const failed = failures.get(place) ?? failuresAt.get(addressOf(before)) ?? [];
    const shown = answers.get(`${kind === 'unread' ? 'certificate' : kind} ${place}`) ?? [];
    if (failed.length === 0 && isGone(memberOf(before))) return [];
    if (isServer(before) && shown.some(isServer) && shown.filter(isServer).every((one) => provesLess(one, before)))
      return [before];
    if (REMEMBERED_SOURCES.has(source) && kind === 'certificate' && (read.has(source) || shown.length > 0))
      return remembers(before) ? [{ ...before, issued: read.has(source) ? undefined : before.issued }] : [];
    // A place can fail in part.
    const isLeft = kind === 'certificate' && failed.some(({ what }) => what === before.what);
    if (isLeft ? shown.some((one) => partOf(one) === partOf(before)) : shown.length > 0) return [];
    // A place that answers is no longer unreachable, whatever it answers.
    if (kind === 'unread' && failed.some((one) => one.problem === 'malformed' || isAlike(one, before))) return [];
    return read.has(source) && failed.length === 0 ? [] : [before];
  });
  return { all: [...inherited(now, previous, read), ...kept], kept: new Set(kept) };
}

/** Sources that were read to their end, or are off. */
function wholeSources(now: readonly Observation[], as: 'read' | 'off'): ReadonlySet<SourceId> {
  const whole = new Set(now.flatMap(({ kind, source }) => (kind === as ? [source] : [])));
  for (const one of now) if (one.kind === 'unread' && one.where === undefined) whole.delete(one.source);
  return whole;
}

/** The same thing at a place has the same text in every audit. */
function partOf(one: Observation): string {
  return one.kind === 'certificate' ? [placeOf(one), one.what, one.position, one.basis].join('\n') : placeOf(one);
}

function exactPartOf(one: Observation): string {
  return one.kind === 'certificate' ? `${partOf(one)}\n${one.fingerprint}` : partOf(one);
}

function isAlike(one: UnreadObservation, other: UnreadObservation): boolean {
  return one.what === other.what && codeOfUnread(one.problem) === codeOfUnread(other.problem);
}

function addressOf(one: Observation): string {
  return `${one.source}\n${'where' in one ? one.where : ''}`;
}

function isAnswer({ kind }: Observation): boolean {
  return kind !== 'unread' && kind !== 'read' && kind !== 'off';
}

/** The same place of the same source has the same text in every audit. */
export function placeOf(observation: Observation): string {
  const { source } = observation;
  switch (observation.kind) {
    case 'certificate':
    case 'unread': {
      const { where = '', member } = observation;
      // A machine with a new address is still the same machine.
      const [port] = source === 'tls' && member !== undefined ? (/:\d+$/.exec(where) ?? []) : [];
      return `${source}\n${port === undefined ? where : `${port} of ${member}`}`;
    }
    case 'member':
    case 'group':
      return `${source}\n${observation.name}`;
    case 'requests':
      return [source, observation.signer, observation.requester, observation.state].join('\n');
    case 'authority':
      return `${source}\n${observation.id}`;
    case 'renewal':
      return `${source}\nNode ${observation.node}`;
    case 'clock':
      return `${source}\n${observation.server}`;
    case 'read':
    case 'off':
      return source;
  }
}

function isServer(observation: Observation): observation is CertificateObservation {
  return observation.kind === 'certificate' && isOfServer(observation);
}

function memberOf(observation: Observation): string | undefined {
  if (observation.kind === 'certificate' || observation.kind === 'unread') return observation.member;
  return observation.kind === 'renewal' ? observation.node : undefined;
}

/** All names of a member: `Machine eksa-system/berlin-x7k2`, `berlin-x7k2`, and its Node. */
export function namesOf({ name, node }: MemberObservation): readonly string[] {
  const bare = name.slice(Math.max(name.lastIndexOf(' '), name.lastIndexOf('/')) + 1);
  return [name, bare, ...(node === undefined ? [] : [node])];
}

/** Whether every list that had a member was read to its end, and none has it now: a renamed machine is gone too. */
function goneMembers(
  now: readonly Observation[],
  previous: readonly Observation[],
  read: ReadonlySet<SourceId>,
): (member: string | undefined) => boolean {
  const present = memberNames(now);
  const gone = memberNames(previous.filter(({ source }) => read.has(source)));
  const lost = memberNames(previous.filter(({ source }) => !read.has(source)));
  return (member) => gone.has(member) && !lost.has(member) && !present.has(member);
}

function memberNames(all: readonly Observation[]): ReadonlySet<string | undefined> {
  return new Set(all.flatMap((one) => (one.kind === 'member' ? namesOf(one) : [])));
}

/**
 * A request is deleted within the hour, and what it was for stays: of each place the newest, or each of a requester that
 * may have several.
 */
function rememberedRequests(
  now: readonly Observation[],
  previous: readonly Observation[],
  read: ReadonlySet<SourceId>,
  at: number,
): (before: CertificateObservation) => boolean {
  const nodes = memberNames(now.filter(({ source }) => source === 'nodes'));
  const [shown, earlier] = [newestOf(now), newestOf(previous)];
  const listed = new Set(now.flatMap((one) => ('fingerprint' in one ? [`${one.source} ${one.fingerprint}`] : [])));
  return (before) => {
    const { member, what, source, fingerprint } = before;
    if (fingerprint !== undefined && listed.has(`${source} ${fingerprint}`)) return false;
    // What a list that was cut short lacks may be in its rest.
    if (!read.has(source) && isBad(before.issued?.verdict)) return true;
    const left = (timeOf(before.notAfter) ?? at) - at;
    const [began, part] = [beginning(before), partOf(before)];
    if (began <= (shown.get(part) ?? 0) || began < (earlier.get(part) ?? 0))
      return member === undefined && CERTIFICATE_CLASSES[what].severalAtAPlace && left > 0;
    return member === undefined ? left > -FORGET_AFTER_MS : !read.has('nodes') || nodes.has(member);
  };
}

/** When the newest certificate of each place began. */
function newestOf(all: readonly Observation[]): ReadonlyMap<string, number> {
  const issued = all.filter((one) => one.kind === 'certificate').filter(({ source }) => REMEMBERED_SOURCES.has(source));
  return new Map(issued.toSorted((a, b) => beginning(a) - beginning(b)).map((one) => [partOf(one), beginning(one)]));
}

function beginning({ notBefore, notAfter }: CertificateObservation): number {
  return timeOf(notBefore) ?? timeOf(notAfter) ?? 0;
}

/**
 * What this audit saw, with what it could not tell. The signer of a certificate is found among the CAs: while one of
 * their sources is not read, the previous result for the same certificate counts, and so does its verdict. A truncated
 * list counts only what it contains. A self-signed kubelet certificate is normal, but not after one that the cluster
 * issued.
 */
function inherited(
  now: readonly Observation[],
  previous: readonly Observation[],
  read: ReadonlySet<SourceId>,
): readonly Observation[] {
  const earlier = new Map(previous.filter(isAnswer).map((one) => [exactPartOf(one), one]));
  const isUnsure = now.some(({ source }) => AUTHORITY_SOURCES.has(source) && !read.has(source));
  const wereIssued = new Set(previous.flatMap((one) => (isIssuedKubelet(one) ? [one.member] : [])));
  for (const one of now) if (isIssuedKubelet(one)) wereIssued.delete(one.member);
  return now.map((one): Observation => {
    const before = earlier.get(exactPartOf(one));
    if (one.kind === 'requests' && before?.kind === 'requests')
      return !read.has(one.source) && before.count > one.count ? before : one;
    if (one.kind !== 'certificate') return one;
    if (one.what === 'kubelet-self-signed' && wereIssued.has(one.member)) return { ...one, issuedBefore: true };
    if (before?.kind !== 'certificate' || before.issuedByCluster === undefined || one.fingerprint === undefined)
      return one;
    if (!isUnsure && one.issuedByCluster !== undefined) return one;
    return { ...one, issuedByCluster: before.issuedByCluster, issued: one.issued ?? before.issued };
  });
}

/** A kubelet that shows a certificate of the cluster, or did before its own. */
function isIssuedKubelet(one: Observation): one is CertificateObservation {
  if (one.kind !== 'certificate' || one.source !== 'tls' || one.member === undefined) return false;
  return one.issuedBefore === true || (one.what === 'kubelet-serving' && one.issuedByCluster === true);
}
