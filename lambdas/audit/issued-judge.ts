import { isIP } from 'node:net';
import { believe, wantedSources } from '../approval/evidence/believed.ts';
import { indexInSteps, type SourceReading } from '../approval/evidence/evidence.ts';
import {
  claimOfRequest,
  type IssuedClaim,
  type IssuedGrounds,
  type JudgedIssued,
  judgeIssued,
  judgeShown,
  type ShownBy,
} from '../approval/issued.ts';
import { hybridNodes, readCluster, readInstances } from '../approval/observe.ts';
import { DEFAULT_POLICY } from '../approval/policy.ts';
import { isFor } from '../approval/selection.ts';
import {
  type CertificateObservation,
  type IssuedObservation,
  MAX_ISSUED_NAMES,
  type MemberObservation,
  type Observation,
} from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { printable } from '../printable.ts';
import { stepsInTurns } from '../processor-time.ts';
import { timeOf } from '../words.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { AuditTarget } from './audit-target.ts';

/** Judges the kubelet serving certificates that one audit sees. It writes nothing, and no verdict of it approves or denies anything. */
export interface IssuedJudge {
  /** What a request was issued. */
  ofRequest(certificate: Certificate, requester: string, approvedBy: string | undefined): IssuedObservation;
  /** What a kubelet showed in a handshake. */
  shown(certificate: Certificate, by: ShownBy): IssuedObservation;
  /** What is remembered of a request that is gone. */
  again(observation: CertificateObservation): CertificateObservation;
}

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

/** What beside the lists of the audit is evidence must not take the time of the audit. Milliseconds. */
const READ_MS = 8_000;

/** Reads the Cluster of Cluster API and the EC2 instances, where the policies of the cluster trust these. What cannot be read is part of the evidence. */
export async function createIssuedJudge(options: IssuedJudgeOptions): Promise<IssuedJudge> {
  const { target, listed, members, previous, now } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(READ_MS)]);
  const { policies = [DEFAULT_POLICY], management, machinesNamespace: namespace } = target;
  const selecting = policies.filter((policy) => isFor(policy, target.cluster));
  const wanted = wantedSources(selecting);
  const nodes = new Set(members.flatMap(({ node }) => node ?? []));
  const selection = { clusterName: target.cluster.name, namespace, signal };
  const [object, instances] = await Promise.all([
    wanted.machines && management !== undefined ? readCluster(management, selection) : undefined,
    readInstances(target, nodes, selecting, signal),
  ]);
  const of = (source: SourceReading['source']) => listed.find((reading) => reading.source === source);
  const { cluster, readings } = believe(target, wanted, { machines: of('machine'), nodes: of('node'), object });
  const read = [...readings, ...instances];
  const evidence = await stepsInTurns(indexInSteps([...read, ...hybridNodes(cluster, nodes, selecting, read)]));
  const grounds: IssuedGrounds = { cluster, evidence, policies, now };
  const before = verdictsOf(previous);

  return {
    ofRequest(certificate, requester, approvedBy) {
      const claim = claimOfRequest(certificate, requester);
      const judged = judgeIssued(claim, grounds, before.get(certificate.fingerprint));
      return issuedOf(claim, judged, approvedBy);
    },
    shown(certificate, by) {
      const judged = judgeShown(certificate, by, grounds, before.get(certificate.fingerprint));
      return { verdict: judged.verdict, why: judged.why };
    },
    again(observation) {
      const { issued, member, notBefore } = observation;
      if (issued?.names === undefined || member === undefined) return observation;
      const claim = {
        node: member,
        dnsNames: issued.names.filter((name) => isIP(name) === 0),
        addresses: issued.names.filter((name) => isIP(name) !== 0),
        notBefore: timeOf(notBefore) ?? 0,
      };
      return { ...observation, issued: issuedOf(claim, judgeIssued(claim, grounds, issued), issued.approvedBy) };
    },
  };
}

/** Whether a remembered certificate can be judged again. */
export function isOpenVerdict(observation: Observation): observation is CertificateObservation {
  return observation.kind === 'certificate' && observation.issued?.names !== undefined;
}

function verdictsOf(previous: Snapshot | undefined): ReadonlyMap<string, JudgedIssued> {
  return new Map(
    (previous?.observations ?? []).flatMap((seen) =>
      seen.kind === 'certificate' && seen.issued !== undefined && seen.fingerprint !== undefined
        ? [[seen.fingerprint, seen.issued] as const]
        : [],
    ),
  );
}

/** Names are kept while they can change a verdict. */
function issuedOf(
  claim: IssuedClaim,
  { verdict, why }: JudgedIssued,
  approvedBy: string | undefined,
): IssuedObservation {
  const names = [...claim.dnsNames, ...claim.addresses];
  const isOpen = verdict !== 'proven' && claim.fault === undefined && names.length <= MAX_ISSUED_NAMES;
  return {
    verdict,
    why,
    approvedBy: approvedBy === undefined ? undefined : printable(approvedBy, 100),
    names: isOpen ? names : undefined,
  };
}
