import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type KnownCertificate, knownCertificates } from '../../../../lambdas/audit/certificates.ts';
import { authorityFindings } from '../../../../lambdas/audit/rules/authority.ts';
import type { Draft } from '../../../../lambdas/audit/rules/draft.ts';
import { DEFAULT_THRESHOLDS } from '../../../../lambdas/audit/rules/thresholds.ts';
import type { CertificateObservation } from '../../../../lambdas/contracts/observation.ts';
import { finished } from '../../../../lambdas/steps.ts';
import { firstOf } from '../../../../lambdas/words.ts';
import { certificate, days, NOW } from '../fixtures.ts';

function known(observations: readonly CertificateObservation[]): readonly KnownCertificate[] {
  return finished(knownCertificates(observations, new Set(), NOW));
}

const drafts = (certificates: readonly KnownCertificate[]): readonly Draft[] =>
  finished(authorityFindings(certificates, 'eks-anywhere', DEFAULT_THRESHOLDS, NOW));

/** One caBundle: half of its certificates are called as the issuer of the other half. Nothing is signed; the names are enough. */
function bundle(size: number, authorityEnds: number, keyId?: string): readonly CertificateObservation[] {
  return Array.from({ length: size }, (_, index) =>
    certificate({
      what: 'ca-bundle',
      source: 'webhooks',
      where: 'ValidatingWebhookConfiguration x (webhook w)',
      position: index,
      fingerprint: `f${index}`,
      notBefore: days(-100),
      ...(index % 2 === 0
        ? {
            isAuthority: true,
            subject: 'CN=evil',
            issuer: 'CN=other',
            notBefore: days(-200),
            notAfter: days(authorityEnds + index / size),
            subjectKeyId: keyId,
          }
        : {
            subject: `CN=l${index}`,
            issuer: 'CN=evil',
            notAfter: days(400 + index / size),
            authorityKeyId: keyId,
          }),
    }),
  );
}

/** How often the rules look at a certificate. */
function looks(observations: readonly CertificateObservation[]): number {
  let count = 0;
  const watched = known(observations).map(
    (one): KnownCertificate => ({
      ...one,
      get best() {
        count += 1;
        return one.best;
      },
    }),
  );
  drafts(watched);
  return count;
}

describe('authorities of one name and leaves that say that it signed them', () => {
  it.each([
    ['outlive them', 300, undefined],
    ['outlive them, by key', 300, 'aa'],
    ['are cut short by them', 400, undefined],
    ['are cut short by them, by key', 400, 'aa'],
    ['end before them', 500, undefined],
  ])('that %s: the work grows with the certificates, not with their pairs', (_, ends, keyId) => {
    expect(looks(bundle(800, ends, keyId)) / looks(bundle(400, ends, keyId))).toBeLessThan(2.5);
  });

  it('give one finding for each leaf and each authority at most', () => {
    const found = drafts(known(bundle(400, 300)));
    expect(found.filter(({ code }) => code === 'OutlivesIssuer')).toHaveLength(200);
    expect(found.length).toBeLessThanOrEqual(400);
    expect(drafts(known(bundle(400, 400))).length).toBeLessThanOrEqual(400);
  });

  it('a leaf ends with the first of them', () => {
    const outliving = drafts(known(bundle(10, 300))).filter(({ code }) => code === 'OutlivesIssuer');
    expect(outliving.map(({ due }) => due)).toEqual(Array.from({ length: 5 }, () => days(300)));
  });
});

it('an authority that signed itself outlives no other of its name', () => {
  // Source: client-go, util/cert, GenerateSelfSignedCertKey, of two programs that start in the same second.
  const name = 'CN=127.0.0.1-ca@1795374000';
  const own = { what: 'ca-bundle', source: 'tls', isAuthority: true, subject: name, issuer: name } as const;
  const programs = [
    certificate({ ...own, where: '10.0.1.11:10257 #2', subjectKeyId: '01', notAfter: days(365) }),
    certificate({ ...own, where: '10.0.1.11:10259 #2', subjectKeyId: '02', notAfter: days(364.99) }),
  ];
  const codesOf = (observations: typeof programs) => drafts(known(observations)).map(({ code }) => code);
  expect(codesOf(programs)).not.toContain('OutlivesIssuer');
  // One that the other signed says so.
  const signed = programs.map((program, index) => (index === 0 ? { ...program, authorityKeyId: '02' } : program));
  expect(codesOf(signed)).toContain('OutlivesIssuer');
});

it('gives others the thread while it counts what an authority cut short', () => {
  const turns = (made: number): number => {
    const leaves = Array.from({ length: 640 }, (_, n) =>
      certificate({ where: `w${n}`, issuer: 'CN=ca', notBefore: days(made), notAfter: days(400) }),
    );
    const ca = { what: 'cluster-ca', where: 'ca', isAuthority: true, subject: 'CN=ca', notBefore: days(-200) } as const;
    const running = authorityFindings(
      known([certificate({ ...ca, notAfter: days(400) }), ...leaves]),
      'eks',
      DEFAULT_THRESHOLDS,
      NOW,
    );
    let count = 0;
    while (running.next().done !== true) count += 1;
    return count;
  };
  // What was made together with it is cut short on purpose, and is not counted.
  expect(turns(-100) - turns(-200)).toBe(640 / 64);
});

it.each([
  ['is told where something else shows it', ['webhooks'], 'CN=ca', ['info AuthorityBoundsLeaves']],
  ['is told where that shows it too', ['webhooks', 'tls'], 'CN=ca', ['info AuthorityBoundsLeaves']],
  ['is not told where nothing shows that it signs', ['webhooks'], 'CN=another', []],
  ['is not told where only a server sends it along: it signs nothing again', ['tls'], 'CN=ca', []],
] as const)('an authority of a bundle that ends before what it usually signs %s', (_, sources, issuer, expected) => {
  const place = { what: 'ca-bundle', where: 'x', notBefore: days(-200) } as const;
  const ca = { ...place, fingerprint: 'ca', isAuthority: true, subject: 'CN=ca', notAfter: days(90) } as const;
  const found = drafts(
    known([
      ...sources.map((source) => certificate({ ...ca, source, where: source })),
      certificate({ ...place, position: 1, issuer, notAfter: days(50) }),
    ]),
  );
  expect(found.map(({ code, severity }) => `${severity} ${code}`)).toEqual(expected);
});

const DAY_MS = 86_400_000;
const endOf = ({ best, notAfter }: KnownCertificate): number => Date.parse(best.notAfter) || notAfter;
const beginningOf = ({ best: { notBefore } }: KnownCertificate): number =>
  notBefore === undefined ? Number.NEGATIVE_INFINITY : Date.parse(notBefore);

const isSelfSigned = ({ best }: KnownCertificate): boolean =>
  best.isAuthority === true &&
  best.subject === best.issuer &&
  [undefined, best.subjectKeyId].includes(best.authorityKeyId);

/** What is expected, said pair by pair. */
function byPairs(certificates: readonly KnownCertificate[]): readonly string[] {
  const signed = (authority: KnownCertificate) =>
    certificates.filter(
      (leaf) =>
        leaf !== authority &&
        leaf.best.issuer === (authority.best.subject ?? '') &&
        (leaf.best.authorityKeyId ?? authority.best.subjectKeyId) === authority.best.subjectKeyId,
    );
  const outlives = new Map<string, string>();
  const authorities = certificates.filter(({ best }) => best.isAuthority === true);
  const bounds = authorities.flatMap((authority) => {
    const leaves = signed(authority);
    for (const leaf of leaves) {
      const other = outlives.get(leaf.object);
      const due = new Date(endOf(authority)).toISOString();
      const depends = !isSelfSigned(leaf) && endOf(leaf) > endOf(authority);
      if (depends && (other === undefined || due < other)) outlives.set(leaf.object, due);
    }
    const names = leaves
      .filter(
        (leaf) =>
          Math.abs(endOf(leaf) - endOf(authority)) <= DAY_MS && beginningOf(leaf) - beginningOf(authority) > DAY_MS,
      )
      .map(({ object }) => object)
      .toSorted();
    const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
    return names.length === 0 ? [] : [`${authority.object} cuts ${names.slice(0, 3).join(', ')}${more}`];
  });
  return [...bounds, ...[...outlives].map(([object, due]) => `${object} outlives ${due}`)].toSorted();
}

it('finds what a look at every pair finds', () => {
  const some = <T>(...values: readonly T[]) => fc.constantFrom(...values);
  const aCertificate = fc.record({
    isAuthority: fc.boolean(),
    subject: some('CN=a', 'CN=b', undefined),
    issuer: some('CN=a', 'CN=b', '', undefined),
    subjectKeyId: some('01', '02', undefined),
    authorityKeyId: some('01', '02', undefined),
    notBefore: some(days(-10), days(-9), days(-8.5), days(-1), undefined),
    notAfter: some(days(40), days(40.5), days(41), days(41.25), days(43), days(400)),
  });
  fc.assert(
    fc.property(fc.array(aCertificate, { maxLength: 24 }), (made) => {
      const certificates = known(
        made.map((given, index) => {
          const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
          const { notBefore: _, ...plain } = certificate({ what: 'ca-bundle', where: `w${index}`, source: 'webhooks' });
          return { ...plain, fingerprint: `f${index}`, ...present };
        }),
      );
      const found = drafts(certificates).flatMap(({ object, due, ...draft }) => {
        if (draft.code === 'OutlivesIssuer') return [`${object} outlives ${due}`];
        const { cutShort } = draft.code === 'AuthorityBoundsLeaves' ? draft.facts : {};
        return cutShort === undefined ? [] : [`${object} cuts ${firstOf(cutShort.first, 3, cutShort.count)}`];
      });
      expect(found.toSorted()).toEqual(byPairs(certificates));
    }),
    { seed: 20_261_122, numRuns: 500 },
  );
});

it('a CA usually signs for as long as kubeadm does, though kubeadm dates each certificate back to it', () => {
  const ca = {
    what: 'cluster-ca',
    source: 'trust-configmaps',
    isAuthority: true,
    subject: 'CN=ca',
    issuer: 'CN=ca',
  } as const;
  const leaf = certificate({ member: 'cp-1', issuer: 'CN=ca', notBefore: days(-2000), notAfter: days(300) });
  const ends = (end: number) =>
    drafts(known([certificate({ ...ca, where: 'c', notBefore: days(-2000), notAfter: days(end) }), leaf])).map(
      ({ severity, code }) => `${severity} ${code}`,
    );
  expect(ends(1650)).toEqual([]);
  expect(ends(364)).toEqual(['info AuthorityBoundsLeaves']);
});
