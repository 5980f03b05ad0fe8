import type { EksAuthority } from '../../aws/eks-audit.ts';
import type { AuthorityObservation, Observation } from '../../contracts/observation.ts';
import { printable } from '../../printable.ts';
import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { certificatesAt } from '../certificates-at.ts';
import { toldCertificate } from '../told-certificate.ts';

/** The CAs of an EKS cluster: which one signs, which one follows, and when EKS activates it automatically. */
export const eksAuthorities: AuditSource = {
  id: 'eks-authorities',
  stage: 'second',
  deadlineMs: 10_000,
  off: ({ eks }) => (eks === undefined ? false : undefined),
  async observe({ target: { eks, cluster }, now, signal }) {
    if (eks === undefined) return { observations: [], count: 0 };
    const told = { source: 'eks-authorities' as const, observedAt: timestamp(now()) };
    const authorities = await eks.authorities(signal);
    const observations = authorities.flatMap((authority): readonly Observation[] => {
      const { certificate, notBefore, notAfter } = authority;
      const id = printable(authority.id);
      const sighting = { ...told, what: 'eks-cluster-ca' as const, where: `EKS certificate authority ${id}` };
      const status = { kind: 'authority' as const, ...told, id, ...statusOf(authority) };
      if (certificate !== undefined)
        return [status, ...certificatesAt(sighting, certificate, cluster.provider).observations];
      if (notAfter === undefined) return [status];
      return [status, toldCertificate(sighting, { basis: 'status', notBefore, notAfter }, cluster.provider)];
    });
    return { observations, count: authorities.length };
  },
};

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
