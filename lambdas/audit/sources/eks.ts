import type { EksAuditReader, EksAuthority } from '../../aws/eks-audit.ts';
import type { AuthorityObservation, Observation } from '../../contracts/observation.ts';
import { printable } from '../../printable.ts';
import type { SourceId } from '../../tables/audit-sources.ts';
import { timestamp } from '../../time.ts';
import type { AuditContext, AuditSource, Origin } from '../audit-source.ts';
import { certificatesAt } from '../certificates-at.ts';
import { statedCertificate } from '../stated-certificate.ts';

const NOTHING = { observations: [], count: 0 };

/** The CAs that EKS publishes for clients of the cluster: one, or two during a rotation. */
export const eksCluster = ofEks('eks-cluster', 'first', async (eks, { target: { cluster }, signal }, origin) => {
  const sighting = { ...origin, what: 'eks-cluster-ca', where: 'EKS certificateAuthority.data' } as const;
  const pem = await eks.certificateAuthority(signal);
  const { observations, certificates } = certificatesAt(sighting, pem, cluster.provider);
  return { observations, count: 1, authorities: certificates };
});

/** The CAs of an EKS cluster: which one signs, which one follows, and when EKS activates it automatically. */
export const eksAuthorities = ofEks('eks-authorities', 'second', async (eks, { target, signal }, origin) => {
  const { provider } = target.cluster;
  const authorities = await eks.authorities(signal);
  const observations = authorities.flatMap((authority): readonly Observation[] => {
    const { certificate, notBefore, notAfter } = authority;
    const id = printable(authority.id);
    const sighting = { ...origin, what: 'eks-cluster-ca' as const, where: `EKS certificate authority ${id}` };
    const status = { kind: 'authority' as const, ...origin, id, ...statusOf(authority) };
    if (certificate !== undefined) return [status, ...certificatesAt(sighting, certificate, provider).observations];
    if (notAfter === undefined) return [status];
    return [status, statedCertificate(sighting, { basis: 'status', notBefore, notAfter }, provider)];
  });
  return { observations, count: authorities.length };
});

/** Off for a cluster that is not one of EKS. */
function ofEks(
  id: SourceId,
  stage: AuditSource['stage'],
  observe: (eks: EksAuditReader, context: AuditContext, origin: Origin) => ReturnType<AuditSource['observe']>,
): AuditSource {
  return {
    id,
    stage,
    deadlineMs: 10_000,
    off: ({ eks }) => (eks === undefined ? false : undefined),
    async observe(context) {
      const { eks } = context.target;
      return eks === undefined ? NOTHING : observe(eks, context, { source: id, observedAt: timestamp(context.now()) });
    },
  };
}

function statusOf(authority: EksAuthority): Omit<AuthorityObservation, 'kind' | 'source' | 'observedAt' | 'id'> {
  const { createdAt, notAfter, signingStatus, distributionStatus, firstAutoActivation, finalAutoActivation } =
    authority;
  return {
    createdAt: timestamp(createdAt),
    notAfter: notAfter === undefined ? undefined : timestamp(notAfter),
    signingStatus,
    distributionStatus,
    firstAutoActivation: firstAutoActivation === undefined ? undefined : timestamp(firstAutoActivation),
    finalAutoActivation: finalAutoActivation === undefined ? undefined : timestamp(finalAutoActivation),
  };
}
