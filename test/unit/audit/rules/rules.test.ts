import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Assessment } from '../../../../lambdas/audit/assess.ts';
import { knownCertificates } from '../../../../lambdas/audit/certificates.ts';
import { judgeCertificate } from '../../../../lambdas/audit/rules/certificate.ts';
import { certificateGroups } from '../../../../lambdas/audit/rules/certificate-groups.ts';
import { DEFAULT_THRESHOLDS, expirySeverity } from '../../../../lambdas/audit/rules/thresholds.ts';
import type {
  CertificateObservation,
  Observation,
  RenewalObservation,
} from '../../../../lambdas/contracts/observation.ts';
import { finished } from '../../../../lambdas/steps.ts';
import { SOURCE_IDS, type SourceId } from '../../../../lambdas/tables/audit-sources.ts';
import {
  CERTIFICATE_CLASSES,
  type CertificateClass,
  type ClassThresholds,
  type Threshold,
} from '../../../../lambdas/tables/certificate-classes.ts';
import {
  assess,
  BERLIN,
  certificate,
  codes,
  DAY,
  DUBLIN,
  days,
  found,
  HOUR,
  MINUTE,
  member,
  NOW,
  read,
  unread,
} from '../fixtures.ts';

describe('expirySeverity', () => {
  it.each([
    [365, 73, undefined],
    [365, 72, 'warning'],
    [365, 17, 'critical'],
    // The floor of 14 days is more than the share, and more than twice of it.
    [20, 8, undefined],
    [20, 7.9, 'warning'],
    [60, 14.1, undefined],
    [60, 13.9, 'warning'],
    [45, 14.1, undefined],
    [45, 13.9, 'warning'],
    [45, 3, 'warning'],
    [45, 2.9, 'critical'],
    // Of a long life the ceilings count.
    [3650, 149, undefined],
    [3650, 89, 'warning'],
    [3650, 20, 'critical'],
    [21_477, 729, undefined],
    // Of what only people renew, the floors count in full.
    [20, 14.1, undefined, 'kube-apiserver'],
    [20, 13.9, 'warning', 'kube-apiserver'],
    [2, 1.5, 'critical', 'kube-apiserver'],
  ] as const)(
    'of a life of %d days with %d left is %s',
    (life, left, severity, what: CertificateClass = 'endpoint') => {
      const notAfter = NOW + left * DAY;
      const lived = { notBefore: notAfter - life * DAY, notAfter };
      expect(expirySeverity(lived, what, DEFAULT_THRESHOLDS, NOW)).toBe(severity);
    },
  );
});

describe('the severity of a certificate', () => {
  const RANK = [undefined, 'warning', 'critical'];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
  const classes = fc.constantFrom(...(Object.keys(CERTIFICATE_CLASSES) as CertificateClass[]));
  const lengths = fc.integer({ min: 1, max: 36_500 });
  const lefts = fc.integer({ min: -100, max: 36_500 });
  const rankOf = (what: CertificateClass, length: number, left: number, thresholds = DEFAULT_THRESHOLDS) => {
    const notAfter = NOW + left * DAY;
    return RANK.indexOf(expirySeverity({ notBefore: notAfter - length * DAY, notAfter }, what, thresholds, NOW));
  };

  it('never gets milder while time passes, nor for a shorter time left of the same life', () => {
    fc.assert(
      fc.property(classes, lengths, lefts, lefts, (what, length, a, b) => {
        expect(rankOf(what, length, Math.min(a, b))).toBeGreaterThanOrEqual(rankOf(what, length, Math.max(a, b)));
      }),
    );
  });

  it('is as without ceilings for every life of up to 398 days', () => {
    const bare = ({ share, floorMs }: Threshold): Threshold => ({ share, floorMs });
    const without = ({ warning, critical }: ClassThresholds) => ({ warning: bare(warning), critical: bare(critical) });
    const thresholds = {
      default: without(DEFAULT_THRESHOLDS.default),
      classes: Object.fromEntries(Object.entries(DEFAULT_THRESHOLDS.classes).map(([what, of]) => [what, without(of)])),
    };
    fc.assert(
      fc.property(classes, fc.integer({ min: 1, max: 398 }), fc.integer({ min: 0, max: 398 }), (what, length, left) => {
        expect(rankOf(what, length, left)).toBe(rankOf(what, length, left, thresholds));
      }),
    );
  });

  it('warns before the 45 days in which a rollout begins, and pages after', () => {
    fc.assert(
      fc.property(fc.integer({ min: 365, max: 36_500 }), (length) => {
        expect([60, 45, 22, 10].map((left) => rankOf('kube-apiserver', length, left))).toEqual([1, 1, 1, 2]);
      }),
    );
  });
});

/** What it is when it has ended, and with 2.9 of 10 days left: of which classes. */
const BY_CLASS = {
  'critical critical': `kube-apiserver control-plane-clients etcd-server etcd-peer etcd-healthcheck-client
    apiserver-etcd-client cluster-ca client-ca front-proxy-ca etcd-ca`,
  'critical undefined': 'eks-api-server kubelet-client kubelet-serving',
  'warning warning': 'kubelet-self-signed issued-client issued-other tls-secret',
  'critical warning': `kube-controller-manager kube-scheduler eks-cluster-ca aws-iam-authenticator-ca cluster-kubeconfig
    user-kubeconfig hybrid-node hybrid-activation app-serving ca-bundle cert-manager endpoint`,
};

it('is as severe as its class when it has ended, and with 2.9 of 10 days left', () => {
  const severityOf = (what: CertificateClass, end: number) => {
    const observation = certificate({ what, notBefore: days(end - 10), notAfter: days(end) });
    const judgements = judgeCertificate(observation, [observation], { thresholds: DEFAULT_THRESHOLDS, now: NOW });
    return judgements.find(({ code }) => /^(Certificate|Kubelet)/.test(code))?.severity;
  };
  const bySeverity = (Object.keys(CERTIFICATE_CLASSES) as CertificateClass[]).map((what) => [
    what,
    `${severityOf(what, -1)} ${severityOf(what, 2.9)}`,
  ]);
  expect(Object.fromEntries(bySeverity)).toEqual(
    Object.fromEntries(
      Object.entries(BY_CLASS).flatMap(([severity, classes]) => classes.split(/\s+/).map((what) => [what, severity])),
    ),
  );
});

describe('judgeCertificate', () => {
  const year = (end: number) => ({ notBefore: days(end - 365), notAfter: days(end) });
  const [soon, ten] = [year(366), { notBefore: days(-1), notAfter: days(3650) }];
  const old = days(-3285);
  const NOT_YET = ['critical CertificateNotYetValid'];
  const OVERDUE = ['warning KubeletRenewalOverdue', 'info VeryLongLived'];
  it.each<[string, Partial<CertificateObservation>, string[]]>([
    ['well', year(200), []],
    ['little left', year(60), ['warning CertificateExpiring']],
    ['hardly any left', year(10), ['critical CertificateExpiring']],
    ['a CA with no beginning', { notAfter: days(300), what: 'cluster-ca' }, ['warning CertificateExpiring']],
    ['no beginning', { notAfter: days(60), what: 'endpoint' }, ['warning CertificateExpiring']],
    ['ended', year(-1), ['critical CertificateExpired']],
    ['ends this moment', year(0), ['critical CertificateExpired']],
    ['ended, harmless', { ...year(-1), what: 'kubelet-self-signed' }, ['warning CertificateExpired']],
    ['ends soon, harmless', { ...year(1), what: 'tls-secret' }, ['warning CertificateExpiring']],
    ['kubelet at 89 %', { ...year(40), what: 'kubelet-serving' }, []],
    ['kubelet at 91 %', { ...year(32), what: 'kubelet-serving' }, ['warning KubeletRenewalOverdue']],
    ['kubelet at 98 %', { ...year(7), what: 'kubelet-client' }, ['critical KubeletRenewalOverdue']],
    ['kubelet ended', { ...year(-1), what: 'kubelet-serving' }, ['critical CertificateExpired']],
    ['future', soon, NOT_YET],
    ['future, of a file', { ...soon, what: 'tls-secret', source: 'tls-secrets' }, ['warning CertificateNotYetValid']],
    ['future, of a request', { ...soon, what: 'kubelet-serving', source: 'signing-requests' }, NOT_YET],
    ['skew', { notBefore: new Date(NOW + 5 * MINUTE).toISOString(), notAfter: days(366) }, []],
    ['valid for no moment', { notBefore: days(-1), notAfter: days(-1) }, ['critical CertificateExpired']],
    ['kubelet of ten years', { what: 'kubelet-client', notBefore: old, notAfter: days(328) }, OVERDUE],
    ['three years', { what: 'endpoint', notBefore: days(0), notAfter: days(1095.75) }, []],
    ['a CA in the place of a server', { ...ten, isAuthority: true }, ['warning IssuerUnknown']],
    ['a CA that does not say so', { ...ten, what: 'cluster-ca' }, []],
    ['self-signed since', { ...year(200), what: 'kubelet-self-signed', issuedBefore: true }, ['warning IssuerUnknown']],
    ['ten years', ten, ['info VeryLongLived']],
    ['a year, dated back to a CA of nine years', { notBefore: old, notAfter: days(300) }, []],
    ['a year, dated back, with 74 days left', { notBefore: old, notAfter: days(74) }, []],
    ['99 years, dated back', { notBefore: old, notAfter: days(36_000) }, ['info VeryLongLived']],
    ['ten years, with one left', { what: 'endpoint', notBefore: old, notAfter: days(365) }, ['info VeryLongLived']],
    ['CA of ten years', { ...ten, what: 'cluster-ca', isAuthority: true }, []],
    ['weak key', { ...year(200), weakKey: 'RSA-1024' }, ['warning WeakKey']],
    ['weak signature', { ...year(200), weakSignature: 'SHA-1' }, ['warning WeakSignature']],
    ['foreign', { ...year(200), issuedByCluster: false, issuer: 'CN=x' }, ['warning IssuerUnknown']],
    ['foreign endpoint', { ...year(200), issuedByCluster: false, what: 'endpoint' }, []],
    ['no time', { notAfter: 'soon' }, ['warning CertificateUnreadable']],
  ])('%s', (_, changes, expected) => {
    const { notBefore: _notBefore, ...rest } = certificate(changes);
    const observation = changes.notBefore === undefined ? rest : { ...rest, notBefore: changes.notBefore };
    const judgements = judgeCertificate(observation, [observation], { thresholds: DEFAULT_THRESHOLDS, now: NOW });
    expect(judgements.map(({ code, severity }) => `${severity} ${code}`)).toEqual(expected);
  });
});

it.each([
  [{}, 365 * DAY],
  [{ notBefore: days(-335) }, undefined],
])('an overdue kubelet of %j says which life is assumed', (life, lifeMs) => {
  const { notBefore: _, ...end } = certificate({ what: 'kubelet-client', notAfter: days(30) });
  expect(found(assess([{ ...end, ...life }]), 'KubeletRenewalOverdue')[0]?.facts.lifeMs).toBe(lifeMs);
});

describe('whose word counts', () => {
  const known = (said: readonly Observation[], kept: readonly Observation[] = []) =>
    finished(knownCertificates(said, new Set(kept), NOW));
  const machine = { source: 'machines', where: 'Machine eksa-system/cp-1', basis: 'status', member: 'cp-1' } as const;
  const served = certificate({ member: 'cp-1' });

  const endOnly = (changes: Partial<CertificateObservation>): Observation => {
    const { notBefore: _, ...observation } = certificate(changes);
    return observation;
  };

  it('the certificate itself, and who says otherwise has a stale annotation', () => {
    const result = assess([served, certificate({ ...machine, notAfter: days(5) })]);
    expect(codes(result)).toEqual(['warning StaleAnnotation kube-apiserver cp-1']);
    expect(found(result, 'StaleAnnotation')[0]?.facts).toMatchObject({
      member: 'cp-1',
      best: { notAfter: days(300) },
      other: { notAfter: days(5) },
    });
  });

  const noted = { ...machine, basis: 'annotation' } as const;
  const STALE = ['warning StaleAnnotation kube-apiserver cp-1'];
  it.each<[string, CertificateObservation, Partial<CertificateObservation>, number, readonly string[]]>([
    ['a status that differs by two days', served, machine, 2 * DAY, []],
    ['a status that differs by a millisecond more', served, machine, 2 * DAY + 1, STALE],
    ['an annotation', served, noted, 2.1 * DAY, STALE],
    ['an estimate', served, { ...machine, basis: 'inference' }, 100 * DAY, []],
    ['a source that rounds', served, { ...machine, precisionMs: DAY }, 2.5 * DAY, []],
    ['one beside a best that rounds', certificate({ ...machine, precisionMs: DAY }), noted, 2.5 * DAY, []],
  ])('that of the best, with some tolerance: %s', (_, best, other, difference, expected) => {
    expect(codes(assess([best, certificate({ ...other, notAfter: days(300, NOW + difference) })]))).toEqual(expected);
  });

  it('that of its status before what an annotation says', () => {
    const status = certificate({ source: 'machines', basis: 'status', notAfter: days(10) });
    const annotation = { ...status, basis: 'annotation', notAfter: days(5) } as const;
    expect(found(assess([status, annotation]), 'CertificateExpiring')).toMatchObject([{ due: days(10) }]);
  });

  it('an old word of the best still counts, with the earlier end that was said since', () => {
    const first = assess([served, certificate({ ...machine, notAfter: days(301) }), read('tls'), read('machines')]);
    const lost = unread('tls', { where: served.where, what: 'kube-apiserver', member: 'cp-1', observedAt: days(1) });
    const said = (end: number) =>
      assess(
        [lost, read('tls'), endOnly({ ...machine, notAfter: days(end), observedAt: days(1) }), read('machines')],
        first,
        NOW + DAY,
      );
    expect(found(said(10), 'CertificateExpiring')).toMatchObject([
      { severity: 'critical', due: days(10), lastSeen: days(0) },
    ]);
    expect(found(said(3000), 'CertificateExpiring')).toEqual([]);
  });

  it('of two of one member the one that ends first, wherever it is', () => {
    const ends = { '10.0.1.31:6443': 300, '10.0.1.32:6443': 10, '10.0.1.33:6443': 200 };
    const seen = Object.entries(ends).map(([where, end]) =>
      certificate({ member: 'cp-1', where, notAfter: days(end), fingerprint: where }),
    );
    const [finding] = found(assess([member({ role: 'control-plane', node: 'cp-1' }), ...seen]), 'CertificateExpiring');
    expect(finding).toMatchObject({ due: days(10), places: ['10.0.1.32:6443', '10.0.1.33:6443', '10.0.1.31:6443'] });
  });

  it.each<[string, Partial<CertificateObservation>, Partial<CertificateObservation>]>([
    ['the first place', { where: '10.0.1.31:6443', source: 'tls' }, { where: '10.0.1.32:6443', source: 'nodes' }],
    ['the first source of a place', { source: 'nodes', fingerprint: 'b' }, { source: 'tls', fingerprint: 'a' }],
    ['one of two certificates, seen whenever', { fingerprint: 'a', observedAt: days(-1) }, { fingerprint: 'b' }],
    ['the newest look at a certificate', { observedAt: days(0) }, { observedAt: days(-1) }],
  ])('of two with one end, whoever was heard first: %s', (_, first, second) => {
    const [best, other] = [first, second].map((changes) => certificate({ member: 'cp-1', ...changes }));
    for (const seen of [[best, other] as const, [other, best] as const]) {
      expect(known(seen.filter((one) => one !== undefined)).map((one) => one.best)).toEqual([best]);
    }
  });

  it('of two requests of one member the newer one, and one without a beginning is as new as its end', () => {
    const request = { source: 'signing-requests', what: 'kubelet-serving', member: 'worker-3' } as const;
    const old = certificate({ ...request, where: 'csr-1', notBefore: days(-345), notAfter: days(20) });
    const renewed = endOnly({ ...request, where: 'csr-2', notAfter: days(300) });
    expect(codes(assess([member(), old]))).toEqual(['warning KubeletRenewalOverdue kubelet-serving worker-3']);
    expect(codes(assess([member(), old, renewed]))).toEqual([]);
    expect(codes(assess([member(), renewed, old]))).toEqual([]);
  });

  it('that of a kubelet that was not seen since is overdue when its newer request says so', () => {
    const place = { what: 'kubelet-serving', where: '10.0.1.43:10250', member: 'worker-3' } as const;
    const lists = [member(), read('nodes'), read('signing-requests')];
    const first = assess([certificate(place), ...lists, read('tls')]);
    const request = certificate({
      ...place,
      source: 'signing-requests',
      where: 'csr-1',
      observedAt: days(1),
      notBefore: days(-340),
      notAfter: days(25),
    });
    const next = assess([unread('tls', { ...place, observedAt: days(1) }), request, ...lists], first, NOW + DAY);
    expect(found(next, 'KubeletRenewalOverdue')).toMatchObject([{ severity: 'warning', due: days(25) }]);
    expect(found(next, 'CertificateExpiring')).toEqual([]);
  });

  it('a life whose beginning nobody tells is as long as that of the best one, or has none', () => {
    const lives = (said: readonly Observation[], kept = said.slice(0, 1)) => known(said, kept)[0]?.lives;
    expect(lives([endOnly({ notAfter: days(60) })])).toEqual([{ notAfter: NOW + 60 * DAY }]);
    const best = certificate({ member: 'cp-1', observedAt: days(-1) });
    const told = (minutes: number) => endOnly({ ...machine, notAfter: days(60), observedAt: days(minutes / 1440 - 1) });
    const own = { notBefore: NOW - 65 * DAY, notAfter: NOW + 300 * DAY };
    expect(lives([best, told(11)])).toEqual([own, { notBefore: NOW - 305 * DAY, notAfter: NOW + 60 * DAY }]);
    // What is of the same audit says less than the certificate.
    expect([lives([best, told(10)]), lives([best, told(11)], [])]).toEqual([[own], [own]]);
  });

  it('that of a machine is of its Node, whichever of its names came first', () => {
    const of = (node?: string) => member({ name: 'Machine x/m', node });
    const names = (...nodes: readonly (string | undefined)[]) =>
      known([...nodes.map(of), certificate({ member: 'm' })]).map(({ object }) => object.split(' ')[1]);
    expect([names(undefined, 'z'), names('z', undefined), names('a', undefined)]).toEqual([['z'], ['z'], ['a']]);
    expect([names('z', 'y'), names('y', 'z'), names('z', 'a', undefined)]).toEqual([['y'], ['y'], ['a']]);
  });

  it.each<[string, Partial<CertificateObservation>]>([
    ['ca-bundle 10.0.1.31:6443 #2', { position: 1, isAuthority: true }],
    ['kube-apiserver 10.0.1.31:6443 #2', { position: 1 }],
    ['cluster-ca 10.0.1.31:6443 #2', { what: 'cluster-ca', position: 1, isAuthority: true }],
    ['kube-apiserver cp-1', { isAuthority: true }],
  ])('a server has its own certificate, and others that it sends along: %s', (object, changes) => {
    expect(known([certificate({ member: 'cp-1', ...changes })])).toMatchObject([{ object }]);
  });

  it('what a Machine tells by its age since then takes no part', () => {
    const first = assess([served, read('tls'), read('machines')]);
    const lost = unread('tls', { where: served.where, what: 'kube-apiserver', member: 'cp-1', observedAt: days(1) });
    const inferred = endOnly({ ...machine, basis: 'inference', notAfter: days(10), observedAt: days(1) });
    const next = assess([lost, read('tls'), inferred, read('machines')], first, NOW + DAY);
    expect(found(next, 'CertificateExpiring')).toEqual([]);
  });

  it('one certificate at many places was last seen at the newest look, once no place shows it any more', () => {
    const same = { fingerprint: 'a'.repeat(64), notAfter: days(-2) } as const;
    const trusted = certificate({ ...same, what: 'cluster-ca', source: 'trust-configmaps', where: 'ConfigMap a/b' });
    const hook = certificate({ ...same, what: 'ca-bundle', source: 'webhooks', where: 'w' });
    const lost = (source: 'trust-configmaps' | 'webhooks', at: number) => unread(source, { observedAt: days(at) });
    const both = assess([trusted, hook, read('trust-configmaps'), read('webhooks')]);
    const again = { ...hook, observedAt: days(1) };
    const one = assess([lost('trust-configmaps', 1), again, read('webhooks', NOW + DAY)], both, NOW + DAY);
    const none = assess([lost('trust-configmaps', 2), lost('webhooks', 2)], one, NOW + 2 * DAY);
    const looks = [both, one, none].flatMap((result) => found(result, 'CertificateExpired'));
    const object = 'cluster-ca ConfigMap a/b';
    expect(looks).toMatchObject([1, 2, 3].map(() => ({ object, severity: 'critical', placeCount: 2 })));
    expect(looks.map(({ lastSeen }) => lastSeen)).toEqual([undefined, undefined, days(1)]);
    expect(looks[0]?.facts).not.toHaveProperty('alsoAt', expect.anything());
  });

  it('what a machine and the endpoint before it show is one certificate', () => {
    const same = { fingerprint: 'a'.repeat(64), notAfter: days(-2) } as const;
    const result = assess([
      member({ role: 'control-plane', name: 'Node cp-1', node: 'cp-1' }),
      certificate({ ...same, member: 'cp-1' }),
      certificate({ ...same, where: 'api.example.com:6443' }),
    ]);
    expect(found(result, 'CertificateExpired')).toMatchObject([
      { object: 'kube-apiserver cp-1', places: ['10.0.1.31:6443', 'api.example.com:6443'] },
    ]);
  });

  describe('an authority of the cluster that ends tomorrow', () => {
    const authority = { fingerprint: 'a'.repeat(64), isAuthority: true, notBefore: days(-3649), notAfter: days(1) };
    const trusted = certificate({
      ...authority,
      what: 'cluster-ca',
      source: 'trust-configmaps',
      where: 'ConfigMap kube-system/kube-root-ca.crt',
    });
    const webhook = certificate({ ...authority, what: 'ca-bundle', source: 'webhooks', where: 'w' });
    const eks = { ...trusted, what: 'eks-cluster-ca' } as const;
    const worker = { ...authority, where: '10.0.1.43:10250', member: 'worker-3' };
    const endpoint = { ...authority, where: '10.0.1.100:6443' };

    it.each([
      ['the cluster CA', 'a kubelet', trusted, { ...worker, what: 'kubelet-serving' }],
      ['the cluster CA', 'a kubelet that signs its own', trusted, { ...worker, what: 'kubelet-self-signed' }],
      ['the cluster CA', 'an endpoint', trusted, { ...endpoint, what: 'kube-apiserver' }],
      ['the CA of EKS', 'an endpoint', eks, { ...endpoint, what: 'eks-api-server' }],
      ['an etcd CA', 'a kubelet', { ...trusted, what: 'etcd-ca' }, { ...worker, what: 'kubelet-self-signed' }],
      ['a bundle', 'a kubelet', webhook, { ...worker, what: 'kubelet-self-signed' }],
    ] as const)('%s is told, whatever %s shows', (_ca, _server, place, shown) => {
      const [honest] = found(assess([member(), place]), 'CertificateExpiring');
      expect(honest).toMatchObject({ severity: 'critical', what: place.what });
      const result = assess([member(), place, certificate(shown)]);
      expect(found(result, 'CertificateExpiring')).toContainEqual(honest);
      const groups = certificateGroups({ ...result, provider: 'eks-anywhere', auditedAt: days(0) }, NOW);
      expect(groups.map(({ what }) => what)).toContain(place.what);
    });
  });

  it.each([
    ['ended', -1],
    ['ends this moment', 0],
    ['ends tomorrow', 1],
  ])('a certificate of a bundle that %s is mild only while another one is valid', (_, end) => {
    const bundle = { what: 'ca-bundle', source: 'webhooks', where: 'ValidatingWebhookConfiguration x' } as const;
    const ending = certificate({ ...bundle, notAfter: days(end) });
    const other = certificate({ ...bundle, position: 1 });
    const severities = (...observations: Observation[]) =>
      assess(observations).findings.map(({ severity }) => severity);
    expect(severities(ending, other)).toEqual(['warning']);
    expect(severities(ending, { ...other, notAfter: days(0) })).toContain('critical');
    expect(severities(ending, { ...other, notBefore: days(1) })).toContain('critical');
    expect(severities(ending)).toEqual(['critical']);
    // The same one in another bundle, where it is alone.
    const same = { ...ending, fingerprint: 'a'.repeat(64) };
    for (const where of ['APIService a', 'ZWebhook z'])
      expect(severities(same, other, { ...same, where })).toEqual(['critical']);
  });
});

describe('what is remembered', () => {
  const issued = certificate({
    source: 'signing-requests',
    what: 'kubelet-serving',
    where: 'CertificateSigningRequest csr-1',
    member: 'worker-3',
    notAfter: days(20),
    notBefore: days(-345),
  });
  const newer = { ...issued, notBefore: days(0), notAfter: days(365) };
  const lists = [member(), read('nodes'), read('signing-requests')];
  const first = assess([issued, ...lists]);
  it('of requests that were deleted, while the Node is there', () => {
    expect(codes(first)).toEqual(['warning KubeletRenewalOverdue kubelet-serving worker-3']);
    const later = assess([member(), read('nodes'), read('signing-requests')], first, NOW + DAY);
    expect(codes(later)).toEqual(codes(first));
    expect(codes(assess([read('nodes'), read('signing-requests')], first))).toEqual([]);
    // What is remembered does not say when its source was read.
    expect(found(assess([unread('signing-requests')], first, NOW + 25 * HOUR), 'SourceUnread')).toHaveLength(1);
    expect(codes(assess([unread('nodes'), read('signing-requests')], first))).toContain(
      'warning KubeletRenewalOverdue kubelet-serving worker-3',
    );
  });

  it('until there is a newer one, and not replaced by an older one that is shown late', () => {
    const next = assess([newer, ...lists], first);
    expect(codes(next)).toEqual([]);
    expect(next.observations.filter(({ kind }) => kind === 'certificate')).toEqual([newer]);
    expect(codes(assess([{ ...issued, observedAt: days(1) }, ...lists], next, NOW + DAY))).toEqual([]);
  });

  it.each(['issued-client', 'issued-other'] as const)('of two %s of one requester both, until they end', (what) => {
    const one = (fingerprint: string, end: number) => {
      const { member: _, ...request } = issued;
      return { ...request, what, where: 'someone', fingerprint, notAfter: days(end) };
    };
    const both = assess([one('a'.repeat(64), 20), read('signing-requests')]);
    const next = assess([one('b'.repeat(64), 300), read('signing-requests')], both);
    expect(next.observations.filter(({ kind }) => kind === 'certificate')).toHaveLength(2);
  });

  it('a source that is off is forgotten', () => {
    const off: Observation = { kind: 'off', source: 'signing-requests', observedAt: days(0), why: 'not opted in' };
    const result = assess([member(), read('nodes'), off], first);
    expect(codes(result)).toEqual([]);
    expect(found(result, 'NotVisible')[0]?.facts.off).toEqual(['signing-requests']);
  });
});

describe('what cannot be seen', () => {
  const off: Observation = { kind: 'off', source: 'nodes', observedAt: days(0), why: 'not opted in' };

  it.each([
    ['a source that was read', read('tls')],
    ['one that could not be', unread('tls')],
    ['one that is off', off],
    ['a machine', member()],
  ])('is told of a cluster that somebody looked at: %s', (_what, observation) => {
    expect(found(assess([certificate(), observation]), 'NotVisible')).toHaveLength(1);
    const before = assess([certificate(), read('tls'), observation]);
    expect(found(assess([unread('tls')], before, NOW + HOUR), 'NotVisible')).toHaveLength(1);
  });

  const endpoint = certificate({ what: 'endpoint' });
  const clock = { kind: 'clock', source: 'clock', observedAt: days(0), server: 'x', skewMs: 0 } as const;
  it.each<[string, readonly Observation[]]>([
    ['nothing', []],
    ['one that answers', [endpoint]],
    ['one that does not', [endpoint, unread('tls', { where: '10.0.1.32:6443' })]],
    ['one whose clock is known', [endpoint, clock]],
  ])('is not told of endpoints alone: %s', (_what, observations) => {
    expect(found(assess(observations), 'NotVisible')).toEqual([]);
  });
});

it('what cannot be seen is named, in order; where all is seen there is nothing to tell', () => {
  const all = Object.keys(CERTIFICATE_CLASSES).map((what) =>
    certificate({ what: what as CertificateClass, where: what, notBefore: days(-1), notAfter: days(364) }),
  );
  const off = (source: SourceId): Observation => ({ kind: 'off', source, observedAt: days(0), why: 'not opted in' });
  const told = (...observations: readonly Observation[]) =>
    found(assess([read('tls'), ...observations], undefined, NOW, DUBLIN), 'NotVisible');
  expect(told(...all)).toEqual([]);
  const places = ['source machines (not opted in)', 'source webhooks (not opted in)'];
  const facts = { classes: [], off: ['machines', 'webhooks'] };
  expect(told(...all, off('webhooks'), off('machines'))).toMatchObject([{ facts, places }]);
  expect(told(...all.filter(({ what }) => what !== 'kubelet-serving' && what !== 'kube-apiserver'))).toMatchObject([
    { facts: { classes: ['kubelet-serving'], off: [] }, places: ['kubelet serving'] },
  ]);
});

describe('what could not be read', () => {
  it('is one finding a source, and worse after a day', () => {
    const ending = certificate({ notAfter: days(10) });
    const earlier = certificate({ where: '10.0.1.32:6443', observedAt: days(-1) });
    const first = assess([ending, earlier, read('tls')]);
    const at = (hours: number) => assess([unread('tls')], first, NOW + hours * HOUR);
    expect(codes(at(1))).toContain('warning SourceUnread source tls');
    expect(codes(at(25))).toContain('critical SourceLost source tls');
    expect(found(at(25), 'SourceLost')[0]).toMatchObject({ since: days(0), lastSeen: days(0) });
    const well = assess([certificate(), read('tls')]);
    expect(codes(assess([unread('tls')], well, NOW + 25 * HOUR))).toEqual(['warning SourceLost source tls']);
  });

  it('counts from its own first failure, whichever of the two findings the last audit had', () => {
    const audits: Assessment[] = [];
    for (const hours of [0, 1, 25, 26]) {
      const machines = hours === 0 ? read('machines') : unread('machines');
      audits.push(assess([unread('nodes'), machines], audits.at(-1), NOW + hours * HOUR));
    }
    const told = audits.map((result) =>
      [...found(result, 'SourceUnread'), ...found(result, 'SourceLost')].map(
        ({ code, object, since }) => `${code} ${object} ${(Date.parse(since) - NOW) / HOUR}`,
      ),
    );
    expect(told).toEqual([
      ['SourceUnread source nodes 0'],
      ['SourceUnread source machines 1', 'SourceUnread source nodes 0'],
      ['SourceUnread source machines 1', 'SourceLost source nodes 0'],
      ['SourceLost source machines 1', 'SourceLost source nodes 0'],
    ]);
  });

  it('says the same of a source that failed in two ways, whichever was heard first', () => {
    const failures = ['a', 'b'].map((message) => unread('tls', { message }));
    for (const heard of [failures, failures.toReversed()])
      expect(found(assess(heard), 'SourceUnread')[0]?.facts).toMatchObject({
        message: 'a',
        remedy: 'Check the route.',
      });
  });

  it.each(SOURCE_IDS.filter((source) => source !== 'clock'))('says so even where nobody looked: %s', (source) => {
    const first = assess([...['x', 'y'].map((where) => certificate({ source, where })), read(source)]);
    const nothing = source === 'nodes' ? read('machines') : read('nodes');
    const [finding, ...others] = found(assess([nothing], first, NOW + HOUR), 'SourceUnread');
    expect(finding).toMatchObject({ object: `source ${source}`, facts: { certificates: 2 } });
    expect([finding?.facts, others]).toEqual([expect.not.objectContaining({ problem: expect.anything() }), []]);
  });

  it('is partial where the rest of a list was read: only what was not read again may have expired unnoticed', () => {
    const secret = (name: string, changes = {}) =>
      certificate({ source: 'tls-secrets', what: 'tls-secret', where: `Secret web/${name}`, ...changes });
    const poisoned = unread('tls-secrets', { problem: 'too-large', message: 'one object is too large: poison' });
    const first = assess([secret('old'), read('tls-secrets')]);
    const at = (hours: number, changes = {}) => assess([secret('old', changes), poisoned], first, NOW + hours * HOUR);
    expect(codes(at(1))).toEqual(['warning SourcePartial source tls-secrets']);
    const { facts } = found(at(1), 'SourcePartial')[0] ?? {};
    expect(facts).toMatchObject({ isPartial: true, problem: 'too-large', message: 'one object is too large: poison' });
    const expiring = assess([secret('old', { notAfter: days(2) }), poisoned], at(1), NOW + 30 * HOUR);
    expect(codes(expiring)).toContain('warning SourceLost source tls-secrets');
  });

  it('has been unread since its first failure, however it fails', () => {
    const whole = unread('tls-secrets');
    const place = unread('tls-secrets', { where: 'Secret a/b', problem: 'missing' });
    const one = certificate({ source: 'tls-secrets', what: 'tls-secret', where: 'Secret web/old' });
    let last = assess([whole]);
    for (const [hours, now] of [
      [1, [place, read('tls-secrets')]],
      [2, [one, whole]],
      [3, [place, read('tls-secrets')]],
      [4, [whole]],
    ] as const)
      last = assess([...now], last, NOW + hours * HOUR);
    expect(found(last, 'SourceUnread').map(({ since }) => since)).toEqual([days(0)]);
  });

  it('is one finding for many places', () => {
    const places = Array.from({ length: 30 }, (_, index) => {
      const problem = index < 3 ? 'timeout' : 'refused';
      return unread('tls', { where: `10.0.0.${index + 10}:10250`, what: 'kubelet-serving', problem });
    });
    const problems = Object.entries({ refused: 27, timeout: 3 }).map(([problem, count]) => ({ problem, count }));
    const facts = { places: { count: 30 }, problems };
    const expected = { code: 'Unreachable', object: 'tls kubelet-serving', placeCount: 30, facts };
    expect(assess([...places, read('tls')]).findings[0]).toMatchObject(expected);
  });

  it('says how many of the places were last seen over a day ago, where any was', () => {
    const place = { where: '10.0.1.31:6443', what: 'kube-apiserver' } as const;
    const told = (hours: number, end = 300) => {
      const first = assess([certificate({ ...place, member: 'cp-1', notAfter: days(end) }), read('tls')]);
      const { findings } = assess(
        [unread('tls', { ...place, member: 'cp-1' }), read('tls')],
        first,
        NOW + hours * HOUR,
      );
      return findings.find(({ object }) => object === 'tls kube-apiserver');
    };
    expect([told(24, 10), told(25, 10), told(25)]).toMatchObject([
      { code: 'Unreachable', severity: 'warning', facts: { lost: 0 } },
      { code: 'SourceLost', severity: 'critical', facts: { lost: 1 } },
      { code: 'SourceLost', severity: 'warning', facts: { lost: 1 } },
    ]);
  });

  it('is silent about what is usual, until it was seen once', () => {
    const scheduler = { where: '10.0.1.31:10259', what: 'kube-scheduler' } as const;
    const usual = unread('tls', { ...scheduler, usual: true });
    expect(codes(assess([usual, read('tls')]))).toEqual([]);
    const first = assess([certificate(scheduler), read('tls')]);
    expect(codes(assess([usual, read('tls')], first))).toEqual(['warning Unreachable tls kube-scheduler']);
  });

  it('was last seen when the first of the places was that anybody saw', () => {
    const place = (name: string) => ({ what: 'kubelet-serving', where: `${name}:10250`, member: name }) as const;
    const seen = (name: string, at: number) => certificate({ ...place(name), observedAt: days(at) });
    const first = assess([{ ...seen('b', -0.3), where: 'e:10250' }, seen('b', -0.1), seen('c', 0), read('tls')]);
    const lost = (...names: readonly string[]) =>
      found(assess([...names.map((name) => unread('tls', place(name))), read('tls')], first), 'Unreachable');
    expect(lost('a')[0]?.lastSeen).toBeUndefined();
    expect(lost('a', 'c', 'b')[0]?.lastSeen).toBe(days(-0.1));
    const moved = unread('tls', { ...place('b'), where: 'd:10250' });
    expect(found(assess([moved, read('tls')], first), 'Unreachable')[0]?.lastSeen).toBe(days(-0.1));
  });

  it('names what is unreadable and what is left out', () => {
    const unreadable = unread('webhooks', { where: 'x', problem: 'malformed', what: 'ca-bundle' });
    const missing = unread('eks-anywhere', { where: 'y', problem: 'missing' });
    expect(codes(assess([unreadable, missing, read('webhooks'), read('eks-anywhere')]))).toEqual([
      'warning SourcePartial places of eks-anywhere',
      'warning CertificateUnreadable webhooks ca-bundle',
    ]);
  });
});

const asks = (changes: object): Observation => ({
  kind: 'requests',
  source: 'signing-requests',
  observedAt: days(0),
  signer: 'kubernetes.io/kubelet-serving',
  requester: 'system:node:worker-3',
  state: 'pending',
  count: 1,
  lastHour: 1,
  oldestAt: days(0, NOW - 16 * MINUTE),
  newestAt: days(0, NOW - 16 * MINUTE),
  examples: ['csr-9'],
  ...changes,
});

describe('requests', () => {
  const who = 'system:node:worker-3 kubernetes.io/kubelet-serving';

  it.each<[object, string[]]>([
    [{}, [`warning RequestPending ${who}`]],
    [{ oldestAt: days(0, NOW - 14 * MINUTE) }, []],
    [{ oldestAt: days(0, NOW - 15 * MINUTE) }, []],
    [{ state: 'approved', oldestAt: days(0, NOW - 10 * MINUTE) }, []],
    [{ state: 'approved', count: 100 }, [`warning RequestNotIssued ${who}`]],
    [{ state: 'issued', lastHour: 20 }, []],
    [{ state: 'issued', lastHour: 100 }, ['warning RequestStorm system:node:worker-3']],
    [{ state: 'issued', count: 10_000 }, []],
    [{ requester: '*' }, ['warning RequestPending * kubernetes.io/kubelet-serving']],
    [{ state: 'approved' }, [`warning RequestNotIssued ${who}`]],
    [{ state: 'approved', count: 101 }, [`critical RequestNotIssued ${who}`]],
    [{ state: 'approved', oldestAt: days(-1) }, [`warning RequestNotIssued ${who}`]],
    [{ state: 'approved', oldestAt: days(-1.1) }, [`critical RequestNotIssued ${who}`]],
    [{ state: 'failed' }, [`warning RequestFailed ${who}`]],
    [{ state: 'failed', count: 0 }, []],
    [{ state: 'denied', lastHour: 2 }, []],
    [{ state: 'denied', lastHour: 3 }, [`warning RequestDenied ${who}`]],
    [{ state: 'issued', lastHour: 21 }, ['warning RequestStorm system:node:worker-3']],
    [{ state: 'issued', lastHour: 101 }, ['critical RequestStorm system:node:worker-3']],
    [{ state: 'issued', count: 10_001 }, ['critical RequestStorm all requesters']],
  ])('%j', (changes, expected) => {
    expect(codes(assess([asks(changes), read('signing-requests')]))).toEqual(expected);
  });

  it.each([
    ['eks', 'warning'],
    ['eks-anywhere', 'critical'],
  ] as const)('that certmarshal approved and the signer of %s does not issue are one finding', (provider, severity) => {
    const idle = (node: string) => asks({ requester: `system:node:${node}`, state: 'approved', signerIdle: true });
    const cluster = { id: 'berlin', provider };
    const { findings } = assess([idle('a'), idle('b'), read('signing-requests')], undefined, NOW, cluster);
    const [one, ...others] = findings.filter(({ code }) => code !== 'NotVisible');
    expect([one?.severity, one?.code, ...others]).toEqual([severity, 'SignerDoesNotIssue']);
    expect(one?.facts).toMatchObject({ nodes: 2, request: 'csr-9' });
  });

  it('of a list that was cut are as many as it shows, or as were known before where that is more', () => {
    const first = assess([asks({ count: 5 }), read('signing-requests')]);
    const cut = (count: number) => assess([asks({ count }), unread('signing-requests')], first).observations;
    expect(cut(3)).toContainEqual(expect.objectContaining({ kind: 'requests', count: 5 }));
    expect(cut(7)).toContainEqual(expect.objectContaining({ kind: 'requests', count: 7 }));
  });

  it('count while they cannot be listed', () => {
    const first = assess([asks({}), read('signing-requests')]);
    expect(codes(assess([unread('signing-requests')], first))).toContain(`warning RequestPending ${who}`);
  });

  it.each(['failed', 'denied'] as const)('that are %s say why, where the reason is told', (state) => {
    for (const message of [undefined, 'no such node']) {
      const { findings } = assess([asks({ state, lastHour: 3, message }), read('signing-requests')]);
      const count = state === 'denied' ? 3 : 1;
      expect(findings[0]?.facts).toMatchObject({ condition: message, request: 'csr-9', count });
    }
  });

  it('that a kubelet left behind are no news', () => {
    // Signers date back by up to five minutes.
    const renewed = (ago: number, what: CertificateClass = 'kubelet-serving') =>
      codes(assess([asks({}), certificate({ what, member: 'worker-3', notBefore: days(0, NOW - ago * MINUTE) })]));
    expect([renewed(0), renewed(20)]).toEqual([[], []]);
    expect(renewed(21)).toEqual([`warning RequestPending ${who}`]);
    expect(renewed(0, 'kubelet-client')).toEqual([`warning RequestPending ${who}`]);
  });
});

describe('EKS authorities', () => {
  const successor = (changes: object): Observation => ({
    kind: 'authority',
    source: 'eks-authorities',
    observedAt: days(0),
    id: 'ca-2',
    createdAt: days(-10),
    signingStatus: 'NOT_USED',
    distributionStatus: 'COMPLETE',
    firstAutoActivation: days(500),
    ...changes,
  });
  const on = (...observations: Observation[]) => assess(observations, undefined, NOW, DUBLIN);

  const NOT_TRUSTED = 'SuccessorNotTrusted EKS certificate authority ca-2';
  it.each<[object, object, string[]]>([
    [{}, {}, [`warning ${NOT_TRUSTED}`]],
    [{ firstAutoActivation: days(60) }, {}, [`critical ${NOT_TRUSTED}`]],
    [{ signingStatus: 'ACTIVATING' }, {}, [`critical ${NOT_TRUSTED}`]],
    [{ signingStatus: 'IN_USE' }, {}, []],
    [{ createdAt: days(-200) }, {}, []],
    [
      { distributionStatus: 'FAILED', createdAt: days(-200) },
      {},
      ['critical AuthorityDistributionFailed EKS certificate authority ca-2'],
    ],
    // A Node that was made before it, at the same moment, an hour later, or nobody knows when.
    [{}, { createdAt: days(-10.1) }, [`warning ${NOT_TRUSTED}`]],
    [{}, { createdAt: days(-10) }, [`warning ${NOT_TRUSTED}`]],
    [{}, { createdAt: days(-10 + 1 / 24) }, []],
    [{}, { createdAt: 'soon' }, []],
    // Those that people have to replace.
    [{}, { kindOfNode: 'hybrid' }, [`warning ${NOT_TRUSTED}`]],
    [{}, { kindOfNode: 'fargate' }, []],
    [{}, { kindOfNode: 'auto-mode' }, []],
  ])('%j, and a Node %j', (changes, node, expected) => {
    expect(codes(on(successor(changes), member(node)))).toEqual(expected);
  });

  it('take no Node for an authority', () => {
    expect(codes(on(member(), member({ name: 'Node worker-4', node: 'worker-4', createdAt: days(-1) })))).toEqual([]);
  });

  it('is due when EKS activates it', () => {
    const [finding] = found(on(successor({}), member()), 'SuccessorNotTrusted');
    expect(finding).toMatchObject({ due: days(500), facts: { nodes: { first: ['worker-3'], count: 1 } } });
  });
});

const BY_HAND = 'not automatic once it has expired: renew by hand, in place';
it.each([
  ['kube-apiserver', -1, BY_HAND],
  ['etcd-peer', -1, BY_HAND],
  ['kube-apiserver', 10, 'a rollout of the control plane machines'],
  ['kubelet-client', -1, /^not automatic once it has expired: give the kubelet a bootstrap kubeconfig, or replace /],
] as const)('%s, %d days left, is renewed by what can still do it', (what, end, renewedBy) => {
  const { findings } = assess([certificate({ what, notBefore: days(end - 365), notAfter: days(end) })]);
  expect(findings.find(({ code }) => /^Certificate|^Kubelet/.test(code))?.renewedBy).toMatch(renewedBy);
});

describe('authorities and leaves', () => {
  const authority = (end: number) =>
    certificate({
      what: 'cluster-ca',
      source: 'trust-configmaps',
      where: 'ConfigMap kube-system/kube-root-ca.crt',
      isAuthority: true,
      subject: 'CN=kubernetes',
      issuer: 'CN=kubernetes',
      notBefore: days(end - 3650),
      notAfter: days(end),
      subjectKeyId: 'aa',
    });
  const leaf = (end: number, where = '10.0.1.31:6443') =>
    certificate({ where, issuer: 'CN=kubernetes', authorityKeyId: 'aa', notBefore: days(-5), notAfter: days(end) });

  const BOUNDS = 'AuthorityBoundsLeaves cluster-ca ConfigMap kube-system/kube-root-ca.crt';
  const OUTLIVES = 'OutlivesIssuer kube-apiserver 10.0.1.31:6443';
  it.each<[string, number, CertificateObservation[], string[]]>([
    ['cuts a leaf short', 800, [leaf(800)], [`warning ${BOUNDS}`]],
    ['ends before its leaf', 800, [leaf(900)], [`info ${OUTLIVES}`]],
    ['ends within a year, before its leaf', 300, [leaf(400)], [`warning ${OUTLIVES}`, `info ${BOUNDS}`]],
    ['signs nothing that is seen, and ends in a year', 365, [], []],
    ['signs nothing that is seen, and ends a moment before', 364.99, [], [`info ${BOUNDS}`]],
    ['signs for 100 days, and ends in 100 days', 100, [leaf(95)], []],
    ['signs for 100 days, and ends a moment before', 99.99, [leaf(95)], [`info ${BOUNDS}`]],
    ['signs for 100 days at most', 99.99, [leaf(45, 'a:1'), leaf(95, 'b:1'), leaf(60, 'c:1')], [`info ${BOUNDS}`]],
    ['signs for 100 days, and ends in a year less a moment', 364.99, [leaf(95)], []],
    ['ends after what it signs next', 1000, [leaf(350)], []],
    ['ends before what it signs next', 364, [leaf(360)], [`info ${BOUNDS}`]],
  ])('an authority that %s', (_, end, leaves, expected) => {
    const told = codes(assess([authority(end), ...leaves])).filter((line) => /Bounds|Outlives/.test(line));
    expect(told).toEqual(expected);
  });
});

describe('coverage', () => {
  const machine = (name: string, createdAt = days(-100)) =>
    member({ source: 'machines', role: 'etcd', name: `Machine eksa-system/${name}`, node: name, createdAt });
  const server = (name: string) => certificate({ what: 'etcd-server', where: `${name}:2379`, member: name });
  const controlPlane = [
    member({ source: 'machines', role: 'control-plane', name: 'Machine eksa-system/cp-1', node: 'cp-1' }),
    certificate({ what: 'kube-apiserver', where: 'cp-1:6443', member: 'cp-1' }),
  ];
  const etcd = ['e1', 'e2', 'e3'].flatMap((name) => [machine(name), server(name)]);
  const three = [...controlPlane, ...etcd];
  const lists = [read('machines'), read('tls')];

  it('a member of which nothing is known', () => {
    const result = assess([...three, machine('e5'), machine('e4'), ...lists]);
    expect(codes(result)).toEqual(['warning ExpiryUnknown etcd-server of members']);
    expect(result.findings[0]?.places).toEqual(['Machine eksa-system/e4', 'Machine eksa-system/e5']);
    // AWS runs those of EKS, whatever a Node is labelled as.
    const labelled = (['control-plane', 'etcd'] as const).map((role) => member({ role }));
    expect(codes(assess(labelled, undefined, NOW, DUBLIN))).toEqual([]);
  });

  it.each([
    [undefined, ['warning ExpiryUnknown kubelet-serving of members']],
    ['hybrid', ['warning ExpiryUnknown kubelet-serving of members']],
    ['fargate', []],
    ['auto-mode', []],
  ] as const)('a Node of the kind %s of whose kubelet nothing is known', (kindOfNode, expected) => {
    const known = certificate({ what: 'kubelet-serving', where: 'worker-1:10250', member: 'worker-1' });
    const nodes = [member({ name: 'Node worker-1', node: 'worker-1' })];
    const other = member({ name: 'Node worker-2', node: 'worker-2', ...(kindOfNode && { kindOfNode }) });
    expect(codes(assess([...nodes, other, known], undefined, NOW, DUBLIN))).toEqual(expected);
  });

  it('a machine that is gone without a new one is told for a day', () => {
    const first = assess([...three, ...lists]);
    const two = [...controlPlane, ...etcd.slice(2)];
    const gone = assess([...two, ...lists], first, NOW + HOUR);
    expect(codes(gone)).toEqual(['warning CoverageShrunk etcd machines gone']);
    const later = assess([...two, ...lists], gone, NOW + 20 * HOUR);
    expect(found(later, 'CoverageShrunk')[0]).toMatchObject({
      since: new Date(NOW + HOUR).toISOString(),
      places: ['Machine eksa-system/e1'],
    });
    const still = ['warning CoverageShrunk etcd machines gone'];
    expect(codes(assess([...two, ...lists], later, NOW + 25 * HOUR))).toEqual(still);
    const known = member({ source: 'eks-anywhere', role: 'etcd', name: 'Machine eksa-system/e2', node: 'e2' });
    expect(codes(assess([...two, known, ...lists], later, NOW + 26 * HOUR))).toEqual([]);
    expect(codes(assess([unread('machines'), read('tls')], later, NOW + 26 * HOUR))).toEqual(
      expect.arrayContaining(still),
    );
    expect(codes(assess([...three, ...lists], later, NOW + 21 * HOUR))).toEqual([]);
    const successor = [machine('e4', new Date(NOW + HOUR).toISOString()), server('e4')];
    expect(codes(assess([...two, ...successor, ...lists], first, NOW + HOUR))).toEqual([]);
    expect(codes(assess([...two, ...successor, ...lists], later, NOW + 21 * HOUR))).toEqual([]);
  });

  it('all machines that are gone are told for a day, in their order', () => {
    const first = assess([...controlPlane, ...etcd.toReversed(), ...lists]);
    const gone = assess([...controlPlane, ...lists], first, NOW + HOUR);
    expect(found(gone, 'CoverageShrunk')).toMatchObject([
      { places: ['e1', 'e2', 'e3'].map((e) => `Machine eksa-system/${e}`) },
    ]);
    expect(codes(assess([...controlPlane, ...lists], gone, NOW + 26 * HOUR))).toEqual([]);
  });

  it('a control plane without a Machine, where others have one; its Nodes do not stand for it', () => {
    const node = member({ source: 'nodes', role: 'control-plane', name: 'Node cp-1', node: 'cp-1' });
    const shown = certificate({ member: 'cp-1' });
    expect(found(assess([...etcd.toReversed(), node, shown]), 'CoverageShrunk')).toMatchObject([
      { object: 'control-plane machines', facts: { of: 'none', machines: { count: 3 } } },
    ]);
    expect(codes(assess([node, shown]))).toEqual([]);
  });

  const wants = {
    kind: 'group',
    source: 'etcdadm-cluster',
    observedAt: days(0),
    role: 'etcd',
    name: 'EtcdadmCluster x',
    wanted: 5,
  } as const satisfies Observation;

  it.each([
    ['etcd', 5, 3],
    ['control-plane', 5, 1],
    ['worker', 1, 0],
  ] as const)('fewer than wanted, and how many there are: %s', (role, wanted, count) => {
    const groups = (...counts: readonly [number, number]) =>
      counts.map((of, at) => ({ ...wants, role, wanted: of, name: `EtcdadmCluster ${'xa'[at]}` }));
    const result = assess([...three, ...groups(wanted, 0)]);
    expect(codes(result)).toEqual([`warning CoverageShrunk ${role} machines wanted`]);
    const first = ['EtcdadmCluster a', 'EtcdadmCluster x'];
    expect(found(result, 'CoverageShrunk')).toMatchObject([{ facts: { role, count, wanted, groups: { first } } }]);
    expect(codes(assess([...three, ...groups(count, 0)]))).toEqual([]);
  });

  it('the machine too many of a rollout is not missed when it goes, but one that is wanted is', () => {
    const fourth = [machine('e4'), server('e4')];
    const gone = (wanted: number) => {
      const want: Observation[] = [
        { ...wants, wanted },
        { ...wants, role: 'control-plane', wanted: 1 },
      ];
      const first = assess([...three, ...fourth, ...want, ...lists]);
      return codes(assess([...three, ...want, ...lists], first, NOW + HOUR));
    };
    expect(gone(3)).toEqual([]);
    expect(gone(4)).toContain('warning CoverageShrunk etcd machines gone');
  });

  it('says of an unknown kubelet certificate that its request waits', () => {
    const seen = ['ip-1', 'ip-2'].map((node) =>
      member({ source: 'nodes', role: 'worker', name: `Node ${node}`, node }),
    );
    const shown = certificate({ what: 'kubelet-serving', member: 'ip-1', where: '10.0.0.1:10250' });
    const unknown = (request: Observation) => found(assess([...seen, shown, request]), 'ExpiryUnknown');
    const waiting = (changes: object) => asks({ requester: 'system:node:ip-2', ...changes });
    const pending = (request: Observation) => unknown(request).map(({ facts }) => facts);
    expect(pending(waiting({}))).toMatchObject([{ pending: 1, members: { first: ['Node ip-2'], count: 1 } }]);
    for (const other of [
      { requester: 'system:node:ip-3' },
      { signer: 'kubernetes.io/kube-apiserver-client-kubelet' },
      { state: 'approved' },
    ])
      expect(pending(waiting(other))).toMatchObject([{ pending: 0 }]);
  });

  it('what is known of a Machine is known of its Node, whatever that is called', () => {
    const seen = (node: string) => [
      member({ source: 'nodes', role: 'control-plane', name: `Node ${node}`, node }),
      member({ source: 'machines', role: 'control-plane', name: 'Machine eksa-system/cp-1', node: 'ip-1' }),
      certificate({ member: 'cp-1' }),
    ];
    expect(codes(assess(seen('ip-1')))).toEqual([]);
    expect(found(assess(seen('ip-2')), 'ExpiryUnknown')).toMatchObject([{ places: ['Node ip-2'] }]);
  });
});

const renewal = (errors: number, none: boolean): RenewalObservation => ({
  kind: 'renewal',
  source: 'kubelet-metrics',
  observedAt: days(0),
  what: 'kubelet-serving',
  node: 'worker-3',
  errors,
  none,
});

describe('kubelets and clocks', () => {
  const clock = (skewMs: number): Observation => ({
    kind: 'clock',
    source: 'clock',
    observedAt: days(0),
    server: 'https://x',
    skewMs,
  });
  const kubelet = certificate({ what: 'kubelet-serving', member: 'worker-3', where: 'x:10250' });
  const life = Date.parse(kubelet.notAfter) - Date.parse(kubelet.notBefore ?? '');
  const rotated = (share: number): Observation => ({
    ...renewal(0, false),
    rotations: { count: 3, meanSeconds: (share * life) / 1_000 },
  });
  /** As the kubelet itself says, without a beginning. */
  const endOnly: Observation = {
    ...certificate({ what: 'kubelet-serving', member: 'worker-3', where: 'metrics', source: 'kubelet-metrics' }),
    basis: 'status',
    notBefore: undefined,
  };
  const another = { ...kubelet, commonName: 'system:node:other' };
  const own = { ...kubelet, what: 'kubelet-self-signed' } as const;
  const lacks = { lacksAddress: '10.0.0.7' };
  const late = { ...kubelet, notBefore: days(-71), notAfter: days(29) };
  const lone = member({ source: 'machines', name: 'Machine a/worker-3', node: undefined });
  /** The one that was issued to it before. */
  const longer: Observation = {
    ...kubelet,
    source: 'signing-requests',
    where: 'csr-1',
    notBefore: new Date(Date.parse(kubelet.notBefore ?? '') - life).toISOString(),
  };

  it.each<[string, Observation[], string[]]>([
    ['errors', [renewal(1, false)], ['warning RenewalErrors kubelet-serving worker-3']],
    ['errors that were mended', [renewal(2, false), kubelet], []],
    ['errors, with 31 % left', [renewal(2, false), { ...kubelet, notBefore: days(-69), notAfter: days(31) }], []],
    ['errors, with 29 % left', [renewal(2, false), late], ['warning RenewalErrors kubelet-serving worker-3']],
    ['none', [renewal(0, true)], ['critical NoValidCertificate kubelet-serving worker-3']],
    ['rotations before 60 % of a life', [rotated(0.59), kubelet], ['info RotationUnusual kubelet-serving worker-3']],
    ['rotations from 60 % on', [rotated(0.6), kubelet], []],
    ['rotations until 95 %', [rotated(0.95), kubelet], []],
    ['rotations after 95 %', [rotated(0.96), kubelet], ['info RotationUnusual kubelet-serving worker-3']],
    ['rotations after the end', [rotated(1.5), kubelet], ['info RotationUnusual kubelet-serving worker-3']],
    ['rotations of a kubelet of which no life is known', [rotated(0.1), endOnly], []],
    ['rotations of a kubelet of which nothing is known', [rotated(0.1)], []],
    ['rotations that are late for one of two lives only', [rotated(0.96), kubelet, longer], []],
    ['skew', [clock(-61_000)], ['warning ClockSkew clock of https://x']],
    ['little skew', [clock(60_000)], []],
    ['another name', [another, member()], ['info KubeletNameMismatch kubelet-serving worker-3']],
    ['another name, where no Node is known', [another], ['info KubeletNameMismatch kubelet-serving worker-3']],
    ['not its address', [{ ...kubelet, ...lacks }], ['warning KubeletAddressMissing kubelet-serving worker-3']],
    [
      'not its address, made itself',
      [{ ...own, ...lacks }],
      ['info KubeletAddressMissing kubelet-self-signed worker-3'],
    ],
    ['its name', [{ ...kubelet, commonName: 'system:node:worker-3' }, member()], []],
    ['another name of its client', [{ ...another, what: 'kubelet-client' }, member()], []],
    ['another name of a machine without a Node', [another, lone], ['warning CoverageShrunk control-plane machines']],
  ])('%s', (_, observations, expected) => {
    expect(codes(assess(observations))).toEqual(expected);
  });
});

it('a kubelet with another common name, or without one, has another name than API servers can expect', () => {
  const told = [{ commonName: 'system:node:x' }, { subject: 'O=x' }].map((names) => {
    const kubelet = certificate({ what: 'kubelet-serving', member: 'worker-3', ...names });
    return found(assess([kubelet, member()]), 'KubeletNameMismatch')[0]?.facts.commonName;
  });
  expect(told).toEqual(['system:node:x', undefined]);
});

it('an unknown issuer of etcd is news where the CA of etcd is there to compare', () => {
  const server = certificate({ what: 'etcd-server', issuedByCluster: false });
  const ca = (what: CertificateClass) => certificate({ what, source: 'cluster-secrets', where: `Secret a/${what}` });
  const told = (...cas: readonly CertificateClass[]) => found(assess([server, ...cas.map(ca)]), 'IssuerUnknown').length;
  expect([told(), told('cluster-ca'), told('cluster-ca', 'etcd-ca')]).toEqual([0, 0, 1]);
});

it('what a kubelet said is forgotten with its Node, also while nothing can be read of it', () => {
  const said = renewal(2, false);
  const first = assess([said, member(), read('nodes'), read('kubelet-metrics')]);
  const next = (...nodes: readonly Observation[]) =>
    found(assess([...nodes, read('nodes'), unread('kubelet-metrics')], first, NOW + HOUR), 'RenewalErrors');
  expect(next(member())).toHaveLength(1);
  expect(next()).toEqual([]);
});

describe('certificateGroups', () => {
  it('has one line a class, what bites first on top', () => {
    const observations = [
      certificate({ where: 'a:6443', notAfter: days(300), fingerprint: 'a'.repeat(64) }),
      certificate({ where: 'b:6443', notAfter: days(200), fingerprint: 'b'.repeat(64) }),
      certificate({ where: 'c:6443', notAfter: days(200), fingerprint: 'b'.repeat(64) }),
      certificate({ what: 'etcd-server', where: 'e:2379', notAfter: days(2), observedAt: days(-1) }),
    ];
    const groups = certificateGroups({ ...assess(observations), provider: BERLIN.provider, auditedAt: days(0) }, NOW);
    expect(groups.map(({ what, count, severity }) => [what, count, severity])).toEqual([
      ['etcd-server', 1, 'critical'],
      ['kube-apiserver', 2, 'info'],
    ]);
    expect(groups[0]?.first).toMatchObject({ lastSeen: days(-1), where: 'e:2379' });
    expect(groups[1]).toMatchObject({
      first: { notAfter: days(200), where: 'b:6443' },
      renewedBy: 'a rollout of the control plane machines',
    });
  });

  it.each([
    ['is one with the estimate for a machine that was not read', [['cp-1', 'inference', 200]], 1],
    ['is one with an annotation', [['cp-1', 'annotation', 200]], 1],
    ['is one of three', [1, 2, 3].map((n) => [`cp-${n}`, 'inference', n === 3 ? -1 : 200] as const), 3],
    ['is none of those that were read', [['cp-1', 'certificate', 200]], 2],
    ['is none whose estimate has expired', [1, 2].map((n) => [`cp-${n}`, 'annotation', -n] as const), 3],
  ] as const)('counts certificates: what an endpoint shows %s', (_, machines, count) => {
    const endpoint = certificate({ where: 'vip:6443', notAfter: days(200), issuedByCluster: true, fingerprint: 'vip' });
    const observations = machines.map(([node, basis, end]) =>
      certificate({
        source: basis === 'certificate' ? 'tls' : 'machines',
        where: node,
        member: node,
        basis,
        notAfter: days(end),
        fingerprint: basis === 'certificate' ? node : undefined,
      }),
    );
    const groupsOf = (...shown: readonly CertificateObservation[]) =>
      certificateGroups(
        { observations: [...observations, ...shown], findings: [], provider: 'eks-anywhere', auditedAt: days(0) },
        NOW,
      );
    // A guess that has passed is no expiry.
    const ended = machines.filter(([, basis, end]) => end < 0 && basis !== 'inference').length;
    expect(groupsOf(endpoint)).toMatchObject([{ count, ended }]);
    // What no CA of the cluster signed is of no machine.
    expect(groupsOf({ ...endpoint, issuedByCluster: false })).toMatchObject([{ count: machines.length + 1, ended }]);
  });

  it('is as urgent as the worst finding about its certificates, whatever that is about', () => {
    const worker = { what: 'kubelet-serving', where: '10.0.1.43:10250', member: 'worker-3', fingerprint: 'k' } as const;
    const result = assess([
      certificate(),
      certificate({ ...worker, issuedByCluster: false, notAfter: days(300), commonName: 'x' }),
      unread('tls', { what: 'kube-apiserver', where: 'b:6443', problem: 'unreachable' }),
    ]);
    expect(result.findings.map(({ code }) => code)).toEqual(expect.arrayContaining(['IssuerUnknown', 'Unreachable']));
    const groups = certificateGroups({ ...result, provider: BERLIN.provider, auditedAt: days(0) }, NOW);
    expect(groups.map(({ what, severity }) => [what, severity])).toEqual([
      ['kubelet-serving', 'warning'],
      ['kube-apiserver', 'info'],
    ]);
  });

  it.each([
    ['the one that ends first', ['b', 'c', 'a'], { a: 300, b: 200, c: 250 }],
    ['the one that ends first, whoever was seen last', ['c', 'a', 'b'], { a: 300, b: 200, c: 250 }],
    ['of one end, the first by name', ['c', 'b', 'd'], { b: 200, c: 200, d: 200 }],
  ])('names %s', (_, order, ends) => {
    const observations = order.map((where) =>
      certificate({ where, notAfter: days(new Map(Object.entries(ends)).get(where) ?? 0), fingerprint: where }),
    );
    const [group] = certificateGroups({ observations, findings: [], provider: 'eks', auditedAt: days(0) }, NOW);
    expect(group?.first).toMatchObject({ where: 'b', notAfter: days(200) });
  });

  it('of one urgency, what ends first is on top, and of one end it is the name that decides', () => {
    const ends = { 'etcd-peer': 300, 'kube-apiserver': 250, endpoint: 200, 'etcd-server': 300, 'tls-secret': 250 };
    const observations = Object.entries(ends).map(([what, end]) =>
      certificate({ what: what as CertificateClass, where: what, notAfter: days(end), fingerprint: what }),
    );
    const groups = certificateGroups({ observations, findings: [], provider: 'eks', auditedAt: days(0) }, NOW);
    const expected = ['endpoint', 'kube-apiserver', 'tls-secret', 'etcd-peer', 'etcd-server'];
    expect(groups.map(({ what }) => what)).toEqual(expected);
  });
});
