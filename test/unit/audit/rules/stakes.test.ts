import { describe, expect, it } from 'vitest';
import { stakes } from '../../../../lambdas/audit/rules/stakes.ts';
import type { CertificateObservation, Observation, Use } from '../../../../lambdas/contracts/observation.ts';
import { finished } from '../../../../lambdas/steps.ts';
import { assess, certificate, codes, days, found, NOW, unread } from '../fixtures.ts';

const FAIL: Use = { blocks: true, effect: 'CREATE of pods fails (failurePolicy Fail)', server: 'hook.shop.svc' };
const IGNORE: Use = { ...FAIL, blocks: false, effect: 'CREATE of pods skips it (failurePolicy Ignore)' };
const ENDED = { notBefore: days(-400), notAfter: days(-12) } as const;

function issued(subject: string, issuer: string, changes: Partial<CertificateObservation>): CertificateObservation {
  const ids = { subjectKeyId: `key of ${subject}`, authorityKeyId: `key of ${issuer}` };
  return certificate({ subject: `CN=${subject}`, issuer: `CN=${issuer}`, ...ids, ...changes });
}
const ca = (name: string, changes: Partial<CertificateObservation> = {}) =>
  issued(name, name, { isAuthority: true, ...changes });
const HOOK = 'ValidatingWebhookConfiguration h (webhook w)';
const bundle = (name: string, changes: Partial<CertificateObservation> = {}) =>
  ca(name, { what: 'ca-bundle', source: 'webhooks', where: HOOK, usedBy: FAIL, ...changes });
const broken = (changes: object = {}) =>
  unread('webhooks', { what: 'ca-bundle', where: HOOK, problem: 'malformed', broken: true, usedBy: FAIL, ...changes });
const TRUSTED = { what: 'cluster-ca', source: 'trust-configmaps', where: 'ConfigMap a/b' } as const;
const root = (name: string, changes: Partial<CertificateObservation> = {}) => ca(name, { ...TRUSTED, ...changes });
const SECRET = { what: 'tls-secret', source: 'tls-secrets', where: 'Secret shop/hook' } as const;
const secret = (changes: Partial<CertificateObservation> = {}) =>
  issued('hook', 'own', { ...SECRET, serverNames: ['hook.shop.svc'], ...changes });
const by = (name: string) => ({ issuer: `CN=${name}`, authorityKeyId: `key of ${name}` });
const B = 'Secret shop/b';
const another = secret({ ...by('new'), where: B });
const inner = (changes: Partial<CertificateObservation> = {}) =>
  issued('inner', 'own', { ...SECRET, position: 1, isAuthority: true, ...changes });
const [STRANGER, ODD] = [{ issuedByCluster: false }, { refused: 'a negative serial number' }];
const SHOWN = { isAuthority: false, fingerprint: 'x' };

/** The stake of the first one among all. */
function stakeOf(...observations: readonly Observation[]): string {
  const [first] = observations;
  const { severity, effect } = finished(stakes(observations, NOW)).get(first!) ?? {};
  return [severity, effect].filter((part) => part !== undefined).join(': ');
}

const FAILS = 'critical: CREATE of pods fails (failurePolicy Fail)';
const REFUSED = 'critical: for one such certificate, clients in pods refuse all of them';
const UNUSED = 'info: clients do not need it: leave it out of the chain';
const SERVES = `critical: it serves ${HOOK}: CREATE of pods fails (failurePolicy Fail)`;
const chain = { what: 'ca-bundle', isAuthority: true } as const;
const [second, third] = [{ ...chain, position: 1 } as const, { ...chain, position: 2 } as const];
const leaf = issued('kube-apiserver', 'issuing', {});
const issuing = issued('issuing', 'root', second);
const endedCa = { ...issuing, ...ENDED };
const crossed = issued('root', 'old', { ...third, ...ENDED });
const refused = issued('x', 'y', { position: 1, refused: 'a fraction' });
const MILD = { what: 'kubelet-self-signed' } as const;

describe('what its clients lose without', () => {
  it.each<[string, string, ...Observation[]]>([
    // Bundles.
    ['the only CA of a webhook', FAILS, bundle('old', ENDED)],
    ['that of a webhook that is ignored', `warning: ${IGNORE.effect}`, bundle('old', { ...ENDED, usedBy: IGNORE })],
    ['a place that did not answer', '', unread('tls', { where: 'x', what: 'endpoint' })],
    ['a CA beside a valid one', 'warning', bundle('old', ENDED), bundle('new', { position: 1 })],
    ['the valid one', FAILS, bundle('new', { position: 1 }), bundle('old', ENDED)],
    ['a CA beside one without a beginning', 'warning', bundle('old', ENDED), bundle('new', { notBefore: undefined })],
    ['a CA beside one that begins now', 'warning', bundle('old', ENDED), bundle('new', { notBefore: days(0) })],
    ['a CA beside one that ends now', FAILS, bundle('old', ENDED), bundle('new', { notAfter: days(0) })],
    ['a CA beside one that was seen earlier', 'warning', bundle('old', ENDED), bundle('new', { observedAt: days(-1) })],
    ['a CA of a webhook that signed others', 'warning', bundle('old', ENDED), bundle('new'), issued('a', 'old', {})],
    ['a CA beside one that is not valid yet', FAILS, bundle('old', ENDED), bundle('new', { notBefore: days(1) })],
    ['a CA beside one that Go refuses', FAILS, bundle('old', ENDED), bundle('new', { refused: 'a fraction' })],
    ['bytes that clients refuse', FAILS, broken()],
    ['such bytes beside a valid CA', 'warning', broken(), bundle('new')],
    ['such bytes where a valid CA was before', FAILS, broken(), bundle('a', { observedAt: days(-1) })],
    ['a CA in another bundle', FAILS, bundle('old', ENDED), bundle('new', { where: 'APIService v1' })],
    ['the only CA of the cluster', 'critical', root('kubernetes', ENDED)],
    ['a CA of the cluster that signed nothing', 'warning', root('old', ENDED), root('new', { position: 1 })],
    ['one that signed what is in use', 'critical', root('old', ENDED), root('new'), issued('a', 'old', {})],
    ['a valid one that signed what is in use', 'critical', root('a'), root('b'), issued('x', 'a', {})],
    [
      'one by a key that is not told',
      'critical',
      root('a'),
      root('b'),
      issued('x', 'a', { authorityKeyId: undefined }),
    ],
    ['one that signed what has ended', 'warning', root('old', ENDED), root('new'), issued('a', 'old', ENDED)],
    ['one whose key a valid one has', 'warning', root('a', ENDED), root('a'), root('z'), issued('b', 'a', {})],
    ['one whose key it may have', 'critical', root('a', ENDED), root('a', { subjectKeyId: '' }), issued('b', 'a', {})],
    ['one that a TLS Secret names', 'warning', root('old', ENDED), root('new'), secret(by('old'))],
    ['one that a stranger names', 'warning', root('old', ENDED), root('new'), issued('a', 'old', STRANGER)],
    ['a refused certificate in a ConfigMap', REFUSED, root('odd', ODD), root('new')],
    ['bytes in a ConfigMap', REFUSED, broken(TRUSTED), root('a')],
    ['a refused one in a kubeconfig', 'warning', root('odd', { ...ODD, where: 'x' }), root('a', { where: 'x' })],
    ['a CA beside one that may not sign', FAILS, bundle('old', ENDED), bundle('x', SHOWN)],
    ['a CA beside what the server shows', 'warning', bundle('old', ENDED), bundle('x', SHOWN), secret(SHOWN)],
    ['a CA that issued what the server shows', FAILS, bundle('own', ENDED), bundle('new'), secret()],
    ['one that issued what it may show', 'warning', bundle('own', ENDED), bundle('new'), secret(), another],
    ['a CA of another class at the place', 'critical', root('a'), root('b', { what: 'front-proxy-ca' })],
    // Chains.
    ['the certificate of a server', 'critical', leaf],
    ['that of a kubelet which signs its own', 'warning', certificate({ what: 'kubelet-self-signed' })],
    ['the CA that leads to no other', 'critical', endedCa, leaf],
    ['a CA of the same name with another key', UNUSED, { ...endedCa, subjectKeyId: 'x' }, leaf],
    ['a CA of what is mild', 'warning', endedCa, issued('w', 'issuing', MILD)],
    ['a CA of two of which one is mild', 'critical', endedCa, issued('w', 'issuing', MILD), leaf],
    ['a CA of one that signed nothing', UNUSED, crossed, leaf, issued('other', 'root', second)],
    ['one without its leaf', 'critical', refused],
    ['bytes beside what is mild', 'warning', broken({ ...leaf, kind: 'unread' }), { ...leaf, ...MILD }],
    ['a root that is sent along', UNUSED, ca('issuing', { ...second, ...ENDED }), leaf],
    ['a CA that signed nothing of the chain', UNUSED, issued('other', 'root', { ...second, ...ENDED }), leaf],
    [
      'a cross-signed root that the cluster trusts itself',
      UNUSED,
      crossed,
      leaf,
      issuing,
      root('root'),
      root('root', { subjectKeyId: 'x' }),
    ],
    ['one that only a webhook trusts', 'critical', crossed, leaf, issuing, bundle('root')],
    ['an old CA beside its successor', UNUSED, { ...endedCa, position: 2 }, leaf, issuing],
    ['a CA of a chain that valid ones lead through', UNUSED, endedCa, { ...leaf, issuedByCluster: true }],
    ['a certificate of a chain that Go refuses', 'critical', refused, leaf],
    ['the second certificate of a Secret', UNUSED, secret({ ...ENDED, position: 1 }), secret()],
    // Servers of webhooks.
    ['a TLS Secret', 'warning', secret(ENDED)],
    ['a TLS Secret that a webhook verifies', SERVES, secret(ENDED), bundle('own')],
    ['one that a webhook with Ignore verifies', 'warning', secret(ENDED), bundle('own', { usedBy: IGNORE })],
    ['one of a CA beside it', SERVES, secret({ ...ENDED, ...by('inner') }), inner(), bundle('own')],
    ['the CA beside it', SERVES, inner(ENDED), secret(by('inner')), bundle('own')],
    ['one for *', SERVES, secret({ ...ENDED, serverNames: ['*.shop.svc'] }), bundle('own')],
    ['one for another *', 'warning', secret({ ...ENDED, serverNames: ['*.hook.shop.svc', '*.svc'] }), bundle('own')],
    ['bytes where one was before', SERVES, broken(SECRET), secret({ observedAt: days(-1) }), bundle('own')],
    ['bytes where none was before', 'warning', broken(SECRET), bundle('own')],
    [
      'one whose successor is broken',
      SERVES,
      secret(ENDED),
      bundle('own'),
      secret({ where: B }),
      broken({ ...SECRET, where: B }),
    ],
    [
      'one whose successor has an ended CA',
      SERVES,
      secret(ENDED),
      bundle('own'),
      secret({ where: B, ...by('inner') }),
      inner({ where: B, ...ENDED }),
    ],
    ['one whose successor is of another CA', SERVES, secret(ENDED), bundle('own'), another],
    ['one of a webhook whose CA is bytes', 'warning', secret({ ...ENDED, issuer: undefined }), broken()],
    ['one whose successor is of a CA beside it', 'warning', secret(ENDED), bundle('own'), bundle('new'), another],
    ['one of another CA', 'warning', secret(ENDED), bundle('other')],
    ['one in another namespace', 'warning', secret({ ...ENDED, where: 'Secret mine/hook' }), bundle('own')],
    ['one for another name', 'warning', secret({ ...ENDED, serverNames: ['a.shop.svc'] }), bundle('own')],
    [
      'one whose successor is in another Secret',
      'warning',
      secret(ENDED),
      bundle('own'),
      secret({ where: 'Secret shop/b' }),
    ],
    ['the successor', SERVES, secret({ where: 'Secret shop/b' }), bundle('own'), secret(ENDED)],
  ])('%s: %s', (_, expected, ...observations) => {
    expect(stakeOf(...observations)).toBe(expected);
    expect(stakeOf(...observations.slice(0, 1), ...observations.slice(1).toReversed())).toBe(expected);
  });
});

describe('findings', () => {
  const bytes = { fingerprint: 'a'.repeat(64), ...ENDED };

  it('name the objects that break, all of them, whatever the alphabet says', () => {
    const at = (name: string) => `ValidatingWebhookConfiguration ${name} (webhook v)`;
    const result = assess([
      bundle('old', { ...bytes, where: at('aa-fine') }),
      bundle('new', { where: at('aa-fine'), position: 1, fingerprint: 'b'.repeat(64) }),
      issued('old', 'old', { ...bytes, ...SECRET, where: 'Secret a/ca', position: 1, isAuthority: true }),
      bundle('old', { ...bytes, where: at('zz-broken') }),
      bundle('old', { ...bytes, where: at('zz-too') }),
    ]);
    expect(found(result, 'CertificateExpired')).toMatchObject([
      {
        severity: 'critical',
        object: `ca-bundle ${at('zz-broken')}`,
        places: [at('zz-broken'), at('zz-too')],
        facts: { effect: 'CREATE of pods fails (failurePolicy Fail)', alsoAt: { first: [at('zz-too')], count: 1 } },
      },
    ]);
  });

  it.each([
    ['ends in 29 days', 29, 59],
    ['ended', -10, 10],
    ['is long over', -30, -12],
  ])('a certificate that ends before it begins is never valid: it %s', (_, notAfter, notBefore) => {
    const result = assess([certificate({ notAfter: days(notAfter), notBefore: days(notBefore) })]);
    expect(codes(result)).toEqual(['critical CertificateNotYetValid kube-apiserver 10.0.1.31:6443']);
    expect(result.findings[0]?.facts).toMatchObject({ isNever: true });
  });

  it('a caBundle that is not valid yet is worth what an expired one is', () => {
    const result = assess([bundle('a', { notBefore: days(1), notAfter: days(90) })]);
    expect(codes(result)).toEqual([`critical CertificateNotYetValid ca-bundle ${HOOK}`]);
  });

  it('what Go refuses is broken, whatever its date', () => {
    const result = assess([certificate({ refused: 'notAfter: it has a fraction of a second' })]);
    expect(found(result, 'CertificateUnreadable')).toMatchObject([
      {
        severity: 'critical',
        facts: { where: '10.0.1.31:6443', refused: 'notAfter: it has a fraction of a second' },
      },
    ]);
  });

  it('bytes that clients refuse are an outage, and each shows how they begin', () => {
    const [first, ...more] = found(assess([broken(), broken({ where: 'APIService v1' })]), 'CertificateUnreadable');
    expect(more).toEqual([]);
    expect(first).toMatchObject({ severity: 'critical', placeCount: 2 });
  });

  it('name the outage first, where others have the same problem', () => {
    const result = assess([broken({ usedBy: IGNORE, where: 'a' }), broken()]);
    expect(found(result, 'CertificateUnreadable')).toMatchObject([{ severity: 'critical', places: [HOOK, 'a'] }]);
  });

  it('the client certificate of a kubeconfig that certmarshal uses counts', () => {
    const own = { what: 'user-kubeconfig', source: 'trust-configmaps', where: 'the kubeconfig for https://x' } as const;
    expect(codes(assess([certificate({ ...own, notAfter: days(3), notBefore: days(-362) })]))).toEqual([
      'critical CertificateExpiring user-kubeconfig the kubeconfig for https://x',
    ]);
  });

  it('the kubeconfig of Cluster API waits while its control plane is paused', () => {
    const kubeconfig = certificate({
      what: 'cluster-kubeconfig',
      source: 'cluster-secrets',
      where: 'Secret eksa-system/berlin-kubeconfig value',
      notBefore: days(-345),
      notAfter: days(20),
    });
    const told = { kind: 'group', source: 'kubeadm-control-plane', observedAt: days(0), wanted: 3, name: 'K' } as const;
    const [finding] = found(
      assess([kubeconfig, { ...told, role: 'control-plane', paused: true }]),
      'CertificateExpiring',
    );
    expect(finding?.renewedBy).toBe(
      'the kubeadm control plane provider, automatically, once its control plane is not paused',
    );
  });

  it.each([
    ['overdue', { due: days(-11) }, 'warning CertificateExpiring', { renewalDue: days(-11) }],
    [
      'failing',
      { due: days(1), failure: 'Issuing is False: Failed (x)' },
      'warning CertificateExpiring',
      { renewalFailure: 'Issuing is False: Failed (x)' },
    ],
    ['due for a day', { due: days(-1) }, undefined, {}],
  ])('a certificate of cert-manager that is %s', (_, renewal, code, said) => {
    const [finding] = assess([
      certificate({
        what: 'cert-manager',
        source: 'cert-manager',
        where: 'Certificate a/b',
        basis: 'status',
        notBefore: days(-71),
        notAfter: days(19),
        renewal,
      }),
    ]).findings;
    expect(finding && `${finding.severity} ${finding.code}`).toBe(code);
    expect(finding?.facts ?? {}).toMatchObject(said);
  });
});
