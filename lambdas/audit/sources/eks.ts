import type { EksAuthority } from '../../aws/eks-audit.ts';
import type { AuthorityObservation, Observation } from '../../contracts/observation.ts';
import { printable } from '../../printable.ts';
import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { certificatesAt } from '../certificates-at.ts';
import { toldCertificate } from '../told-certificate.ts';

/** The CAs that EKS publishes for clients of the cluster: one, or two during a rotation. */
export const eksCluster: AuditSource = {
  id: 'eks-cluster',
  stage: 'first',
  deadlineMs: 10_000,
  off: ({ eks }) => (eks === undefined ? false : undefined),
  async observe({ target: { eks, cluster }, now, signal }) {
    if (eks === undefined) return { observations: [], count: 0 };
    const sighting = {
      source: 'eks-cluster' as const,
      observedAt: timestamp(now()),
      what: 'eks-cluster-ca' as const,
      where: 'EKS certificateAuthority.data',
    };
    const pem = await eks.certificateAuthority(signal);
    const { observations, certificates } = certificatesAt(sighting, pem, cluster.provider);
    return { observations, count: 1, authorities: certificates };
  },
};

/**
 * Managed node groups, which a person updates so that their nodes trust the successor of the CA: only while there is
 * one. The Nodes show how old the nodes are.
 */
export const eksNodegroups: AuditSource = {
  id: 'eks-nodegroups',
  stage: 'third',
  deadlineMs: 10_000,
  off: ({ eks }) => (eks === undefined ? false : undefined),
  async observe({ target: { eks }, hasSuccessor, now, signal }) {
    if (eks === undefined || !hasSuccessor) return { observations: [], count: 0 };
    const told = { source: 'eks-nodegroups' as const, observedAt: timestamp(now()) };
    const groups = await eks.nodegroups(signal);
    const observations = groups.map(({ name, createdAt }) => ({
      kind: 'member' as const,
      ...told,
      role: 'node-group' as const,
      name: `node group ${printable(name)}`,
      createdAt: timestamp(createdAt),
      addresses: [],
    }));
    return { observations, count: groups.length };
  },
};

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
