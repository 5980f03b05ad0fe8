import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import type { ClusterContext } from '../../lambdas/approval/request.ts';
import { policiesFor } from '../../lambdas/approval/selection.ts';
import type { Thresholds } from '../../lambdas/audit/rules/thresholds.ts';
import type { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import type { Identity } from '../../lambdas/kubernetes/self-review.ts';
import type { Answer, Check, CheckGroup, Fix } from './check.ts';
import { machinesCheck, signerCheck } from './cluster-checks.ts';
import { type Role, rightChecks } from './rights.ts';
import { type Server, type SweptFrom, serverChecks } from './server-checks.ts';

/** How one API server is reached, and the fix if that fails. */
export interface Door {
  /** Host and port if known, else where they are configured. */
  readonly object: string;
  /** Checks that set connection and client of the server; the checks after them need the last one. */
  readonly opening: (server: Server) => readonly Check[];
  readonly renew: Fix;
  /** The meaning of a 401. @default the kubeconfig must be renewed */
  readonly refused?: (error: KubernetesError) => Answer;
  /** The identity to grant rights to, if it is not ours. */
  readonly grantee?: Identity;
}

export interface ClusterUnderTest {
  readonly subject: string;
  readonly note?: string;
  /** @default from here, or from a network where the name of its API server may resolve differently */
  readonly sweptFrom?: SweptFrom | undefined;
  readonly cluster: Pick<ClusterContext, 'name' | 'provider'>;
  /** Namespaces that may hold its Cluster object, on the server with the Machines. */
  readonly namespaces: readonly string[];
  readonly workload: Door;
  /** Absent: an EKS Anywhere cluster manages itself, an EKS cluster has no Machines. */
  readonly management?: Door;
  /** Further checks of the server with the Machines. */
  readonly further?: (server: Server) => readonly Check[];
}

export interface GroupOptions {
  readonly policies: readonly ApprovalPolicy[];
  readonly policyFile?: string;
  /** When an audit has a finding about a certificate. */
  readonly thresholds: Thresholds;
  /** The command that starts this program. */
  readonly program: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function clusterGroups(test: ClusterUnderTest, options: GroupOptions): CheckGroup[] {
  const { subject, cluster, namespaces, workload, management, further = () => [] } = test;
  const policies = policiesFor(options.policies, cluster);
  const needsMachines = policies.some(({ evidence }) => evidence.includes('machine'));
  const machines = (server: Server): Check[] => [
    ...(needsMachines ? [machinesCheck(server, { clusterName: cluster.name, namespaces })] : []),
    ...further(server),
  ];
  const managesItself = management === undefined && cluster.provider === 'eks-anywhere';
  const own = group(test, workload, managesItself ? ['workload', 'management'] : ['workload'], options, (server) => [
    ...(managesItself ? machines(server) : []),
    signerCheck(server, options.now),
  ]);
  if (management === undefined) return [own];
  const other = { ...test, subject: `${subject}, its management cluster` };
  return [own, group(other, management, ['management'], options, machines)];
}

function group(
  { subject, note, sweptFrom }: Pick<ClusterUnderTest, 'subject' | 'note' | 'sweptFrom'>,
  { object, opening, grantee, ...answers }: Door,
  roles: readonly Role[],
  options: GroupOptions,
  last: (server: Server) => readonly Check[],
): CheckGroup {
  const server: Server = {};
  const first = opening(server);
  const { thresholds, now } = options;
  return {
    subject,
    note,
    checks: [
      ...first,
      ...serverChecks(server, { after: first.at(-1)?.id ?? '', object, sweptFrom, thresholds, now, ...answers }),
      ...rightChecks(server, { roles, ...options, ...(grantee === undefined ? {} : { grantee }) }),
      ...last(server),
    ],
    close: () => server.client?.close(),
  };
}
