import { parseAllDocuments } from 'yaml';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { type Identity, mayI, type Right } from '../../lambdas/kubernetes/self-review.ts';
import { counted } from '../../lambdas/words.ts';
import { type RbacOptions, rbacManifests } from '../commands/rbac.ts';
import { quote } from '../target.ts';
import { type Check, type Fix, failed, passed, warning } from './check.ts';
import { known, type Server } from './server-checks.ts';

/** The role of a cluster: certmarshal approves its requests, reads its Machines, or both. */
export type Role = 'workload' | 'management';

export interface RightsOptions {
  readonly roles: readonly Role[];
  readonly policies: readonly ApprovalPolicy[];
  readonly policyFile?: string;
  /** The command that starts this program. */
  readonly program: string;
  /** Whose rights are checked, if not ours. @default our identity at the API server */
  readonly grantee?: Identity;
}

/**
 * One check for each right of a sweep; one for all rights of an audit, since without them nothing fails but something
 * stays unread; and one for rights that are too strong.
 */
export function rightChecks(server: Server, options: RightsOptions): Check[] {
  const wanted = options.roles.flatMap((role) =>
    rightsOf(role, options.policies, { audit: false }).map((right) => ({ role, right })),
  );
  return [
    ...wanted.map(({ role, right }) => rightCheck(server, right, role, options)),
    ...options.roles.map((role) => auditCheck(server, role, options)),
    // The rights of a user say nothing about those of the functions.
    ...(options.grantee === undefined ? [excessCheck(server, options.program)] : []),
  ];
}

/** The rights in the manifests of `certmarshal rbac`, which are the only list of rights. */
export function rightsOf(
  role: Role,
  policies: readonly ApprovalPolicy[],
  options: Pick<RbacOptions, 'audit' | 'auditSecrets' | 'kubeletMetrics'> = {},
): Right[] {
  const documents = parseAllDocuments(rbacManifests({ ...options, management: role === 'management' }, policies));
  return documents.flatMap((document): Right[] => {
    const { metadata, rules = [] }: { metadata: { namespace?: string }; rules?: readonly Rule[] } = document.toJS();
    // A Role grants rights in its namespace only.
    return rules.flatMap(rightsOfRule).map((right) => ({ ...right, namespace: metadata.namespace }));
  });
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

function rightsOfRule({ apiGroups, resources, verbs, resourceNames }: Rule): Right[] {
  const names = resourceNames?.map((name) => ({ name })) ?? [{}];
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) =>
      verbs.flatMap((verb) =>
        names.map((name) => {
          const [resource = '', subresource] = path.split('/');
          return { verb, group, resource, subresource, ...name };
        }),
      ),
    ),
  );
}

/** Checks the rights that an audit needs in addition to those of a sweep. */
function auditCheck(server: Server, role: Role, options: RightsOptions): Check {
  const sweeps = new Set(rightsOf(role, options.policies, { audit: false }).map(describeRight));
  const rights = rightsOf(role, options.policies).filter((right) => !sweeps.has(describeRight(right)));
  return {
    id: role === 'management' ? 'audit-rights-management' : 'audit-rights',
    title: 'rights are granted',
    object: role === 'management' ? 'what an audit reads of Cluster API' : 'what an audit reads',
    needs: ['authentication'],
    async run(signal) {
      const client = known(server.client);
      const granted = await Promise.all(rights.map((right) => mayI(client, right, signal)));
      const missing = rights.filter((_right, index) => granted[index] !== true).map(describeRight);
      if (missing.length === 0) return passed(counted(rights.length, 'right'));
      const { grantee } = options;
      const whose =
        grantee === undefined
          ? 'an audit does not see what they show'
          : `not granted to us; whether ${grantee.username} has them cannot be told from here`;
      return warning(
        `${missing.length} of ${counted(rights.length, 'right')} missing, ${whose}: ${missing.join(', ')}`,
        grantFix(role, grantee ?? server.identity, options),
      );
    },
  };
}

/** `list nodes`, `get configmaps kube-public/cluster-info`, `list clusters.anywhere.eks.amazonaws.com`. */
function describeRight({ verb, group, name, namespace, ...right }: Right): string {
  const where = namespace === undefined ? '' : `${namespace}/`;
  const object = name === undefined ? '' : ` ${where}${name}`;
  return `${verb} ${pathOf(right)}${group === '' ? '' : `.${group}`}${object}`;
}

function pathOf({ resource, subresource }: Pick<Right, 'resource' | 'subresource'>): string {
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

function rightCheck(server: Server, right: Right, role: Role, options: RightsOptions): Check {
  return {
    id: `${right.verb}-${pathOf(right).replace('/', '-')}`,
    title: 'right is granted',
    object: right.name === undefined ? 'all' : [right.namespace, right.name].filter(Boolean).join('/'),
    needs: ['authentication'],
    async run(signal) {
      const allowed = await mayI(known(server.client), right, signal);
      if (allowed) return passed('granted');
      const fix = grantFix(role, options.grantee ?? server.identity, options);
      return options.grantee === undefined
        ? failed('not granted', fix)
        : warning(`not granted to us; whether ${options.grantee.username} has it cannot be told from here`, fix);
    },
  };
}

/** Rights with which stolen credentials control the cluster. */
const TOO_MUCH: readonly Right[] = [
  { verb: '*', group: '*', resource: '*' },
  { verb: 'list', group: '', resource: 'secrets' },
  { verb: 'impersonate', group: '', resource: 'users' },
];

function excessCheck(server: Server, program: string): Check {
  return {
    id: 'excess-rights',
    title: 'nothing else is granted',
    object: 'everything, secrets, impersonation',
    needs: ['authentication'],
    async run(signal) {
      for (const right of TOO_MUCH)
        if (await mayI(known(server.client), right, signal))
          return warning(
            `these credentials may ${right.verb === '*' ? 'do everything' : `${right.verb} ${right.resource}`}`,
            {
              text: `Fine for yourself at the keyboard; give the functions credentials of their own: ${program} credentials create --help`,
            },
          );
      return passed('none of these');
    },
  };
}

const SERVICE_ACCOUNT = /^system:serviceaccount:(?<namespace>[a-z0-9-]{1,63}):(?<name>[a-z0-9.-]{1,253})$/;
/** A name without special meaning to a shell or a reader. */
const PLAIN_NAME = /^[A-Za-z0-9][\w@:./+=,-]{0,199}$/;
/** The group that `certmarshal rbac` binds without a subject. */
const DEFAULT_GROUP = 'certmarshal';

/**
 * The command that grants the missing rights to our identity at the API server.
 *
 * @param kubeconfigOf `NAMESPACE/CLUSTER` of all clusters whose kubeconfig is read
 */
export function grantFix(
  role: Role,
  identity: Identity | undefined,
  { policyFile, program }: Pick<RightsOptions, 'policyFile' | 'program'>,
  kubeconfigOf: readonly string[] = [],
): Fix {
  const subject = subjectOption(identity);
  const kubeconfigs = kubeconfigOf.map((cluster) => ` --kubeconfig-of ${quote(cluster)}`).join('');
  const management = role === 'management' ? ` --management${kubeconfigs}` : '';
  // Without the policy, the applied manifests would remove the right to read Nodes.
  const policy = role === 'management' || policyFile === undefined ? '' : ` --policy ${quote(policyFile)}`;
  const text = 'Grant it, with kubectl as an administrator of this cluster:';
  if (subject === undefined)
    return { text: `${text} ${program} rbac${management}${policy} --user NAME | kubectl apply -f -` };
  return { text, command: `${program} rbac${management}${policy}${subject} | kubectl apply -f -` };
}

function subjectOption(identity: Identity | undefined): string | undefined {
  if (identity === undefined) return undefined;
  const { namespace, name } = SERVICE_ACCOUNT.exec(identity.username)?.groups ?? {};
  if (namespace !== undefined && name !== undefined) return ` --service-account ${namespace}/${name}`;
  if (identity.groups.includes(DEFAULT_GROUP)) return '';
  return PLAIN_NAME.test(identity.username) ? ` --user ${identity.username}` : undefined;
}
