import { printable } from '../../printable.ts';
import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';

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
