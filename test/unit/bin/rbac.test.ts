import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type RbacOptions, rbacManifests } from '../../../bin/commands/rbac.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { LISTED_KINDS, type ListedKind } from '../../../lambdas/kubernetes/list.ts';
import { runCli } from './run-cli.ts';

const documents = (text: string) => parseAllDocuments(text).map((document) => document.toJS());

/** All that can be granted; what a recovery takes is printed alone. */
const everything = [
  { user: 'eve', auditSecrets: true },
  { user: 'eve', management: true, rollouts: true, rolloutOf: ['eksa-system/berlin'], rolloutEtcd: true },
  { user: 'eve', recovery: true },
].flatMap((options) => documents(rbacManifests(options, [DEFAULT_POLICY])).flatMap(({ rules = [] }) => rules));

it.each(Object.entries<ListedKind>(LISTED_KINDS))('%s are listed, and so granted', (id, { api, plural = id }) => {
  const group = typeof api === 'string' ? api.replace(/^apis?\/(?:v1$)?/, '').replace(/\/.*/, '') : api.served;
  expect(everything).toContainEqual(
    expect.objectContaining({
      apiGroups: [group],
      resources: expect.arrayContaining([plural]),
      verbs: expect.arrayContaining(['list']),
    }),
  );
});

describe('certmarshal rbac', () => {
  it('grants a group what approving takes, and nothing else, where nothing is audited', () => {
    const [role, binding, ...rest] = documents(rbacManifests({ audit: false }, [DEFAULT_POLICY]));
    expect(rest).toEqual([]);
    expect(role.rules).toEqual([
      { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['get', 'list'] },
      { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests/approval'], verbs: ['update'] },
      {
        apiGroups: ['certificates.k8s.io'],
        resources: ['signers'],
        resourceNames: ['kubernetes.io/kubelet-serving'],
        verbs: ['approve'],
      },
      { apiGroups: ['networking.k8s.io'], resources: ['servicecidrs'], verbs: ['list'] },
    ]);
    expect(binding.subjects).toEqual([{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'certmarshal' }]);
  });

  it.each(['node', 'patterns'] as const)('grants Nodes only where a policy uses %s', (source) => {
    const [role] = documents(rbacManifests({ user: 'eve', audit: false }, [{ ...DEFAULT_POLICY, evidence: [source] }]));
    expect(role.rules.at(-1)).toEqual({ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] });
  });

  it('grants what an audit lists, and the ConfigMaps of the authorities by name', () => {
    const [role, , ...rest] = documents(rbacManifests({ user: 'eve' }, [DEFAULT_POLICY]));
    expect(role.rules.slice(3)).toEqual([
      { apiGroups: ['networking.k8s.io'], resources: ['servicecidrs'], verbs: ['list'] },
      { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
        verbs: ['list'],
      },
      { apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: ['list'] },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['list'] },
      { apiGroups: ['cert-manager.io'], resources: ['certificates'], verbs: ['list'] },
    ]);
    expect(rest.map(({ kind, metadata: { namespace }, rules }) => [kind, namespace, rules?.[0].resourceNames])).toEqual(
      [
        ['Role', 'kube-system', ['kube-root-ca.crt', 'extension-apiserver-authentication']],
        ['RoleBinding', 'kube-system', undefined],
        ['Role', 'kube-public', ['cluster-info']],
        ['RoleBinding', 'kube-public', undefined],
      ],
    );
    expect(rest[0].rules[0]).toMatchObject({ resources: ['configmaps'], verbs: ['get'] });
    expect(rest[1]).toMatchObject({
      metadata: { name: 'certmarshal-audit:user:eve' },
      roleRef: { kind: 'Role', name: 'certmarshal-audit:user:eve' },
      subjects: [{ kind: 'User', name: 'eve' }],
    });
  });

  it('never grants a write but that of an approval, a watch, a wildcard, or Secrets that nobody asked for', () => {
    const all = [{}, { management: true }, { auditSecrets: true, kubeletMetrics: true }].flatMap((options) =>
      documents(rbacManifests(options, [DEFAULT_POLICY])).flatMap(({ rules = [] }) => rules),
    );
    const others = all.filter(({ verbs }) => verbs.some((verb: string) => verb !== 'get' && verb !== 'list'));
    expect(new Set(others.flatMap(({ resources }) => resources))).toEqual(
      new Set(['certificatesigningrequests/approval', 'signers']),
    );
    const secrets = (options: RbacOptions) => rbacManifests(options, [DEFAULT_POLICY]).includes('secrets');
    expect([secrets({}), secrets({ management: true }), secrets({ kubeletMetrics: true })]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('gives what reads keys, or more, a role of its own, and says so', () => {
    const printed = rbacManifests({ auditSecrets: true, kubeletMetrics: true }, [DEFAULT_POLICY]);
    const roles = documents(printed).filter(({ kind }) => kind === 'ClusterRole');
    expect(roles.map(({ metadata, rules }) => [metadata.name, rules.at(-1)]).slice(1)).toEqual([
      ['certmarshal-audit-secrets', { apiGroups: [''], resources: ['secrets'], verbs: ['list'] }],
      ['certmarshal-kubelet-metrics', { apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] }],
    ]);
    expect(printed).toMatch(/# Reads every Secret of the cluster, private keys .*\n# .*\napiVersion:/);
    expect(printed).toMatch(/# This right is strong: .*\n# .*\napiVersion:/);
  });

  it('grants the Secrets of the workload clusters that are named, by their names', () => {
    const [, , role, binding, ...rest] = documents(
      rbacManifests({ management: true, auditSecrets: true, clusterSecretsOf: ['eksa-system/berlin'] }, [
        DEFAULT_POLICY,
      ]),
    );
    expect(rest).toEqual([]);
    expect(role).toMatchObject({
      kind: 'Role',
      metadata: { name: 'certmarshal-cluster-secrets:group:certmarshal', namespace: 'eksa-system' },
      rules: [{ resources: ['secrets'], verbs: ['get'] }],
    });
    expect(role.rules[0].resourceNames).toContain('berlin-ca');
    expect(role.rules[0].resourceNames).toContain('berlin-etcd');
    expect(binding.roleRef.name).toBe('certmarshal-cluster-secrets:group:certmarshal');
  });

  const rolesOf = (options: RbacOptions) =>
    documents(rbacManifests(options, [DEFAULT_POLICY]))
      .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
      .map(({ metadata: { name, namespace }, rules }) => ({ name, namespace, rules }));
  const LEASES = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };

  it('grants with --rollouts what a plan is made from, and no write', () => {
    const [, cluster, lease, ...rest] = rolesOf({ management: true, audit: false, rollouts: true });
    expect(rest).toEqual([]);
    expect(cluster).toMatchObject({ name: 'certmarshal-rollouts', namespace: undefined });
    expect(new Set(cluster?.rules.flatMap(({ verbs }: { verbs: readonly string[] }) => verbs))).toEqual(
      new Set(['get', 'list']),
    );
    expect(lease).toEqual({
      name: 'certmarshal-rollouts:group:certmarshal',
      namespace: 'kube-system',
      rules: [{ ...LEASES, resourceNames: ['certmarshal-rollout'], verbs: ['get'] }],
    });
  });

  it('grants with --rollout-of one patch of each control plane that is named, and the Lease', () => {
    const roles = rolesOf({
      management: true,
      audit: false,
      rollouts: true,
      rolloutOf: ['eksa-system/berlin', 'eksa-system/oslo', 'other/rome'],
    });
    expect(roles.slice(3)).toEqual([
      {
        name: 'certmarshal-rollout-lease:group:certmarshal',
        namespace: 'kube-system',
        rules: [
          { ...LEASES, verbs: ['create'] },
          { ...LEASES, resourceNames: ['certmarshal-rollout'], verbs: ['get', 'patch'] },
        ],
      },
      ...[
        ['eksa-system', 'berlin'],
        ['eksa-system', 'oslo'],
        ['other', 'rome'],
      ].map(([namespace, cluster]) => ({
        name: `certmarshal-rollout-control-planes:${cluster}:group:certmarshal`,
        namespace,
        rules: [
          {
            apiGroups: ['controlplane.cluster.x-k8s.io'],
            resources: ['kubeadmcontrolplanes'],
            resourceNames: [cluster],
            verbs: ['patch'],
          },
        ],
      })),
    ]);
  });

  it('takes nothing from one cluster when another one of its namespace is granted later', () => {
    const names = (cluster: string) =>
      documents(
        rbacManifests({ management: true, rollouts: true, rolloutOf: [`eksa-system/${cluster}`], rolloutEtcd: true }, [
          DEFAULT_POLICY,
        ]),
      )
        .filter(({ rules }) => JSON.stringify(rules ?? []).includes('"patch"'))
        .map(({ metadata }) => metadata.name)
        .filter((name) => name !== 'certmarshal-rollout-lease:group:certmarshal');
    expect(names('berlin')).toHaveLength(2);
    expect(names('berlin').filter((name) => names('oslo').includes(name))).toEqual([]);
  });

  it('grants with --rollout-etcd its etcd too, as EKS Anywhere calls it', () => {
    const roles = rolesOf({ management: true, rollouts: true, rolloutOf: ['eksa-system/berlin'], rolloutEtcd: true });
    expect(roles.slice(-2)).toMatchObject([
      {
        name: 'certmarshal-rollout-etcd:berlin:group:certmarshal',
        namespace: 'eksa-system',
        rules: [{ resources: ['etcdadmclusters'], resourceNames: ['berlin-etcd'], verbs: ['patch'] }],
      },
      { namespace: 'etcdadm-controller-system', rules: [{ resources: ['pods'], verbs: ['list'] }] },
    ]);
  });

  it('grants a recovery in roles of its own, and says what that means', () => {
    const printed = rbacManifests({ audit: false, recovery: true }, [DEFAULT_POLICY]);
    expect(printed).toMatch(
      /# Anyone with this can make any user a Node .*\n# certmarshal rbac --recovery, with the same subject, \| kubectl delete -f -\n/,
    );
    const roles = rolesOf({ recovery: true, serviceAccount: 'kube-system/certmarshal' });
    // It is deleted with the same command: nothing else may be in it.
    expect(printed).not.toContain('kind: ServiceAccount\nmetadata');
    expect(roles.map(({ name, namespace }) => [name, namespace])).toEqual([
      ['certmarshal-recovery', undefined],
      ['certmarshal-recovery:sa:kube-system:certmarshal', 'kube-node-lease'],
    ]);
    expect(roles[1]?.rules).toEqual([{ ...LEASES, verbs: ['list'] }]);
  });

  it.each<[string, RbacOptions]>([
    ['--rollouts is about a management cluster', { rollouts: true }],
    ['--rollout-of is about rollouts', { management: true, rolloutOf: ['a/b'] }],
    ['--rollout-etcd takes the clusters', { management: true, rollouts: true, rolloutEtcd: true }],
    ['--rollout-of takes NAMESPACE/CLUSTER', { management: true, rollouts: true, rolloutOf: ['berlin'] }],
    ['--recovery is about the cluster that has the Nodes', { management: true, recovery: true }],
  ])('refuses what does not go together: %s', (message, options) => {
    expect(() => rbacManifests(options, [DEFAULT_POLICY])).toThrow(message);
  });

  it('grants only Clusters and Machines in a management cluster where nothing is audited', () => {
    const [role, , ...rest] = documents(rbacManifests({ management: true, audit: false }, [DEFAULT_POLICY]));
    expect(role.rules).toEqual([
      { apiGroups: ['cluster.x-k8s.io'], resources: ['clusters', 'machines'], verbs: ['get', 'list'] },
    ]);
    expect(rest).toEqual([]);
  });

  it('grants what says when the certificates of Machines end in a management cluster', () => {
    const [role, , ...rest] = documents(rbacManifests({ management: true }, [DEFAULT_POLICY]));
    expect(role.rules.flatMap(({ resources }: { resources: readonly string[] }) => resources)).toEqual([
      'clusters',
      'machines',
      'kubeadmconfigs',
      'kubeadmcontrolplanes',
      'etcdadmclusters',
      'clusters',
      'vspheredatacenterconfigs',
      'nutanixdatacenterconfigs',
      'vspheremachineconfigs',
      'tinkerbellmachineconfigs',
      'snowmachineconfigs',
    ]);
    expect(rest).toEqual([]);
  });

  it('grants the kubeconfigs of the workload clusters that are named, in their namespaces', () => {
    const kubeconfigOf = ['eksa-system/berlin', 'eksa-system/oslo', 'other/oslo', 'eksa-system/berlin'];
    const [, , ...rest] = documents(rbacManifests({ management: true, kubeconfigOf, user: 'eve' }, [DEFAULT_POLICY]));
    const role = (namespace: string, resourceNames: readonly string[]) => [
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'certmarshal-kubeconfigs:user:eve', namespace },
        rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames, verbs: ['get'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'certmarshal-kubeconfigs:user:eve', namespace },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'certmarshal-kubeconfigs:user:eve' },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'eve' }],
      },
    ];
    expect(rest).toEqual([
      ...role('eksa-system', ['berlin-kubeconfig', 'oslo-kubeconfig']),
      ...role('other', ['oslo-kubeconfig']),
    ]);
  });

  it.each([
    [{ kubeconfigOf: ['a/b'] }, /give --management too/],
    [{ management: true, kubeconfigOf: ['b'] }, /takes NAMESPACE\/CLUSTER, for example .*; got b$/],
    [{ management: true, kubeconfigOf: ['a/*'] }, /takes NAMESPACE\/CLUSTER/],
    [{ management: true, auditSecrets: true }, /each by --cluster-secrets-of NAMESPACE\/CLUSTER/],
    [{ management: true, clusterSecretsOf: ['a/b'] }, /say so with --audit-secrets/],
    [{ auditSecrets: true, clusterSecretsOf: ['a/b'] }, /give --management too/],
    [{ management: true, auditSecrets: true, clusterSecretsOf: ['b'] }, /^--cluster-secrets-of takes NAMESPACE/],
    [{ management: true, kubeletMetrics: true }, /leave out --management/],
    [{ audit: false, auditSecrets: true }, /^--no-audit excludes/],
  ])('refuses %j', (options, says) => {
    expect(() => rbacManifests(options, [DEFAULT_POLICY])).toThrow(says);
  });

  it('makes a service account', () => {
    const [account, , binding] = documents(
      rbacManifests({ serviceAccount: 'kube-system/certmarshal' }, [DEFAULT_POLICY]),
    );
    expect(account).toMatchObject({
      kind: 'ServiceAccount',
      metadata: { name: 'certmarshal', namespace: 'kube-system' },
    });
    expect(binding.subjects).toEqual([{ kind: 'ServiceAccount', name: 'certmarshal', namespace: 'kube-system' }]);
  });

  it.each<[RbacOptions, string]>([
    [{}, 'certmarshal:group:certmarshal'],
    [{ group: 'certmarshal' }, 'certmarshal:group:certmarshal'],
    [{ user: 'certmarshal' }, 'certmarshal:user:certmarshal'],
    [{ user: 'eve@example.com' }, 'certmarshal:user:eve@example.com'],
    [{ user: 'arn:aws:iam::1:role/a%' }, 'certmarshal:user:arn:aws:iam::1:role=2Fa=25'],
    [{ user: 'ö =' }, 'certmarshal:user:=C3=B6=20=3D'],
    [{ serviceAccount: 'kube-system/certmarshal' }, 'certmarshal:sa:kube-system:certmarshal'],
    [{ management: true }, 'certmarshal-management:group:certmarshal'],
    [{ management: true, serviceAccount: 'a/b.c' }, 'certmarshal-management:sa:a:b.c'],
  ])('binds %j under a name of its own', (options, name) => {
    const binding = documents(rbacManifests(options, [DEFAULT_POLICY])).find(
      ({ kind }) => kind === 'ClusterRoleBinding',
    );
    expect(binding.metadata).toEqual({ name });
    expect(binding.roleRef.name).toBe(options.management === true ? 'certmarshal-management' : 'certmarshal');
  });

  it('gives no two subjects one name, and only names that an API server takes', () => {
    const name = (options: RbacOptions) =>
      documents(rbacManifests({ ...options, audit: false }, [DEFAULT_POLICY])).at(-1).metadata.name as string;
    const subject = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(subject, subject, (a, b) => {
        // ValidatePathSegmentName of apimachinery.
        expect(name({ user: a })).toMatch(/^certmarshal:user:[^/%]+$/);
        expect(name({ user: a }) === name({ user: b })).toBe(a === b);
        expect(name({ user: a })).not.toBe(name({ group: a }));
      }),
      { seed: 42 },
    );
  });

  it.each([
    [['--user', ''], '--user and --group take a name; got an empty one.\n'],
    [
      ['--service-account', 'kube-system/Cert:marshal'],
      '--service-account takes NAMESPACE/NAME, for example kube-system/certmarshal; got kube-system/Cert:marshal\n',
    ],
    [['--user', 'a', '--group', 'b'], '--user, --group and --service-account exclude each other.\n'],
    [
      ['--service-account', 'certmarshal'],
      '--service-account takes NAMESPACE/NAME, for example kube-system/certmarshal; got certmarshal\n',
    ],
  ])('refuses %j', async (args, stderr) => {
    expect(await runCli(['rbac', ...args])).toEqual({ status: 2, stdout: '', stderr });
  });
});
