import { describe, expect, it } from 'vitest';
import type { Assessment } from '../../../lambdas/audit/assess.ts';
import { boundInSteps } from '../../../lambdas/audit/bound-observations.ts';
import type { Observation } from '../../../lambdas/contracts/observation.ts';
import { MAX_OBSERVATIONS } from '../../../lambdas/contracts/snapshot.ts';
import { finished } from '../../../lambdas/steps.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { assess, certificate, DAY, days, found, MINUTE, member, NOW, read, unread } from './fixtures.ts';

const bounded = (...input: Parameters<typeof boundInSteps>) => finished(boundInSteps(...input));
const many = (count: number, make: (n: number) => Observation) => Array.from({ length: count }, (_, n) => make(n));

/** What a tenant can have as many of as it likes. */
const FLOODS: Readonly<Record<string, (n: number) => Observation>> = {
  'Certificates without status': (n) =>
    unread('cert-manager', { what: 'cert-manager', where: `Certificate t/c${n}`, problem: 'missing' }),
  'TLS Secrets that ended long ago': (n) =>
    certificate({ source: 'tls-secrets', what: 'tls-secret', where: `Secret t/s${n}`, notAfter: days(-9_000) }),
  'TLS Secrets that end before anything else': (n) =>
    certificate({ source: 'tls-secrets', what: 'tls-secret', where: `Secret t/s${n}`, notAfter: days(0.01) }),
  'bundles of authorities': (n) =>
    certificate({ source: 'webhooks', what: 'ca-bundle', where: `Webhook w${n}`, notAfter: days(0.01) }),
  'issued certificates': (n) =>
    certificate({ source: 'signing-requests', what: 'issued-client', where: `CN=t${n}`, notAfter: days(0.01) }),
  ...Object.fromEntries(
    (['signing-requests', 'webhooks', 'api-services', 'crd-conversions', 'cert-manager', 'tls-secrets'] as const).map(
      (source) => [`places of ${source}`, (n: number) => unread(source, { where: `a${n}`, problem: 'malformed' })],
    ),
  ),
};

const OWN: readonly Observation[] = [
  read('nodes'),
  unread('machines'),
  unread('kubelet-metrics', { where: 'node n1' }),
  member(),
  ...Object.keys(CERTIFICATE_CLASSES)
    .filter((what): what is CertificateClass => what in CERTIFICATE_CLASSES)
    .filter(
      (what) => CERTIFICATE_CLASSES[what].layer !== 'workload' && what !== 'ca-bundle' && what !== 'issued-client',
    )
    .flatMap((what, n) => [
      certificate({ what, where: `10.0.0.${n}:1`, notAfter: days(3_000) }),
      unread('tls', { what, where: `10.0.1.${n}:1` }),
    ]),
];

describe('boundInSteps', () => {
  it.each(Object.entries(FLOODS))('leaves out nothing of the cluster for %s', (_, make) => {
    const { kept, left } = bounded([...many(MAX_OBSERVATIONS, make), ...OWN], NOW);
    expect(kept).toHaveLength(MAX_OBSERVATIONS);
    expect(left).toHaveLength(OWN.length);
    expect(kept.slice(-OWN.length)).toEqual(OWN);
  });

  it('leaves out the places, then the certificates that ended or end farthest from now', () => {
    const secret = (name: string, end: number) =>
      certificate({ source: 'tls-secrets', what: 'tls-secret', where: `Secret a/${name}`, notAfter: days(end) });
    const [soon, over, old] = [secret('soon', 1), secret('over', -1), secret('old', -9_000)];
    const place = unread('tls-secrets', { what: 'tls-secret', where: 'Secret a/none' });
    const others = many(MAX_OBSERVATIONS - 2, (n) =>
      certificate({ source: 'tls-secrets', what: 'tls-secret', where: `Secret b/${n}`, notAfter: days(300) }),
    );
    expect(bounded([place, old, over, soon, ...others], NOW).left).toEqual([place, old]);
  });

  it('keeps a certificate whose end is no time, as one that ends now', () => {
    const secret = (name: string, notAfter: string) =>
      certificate({ source: 'tls-secrets', what: 'tls-secret', where: `Secret ${name}`, notAfter });
    const others = many(MAX_OBSERVATIONS, (n) => secret(`b/${n}`, days(n === 7 ? 301 : 300)));
    const { left } = bounded([...others, secret('c/odd', 'soon')], NOW);
    expect(left).toEqual([others[7]]);
  });

  it('leaves out what is nobody else’s before nodes, and nodes before the control plane', () => {
    const nodes = many(MAX_OBSERVATIONS, (n) => certificate({ what: 'kubelet-serving', where: `n${n}:10250` }));
    const { left } = bounded([...nodes, certificate({ notAfter: days(3_000) })], NOW);
    expect(left).toMatchObject([{ what: 'kubelet-serving' }]);
  });

  it('leaves out requesters that are no nodes before nodes, and after workloads', () => {
    const asked = many(MAX_OBSERVATIONS - 1, (n) =>
      certificate({
        source: 'signing-requests',
        what: 'kubelet-serving',
        where: `mallory-${n}`,
        issued: { verdict: 'names-another' },
      }),
    );
    const node = certificate({ what: 'kubelet-serving', where: 'n1:10250', member: 'n1', notAfter: days(3_000) });
    const tls = certificate({ source: 'tls-secrets', what: 'tls-secret', where: 'Secret t/s', notAfter: days(0.01) });
    expect(bounded([tls, ...asked, node], NOW).left).toEqual([tls]);
    const { left } = bounded([...asked, node, { ...node, where: 'n2:10250' }], NOW);
    expect(left).toMatchObject([{ where: expect.stringMatching(/^mallory/) }]);
  });

  it('keeps what fits to the byte, and nothing of what comes after it', () => {
    const empty = certificate({ subject: '' });
    const room = 40 * 1024 * 1024 - 1 - Buffer.byteLength(JSON.stringify(empty));
    const full = { ...empty, subject: 'x'.repeat(room) };
    const secret = certificate({ source: 'tls-secrets', what: 'tls-secret', where: 'Secret t/s' });
    expect(bounded([secret, full], NOW).left).toEqual([secret]);
  });

  it('holds the bytes of what is written far under those that are read', () => {
    const long = 'ж'.repeat(1_000);
    const large = many(14_000, (n) =>
      certificate({ source: 'tls-secrets', what: 'tls-secret', where: `Secret t/s${n}`, subject: long, issuer: long }),
    );
    const { kept, left } = bounded([...large, ...OWN], NOW);
    expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThan(41 * 1024 * 1024);
    expect(left.length).toBeGreaterThan(1_000);
    expect(kept.slice(-OWN.length)).toEqual(OWN);
  });
});

describe('an assessment of more than a snapshot keeps', () => {
  const flood = many(MAX_OBSERVATIONS, FLOODS['Certificates without status'] ?? read.bind(undefined, 'nodes'));
  const control = certificate({ member: 'cp-1', notAfter: days(-1) });
  const cut = { code: 'SourcePartial', severity: 'warning', object: 'snapshot', since: days(0) };

  it('says so in every audit, and forgets nothing of the control plane', () => {
    const first = assess([control, ...flood, read('tls'), read('cert-manager')]);
    expect(first.observations).toHaveLength(MAX_OBSERVATIONS);
    const told = (assessment: Assessment) =>
      found(assessment, 'SourcePartial').find(({ object }) => object === 'snapshot');
    expect(told(first)).toMatchObject({
      ...cut,
      facts: { of: 'snapshot', count: 3, all: 50_003, cluster: 0, sources: [{ source: 'cert-manager', count: 3 }] },
    });
    const lost = unread('tls', { where: control.where, what: control.what, member: 'cp-1' });
    const second = assess([lost, ...flood, read('tls'), read('cert-manager')], first, NOW + 15 * MINUTE);
    expect(told(second)).toMatchObject(cut);
    expect(found(second, 'CertificateExpired')).toMatchObject([
      { severity: 'critical', object: 'kube-apiserver cp-1' },
    ]);
  });

  it('goes on when a network with 5,000 nodes is cut', () => {
    const nodes = many(5_000, (n) => member({ name: `Node n${n}`, node: `n${n}` }));
    const place = (n: number) => ({ what: 'kubelet-serving' as const, where: `n${n}:10250`, member: `n${n}` });
    const seen = many(5_000, (n) => certificate({ ...place(n), notAfter: days(n === 7 ? -1 : 300) }));
    const gone = many(5_000, (n) => unread('tls', place(n)));
    let known = assess([...nodes, ...seen, read('nodes'), read('tls')]);
    for (let round = 1; round <= 3; round += 1)
      known = assess([...nodes, ...gone, read('nodes'), read('tls')], known, NOW + (round * DAY) / 96);
    expect(found(known, 'CertificateExpired')).toMatchObject([{ object: 'kubelet-serving n7' }]);
    expect(known.observations.filter(({ kind }) => kind === 'certificate')).toHaveLength(5_000);
  });
});
