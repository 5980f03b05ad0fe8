import {
  type CertificateObservation,
  type MemberObservation,
  NOT_ISSUED,
  type Observation,
  type UnreadObservation,
} from '../contracts/observation.ts';
import { REMEMBERED_OF_ONE_PLACE, REMEMBERED_SOURCES, type SourceId } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { codeOfUnread } from '../tables/finding-codes.ts';
import { ISSUED_VERDICTS } from '../tables/issued-verdicts.ts';
import { DAY_MS } from '../time.ts';
import { compare, timeOf } from '../words.ts';
import { isOfServer, provesLess } from './rules/proof.ts';

/** All observations that count: current ones, and earlier ones that could not be checked again. */
export interface KnownObservations {
  /** Current ones first. */
  readonly all: readonly Observation[];
  /** The earlier ones. */
  readonly kept: ReadonlySet<Observation>;
}

/** A certificate issued by request need not be renewed, so it is forgotten a week after it expired. */
const FORGET_AFTER_MS = 7 * DAY_MS;

/** Sources of the CAs that may have signed a certificate. */
const AUTHORITY_SOURCES: readonly SourceId[] = [
  'trust-configmaps',
  'cluster-secrets',
  'eks-cluster',
  'eks-authorities',
];

/**
 * Which earlier observations still hold. One is dropped only if
 *
 * - its source is off now,
 * - the same thing was seen again at the same place, and a control plane server proves at least as much as before,
 * - its source was read completely, and neither its place nor its member failed, unless it is one of
 * `REMEMBERED_SOURCES`,
 * - or its member is in no list now, every list that had it was read completely, and its place did not fail: a renamed
 * machine is gone too.
 */
export function keepObservations(
  now: readonly Observation[],
  previous: readonly Observation[],
  at: number,
): KnownObservations {
  const sources = sourceStates(now);
  const read = (source: SourceId): boolean => sources.get(source)?.read === true;
  const seen = new Map(now.map((observation) => [keyOf(observation), observation]));
  const members = memberLists(now, previous, read);
  const servers = Map.groupBy(now.filter(isServer), serverKeyOf);

  const keeps = (before: Observation): boolean => {
    const state = sources.get(before.source);
    if (before.kind === 'read' || before.kind === 'off') return false;
    if (state?.off === true) return false;
    if (before.kind === 'unread' && before.where === undefined) return state === undefined;
    const member = memberOf(before);
    if (isServer(before)) {
      const shown = servers.get(serverKeyOf(before)) ?? [];
      if (shown.length > 0 && shown.every((other) => provesLess(other, before))) return !members.isGone(member);
    }
    const again = seen.get(keyOf(before));
    if (again !== undefined) return isNewest(before, again);
    const failed = state !== undefined && placesOf(before).some((place) => state.unread.has(place));
    if (!failed && members.isGone(member)) return false;
    if (state?.read !== true) return true;
    if (failed) return isStillSo(before, state);
    if (before.kind !== 'certificate' && !isUnreadIssued(before)) return false;
    if (REMEMBERED_SOURCES.has(before.source)) return isRemembered(before);
    return before.kind === 'certificate' && members.isLost(member) && !state.servers.has(serverKeyOf(before));
  };

  const isRemembered = (before: CertificateObservation | UnreadObservation): boolean => {
    const { member, issued } = before;
    // The expiry of an unreadable certificate is unknown.
    const over = before.kind === 'certificate' ? before.notAfter : issued?.since;
    const isRecent = at - (timeOf(over) ?? at) < FORGET_AFTER_MS;
    if (member === undefined) return isRecent;
    if (!read('nodes') || members.nodes.has(member)) return true;
    // A requester that was never a node can have a certificate that names one.
    return (before.kind === 'unread' || issued?.verdict === 'names-another') && isRecent;
  };

  const kept = newestRemembered(previous.filter(keeps), now, at);
  const earlier = new Map(previous.map((observation) => [exactKeyOf(observation), observation]));
  const authoritiesRead = !AUTHORITY_SOURCES.some((source) => sources.get(source)?.read === false);
  const issued = issuedKubelets(previous, now);
  const inherited = now.map((observation) => {
    const before = earlier.get(exactKeyOf(observation));
    if (before !== undefined && !read(observation.source) && isMore(before, observation)) return before;
    return inherit(observation, before, { authoritiesRead, issued });
  });
  return { all: [...inherited, ...kept], kept: new Set(kept) };
}

interface SourceState {
  /** Read completely; false if it failed. */
  read: boolean;
  off: boolean;
  /** Places that failed, and members with the class that failed. */
  readonly unread: Set<string>;
  /** Places and servers that answered, but without a readable certificate. */
  readonly answered: Set<string | undefined>;
  /** Members with a certificate, by class. */
  readonly servers: Set<string>;
}

function sourceStates(now: readonly Observation[]): ReadonlyMap<SourceId, SourceState> {
  const states = new Map<SourceId, SourceState>();
  const failed = new Set<SourceId>();
  const stateOf = (source: SourceId): SourceState => {
    const known = states.get(source);
    if (known !== undefined) return known;
    const fresh = {
      read: false,
      off: false,
      unread: new Set<string>(),
      answered: new Set<string | undefined>(),
      servers: new Set<string>(),
    };
    states.set(source, fresh);
    return fresh;
  };
  for (const observation of now) {
    const state = stateOf(observation.source);
    if (observation.kind === 'read') state.read = true;
    else if (observation.kind === 'off') state.off = true;
    else if (observation.kind === 'unread') {
      if (observation.where === undefined) failed.add(observation.source);
      for (const place of placesOf(observation)) state.unread.add(place);
      if (observation.problem === 'malformed')
        for (const place of [observation.where, ...serverOf(observation)]) state.answered.add(place);
    } else if (observation.kind === 'certificate') state.servers.add(serverKeyOf(observation));
  }
  for (const source of failed) Object.assign(stateOf(source), { read: false, off: false });
  return states;
}

/** The same thing at the same place has the same key in every audit. */
function keyOf(observation: Observation): string {
  const { kind, source } = observation;
  const parts: string[] = [kind, source];
  switch (observation.kind) {
    case 'certificate': {
      const { what, where, position = 0, basis, member, fingerprint = '' } = observation;
      const forgets = REMEMBERED_SOURCES.has(source);
      parts.push(what, forgets ? (member ?? where) : where, String(position), basis);
      if (isOneOfSeveral(observation)) parts.push(fingerprint);
      break;
    }
    case 'member':
      parts.push(observation.name);
      break;
    case 'group':
      parts.push(observation.role, observation.name);
      break;
    case 'requests':
      parts.push(observation.signer, observation.requester, observation.state);
      break;
    case 'authority':
      parts.push(observation.id);
      break;
    case 'renewal':
      parts.push(observation.what, observation.node);
      break;
    case 'clock':
      parts.push(observation.server);
      break;
    case 'unread': {
      const { where = '', what = '', member = '', problem } = observation;
      parts.push(serverOf(observation)[0] ?? where, what, member, codeOfUnread(problem));
      break;
    }
    case 'read':
    case 'off':
      break;
  }
  return parts.join('\n');
}

/** Certificates at one place that do not replace each other have different keys. */
function exactKeyOf(observation: Observation): string {
  return observation.kind === 'certificate' ? `${keyOf(observation)}\n${observation.fingerprint}` : keyOf(observation);
}

/** The server of a member, at any of its addresses. */
function serverKeyOf({ what, member, where }: CertificateObservation): string {
  return `${what}\n${member ?? where}`;
}

/** The places of an observation, as an `unread` observation names them. */
export function placesOf(observation: Observation): readonly string[] {
  switch (observation.kind) {
    case 'certificate':
    case 'unread': {
      const { where, what, member, alsoTried = [], problem }: Partial<Omit<UnreadObservation, 'kind'>> = observation;
      // A machine with a new address is another place, but still the same machine.
      return [
        ...(where === undefined ? [] : [where]),
        ...alsoTried,
        ...(member === undefined || what === undefined ? [] : [`${what} of ${member}`]),
        // A server that answers no longer has what it does not show.
        ...(problem === 'malformed' ? [] : serverOf(observation)),
      ];
    }
    case 'member':
    case 'group':
      return [observation.name];
    case 'renewal':
      return [`Node ${observation.node}`, observation.node, `${observation.what} of ${observation.node}`];
    case 'authority':
      return [observation.id];
    case 'clock':
      return [observation.server];
    case 'requests':
    case 'read':
    case 'off':
      return [];
  }
}

/**
 * The server of a machine, at any of its addresses: `:6443 of berlin-cp-1`. Everything it shows belongs to it: its
 * certificate, of any class, and the CAs that it sends along.
 */
function serverOf({ source, where, member }: CertificateObservation | UnreadObservation): readonly string[] {
  const [port] = source === 'tls' && member !== undefined ? (/:\d+$/.exec(where ?? '') ?? []) : [];
  return port === undefined ? [] : [`${port} of ${member}`];
}

/** A place that answers is no longer unreachable, whatever it answers. */
function isStillSo(before: Observation, { answered }: SourceState): boolean {
  if (before.kind !== 'unread' || before.problem === 'malformed') return true;
  return ![before.where, ...serverOf(before)].some((place) => answered.has(place));
}

/** A request that is listed late may be older than a remembered one. */
function isNewest(before: Observation, now: Observation | undefined): boolean {
  if (before.kind !== 'certificate' || now?.kind !== 'certificate' || !REMEMBERED_SOURCES.has(before.source))
    return false;
  return beginning(before) > beginning(now);
}

/** A truncated list counts only what it contains. */
function isMore(before: Observation, now: Observation): boolean {
  return before.kind === 'requests' && now.kind === 'requests' && before.count > now.count;
}

/** A certificate of `REMEMBERED_SOURCES` that can hold beside a newer one at the same place. */
function isOneOfSeveral({ source, what, member }: CertificateObservation): boolean {
  if (!REMEMBERED_SOURCES.has(source)) return false;
  return what === 'kubelet-serving' || (member === undefined && CERTIFICATE_CLASSES[what].severalAtAPlace);
}

/**
 * A certificate that may have another's name is kept beside a newer one of the same kubelet, and for a while after it
 * expires: its node could have used it.
 */
function isHeld({ issued }: CertificateObservation): boolean {
  return issued !== undefined && issued.verdict !== 'proven' && issued.verdict !== 'no-longer-proven';
}

function newestRemembered(
  kept: readonly Observation[],
  now: readonly Observation[],
  at: number,
): readonly Observation[] {
  const over = new Set<Observation>(supersededAtPlace(kept, now, at));
  const remembered = kept.filter(isCertificate).filter(({ source }) => REMEMBERED_SOURCES.has(source));
  for (const same of Map.groupBy(remembered, keyOf).values()) {
    const [, ...older] = same.toSorted((a, b) => beginning(b) - beginning(a));
    for (const one of older) over.add(one);
  }
  return kept.filter((observation) => !over.has(observation));
}

/** Of several at one place, those that no longer matter and those above the limit; never the newest one. */
function supersededAtPlace(
  kept: readonly Observation[],
  now: readonly Observation[],
  at: number,
): readonly Observation[] {
  const remembered = kept.filter(isCertificate).filter(isOneOfSeveral);
  const shown = Map.groupBy(now.filter(isCertificate), placeOf);
  return [...Map.groupBy(remembered, placeOf)].flatMap(([place, same]) => {
    const newest = [...same, ...(shown.get(place) ?? [])].map(beginning).reduce((a, b) => Math.max(a, b));
    const older = same.filter((certificate) => beginning(certificate) < newest);
    const lasting = older
      .filter((certificate) => lasts(certificate, at))
      .toSorted((a, b) => verdictOf(a) - verdictOf(b) || lastingFirst(a, b) || compare(keyOf(a), keyOf(b)));
    return [...older.filter((certificate) => !lasts(certificate, at)), ...lasting.slice(REMEMBERED_OF_ONE_PLACE - 1)];
  });
}

/** Of serving certificates that are not proven, the one that can be misused longest; of others, the one that expires first. */
function lastingFirst(a: CertificateObservation, b: CertificateObservation): number {
  return a.issued === undefined ? ending(a) - ending(b) : ending(b) - ending(a);
}

function lasts(certificate: CertificateObservation, at: number): boolean {
  if (certificate.what !== 'kubelet-serving') return ending(certificate) > at;
  return isHeld(certificate) && at - ending(certificate) < FORGET_AFTER_MS;
}

function verdictOf({ issued }: CertificateObservation): number {
  return issued === undefined ? ISSUED_VERDICTS.length : ISSUED_VERDICTS.indexOf(issued.verdict);
}

function placeOf({ source, what, where, position }: CertificateObservation): string {
  return [source, what, where, position].join('\n');
}

function ending({ notAfter }: CertificateObservation): number {
  return Date.parse(notAfter);
}

function isCertificate(observation: Observation): observation is CertificateObservation {
  return observation.kind === 'certificate';
}

function isServer(observation: Observation): observation is CertificateObservation {
  return isCertificate(observation) && isOfServer(observation);
}

/** A certificate with unknown names was issued: its node has it even after its request is gone. */
function isUnreadIssued(observation: Observation): observation is UnreadObservation {
  return observation.kind === 'unread' && observation.issued !== undefined && observation.problem !== NOT_ISSUED;
}

function beginning(certificate: CertificateObservation): number {
  return timeOf(certificate.notBefore) ?? ending(certificate);
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

interface MemberLists {
  /** Every list that had it was read completely, and none has it now. */
  isGone(member: string | undefined): boolean;
  /** A list that had it could not be read: it may exist, but sources that read each member do not know it. */
  isLost(member: string | undefined): boolean;
  /** Names of all listed Nodes. */
  readonly nodes: ReadonlySet<string>;
}

function memberLists(
  now: readonly Observation[],
  previous: readonly Observation[],
  read: (source: SourceId) => boolean,
): MemberLists {
  const present = new Set<string | undefined>();
  const nodes = new Set<string>();
  const gone = new Set<string | undefined>();
  const lost = new Set<string | undefined>();
  for (const observation of now) {
    if (observation.kind !== 'member') continue;
    for (const name of namesOf(observation)) {
      present.add(name);
      if (observation.source === 'nodes') nodes.add(name);
    }
  }
  for (const observation of previous) {
    if (observation.kind !== 'member') continue;
    const names = read(observation.source) ? gone : lost;
    for (const name of namesOf(observation)) names.add(name);
  }
  return {
    isGone: (member) => gone.has(member) && !lost.has(member) && !present.has(member),
    isLost: (member) => lost.has(member) && !present.has(member),
    nodes,
  };
}

/** Members whose kubelet once showed a certificate issued by the cluster, and shows none now. */
function issuedKubelets(previous: readonly Observation[], now: readonly Observation[]): ReadonlySet<string> {
  const issued = previous.filter(isCertificate).filter((seen) => isIssuedKubelet(seen) || seen.issuedBefore === true);
  const again = new Set(
    now
      .filter(isCertificate)
      .filter(isIssuedKubelet)
      .map(({ member }) => member),
  );
  return new Set(issued.flatMap(({ member }) => (member === undefined || again.has(member) ? [] : [member])));
}

function isIssuedKubelet({ source, what, issuedByCluster }: CertificateObservation): boolean {
  return source === 'tls' && what === 'kubelet-serving' && issuedByCluster === true;
}

interface Before {
  readonly authoritiesRead: boolean;
  readonly issued: ReadonlySet<string>;
}

/**
 * The signer of a certificate is found among the CAs. While one of their sources cannot be read, the previous result
 * for the same certificate counts, and so does its verdict. A self-signed kubelet certificate is normal, but not after
 * one issued by the cluster.
 */
function inherit(now: Observation, before: Observation | undefined, { authoritiesRead, issued }: Before): Observation {
  if (now.kind !== 'certificate') return now;
  if (now.source === 'tls' && now.what === 'kubelet-self-signed' && issued.has(now.member ?? ''))
    return { ...now, issuedBefore: true };
  if (before?.kind !== 'certificate') return now;
  const { issuedByCluster, issued: judged } = before;
  if (issuedByCluster === undefined || now.fingerprint === undefined || now.fingerprint !== before.fingerprint)
    return now;
  if (authoritiesRead && now.issuedByCluster !== undefined) return now;
  return { ...now, issuedByCluster, issued: now.issued ?? (now.member === before.member ? judged : undefined) };
}
