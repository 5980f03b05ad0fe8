import { printable } from '../../printable.ts';
import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';

/** Managed node groups: what a person updates so that its nodes trust another authority. How old the nodes are, the Nodes say. */
export const eksNodegroups: AuditSource = {
  id: 'eks-nodegroups',
  stage: 'second',
  deadlineMs: 10_000,
  off: ({ eks }) => (eks === undefined ? false : undefined),
  async observe({ target: { eks }, now, signal }) {
    if (eks === undefined) return { observations: [], count: 0 };
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
