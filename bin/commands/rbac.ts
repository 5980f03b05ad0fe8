import { stringify } from 'yaml';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { UsageError } from '../exit-codes.ts';

export interface RbacOptions {
  readonly user?: string;
  readonly group?: string;
  readonly serviceAccount?: string;
  readonly management?: boolean;
}

const NAME = 'certmarshal';
const MANAGEMENT_NAME = 'certmarshal-management';

/**
 * Least-privilege manifests: for a workload cluster what reading and approving kubelet serving requests takes, for a management
 * cluster what reading Machines takes. Source: kubernetes.io "Certificate Signing Requests", authorization.
 */
export function rbacManifests(options: RbacOptions, policies: readonly ApprovalPolicy[]): string {
  const subject = subjectOf(options);
  const name = options.management === true ? MANAGEMENT_NAME : NAME;
  const rules = options.management === true ? MANAGEMENT_RULES : workloadRules(policies);
  const documents = [
    ...(subject.kind === 'ServiceAccount'
      ? [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: subject.name, namespace: subject.namespace } }]
      : []),
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [subject],
    },
  ];
  return documents.map((document) => stringify(document)).join('---\n');
}

function workloadRules(policies: readonly ApprovalPolicy[]): object[] {
  const needsNodes = policies.some(({ evidence }) => evidence.includes('node') || evidence.includes('patterns'));
  const signers = [...new Set(policies.flatMap((policy) => policy.signers))];
  return [
    { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['get', 'list'] },
    { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests/approval'], verbs: ['update'] },
    { apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: signers, verbs: ['approve'] },
    ...(needsNodes ? [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] }] : []),
  ];
}

const MANAGEMENT_RULES: readonly object[] = [
  { apiGroups: ['cluster.x-k8s.io'], resources: ['machines'], verbs: ['get', 'list'] },
];

type Subject =
  | { readonly kind: 'User' | 'Group'; readonly apiGroup: 'rbac.authorization.k8s.io'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly name: string; readonly namespace: string };

function subjectOf({ user, group, serviceAccount }: RbacOptions): Subject {
  if ([user, group, serviceAccount].filter((value) => value !== undefined).length > 1)
    throw new UsageError('--user, --group and --service-account exclude each other.');
  if (serviceAccount !== undefined) {
    const [namespace = '', name = '', ...rest] = serviceAccount.split('/');
    if (namespace === '' || name === '' || rest.length > 0)
      throw new UsageError(
        `--service-account takes NAMESPACE/NAME, for example kube-system/certmarshal; got ${serviceAccount}`,
      );
    return { kind: 'ServiceAccount', name, namespace };
  }
  if (user !== undefined) return { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user };
  return { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: group ?? 'certmarshal' };
}
