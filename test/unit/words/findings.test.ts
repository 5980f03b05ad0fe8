import { describe, expect, it } from 'vitest';
import { read } from '../../../lambdas/contracts/contract.ts';
import { FACTS, type Facts } from '../../../lambdas/contracts/facts.ts';
import { FINDING_CODES, type FindingCode } from '../../../lambdas/tables/finding-codes.ts';
import { keysOf } from '../../../lambdas/tables/keys.ts';
import { headlineOf, messageOf, nextOf } from '../../../lambdas/words/findings.ts';
import { days, HOUR, NOW } from '../audit/fixtures.ts';
import { type FindingChanges, findingOf, SAMPLES } from './samples.ts';

const AUDIT = 'certmarshal audit --kubeconfig KUBECONFIG --cluster berlin';
const PROBE = 'certmarshal probe 10.0.1.31:6443';
const DOCTOR = 'certmarshal doctor --kubeconfig KUBECONFIG --cluster berlin';
const DESCRIBE_NODE = 'kubectl --kubeconfig KUBECONFIG describe node worker-3';
const DESCRIBE_CSR = 'kubectl --kubeconfig KUBECONFIG describe certificatesigningrequest csr-9';
const EXPLAIN = 'certmarshal explain --node worker-3 --kubeconfig KUBECONFIG --cluster berlin';
const CSRS = 'kubectl --kubeconfig KUBECONFIG get certificatesigningrequests --sort-by=.metadata.creationTimestamp';
const PLAN = 'certmarshal rollout plan --kubeconfig KUBECONFIG --management-kubeconfig MANAGEMENT --cluster berlin';
const OF_SERVING = { what: 'kubelet-serving' } as const;
const SERVER = 'the kube-apiserver certificate at 10.0.1.31:6443';
const KUBELET = 'the kubelet serving certificate of worker-3';

/** For each code what is said, and what to do next, of the sample with these changes. */
const SAID: Readonly<Record<FindingCode, readonly [changes: FindingChanges, message: string, next: string]>> = {
  CertificateExpired: [
    { due: days(-2) },
    `${SERVER} expired 2 days ago, on 2026-11-19 10:00 UTC`,
    'certmarshal runbook recovery',
  ],
  CertificateExpiring: [{ due: days(12) }, `${SERVER} expires in 12 days, on 2026-12-03 10:00 UTC`, PLAN],
  CertificateNotYetValid: [
    {},
    `${SERVER} is not valid before 2026-11-23 10:00 UTC, 2 days from now; clients refuse it until then`,
    PROBE,
  ],
  KubeletRenewalOverdue: [
    { ...OF_SERVING, due: days(3) },
    `${KUBELET} expires in 3 days, on 2026-11-24 10:00 UTC; the kubelet should have renewed it before 90 % of its lifetime`,
    `${CSRS} --field-selector=spec.signerName=kubernetes.io/kubelet-serving`,
  ],
  AuthorityBoundsLeaves: [
    { what: 'cluster-ca', due: days(100) },
    'the cluster CA certificate at 10.0.1.31:6443 expires in 100 days, on 2027-03-01 10:00 UTC, less than the 365 days for which it usually signs',
    PROBE,
  ],
  OutlivesIssuer: [
    { due: days(100) },
    `${SERVER} expires on 2027-11-21 10:00 UTC, but its CA, cluster-ca Secret a/b tls.crt, expires earlier, on 2027-03-01 10:00 UTC`,
    PROBE,
  ],
  VeryLongLived: [
    {},
    `${SERVER} is valid for 10 years, until 2036-11-21 10:00 UTC: its renewal will be forgotten`,
    PROBE,
  ],
  WeakKey: [{}, `the key of ${SERVER} is too weak: RSA-1024`, PROBE],
  WeakSignature: [{}, `the signature of ${SERVER} is too weak: SHA-1`, PROBE],
  IssuerUnknown: [{}, `${SERVER} is not signed by a CA of the cluster; its issuer is CN=x`, PROBE],
  KubeletNameMismatch: [
    OF_SERVING,
    `the common name of ${KUBELET} is x, not system:node:worker-3, which API servers can be told to verify (KEP-4872)`,
    'certmarshal probe 10.0.1.43:10250',
  ],
  KubeletAddressMissing: [
    OF_SERVING,
    `${KUBELET} is not for 10.0.1.43, the first address of its Node: clients that verify it fail there, such as metrics-server without --kubelet-insecure-tls, and kubectl logs and exec through an API server with --kubelet-certificate-authority`,
    'certmarshal probe 10.0.1.43:10250',
  ],
  NameMismatch: [{}, 'the certificate at 10.0.1.31:6443 is not for api.example.com; it has berlin', PROBE],
  CertificateUnreadable: [
    {},
    `Go programs, and so all of Kubernetes, refuse ${SERVER}: notAfter: it has a fraction of a second`,
    PROBE,
  ],
  StaleAnnotation: [
    {},
    `two sources disagree about when ${SERVER} expires: a certificate (tls, 10.0.1.31:6443) says 2027-09-17 10:00 UTC, the annotation (machines, Machine a/b) says 2026-11-26 10:00 UTC; delete the annotation machine.cluster.x-k8s.io/certificates-expiry of the KubeadmConfig, so that Cluster API reads the certificate again`,
    String.raw`kubectl --kubeconfig MANAGEMENT get kubeadmconfigs.bootstrap.cluster.x-k8s.io,machines.cluster.x-k8s.io -A -o 'custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,EXPIRY:.metadata.annotations.machine\.cluster\.x-k8s\.io/certificates-expiry'`,
  ],
  ExpiryUnknown: [
    {},
    `it is unknown when ${SERVER} expires: by the age of its machine on 2026-11-19 10:00 UTC, 2 days ago, and the API server does not answer; look at it on its machine`,
    "sudo find /etc/kubernetes/pki /etc/etcd/pki /var/lib/kubeadm/pki /var/lib/etcd/pki -name '*.crt' -exec openssl x509 -noout -subject -enddate -in {} ';'",
  ],
  Acceptance: [
    {},
    'audit.accept of WeakKey of kubelet-serving worker-3 ends in 71 days, on 2027-01-31 17:00 UTC',
    AUDIT,
  ],
  ClockSkew: [
    {},
    'the clock of https://x is at least 61 s behind ours, so every expiry time is off by that much',
    'date -u; timedatectl timesync-status',
  ],
  SuccessorNotTrusted: [
    { due: days(60) },
    '2 Nodes (a, b) were made before or less than an hour after the successor of the cluster CA of 2026-10-01 10:00 UTC, and will lose the API server once it is active; EKS activates it in 60 days, on 2027-01-20 10:00 UTC; replace them, those of managed node groups with aws eks update-nodegroup-version',
    'kubectl --kubeconfig KUBECONFIG get nodes -L eks.amazonaws.com/nodegroup --sort-by=.metadata.creationTimestamp',
  ],
  AuthorityDistributionFailed: [{}, 'EKS could not distribute the CA ca-2, so nothing trusts it yet', AUDIT],
  RenewalErrors: [
    OF_SERVING,
    'the kubelet of worker-3 failed to renew its serving certificate 2 times since it started',
    DESCRIBE_NODE,
  ],
  RotationUnusual: [
    OF_SERVING,
    'the kubelet of worker-3 replaced its serving certificate 3 times since it started, on average at 10 % of its lifetime; normal is between 70 % and 90 %',
    DESCRIBE_NODE,
  ],
  NoValidCertificate: [
    { what: 'kubelet-client' },
    'the kubelet of worker-3 reports that it has no valid client certificate',
    DESCRIBE_NODE,
  ],
  RequestPending: [
    {},
    '1 request of system:node:worker-3 for kubernetes.io/kubelet-serving is pending, the oldest for 60 minutes; a kubelet gives up after 15 minutes',
    DESCRIBE_CSR,
  ],
  RequestNotIssued: [
    {},
    '1 request of system:node:worker-3 for kubernetes.io/kubelet-serving is approved but not issued, the oldest for 60 minutes; the signer does not run, or does not sign',
    DESCRIBE_CSR,
  ],
  SignerDoesNotIssue: [
    {},
    'the signer issues nothing that certmarshal approves: 2 nodes without a certificate, and each sweep approves one request until it issues one; kube-controller-manager does not sign',
    DESCRIBE_CSR,
  ],
  RequestFailed: [
    {},
    'the signer failed 1 request of system:node:worker-3 for kubernetes.io/kubelet-serving: no such node',
    DESCRIBE_CSR,
  ],
  RequestDenied: [
    {},
    '3 requests of further requesters for kubernetes.io/kubelet-serving were denied within an hour, and the requester asks again',
    DESCRIBE_CSR,
  ],
  RequestStorm: [{}, 'system:node:worker-3 made 30 requests within an hour; a kubelet needs a few in months', CSRS],
  IssuedNamesAnother: [
    OF_SERVING,
    'the certificate of worker-3, issued 2026-11-20, approved by RubberStamp, covers more than its node: IP 10.0.1.24 belongs to worker-8',
    EXPLAIN,
  ],
  IssuedUnproven: [OF_SERVING, 'the certificate of worker-3, is not proven: IP 10.0.1.24 belongs to worker-8', EXPLAIN],
  Unreachable: [
    {},
    '10.0.1.31:6443 (kube-apiserver) does not answer (timeout: no answer within 5 s); check the route',
    PROBE,
  ],
  SourceUnread: [{}, 'the source nodes could not be read (timeout: no answer within 5 s); check the route', DOCTOR],
  SourceLost: [
    { since: days(-2) },
    'the source nodes could not be read for 2 days (timeout: no answer within 5 s); check the route',
    DOCTOR,
  ],
  CoverageShrunk: [
    {},
    '1 of 3 control plane machines that berlin wants is seen',
    'kubectl --kubeconfig MANAGEMENT get clusters.cluster.x-k8s.io,machines.cluster.x-k8s.io -A',
  ],
  SourcePartial: [
    {},
    '7 more findings are not shown, 0 of them critical and 7 about certificates of workloads; delete unused certificates, such as old TLS Secrets',
    AUDIT,
  ],
  NotVisible: [{}, 'these certificates were not seen: etcd server; these sources are off: tls-secrets', AUDIT],
};

const CODES = keysOf(FINDING_CODES);

describe.each(CODES)('a finding %s', (code) => {
  const [changes, message, next] = SAID[code];
  const finding = findingOf({ code, ...changes });

  it('has a sentence and a next command', () => {
    expect(messageOf(finding, NOW)).toBe(message);
    expect(nextOf(finding, { name: 'berlin' })).toBe(next);
  });

  it('is read back as it was made', () => {
    expect(read(FACTS[code], SAMPLES[code])).toEqual({ ok: true, value: SAMPLES[code] });
  });
});

const SOON = { due: days(2) };
const OLD = { ...SOON, lastSeen: days(-1) };
const EFFECT = { effect: 'CREATE of pods fails' };
const ONE = { first: ['a'], count: 1 };
const MANY = { first: ['a', 'b', 'c', 'd'], count: 30 };
const PART = { ...SAMPLES.SourceUnread, isPartial: true };
const UNJUDGED = { of: 'evidence', certificates: 2, where: 'a', why: 'b' };
const LATER = { basis: 'inference', estimate: 'latest' };
it.each<[FindingCode, object, string, FindingChanges?]>([
  ['CertificateExpiring', { basis: 'status' }, ' UTC, according to a status', SOON],
  ['CertificateExpiring', { basis: 'annotation' }, ' UTC, according to an annotation', SOON],
  ['CertificateExpiring', { basis: 'inference', estimate: 'run' }, 'estimated from another certificate of its', SOON],
  ['CertificateExpiring', { basis: 'inference' }, 'age of its machine: the certificate itself was not seen', SOON],
  ['CertificateExpiring', LATER, ' at the latest, estimated from the age of', SOON],
  ['CertificateExpiring', EFFECT, ' UTC; then CREATE of pods fails', SOON],
  ['CertificateExpiring', EFFECT, 'expired 24 hours ago, on 2026-11-20 10:00 UTC: CREATE of pods', { due: days(-1) }],
  ['CertificateExpiring', { renewalDue: days(-1) }, '; it should have been renewed on 2026-11-20 10:00 UTC', SOON],
  ['CertificateExpiring', { renewalFailure: 'it fails' }, ' UTC; it fails', SOON],
  ['CertificateExpiring', { alsoAt: ONE }, ' UTC; also at a', SOON],
  ['CertificateExpiring', {}, '; it was last seen 24 hours ago and cannot be', OLD],
  ['CertificateExpiring', { source: 'signing-requests' }, '; its request was last seen 24 hours ago', OLD],
  ['CertificateNotYetValid', { isNever: true }, ' 10:00 UTC, so it is never valid: issue it again'],
  ['KubeletRenewalOverdue', { lifeMs: 48 * HOUR }, '; its issue date is not known, so a lifetime of 2 days is assumed'],
  ['AuthorityBoundsLeaves', { cutShort: ONE }, ', and so 1 certificate that it signed is cut short: a'],
  ['IssuerUnknown', { subject: 'CN=y' }, `where ${SERVER} should be, a server presents that of CN=y: something else`],
  ['IssuerUnknown', { isIssuedBefore: true }, 'is self-signed, but the earlier one was issued by the cluster'],
  ['KubeletNameMismatch', { commonName: undefined }, 'is absent, not system:node:worker-3'],
  ['WeakKey', { position: 1, isOfChain: true }, 'the key of certificate 2 of the chain at 10.0.1.31:6443 is too weak'],
  ['WeakKey', { position: 1 }, 'of the CA bundle certificate (number 2) at 10.0.1.31:6443 is', { what: 'ca-bundle' }],
  ['ExpiryUnknown', { renewed: SAMPLES.StaleAnnotation.other }, 'its machine was renewed in place, perhaps without it'],
  ['ExpiryUnknown', {}, ', but the API server has answered since; look', { severity: 'warning' }],
  ['ExpiryUnknown', { lastAnswer: days(-3) }, ', and the API server last answered 3 days ago; look'],
  ['StaleAnnotation', { other: { ...SAMPLES.StaleAnnotation.best, basis: 'status' } }, '; trust the first'],
  ['StaleAnnotation', {}, 'certificates-expiry of the Machine', { what: 'etcd-server' }],
  ['IssuedUnproven', { isAddress: true }, '; if the next audit sees that too, it is critical'],
  ['SourceUnread', UNJUDGED, '2 kubelet certificates could not be judged, '],
  [
    'SourceUnread',
    { problem: undefined, certificates: 1 },
    'not checked; 1 certificate seen there earlier still counts',
  ],
  ['SourcePartial', PART, 'the source nodes could be read only in part (timeout: '],
  [
    'SourcePartial',
    { of: 'snapshot', count: 3, all: 9 },
    '3 of 9 observations do not fit in a snapshot, and are unknown',
  ],
  ['SourceLost', { ...SAMPLES.Unreachable, places: MANY }, '30 places (kube-apiserver) do not answer: a, b, c and 27'],
  ['SourceLost', SAMPLES.Unreachable, '; 1 of them was last seen over a day ago; check'],
  ['CoverageShrunk', { of: 'none', machines: ONE }, 'there is no control plane machine among 1 Machine (a); all'],
  ['CoverageShrunk', { of: 'gone', role: 'etcd', machines: ONE, left: 2 }, 'a was among the etcd machines and is not'],
  ['SuccessorNotTrusted', {}, '; EKS was due to activate it on 2026-11-21 10:00 UTC;', { due: days(0) }],
  ['SuccessorNotTrusted', {}, '; EKS gives no date for its activation;'],
  ['SuccessorNotTrusted', { isActivating: true }, '; it is being activated now;'],
  ['RequestStorm', { requester: undefined }, 'there are 30 requests in the cluster, which slows its API server'],
])('%s of %j says %s', (code, facts, words, changes) => {
  const finding = findingOf({ code, ...changes, facts: { ...SAMPLES[code], ...facts } });
  expect(messageOf(finding, NOW)).toContain(words);
});

describe('an unknown expiry of members', () => {
  const of = (count: number, pending: number) =>
    findingOf({
      code: 'ExpiryUnknown',
      what: 'kubelet-serving',
      facts: { of: 'members', members: { first: ['a', 'b'], count }, pending },
    });
  const unknown = 'it is unknown when the kubelet serving certificate of a, b expires';
  it.each([
    [0, unknown, AUDIT],
    [1, `${unknown}; 1 of these has a pending request`, AUDIT],
    // One node must not hide the others.
    [2, `2 nodes have a pending request; ${unknown}`, AUDIT.replace('audit', 'run')],
  ])('of which %d of 2 wait', (pending, message, command) => {
    expect(messageOf(of(2, pending), NOW)).toBe(message);
    expect(nextOf(of(2, pending), { name: 'berlin' })).toBe(command);
  });
});

it('has a headline without details and advice', () => {
  expect(headlineOf(findingOf({ code: 'SourceUnread' }), NOW)).toBe(
    'the source nodes could not be read (timeout: no answer within 5 s)',
  );
});

describe('the next command', () => {
  const secret: Facts<'WeakKey'> = { where: 'Secret a/b tls.crt', source: 'tls-secrets', why: 'x' };
  const noted: Facts<'CertificateExpired'> = { where: 'Machine a/b', source: 'machines', basis: 'annotation' };
  const places = { ...SAMPLES.Unreachable, places: { first: ['h:1', 'h:2'], count: 2 } } as Facts<'Unreachable'>;
  const behind = { ...SAMPLES.SourceUnread, problem: 'certificate-expired' } as Facts<'SourceUnread'>;
  const nameless = { ...SAMPLES.RequestFailed, request: undefined };
  it.each<[string, FindingCode, Omit<FindingChanges, 'code'>, string]>([
    [
      'an API server of EKS',
      'CertificateExpired',
      { what: 'eks-api-server' },
      'certmarshal runbook certificate-expired',
    ],
    [
      'etcd, by its Machine',
      'CertificateExpired',
      { what: 'etcd-server', facts: noted },
      'certmarshal runbook renew-in-place',
    ],
    ['what no server shows', 'WeakKey', { what: 'tls-secret', facts: secret }, AUDIT],
    ['what no rollout renews', 'CertificateExpiring', { what: 'cluster-ca' }, PROBE],
    [
      'IPv6',
      'WeakKey',
      { facts: { ...SAMPLES.WeakKey, where: '[fd00::1]:6443' } },
      "certmarshal probe '[fd00::1]:6443'",
    ],
    ['many places', 'Unreachable', { facts: places }, AUDIT],
    ['a source behind an expired API server', 'SourceUnread', { facts: behind }, 'certmarshal runbook recovery'],
    [
      'requests without a name',
      'RequestFailed',
      { facts: nameless },
      `${CSRS} --field-selector=spec.signerName=kubernetes.io/kubelet-serving`,
    ],
  ])('about %s', (_, code, changes, command) => {
    const provider = changes.what === 'eks-api-server' ? 'eks' : 'eks-anywhere';
    expect(nextOf(findingOf({ code, ...changes }), { name: 'berlin', provider })).toBe(command);
  });

  /** Who makes an object of a cluster, or answers at an address, chooses its name. */
  const HOSTILE = [
    '',
    '*',
    'a b',
    "a'b",
    'x\nreboot',
    String.raw`a\b`,
    ...'$(reboot) `id` a;b a"b a|b a&b a>b -rf --policy=x {a,b} ~x !x'.split(' '),
  ];
  const everywhere = (value: unknown, text: string): unknown => {
    if (typeof value === 'string') return text;
    if (Array.isArray(value)) return value.map((one) => everywhere(one, text));
    if (typeof value !== 'object' || value === null) return value;
    const fields = Object.entries(value);
    return Object.fromEntries(
      fields.map(([key, one]) => [key, /^(?:of|source|basis)$/.test(key) ? one : everywhere(one, text)]),
    );
  };
  const READS =
    /^(?:certmarshal (?:audit|doctor|explain|probe|rollout plan|run|runbook) [^;|&]+|kubectl --kubeconfig \w+ (?:describe|get) [^;|&]+|sudo find [\w/ ]+ -name '\*\.crt' -exec openssl x509 -noout -subject -enddate -in \{\} ';'|date -u; timedatectl timesync-status)$/;

  it.each(CODES)(
    'about %s only reads, and has no word of a cluster that a shell or a program would understand',
    (code) => {
      const plain = nextOf(findingOf({ code }), { name: 'berlin' });
      expect(plain).toMatch(READS);
      for (const text of HOSTILE)
        for (const place of [text, `${text}:6443`, `[${text}]:6443`, `h:${text}`, `Secret a/${text}`]) {
          const finding = findingOf({ code, cluster: text, facts: everywhere(SAMPLES[code], place) as Facts });
          const command = nextOf(finding, { name: text, namespace: text });
          expect(command).toMatch(READS);
          expect(command).not.toMatch(/\n|\s-rf|--policy/);
          expect(text.length > 2 && !text.startsWith('-') && command.includes(text)).toBe(false);
        }
    },
  );
});
