import { describe, expect, it } from 'vitest';
import { COMMANDS, commandOf, isAudit } from '../../../lambdas/audit/commands.ts';
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
  expect(isAudit(commandOf(finding, {}))).toBe(true);
});

const MANAGED = 'kubectl --kubeconfig MANAGEMENT ';
const MACHINE = `${MANAGED}-n a get machines.cluster.x-k8s.io b -o yaml\n`;
const CONFIGS = 'kubeadmconfigs.bootstrap.cluster.x-k8s.io';
const DATES = ' | base64 -d | openssl x509 -noout -subject -issuer -enddate\n';
const SIGNER = '--field-selector=spec.signerName=';
it.each<[FindingCode, CertificateClass | undefined, string, string]>([
  // On bare metal `machines` are those of bmc.tinkerbell.org, and EKS Anywhere has a `clusters` beside that of Cluster API.
  ['CertificateExpired', 'kubelet-client', 'Machine a/b', MACHINE],
  ['CertificateExpired', 'kubelet-client', 'KubeadmConfig a/b', `${MANAGED}-n a get ${CONFIGS} b -o yaml\n`],
  [
    'CertificateExpired',
    'kubelet-client',
    'Cluster a/b status',
    '-n a get clusters.anywhere.eks.amazonaws.com b -o yaml',
  ],
  ['CertificateExpired', 'kubelet-client', 'ConfigMap a/b ca.crt', ' KUBECONFIG -n a get configmap b -o yaml\n'],
  // How to renew one of a Machine.
  ['CertificateExpired', 'kube-apiserver', 'Machine a/b', 'certmarshal runbook recovery\n'],
  ['CertificateExpired', 'etcd-server', 'Machine a/b', 'certmarshal runbook renew-in-place\n'],
  ['CertificateExpired', 'control-plane-clients', 'Machine a/b', 'certmarshal runbook renew-in-place\n'],
  // Where Cluster API keeps a Secret, and where the cluster has it.
  ['CertificateExpired', 'etcd-ca', 'Secret a/b tls.crt', `${MANAGED}-n a get secret b `],
  ['CertificateExpired', 'tls-secret', 'Secret a/b tls.crt', ' KUBECONFIG -n a get secret b '],
  ['WeakKey', 'tls-secret', 'Secret a/b ca.crt', String.raw`get secret b -o 'jsonpath={.data.ca\.crt}'${DATES}`],
  ['CertificateUnreadable', 'ca-bundle', 'APIService b', `get apiservice b -o 'jsonpath={.spec.caBundle}'${DATES}`],
  ['Unreachable', undefined, '10.0.1.31:2379', 'certmarshal probe 10.0.1.31:2379\n'],
  ['KubeletRenewalOverdue', 'kubelet-serving', 'Node a', `${SIGNER}kubernetes.io/kubelet-serving\n`],
  ['KubeletRenewalOverdue', 'kubelet-client', 'Node a', `${SIGNER}kubernetes.io/kube-apiserver-client-kubelet\n`],
  ['RequestStorm', undefined, 'system:node:a at x.io/y', `${SIGNER}x.io/y\n`],
  ['RequestStorm', undefined, 'system:node:a', '--sort-by=.metadata.creationTimestamp\n'],
  ['StaleAnnotation', 'kube-apiserver', 'Machine a/b', `${MANAGED}get ${CONFIGS} -A `],
  ['StaleAnnotation', 'etcd-server', 'Machine a/b', MACHINE],
  ['StaleAnnotation', 'etcd-peer', 'Machine a/b', MACHINE],
  ['ExpiryUnknown', 'etcd-server', 'Machine a/b', 'sudo find /etc/kubernetes/pki '],
  ['ExpiryUnknown', 'etcd-server', 'of members', 'certmarshal audit '],
  ['ExpiryUnknown', 'kubelet-serving', 'Node a', 'certmarshal audit '],
  ['ExpiryUnknown', 'apiserver-etcd-client', 'Secret a/b tls.crt', `${MANAGED}-n a get secret b `],
  ['SuccessorNotTrusted', undefined, 'node groups', 'get nodes --sort-by=.metadata.creationTimestamp\n'],
])('of %s, %s, at %s', (code, what, at, command) => {
  const object = what === undefined ? at : `${what} ${at}`;
  expect(`${commandOf({ code, what, cluster: 'berlin', object, message: '' }, {})}\n`).toContain(command);
});

it('of a request names it, and without its name all of its signer', () => {
  const context = { cluster: 'berlin', provider: 'eks', signer: 'x.io/y' } as const;
  expect(COMMANDS.RequestDenied({ ...context, request: 'csr-1' })).toContain(
    'describe certificatesigningrequest csr-1',
  );
  expect(COMMANDS.RequestDenied(context)).toContain('spec.signerName=x.io/y');
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
  ['4 nodes have a pending request; ', 'certmarshal run --kubeconfig KUBECONFIG --cluster berlin'],
  ['1 node has a pending request; ', 'certmarshal run --kubeconfig KUBECONFIG --cluster berlin'],
  ['1 of 3 nodes has a pending request; ', 'certmarshal audit --kubeconfig KUBECONFIG --cluster berlin'],
  ['', 'certmarshal audit --kubeconfig KUBECONFIG --cluster berlin'],
  ['x: 4 nodes have a pending request; ', 'certmarshal audit --kubeconfig KUBECONFIG --cluster berlin'],
])('of an unknown expiry: %s', (begin, command) => {
  const finding = { code: 'ExpiryUnknown', cluster: 'berlin', object: 'kubelet-serving of members' } as const;
  const message = `${begin}it is unknown when the kubelet serving certificate of Node a expires`;
  expect(commandOf({ ...finding, message }, {})).toBe(command);
});

describe('of a source', () => {
  const said = (source: string, problem: string) => ({
    code: 'SourceUnread' as const,
    cluster: 'oslo',
    object: `source ${source}`,
    message: `the source ${source} could not be read for 2 days (${problem}); 3 certificates seen there earlier still count; renew it`,
  });
  const OVER = 'certificate-expired: list x on https://10.0.0.1:6443: a certificate of the endpoint has expired';

  it('of an API server that has expired is an audit that tolerates that', () => {
    expect(commandOf(said('api-services', OVER), {})).toBe(
      'certmarshal audit --tolerate-expired authority --kubeconfig KUBECONFIG --cluster oslo',
    );
  });

  it.each([
    // Its management cluster is never tolerated.
    ['machines', OVER, 'kubectl --kubeconfig MANAGEMENT '],
    ['api-services', 'forbidden: list x: certificate-expired: list y', 'kubectl --kubeconfig KUBECONFIG '],
    ['eks-cluster', OVER, 'aws eks '],
  ])('is not one of %s, %s', (source, problem, command) => {
    expect(commandOf(said(source, problem), {})).toContain(command);
  });
});
