import { describe, expect, it } from 'vitest';
import { COMMANDS, commandOf } from '../../../lambdas/audit/commands.ts';
import { EXPIRED, EXPIRED_OR_CA } from '../../../lambdas/expired-endpoint.ts';
import { SOURCE_IDS } from '../../../lambdas/tables/audit-sources.ts';
import type { CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { FINDING_CODES, type FindingCode } from '../../../lambdas/tables/finding-codes.ts';

/** What a shell would understand, or a program as an option. Who makes an object of a cluster, or answers at an address, chooses its name. */
const HOSTILE = [
  '$(reboot)',
  '`id`',
  'a;b',
  "a'b",
  'a"b',
  'x\nreboot',
  'a|b',
  'a&b',
  'a>b',
  'a<b',
  '-rf',
  'a\\b',
  '{a,b}',
  '~x',
  '!x',
];

/** Every place of what names where a certificate is. */
const PLACES: Readonly<Record<string, (word: string) => string>> = {
  'the kind of an object': (word) => `${word} a/b tls.crt`,
  'a namespace': (word) => `Secret ${word}/b tls.crt`,
  'the name of an object': (word) => `Secret a/${word} tls.crt`,
  'the end of a name': (word) => `ConfigMap a/b${word}`,
  'the name of an object without a namespace': (word) => `CertificateSigningRequest ${word}`,
  'the key in an object': (word) => `Secret a/b ${word}.crt`,
  'a host': (word) => `${word}:6443`,
  'an IPv6 host': (word) => `[${word}]:6443`,
  'a port': (word) => `h:${word}`,
};

describe.each(Object.entries(PLACES))(
  'a command that people paste has nothing of %s that a shell understands',
  (_, where) => {
    it.each(Object.keys(FINDING_CODES) as FindingCode[])('%s', (code) => {
      for (const word of HOSTILE)
        for (const provider of ['eks', 'eks-anywhere'] as const) {
          const command = COMMANDS[code]({ cluster: 'c', provider, where: where(word), what: 'tls-secret' });
          // In the middle of a word it is no option.
          expect(word !== '-rf' && command.includes(word)).toBe(false);
          expect(command).not.toMatch(/\n|\s-rf/);
        }
    });
  },
);

// On bare metal `machines` are those of bmc.tinkerbell.org, and EKS Anywhere has a `clusters` beside that of Cluster API.
it.each([
  [
    'Machine eksa-system/cp-1',
    'kubectl --kubeconfig MANAGEMENT -n eksa-system get machines.cluster.x-k8s.io cp-1 -o yaml',
  ],
  [
    'KubeadmConfig eksa-system/cp-1',
    'kubectl --kubeconfig MANAGEMENT -n eksa-system get kubeadmconfigs.bootstrap.cluster.x-k8s.io cp-1 -o yaml',
  ],
  [
    'Cluster default/berlin status (machine cp-1)',
    'kubectl --kubeconfig MANAGEMENT -n default get clusters.anywhere.eks.amazonaws.com berlin -o yaml',
  ],
  ['ConfigMap kube-system/x ca.crt', 'kubectl --kubeconfig KUBECONFIG -n kube-system get configmap x -o yaml'],
])('of %s names its kind so that no other can be meant', (where, command) => {
  expect(
    COMMANDS.CertificateExpired({ cluster: 'berlin', provider: 'eks-anywhere', what: 'kubelet-client', where }),
  ).toBe(command);
});

it('asks for a Secret of Cluster API where that keeps it, and for another one in the cluster', () => {
  const context = { cluster: 'berlin', provider: 'eks-anywhere', where: 'Secret a/b tls.crt' } as const;
  const command = (what: CertificateClass) => COMMANDS.CertificateExpired({ ...context, what });
  expect(command('etcd-ca')).toMatch(/^kubectl --kubeconfig MANAGEMENT -n a get secret b /);
  expect(command('tls-secret')).toMatch(/^kubectl --kubeconfig KUBECONFIG -n a get secret b /);
});

it('names the kubeconfig of every command of kubectl: the current context may be that of another cluster', () => {
  const places = ['10.0.1.31:2379', 'Secret a/b tls.crt', 'ConfigMap a/b', 'Machine a/b', 'Node b', undefined];
  const commands = places.flatMap((where) =>
    [undefined, ...SOURCE_IDS].flatMap((source) =>
      Object.values(COMMANDS).map((make) => make({ cluster: 'berlin', provider: 'eks-anywhere', where, source })),
    ),
  );
  const ofKubectl = commands.filter((command) => command.startsWith('kubectl '));
  expect(ofKubectl.length).toBeGreaterThan(100);
  expect(ofKubectl.filter((command) => !/^kubectl --kubeconfig (?:KUBECONFIG|MANAGEMENT) /.test(command))).toEqual([]);
  // What is only in the management cluster.
  const elsewhere = ofKubectl.filter((command) => /cluster\.x-k8s\.io|anywhere\.eks/.test(command));
  expect(elsewhere.filter((command) => !command.includes(' MANAGEMENT '))).toEqual([]);
});

it('of a finding whose code a later version made is a new audit', () => {
  const finding = { code: 'MadeLater' as FindingCode, cluster: 'berlin', object: 'x', message: '' };
  expect(commandOf(finding, {})).toBe('certmarshal audit --kubeconfig KUBECONFIG --cluster berlin');
});

it.each(['…', '~0123456789abcdef'])('of an object that was cut, at %s, names no half of it', (end) => {
  const finding = { code: 'CertificateExpired', what: 'tls-secret', cluster: 'berlin', message: '' } as const;
  expect(commandOf({ ...finding, object: `tls-secret Secret a/b${end}` }, {})).toBe(
    'certmarshal audit --kubeconfig KUBECONFIG --cluster berlin',
  );
});

it.each(['kubelet-serving worker-3', 'kubelet-serving worker-3 0a1b2c3d'])(
  'of %s explains the certificate of its node',
  (object) => {
    const finding = {
      code: 'IssuedNamesAnother',
      what: 'kubelet-serving',
      cluster: 'berlin',
      object,
      message: '',
    } as const;
    expect(commandOf(finding, { provider: 'eks' })).toBe(
      'certmarshal explain --node worker-3 --kubeconfig KUBECONFIG --cluster berlin',
    );
    expect(commandOf({ ...finding, object: 'kubelet-serving --policy=x' }, {})).toContain('explain --node NODE ');
  },
);

it.each([
  ['kubelet-serving', 'kubernetes.io/kubelet-serving'],
  ['kubelet-client', 'kubernetes.io/kube-apiserver-client-kubelet'],
] as const)('of an overdue %s certificate lists the requests of its own signer', (what, signer) => {
  const command = COMMANDS.KubeletRenewalOverdue({ cluster: 'paris', provider: 'eks', what });
  expect(command).toContain(`--field-selector=spec.signerName=${signer}`);
});

it.each([
  ['4 nodes have a pending request; ', 'certmarshal sweep --kubeconfig KUBECONFIG --cluster berlin'],
  ['1 node has a pending request; ', 'certmarshal sweep --kubeconfig KUBECONFIG --cluster berlin'],
  ['1 of 3 nodes has a pending request; ', 'certmarshal audit --kubeconfig KUBECONFIG --cluster berlin'],
  ['', 'certmarshal audit --kubeconfig KUBECONFIG --cluster berlin'],
  ['x: 4 nodes have a pending request; ', 'certmarshal audit --kubeconfig KUBECONFIG --cluster berlin'],
])('of an unknown expiry: %s', (begin, command) => {
  const finding = { code: 'ExpiryUnknown', cluster: 'berlin', object: 'kubelet-serving of members' } as const;
  const message = `${begin}it is unknown when the kubelet serving certificate of Node a expires`;
  expect(commandOf({ ...finding, message }, {})).toBe(command);
});

it.each([
  ['kube-apiserver', 'eks-anywhere', 'certmarshal runbook recovery'],
  ['etcd-server', 'eks-anywhere', 'certmarshal runbook renew-in-place'],
  ['control-plane-clients', 'eks-anywhere', 'certmarshal runbook renew-in-place'],
  ['kubelet-client', 'eks-anywhere', 'kubectl --kubeconfig MANAGEMENT '],
] as const)('of an expired certificate of a Machine is how to renew it: %s of %s', (what, provider, command) => {
  const context = { cluster: 'oslo', provider, what, where: 'Machine eksa-system/oslo-cp-1' };
  expect(COMMANDS.CertificateExpired(context).slice(0, command.length)).toBe(command);
});

describe('of a source', () => {
  const said = (source: string, problem: string) => ({
    code: 'SourceUnread' as const,
    cluster: 'oslo',
    object: `source ${source}`,
    message: `the source ${source} could not be read for 2 days (${problem}); 3 certificates seen there earlier still count; renew it`,
  });
  const OVER = `certificate: list x on https://10.0.0.1:6443: ${EXPIRED_OR_CA}`;

  it('of an API server that has expired is an audit that tolerates that', () => {
    for (const problem of [OVER, OVER.replace(EXPIRED_OR_CA, EXPIRED)])
      expect(commandOf(said('api-services', problem), {})).toBe(
        'certmarshal audit --tolerate-expired authority --kubeconfig KUBECONFIG --cluster oslo',
      );
  });

  it.each([
    // Its management cluster is never tolerated.
    ['machines', OVER, 'kubectl --kubeconfig MANAGEMENT '],
    ['api-services', `forbidden: list x: certificate: ${EXPIRED_OR_CA}`, 'kubectl --kubeconfig KUBECONFIG '],
    ['eks-cluster', OVER, 'aws eks '],
  ])('is not one of %s, %s', (source, problem, command) => {
    expect(commandOf(said(source, problem), {})).toContain(command);
  });
});
