import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { certificatesAt } from '../certificates-at.ts';

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
