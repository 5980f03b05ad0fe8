import { believe, wantedSources } from '../approval/evidence/believed.ts';
import { indexInSteps, type SourceReading } from '../approval/evidence/evidence.ts';
import { claimOfRequest, type JudgedIssued, judgeIssued, judgeShown, type ShownBy } from '../approval/issued.ts';
import { readCluster, resolveEndpoint, withInstances } from '../approval/observe.ts';
import { DEFAULT_POLICY } from '../approval/policy.ts';
import { policiesFor } from '../approval/selection.ts';
import type { IssuedObservation, MemberObservation } from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { readServiceCidrs } from '../kubernetes/service-cidrs.ts';
import { printable } from '../printable.ts';
import { stepsInTurns } from '../processor-time.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import { ISSUED_VERDICTS } from '../tables/issued-verdicts.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { AuditTarget } from './audit-target.ts';

/** Judges the kubelet serving certificates of one audit. Its verdicts neither approve nor deny. */
export interface IssuedJudge {
  ofRequest(
    certificate: Certificate,
    request: Pick<CountedRequest, 'requester' | 'ofNodes' | 'approvedBy'>,
  ): IssuedObservation;
  /** Of a certificate that a kubelet shows in a handshake. */
  shown(certificate: Certificate, by: ShownBy): IssuedObservation;
}

/** Limit for reading further evidence, so that it does not use up the audit. Milliseconds. */
const READ_MS = 8_000;

/**
 * Reads the Cluster of Cluster API and the EC2 instances, if the policies of the cluster trust them. Failed reads are
 * part of the evidence.
 *
 * @param listed lists of the audit's first stage
 */
export async function createIssuedJudge(
  target: AuditTarget,
  listed: readonly SourceReading[],
  members: readonly MemberObservation[],
  previous: Snapshot | undefined,
  within: AbortSignal,
): Promise<IssuedJudge> {
  const signal = AbortSignal.any([within, AbortSignal.timeout(READ_MS)]);
  const { policies = [DEFAULT_POLICY], management, machinesNamespace: namespace } = target;
  const selecting = policiesFor(policies, target.cluster);
  const wanted = wantedSources(selecting);
  const nodes = new Set(members.flatMap(({ node }) => node ?? []));
  const of = (source: SourceReading['source']) => listed.find((reading) => reading.source === source);
  const believed = async () => {
    const [object, services] = await Promise.all([
      wanted.machines && management !== undefined
        ? readCluster(management, { clusterName: target.cluster.name, namespace, signal })
        : undefined,
      readServiceCidrs(target.workload, signal),
    ]);
    const resolved = await resolveEndpoint(target, object);
    return believe(target, wanted, { machines: of('machine'), nodes: of('node'), object, services, resolved });
  };
  const { cluster, readings } = await withInstances(target, believed(), nodes, selecting, signal);
  const grounds = { cluster, evidence: await stepsInTurns(indexInSteps(readings)), policies, nodes };
  const last = lastVerdicts(previous);
  return {
    ofRequest: (certificate, { requester, ofNodes, approvedBy }) => ({
      ...plain(
        judgeIssued(claimOfRequest(certificate, requester, ofNodes), grounds, last.get(certificate.fingerprint)),
      ),
      approvedBy: approvedBy && printable(approvedBy, 100),
    }),
    shown: (certificate, by) => plain(judgeShown(certificate, by, grounds, last.get(certificate.fingerprint))),
  };
}

function plain({ verdict, why, addressOfAnother, evidenceUnread }: JudgedIssued): IssuedObservation {
  return { verdict, why, addressOfAnother, evidenceUnread };
}

/** The worst on each certificate, by its fingerprint. */
function lastVerdicts(previous: Snapshot | undefined): ReadonlyMap<string, IssuedObservation> {
  const verdicts = new Map<string, IssuedObservation>();
  for (const one of previous?.observations ?? []) {
    if (one.kind !== 'certificate' || one.issued === undefined || one.fingerprint === undefined) continue;
    const other = verdicts.get(one.fingerprint);
    if (other === undefined || rankOf(one.issued) < rankOf(other)) verdicts.set(one.fingerprint, one.issued);
  }
  return verdicts;
}

function rankOf({ verdict, addressOfAnother }: IssuedObservation): number {
  return ISSUED_VERDICTS.indexOf(verdict) - (addressOfAnother === true ? 0.5 : 0);
}
