import type { Provider } from '../approval/policy.ts';
import { CERTIFICATE_CLASSES } from './certificate-classes.ts';
import { about } from './certificate-findings.ts';
import { nameOf } from './certificate-rules.ts';
import type { KnownCertificate } from './certificates.ts';
import type { Draft } from './draft.ts';
import { type Life, lengthOf } from './thresholds.ts';
import { counted, DAY_MS, date, firstOf, isoOf, span, timeOf } from './words.ts';

/** A signer cuts what it signs at its own end; within this they end together. */
const TOGETHER_MS = DAY_MS;

/** What the end of an authority does to those it signed. */
export function authorityFindings(
  certificates: readonly KnownCertificate[],
  provider: Provider,
  now: number,
): readonly Draft[] {
  const signed = leavesByIssuer(certificates);
  return certificates.flatMap((authority) => {
    const { best } = authority;
    if (best.basis !== 'certificate' || best.isAuthority !== true) return [];
    const leaves = signed(authority);
    return [...bounds(authority, leaves, provider, now), ...outlived(authority, leaves, provider)];
  });
}

function bounds(
  authority: KnownCertificate,
  leaves: readonly KnownCertificate[],
  provider: Provider,
  now: number,
): readonly Draft[] {
  const { best, what, said } = authority;
  const notAfter = endOf(authority);
  const began = timeOf(best.notBefore) ?? Number.NEGATIVE_INFINITY;
  // One that was made together with its authority ends with it on purpose.
  const cut = leaves.filter(
    (leaf) =>
      Math.abs(endOf(leaf) - notAfter) <= TOGETHER_MS &&
      (timeOf(leaf.best.notBefore) ?? Number.NEGATIVE_INFINITY) - began > TOGETHER_MS,
  );
  const name = nameOf(what, best, authority.member);
  const common = { ...about(authority, provider), code: 'AuthorityBoundsLeaves', due: isoOf(notAfter) } as const;
  const ends = `${name} ends ${notAfter > now ? `in ${span(notAfter - now)}` : `${span(now - notAfter)} ago`}, on ${date(notAfter)}`;
  if (cut.length > 0) {
    const names = cut.map(({ object }) => object).toSorted();
    return [
      {
        ...common,
        severity: 'warning',
        message: `${ends}, and so ${counted(cut.length, 'certificate')} that it signed ${cut.length === 1 ? 'is' : 'are'} cut short: ${firstOf(names)}`,
      },
    ];
  }
  const signs = CERTIFICATE_CLASSES[what].layer === 'authority' && what !== 'ca-bundle';
  // What a server only sends along was made with its certificate, and signs nothing again.
  if (!signs && (leaves.length === 0 || said.every(({ source }) => source === 'tls'))) return [];
  const usual = leaves.reduce((longest, leaf) => Math.max(longest, lengthOf(lifeOf(leaf), leaf.what)), 0);
  const life = usual > 0 ? usual : LEAF_LIFE_MS;
  if (authority.notAfter - now >= life) return [];
  return [
    { ...common, severity: 'info', message: `${ends}, sooner than the ${span(life)} for which it usually signs` },
  ];
}

/** Of kubeadm and etcdadm. */
const LEAF_LIFE_MS = 365 * DAY_MS;

/** Its own, whatever else is believed of it: what a signer did is in the bytes. */
function endOf({ best, notAfter }: KnownCertificate): number {
  return timeOf(best.notAfter) ?? notAfter;
}

function lifeOf(certificate: KnownCertificate): Life {
  return { notBefore: timeOf(certificate.best.notBefore), notAfter: endOf(certificate) };
}

function outlived(
  authority: KnownCertificate,
  leaves: readonly KnownCertificate[],
  provider: Provider,
): readonly Draft[] {
  return leaves
    .filter((leaf) => endOf(leaf) > endOf(authority))
    .map((leaf) => ({
      ...about(leaf, provider),
      code: 'OutlivesIssuer',
      severity: 'warning',
      message: `${nameOf(leaf.what, leaf.best, leaf.member)} ends on ${date(endOf(leaf))}, but ${authority.object}, which signed it, ends before, on ${date(endOf(authority))}`,
      due: isoOf(endOf(authority)),
    }));
}

/** By key identifier where both have one, else by name. */
function leavesByIssuer(
  certificates: readonly KnownCertificate[],
): (authority: KnownCertificate) => readonly KnownCertificate[] {
  const byKey = new Map<string, KnownCertificate[]>();
  const byName = new Map<string, KnownCertificate[]>();
  for (const certificate of certificates) {
    const { basis, authorityKeyId, issuer } = certificate.best;
    if (basis !== 'certificate' || issuer === undefined) continue;
    const [index, key] = authorityKeyId === undefined ? [byName, issuer] : [byKey, authorityKeyId];
    const same = index.get(key);
    if (same === undefined) index.set(key, [certificate]);
    else same.push(certificate);
  }
  return (authority) => {
    const { subject = '', subjectKeyId } = authority.best;
    const signed = [
      ...((subjectKeyId === undefined ? undefined : byKey.get(subjectKeyId)) ?? []),
      ...(byName.get(subject) ?? []),
    ];
    return signed.filter((leaf) => leaf !== authority && leaf.best.issuer === subject);
  };
}
