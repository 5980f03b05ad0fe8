import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type RbacOptions, rbacManifests } from '../../../bin/commands/rbac.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { runCli } from './run-cli.ts';

const documents = (text: string) => parseAllDocuments(text).map((document) => document.toJS());

describe('certmarshal rbac', () => {
  it('grants a group what approving takes, and nothing else', () => {
    const [role, binding, ...rest] = documents(rbacManifests({}, [DEFAULT_POLICY]));
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
    ]);
    expect(binding.subjects).toEqual([{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'certmarshal' }]);
  });

  it.each(['node', 'patterns'] as const)('grants Nodes only where a policy uses %s', (source) => {
    const [role] = documents(rbacManifests({ user: 'eve' }, [{ ...DEFAULT_POLICY, evidence: [source] }]));
    expect(role.rules.at(-1)).toEqual({ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] });
  });

  it('grants only Clusters and Machines in a management cluster', () => {
    const [role, , ...rest] = documents(rbacManifests({ management: true }, [DEFAULT_POLICY]));
    expect(role.rules).toEqual([
      { apiGroups: ['cluster.x-k8s.io'], resources: ['clusters', 'machines'], verbs: ['get', 'list'] },
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
    const binding = documents(rbacManifests(options, [DEFAULT_POLICY])).at(-1);
    expect(binding.metadata).toEqual({ name });
    expect(binding.roleRef.name).toBe(options.management === true ? 'certmarshal-management' : 'certmarshal');
  });

  it('gives no two subjects one name, and only names that an API server takes', () => {
    const name = (options: RbacOptions) =>
      documents(rbacManifests(options, [DEFAULT_POLICY])).at(-1).metadata.name as string;
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
