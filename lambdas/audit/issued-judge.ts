import { isIP } from 'node:net';
import { believe, wantedSources } from '../approval/evidence/believed.ts';
import { indexInSteps, type SourceReading } from '../approval/evidence/evidence.ts';
import {
  claimOf,
  claimOfApproved,
  claimOfRequest,
  type EarlierVerdict,
  type IssuedClaim,
  type IssuedGrounds,
  isOfEarlierMachine,
  type JudgedIssued,
  judgeIssued,
  judgeShown,
  type KnownMachines,
  nodeOfCertificate,
  type ShownBy,
  shownElsewhere,
} from '../approval/issued.ts';
import { readCluster, resolveEndpoint, withInstances } from '../approval/observe.ts';
import { DEFAULT_POLICY } from '../approval/policy.ts';
import { policiesFor } from '../approval/selection.ts';
import {
  type CertificateObservation,
  type IssuedObservation,
  MAX_ISSUED_NAMES,
  type MemberObservation,
  type Observation,
  type UnreadObservation,
} from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { readServiceCidrs } from '../kubernetes/service-cidrs.ts';
import { printable } from '../printable.ts';
import { stepsInTurns } from '../processor-time.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import type { SourceId } from '../tables/audit-sources.ts';
import { timeOf } from '../words.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { CertificateRequest } from '../x509/certificate-request.ts';
import type { AuditTarget } from './audit-target.ts';

/** Judges the kubelet serving certificates of one audit. Writes nothing: its verdicts neither approve nor deny. */
export interface IssuedJudge {
  ofRequest(
    certificate: Certificate,
    request: Pick<CountedRequest, 'requester' | 'ofNodes' | 'approvedBy'>,
  ): IssuedObservation;
  /** Judges a request that is approved but not issued. Undefined if nothing speaks against it. */
  ofApproved(
    asked: CertificateRequest,
    request: Pick<CountedRequest, 'requester' | 'ofNodes' | 'approvedBy' | 'createdAt'>,
    place: Omit<UnreadCertificate, 'why'>,
  ): IssuedObservation | undefined;
  /** Judges the certificate that a kubelet showed in a handshake. */
  shown(certificate: Certificate, by: ShownBy): IssuedObservation;
  /** Judges a certificate with unknown names. Undefined if a newer machine has the name of its node. */
  unreadable(certificate: UnreadCertificate): IssuedObservation | undefined;
  /** Judges a remembered certificate that is not seen now. */
  again(observation: OpenObservation): OpenObservation;
}

/** An issued kubelet serving certificate that cannot be read, or was not. */
export interface UnreadCertificate extends Pick<UnreadObservation, 'source' | 'where' | 'member' | 'problem'> {
  /** For people, after "the certificate is not proven:". */
  readonly why: string;
  readonly approvedBy?: string | undefined;
  /** When it was issued, if known. Milliseconds since the epoch. */
  readonly issuedAt?: number;
}

/** What can be judged again: a certificate, or one that could not be read. */
type OpenObservation = CertificateObservation | UnreadObservation;

export interface IssuedJudgeOptions {
  readonly target: AuditTarget;
  /** Lists of the audit's first stage. */
  readonly listed: readonly SourceReading[];
  readonly members: readonly MemberObservation[];
  readonly previous: Snapshot | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Limit for reading further evidence, so that it does not use up the audit. Milliseconds. */
const READ_MS = 8_000;

/**
 * Reads the Cluster of Cluster API and the EC2 instances, if the policies of the cluster trust them. Failed reads are
 * part of the evidence.
 */
export async function createIssuedJudge(options: IssuedJudgeOptions): Promise<IssuedJudge> {
  const { target, listed, members, previous, now } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(READ_MS)]);
  const { policies = [DEFAULT_POLICY], management, machinesNamespace: namespace } = target;
  const selecting = policiesFor(policies, target.cluster);
  const wanted = wantedSources(selecting);
  const nodes = new Set(members.flatMap(({ node }) => node ?? []));
  const selection = { clusterName: target.cluster.name, namespace, signal };
  const of = (source: SourceReading['source']) => listed.find((reading) => reading.source === source);
  const believed = async () => {
    const [object, services] = await Promise.all([
      wanted.machines && management !== undefined ? readCluster(management, selection) : undefined,
      readServiceCidrs(target.workload, signal),
    ]);
    const resolved = await resolveEndpoint(target, object);
    return believe(target, wanted, { machines: of('machine'), nodes: of('node'), object, services, resolved });
  };
  const { cluster, readings } = await withInstances(target, believed(), nodes, selecting, signal);
  const evidence = await stepsInTurns(indexInSteps(readings));
  const grounds: IssuedGrounds = { cluster, evidence, policies, machines: knownMachines(members, previous), now };
  const before = verdictsOf(previous);
  const unreadSince = unreadBefore(previous);
  const sinceOf = (certificate: Omit<UnreadCertificate, 'why'>) =>
    new Date(unreadSince.get(unreadKeyOf(certificate)) ?? now).toISOString();
  const isReplaced = (node: string | undefined, notBefore: number | undefined) =>
    node !== undefined && notBefore !== undefined && isOfEarlierMachine({ node, notBefore }, grounds.machines);

  return {
    ofRequest(certificate, { requester, ofNodes, approvedBy }) {
      const claim = claimOfRequest(certificate, requester, ofNodes);
      const earlier = before(certificate, 'signing-requests', claim.node);
      return issuedOf(claim, judgeIssued(claim, grounds, earlier), { approvedBy, earlier, now });
    },
    shown(certificate, by) {
      const claim = claimOf(certificate, nodeOfCertificate(certificate) ?? by.node);
      const earlier = before(certificate, 'tls', by.node);
      const judged = judgeShown(certificate, by, grounds, earlier);
      const issued = issuedOf(claim, judged, { earlier, now });
      // The place where it is shown cannot be judged without another handshake.
      return judged.unproven === undefined ? { ...issued, names: undefined } : issued;
    },
    unreadable(certificate) {
      const { member, issuedAt, why, approvedBy } = certificate;
      if (isReplaced(member, issuedAt)) return undefined;
      const judged = { verdict: 'not-proven', why } as const;
      return { ...judged, approvedBy: approverOf(approvedBy), since: sinceOf(certificate) };
    },
    ofApproved(asked, request, place) {
      const { verdict, why } = judgeIssued(claimOfApproved(asked, request), grounds);
      if (verdict !== 'names-another' && verdict !== 'not-proven') return undefined;
      return { verdict, why, approvedBy: approverOf(request.approvedBy), since: sinceOf(place) };
    },
    again(observation) {
      if (observation.kind === 'unread')
        return isReplaced(observation.member, timeOf(observation.issued?.since))
          ? { ...observation, issued: undefined }
          : observation;
      const { issued, member, notBefore, key, source } = observation;
      if (issued?.names === undefined || member === undefined) return observation;
      const { names, fault, approvedBy } = issued;
      const node = nodeOfCertificate(observation) ?? member;
      const claim: IssuedClaim = {
        node,
        dnsNames: names.filter((name) => isIP(name) === 0),
        addresses: names.filter((name) => isIP(name) !== 0),
        fault: fault === undefined ? undefined : { why: fault, isAnother: false },
        key,
        notBefore: timeOf(notBefore) ?? 0,
        ofRequest: source === 'signing-requests' ? true : undefined,
      };
      const earlier = before(observation, source, member);
      const judged = judgeIssued(claim, grounds, earlier);
      // Names that did not fit are unknown.
      if (judged.verdict === 'proven' && names.length === MAX_ISSUED_NAMES) return observation;
      if (judged.verdict === 'proven' && node !== member)
        return { ...observation, issued: { verdict: 'unknown', why: shownElsewhere(node, member) } };
      return { ...observation, issued: issuedOf(claim, judged, { approvedBy, earlier, now }) };
    },
  };
}

/** Whether a remembered certificate can be judged again. */
export function isOpenVerdict(observation: Observation): observation is OpenObservation {
  if (observation.kind === 'unread') return observation.issued !== undefined;
  return observation.kind === 'certificate' && observation.issued?.names !== undefined;
}

/** Since when each certificate is unproven because its names are unknown. */
function unreadBefore(previous: Snapshot | undefined): ReadonlyMap<string, number | undefined> {
  const unread = (previous?.observations ?? []).filter((one) => one.kind === 'unread');
  return new Map(unread.map((seen) => [unreadKeyOf(seen), timeOf(seen.issued?.since)]));
}

function unreadKeyOf({ source, where, member, problem }: Omit<UnreadCertificate, 'why'>): string {
  return JSON.stringify([source, member ?? where, problem]);
}

function machinesLast(members: readonly MemberObservation[]): readonly MemberObservation[] {
  return members.toSorted((a, b) => Number(a.source === 'machines') - Number(b.source === 'machines'));
}

function knownMachines(members: readonly MemberObservation[], previous: Snapshot | undefined): KnownMachines {
  // A Node can be recreated while its machine stays.
  const born = new Map(machinesLast(members).map(({ node, createdAt }) => [node, timeOf(createdAt)]));
  const seen = (previous?.observations ?? []).filter((one) => one.kind === 'member');
  // Machines win here too: one that could not be read keeps its earlier addresses, its Node shows current ones.
  const had = new Map(machinesLast(seen).map(({ node, addresses }) => [node, new Set(addresses)]));
  const made = new Map(
    members.flatMap(({ source, node, createdAt }) =>
      source === 'machines' ? [[node, timeOf(createdAt)] as const] : [],
    ),
  );
  const seenAt = timeOf(previous?.auditedAt) ?? Number.POSITIVE_INFINITY;
  return {
    bornAt: (node) => born.get(node),
    madeAt: (node) => made.get(node),
    hadAddress: (node, address, until) =>
      isIP(address) === 0 || seenAt > until ? undefined : had.get(node)?.has(address),
  };
}

/** The previous verdict on a certificate by the same source for the same node, otherwise by another one. */
function verdictsOf(
  previous: Snapshot | undefined,
): (
  certificate: Pick<CertificateObservation, 'fingerprint'>,
  source: SourceId,
  member: string,
) => EarlierVerdict | undefined {
  const said = new Map<string, Omit<EarlierVerdict, 'wasProven'>>();
  const proven = new Set<string>();
  const at = timeOf(previous?.auditedAt) ?? 0;
  for (const seen of previous?.observations ?? []) {
    if (seen.kind !== 'certificate' || seen.issued === undefined || seen.fingerprint === undefined) continue;
    const { fingerprint, source, member, issued } = seen;
    const { verdict, why, since, mayHaveMoved, evidenceUnread } = issued;
    if (verdict === 'proven' || verdict === 'no-longer-proven') proven.add(fingerprint);
    const earlier = { verdict, why, since: timeOf(since) ?? at, mayHaveMoved, evidenceUnread };
    said.set(`${source} ${member} ${fingerprint}`, earlier).set(fingerprint, earlier);
  }
  return ({ fingerprint = '' }, source, member) => {
    const earlier = said.get(`${source} ${member} ${fingerprint}`) ?? said.get(fingerprint);
    return earlier && { ...earlier, wasProven: proven.has(fingerprint) };
  };
}

interface Told {
  readonly approvedBy?: string | undefined;
  readonly earlier: EarlierVerdict | undefined;
  readonly now: number;
}

/** Keeps names while they can change a verdict. */
function issuedOf(
  { dnsNames, addresses, fault }: IssuedClaim,
  { verdict, why, unproven = [], mayHaveMoved, evidenceUnread }: JudgedIssued,
  { approvedBy, earlier, now }: Told,
): IssuedObservation {
  const isProven = verdict === 'proven';
  const names = [...new Set([...unproven, ...dnsNames, ...addresses])].slice(0, MAX_ISSUED_NAMES);
  const isAsBefore = earlier?.verdict === verdict && earlier.why === why && earlier.evidenceUnread === evidenceUnread;
  const since = isAsBefore ? earlier.since : now;
  return {
    verdict,
    why,
    approvedBy: approverOf(approvedBy),
    names: isProven || fault?.isAnother === true ? undefined : names,
    fault: fault?.isAnother === false ? fault.why : undefined,
    mayHaveMoved,
    since: isProven ? undefined : new Date(since).toISOString(),
    evidenceUnread,
  };
}

function approverOf(approvedBy: string | undefined): string | undefined {
  return approvedBy === undefined ? undefined : printable(approvedBy, 100);
}
