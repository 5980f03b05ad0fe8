import { expect, it } from 'vitest';
import { boundInSteps } from '../../../lambdas/audit/bound-observations.ts';
import type { Observation } from '../../../lambdas/contracts/observation.ts';
import { finished } from '../../../lambdas/steps.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { assess, certificate, days, found, MINUTE, member, NOW, read, unread } from './fixtures.ts';

const bounded = (...input: Parameters<typeof boundInSteps>) => finished(boundInSteps(...input));
/** Each of 3 KB: 42 MB in all. */
const LONG = 'ж'.repeat(1_500);
const many = (make: (n: number) => Observation) =>
  Array.from({ length: 14_000 }, (_, n): Observation => {
    const one = make(n);
    return one.kind === 'certificate' ? { ...one, subject: LONG } : ({ ...one, message: LONG } as Observation);
  });

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

it.each(Object.entries(FLOODS))('leaves out nothing of the cluster for %s', (_, make) => {
  const kept = bounded([...many(make), ...OWN], NOW);
  expect(kept.length).toBeLessThan(14_000 + OWN.length);
  expect(kept.filter((one) => OWN.includes(one))).toEqual(expect.arrayContaining([...OWN]));
  expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThan(41 * 1024 * 1024);
});

it('leaves out places first, then what ended or ends farthest from now, then nodes before the control plane', () => {
  const secret = (name: string, notAfter: string) =>
    certificate({ source: 'tls-secrets', what: 'tls-secret', where: `Secret a/${name}`, notAfter });
  const first = [secret('soon', days(1)), secret('over', days(-1)), secret('odd', 'soon')];
  const last = [
    { ...secret('old', days(-9_000)), subject: LONG },
    unread('tls-secrets', { what: 'tls-secret', where: 'Secret a/none', message: LONG }),
  ];
  const others = many((n) => secret(`${n}`, days(300)));
  const kept = bounded([...last, ...first, ...others], NOW);
  expect([...first, ...last].map((one) => kept.includes(one))).toEqual([true, true, true, false, false]);
  const kubelets = many((n) => certificate({ what: 'kubelet-serving', where: `n${n}:10250`, member: `n${n}` }));
  const control = certificate({ notAfter: days(3_000) });
  expect(bounded([...kubelets, control], NOW)).toContain(control);
});

it('keeps all that fits to the byte', () => {
  const empty = certificate({ subject: '' });
  const room = 40 * 1024 * 1024 - 1 - Buffer.byteLength(JSON.stringify(empty));
  const full = { ...empty, subject: 'x'.repeat(room) };
  const secret = certificate({ source: 'tls-secrets', what: 'tls-secret', where: 'Secret t/s' });
  expect(bounded([full], NOW)).toEqual([full]);
  expect(bounded([secret, full], NOW)).toEqual([full]);
});

it('an assessment says so in every audit, and forgets nothing of the control plane', () => {
  const flood = many((n) => unread('cert-manager', { what: 'cert-manager', where: `c${n}`, problem: 'missing' }));
  const control = certificate({ member: 'cp-1', notAfter: days(-1) });
  const first = assess([control, ...flood, read('tls'), read('cert-manager')]);
  const lost = unread('tls', { where: control.where, what: control.what, member: 'cp-1' });
  const second = assess([lost, ...flood, read('tls'), read('cert-manager')], first, NOW + 15 * MINUTE);
  for (const assessment of [first, second]) {
    expect(found(assessment, 'SourcePartial')).toContainEqual(
      expect.objectContaining({
        object: 'snapshot',
        facts: expect.objectContaining({ of: 'snapshot' }),
      }),
    );
    expect(found(assessment, 'CertificateExpired')).toMatchObject([{ object: 'kube-apiserver cp-1' }]);
  }
});
