import { describe, expect, it } from 'vitest';
import { type Assessment, assessExpiry } from '../../../../lambdas/audit/assess.ts';
import { certificateGroups } from '../../../../lambdas/audit/rules/certificate-groups.ts';
import { DEFAULT_THRESHOLDS } from '../../../../lambdas/audit/rules/thresholds.ts';
import type { Observation } from '../../../../lambdas/contracts/observation.ts';
import type { CertificateClass } from '../../../../lambdas/tables/certificate-classes.ts';
import { certificate, DAY, member } from '../fixtures.ts';

const NOW = Date.parse('2026-11-22T10:00:00Z');
const at = (days: number) => new Date(NOW + days * DAY).toISOString();
const TOLD = { observedAt: at(0) };

/** `clusterctl move` made the Machines anew 52 days ago; the machines are 347 days old. */
const MOVED = -52;
const REAL = -347;

const LISTED = { ...TOLD, addresses: [] };
const machine = (name: string, role: 'control-plane' | 'etcd', node?: string): Observation =>
  member({ ...LISTED, source: 'machines', role, name: `Machine eksa-system/${name}`, node, createdAt: at(MOVED) });
const node = (name: string, createdAt = at(REAL)): Observation =>
  member({ ...LISTED, role: 'control-plane', name: `Node ${name}`, node: name, createdAt });
const AGE = {
  ...TOLD,
  source: 'machines',
  basis: 'inference',
  notBefore: at(MOVED),
  notAfter: at(MOVED + 365),
} as const;
const inferred = (what: 'control-plane-clients' | 'etcd-peer' | 'etcd-server', name: string): Observation =>
  certificate({ ...AGE, what, where: `Machine eksa-system/${name}`, member: name, precisionMs: DAY });
const shown = (what: 'kube-apiserver' | 'etcd-server' | 'kubelet-serving', name: string, end: number): Observation =>
  certificate({ ...TOLD, what, where: `${name}:443`, member: name, notBefore: at(end - 365), notAfter: at(end) });
const SECRET = 'Secret eksa-system/berlin-apiserver-etcd-client tls.crt';
const ETCD_CLIENT: Observation = certificate({
  ...AGE,
  what: 'apiserver-etcd-client',
  where: SECRET,
  precisionMs: DAY,
});

const CLUSTER = { id: 'berlin', provider: 'eks-anywhere' } as const;
const assessed = (observations: readonly Observation[], previous?: Assessment, now = NOW) =>
  assessExpiry(CLUSTER, observations, previous, DEFAULT_THRESHOLDS, now);

function dues(...observations: readonly Observation[]): Readonly<Record<string, string | undefined>> {
  const { findings } = assessed(observations);
  return Object.fromEntries(
    findings.flatMap(({ code, object, due }) => (code.startsWith('CertificateExpir') ? [[object, due]] : [])),
  );
}

describe('an end that follows from the age of a Machine', () => {
  it('is not later than what the Node of the machine allows, which a move does not make anew', () => {
    const machines = [machine('cp-1', 'control-plane', 'cp-1'), inferred('control-plane-clients', 'cp-1')];
    expect(dues(...machines)).toEqual({});
    expect(dues(...machines, node('cp-1', at(-1)))).toEqual({});
    expect(dues(...machines, node('cp-1'))).toEqual({ 'control-plane-clients cp-1': at(18) });
    expect(dues(...machines, node('cp-2'))).toEqual({});
    const older = { ...machine('etcd-1', 'etcd'), createdAt: at(REAL) } as Observation;
    expect(dues(older, inferred('etcd-peer', 'etcd-1'))).toEqual({ 'etcd-peer etcd-1': at(18) });
  });

  it('is not later than that of a certificate that was made in the same run', () => {
    const certificates = [
      machine('cp-1', 'control-plane', 'cp-1'),
      inferred('control-plane-clients', 'cp-1'),
      shown('kube-apiserver', 'cp-1', 18),
      machine('etcd-1', 'etcd'),
      inferred('etcd-server', 'etcd-1'),
      inferred('etcd-peer', 'etcd-1'),
      shown('etcd-server', 'etcd-1', 19),
      ETCD_CLIENT,
    ];
    expect(dues(...certificates)).toEqual({
      'kube-apiserver cp-1': at(18),
      'control-plane-clients cp-1': at(18),
      'etcd-server etcd-1': at(19),
      'etcd-peer etcd-1': at(19),
      [`apiserver-etcd-client ${SECRET}`]: at(19),
    });
  });

  it('knows nothing from certificates that a kubelet renews', () => {
    const clients = [machine('cp-1', 'control-plane', 'cp-1'), inferred('control-plane-clients', 'cp-1')];
    const kubelet = shown('kubelet-serving', 'cp-1', 364);
    expect(dues(...clients, kubelet, node('cp-1'))).toEqual({ 'control-plane-clients cp-1': at(18) });
  });

  it('says that it is the latest possible where neither its Node nor a certificate was seen', () => {
    const facts = (...observations: readonly Observation[]) =>
      assessed(observations, undefined, NOW + 300 * DAY).findings.find(({ object }) => object === 'etcd-peer etcd-1')
        ?.facts;
    const etcd = [machine('etcd-1', 'etcd'), inferred('etcd-peer', 'etcd-1')];
    const noted = (days: number) => told('annotation', 'etcd-server', 'etcd-1', days);
    expect(facts(...etcd, node('etcd-1', at(MOVED)))).toMatchObject({ estimate: 'age' });
    expect(facts(...etcd, noted(313))).toMatchObject({ estimate: 'age' });
    expect(facts(...etcd, noted(310))).toMatchObject({ estimate: 'run' });
    expect(facts(...etcd)).toMatchObject({ estimate: 'latest' });
    expect(facts(...etcd, shown('etcd-server', 'etcd-1', 313))).toMatchObject({ basis: 'inference', estimate: 'run' });
  });
});

const FAILED = { kind: 'unread', problem: 'timeout', message: 'no answer', remedy: 'Look.' } as const;

/** Machines that are 400 days old, so that what kubeadm and etcdadm issued at first expired 35 days ago. */
function oldMachine(name: string, role: 'control-plane' | 'etcd', classes: readonly CertificateClass[]) {
  const of = role === 'etcd' ? {} : { node: name };
  return [
    { ...machine(name, role), ...of, createdAt: at(-400) },
    ...classes.map(
      (what): Observation =>
        ({ ...inferred('etcd-peer', name), what, notBefore: at(-400), notAfter: at(-35) }) as Observation,
    ),
  ];
}
const ETCD_CLIENT_OLD = { ...ETCD_CLIENT, notBefore: at(-400), notAfter: at(-35) } as Observation;
const EXTERNAL = [
  ...oldMachine('cp-1', 'control-plane', ['control-plane-clients']),
  ...['etcd-1', 'etcd-2', 'etcd-3'].flatMap((name) => oldMachine(name, 'etcd', ['etcd-server', 'etcd-peer'])),
  ETCD_CLIENT_OLD,
];
const STACKED = oldMachine('cp-1', 'control-plane', [
  'control-plane-clients',
  'etcd-server',
  'etcd-peer',
  'etcd-healthcheck-client',
]);
const ANSWERS: readonly Observation[] = [
  { ...node('cp-1', at(-400)) },
  { kind: 'read', source: 'nodes', ...TOLD, count: 1 },
];
const told = (basis: 'annotation' | 'status', what: 'kube-apiserver' | 'etcd-server', name: string, end: number) => {
  const [source, where] =
    basis === 'status'
      ? (['eks-anywhere', 'Cluster default/berlin'] as const)
      : (['machines', `Machine eksa-system/${name}`] as const);
  return certificate({ ...TOLD, source, what, where, member: name, basis, notBefore: undefined, notAfter: at(end) });
};

const outline = ({ findings }: Assessment) =>
  findings.flatMap(({ severity, code, object }) => (code === 'NotVisible' ? [] : `${severity} ${code} ${object}`));

describe('machines that were renewed in place', () => {
  it('have no finding where a handshake showed each component, as rights to Secrets are rare', () => {
    const seen = [
      shown('kube-apiserver', 'cp-1', 330),
      ...['etcd-1', 'etcd-2', 'etcd-3'].map((name) => shown('etcd-server', name, 330)),
    ];
    expect(outline(assessed([...EXTERNAL, ...ANSWERS, ...seen]))).toEqual([]);
    // Also where it lives longer than kubeadm lets it: what is lifted does not begin in the future.
    const longer = seen.map((one) => ({ ...one, notAfter: at(380) }) as Observation);
    expect(outline(assessed([...EXTERNAL, ...ANSWERS, ...longer]))).toEqual([]);
    // Without one of them.
    expect(outline(assessed([...EXTERNAL, ...ANSWERS, ...seen.slice(0, 3)]))).toEqual([
      'warning ExpiryUnknown apiserver-etcd-client Secret eksa-system/berlin-apiserver-etcd-client tls.crt',
      'warning ExpiryUnknown etcd-peer etcd-3',
      'warning ExpiryUnknown etcd-server etcd-3',
    ]);
  });

  it('are not judged by their age, whatever shows it: only what a handshake showed of a component lifts the guess', () => {
    for (const evidence of [
      told('annotation', 'kube-apiserver', 'cp-1', 330),
      told('status', 'kube-apiserver', 'cp-1', 330),
    ])
      expect(outline(assessed([...STACKED, ...ANSWERS, evidence]))).toEqual([
        'warning ExpiryUnknown control-plane-clients cp-1',
        'warning ExpiryUnknown etcd-healthcheck-client cp-1',
        'warning ExpiryUnknown etcd-peer cp-1',
        'warning ExpiryUnknown etcd-server cp-1',
      ]);
    expect(outline(assessed([...STACKED, ...ANSWERS, shown('kube-apiserver', 'cp-1', 330)]))).toEqual([
      'warning ExpiryUnknown etcd-healthcheck-client cp-1',
      'warning ExpiryUnknown etcd-peer cp-1',
      'warning ExpiryUnknown etcd-server cp-1',
    ]);
  });

  it('are unknown before the guess passes too, and the warning names both sources', () => {
    const young = [machine('cp-1', 'control-plane', 'cp-1'), inferred('etcd-server', 'cp-1'), node('cp-1')];
    const { findings } = assessed([...young, told('annotation', 'kube-apiserver', 'cp-1', 350)]);
    expect(findings[0]).toMatchObject({
      code: 'ExpiryUnknown',
      severity: 'warning',
      object: 'etcd-server cp-1',
      facts: {
        estimate: 'age',
        notAfter: '2026-12-10T10:00:00.000Z',
        renewed: { basis: 'annotation', where: 'Machine eksa-system/cp-1' },
      },
    });
  });

  it('are believed where a person annotated the etcd Machine', () => {
    const annotated = EXTERNAL.map((one) =>
      one.kind === 'certificate' && one.member?.startsWith('etcd')
        ? ({ ...one, basis: 'annotation', notBefore: undefined, notAfter: at(330) } as const)
        : one,
    );
    const seen = shown('kube-apiserver', 'cp-1', 330);
    expect(outline(assessed([...annotated, ...ANSWERS, seen]))).toEqual([]);
  });

  it('lift nothing with a certificate that a server shows without its proof', () => {
    const foreign = { ...shown('etcd-server', 'etcd-1', 3_000), issuedByCluster: false } as Observation;
    const machines = oldMachine('etcd-1', 'etcd', ['etcd-peer']);
    expect(outline(assessed([...machines, ...ANSWERS, foreign]))).toContain('warning ExpiryUnknown etcd-peer etcd-1');
  });

  it('are not judged by the age of a Machine that a move made anew', () => {
    const moved = [machine('cp-1', 'control-plane', 'cp-1'), inferred('etcd-server', 'cp-1'), node('cp-1')];
    expect(outline(assessed([...moved, shown('kube-apiserver', 'cp-1', 300)]))).toEqual([
      'warning ExpiryUnknown etcd-server cp-1',
    ]);
    const etcd = [machine('etcd-1', 'etcd'), inferred('etcd-peer', 'etcd-1'), machine('cp-1', 'control-plane')];
    const noted = (end: number) => outline(assessed([...etcd, told('annotation', 'etcd-server', 'etcd-1', end)]));
    expect(noted(350)).toContain('warning ExpiryUnknown etcd-peer etcd-1');
    // Two days later than its Machine allows is the same certificate.
    expect(noted(315)).not.toContain('warning ExpiryUnknown etcd-peer etcd-1');
  });

  it('do not include a machine whose Machine waited for hardware', () => {
    const waited = [machine('cp-1', 'control-plane', 'cp-1'), inferred('etcd-server', 'cp-1'), node('cp-1', at(-40))];
    const late = told('annotation', 'kube-apiserver', 'cp-1', 325);
    const { findings } = assessed([...waited, late]);
    expect(findings.map(({ code }) => code)).toEqual(['NotVisible']);
  });
});

describe('a guess that has passed', () => {
  const object = 'etcd-peer etcd-1';
  const machines = oldMachine('etcd-1', 'etcd', ['etcd-peer']);
  const silent = (days: number): readonly Observation[] => [
    { ...FAILED, source: 'nodes', observedAt: at(days) },
    { ...FAILED, source: 'signing-requests', observedAt: at(days) },
  ];

  it('is unknown from that moment on, also where nobody knows since when it is valid', () => {
    const passed = { ...inferred('etcd-peer', 'etcd-1'), notBefore: undefined, notAfter: at(0) } as Observation;
    expect(outline(assessed([passed]))).toEqual([`warning ExpiryUnknown ${object}`]);
  });

  it('is a warning with the line to run while the API server answers', () => {
    const { findings } = assessed([...machines, ...ANSWERS]);
    expect(findings.find((finding) => finding.object === object)).toMatchObject({
      code: 'ExpiryUnknown',
      severity: 'warning',
      object,
      facts: { estimate: 'latest', renewed: undefined, lastAnswer: undefined },
    });
  });

  it('is critical once the API server has not answered for a day, or since before', () => {
    let last = assessed([...machines, ...ANSWERS]);
    const severities = [0.9, 1, 1.1, 1.2].map((days) => {
      last = assessed([...machines, ...silent(days)], last, NOW + days * DAY);
      return last.findings.find((finding) => finding.object === object)?.severity;
    });
    expect(severities).toEqual(['warning', 'warning', 'critical', 'critical']);
    expect(last.findings.find((finding) => finding.object === object)?.facts).toMatchObject({ lastAnswer: at(0) });
    // One list that is read is an answer, and one object that is not is no silence.
    const read = { kind: 'read', observedAt: at(1.3), count: 1 } as const;
    for (const answer of [
      [...silent(1.3), { ...read, source: 'trust-configmaps' } as const],
      [{ ...FAILED, source: 'nodes', observedAt: at(1.3) } as const, { ...read, source: 'signing-requests' } as const],
      silent(1.3).map((one) => ({ ...one, where: 'x' }) as Observation),
    ])
      expect(outline(assessed([...machines, ...answer], last, NOW + 1.3 * DAY))).toContain(
        `warning ExpiryUnknown ${object}`,
      );
    expect(assessed([...machines, ...silent(0)]).findings).toContainEqual(
      expect.objectContaining({ object, severity: 'critical' }),
    );
    const earlier = ANSWERS.map((one) => ({ ...one, observedAt: at(-35.1) }));
    const before = assessed([...machines, ...earlier], undefined, NOW - 35.1 * DAY);
    expect(outline(assessed([...machines, ...silent(0)], before))).toContain(`critical ExpiryUnknown ${object}`);
  });

  it('is no date in a timeline, and no expired certificate', () => {
    const { findings, observations } = assessed([...machines, ...ANSWERS]);
    const snapshot = { findings, observations, provider: 'eks-anywhere', auditedAt: at(0) } as const;
    expect(certificateGroups(snapshot, NOW)).toMatchObject([
      { what: 'etcd-peer', count: 1, ended: 0, severity: 'warning', first: { unknown: true } },
    ]);
    const seen = assessed([
      ...machines,
      ...ANSWERS,
      { ...shown('etcd-server', 'etcd-2', 200), what: 'etcd-peer' } as Observation,
    ]);
    expect(certificateGroups({ ...snapshot, ...seen }, NOW)).toMatchObject([
      { what: 'etcd-peer', count: 2, ended: 0, severity: 'warning', first: { notAfter: at(200) } },
    ]);
  });
});

describe('an expiry that an object tells', () => {
  const machines = oldMachine('cp-1', 'control-plane', ['kube-apiserver', 'control-plane-clients']);

  it.each(['annotation', 'status'] as const)('in a %s hides nothing if no issuer can have given it', (basis) => {
    const far = told(basis, 'kube-apiserver', 'cp-1', 3_650);
    const { findings } = assessed([...machines, ...ANSWERS, far]);
    expect(outline({ findings, observations: [] })).toEqual([
      'warning ExpiryUnknown control-plane-clients cp-1',
      'warning ExpiryUnknown kube-apiserver cp-1',
      'warning StaleAnnotation kube-apiserver cp-1',
    ]);
    expect(findings.find(({ code }) => code === 'StaleAnnotation')?.facts).toMatchObject({
      best: { basis: 'inference', where: 'Machine eksa-system/cp-1' },
      other: { basis },
    });
    // Nor the expiry that a handshake shows.
    expect(outline(assessed([...machines, ...ANSWERS, far, shown('kube-apiserver', 'cp-1', 2)]))).toContain(
      'critical CertificateExpiring kube-apiserver cp-1',
    );
  });

  it('is believed as long as a certificate of today can live', () => {
    const [longest, longer] = [366.9, 367.1].map((end) =>
      outline(assessed([...machines, ...ANSWERS, told('annotation', 'kube-apiserver', 'cp-1', end)])),
    );
    expect(longest).not.toContain('warning StaleAnnotation kube-apiserver cp-1');
    expect(longer).toContain('warning StaleAnnotation kube-apiserver cp-1');
  });
});
