import type { Provider } from '../../identifiers.ts';
import { eachInSteps, flatMapInSteps, groupInSteps, type Steps, sortInSteps } from '../../steps.ts';
import { CERTIFICATE_CLASSES } from '../../tables/certificate-classes.ts';
import { DAY_MS, timestamp } from '../../time.ts';
import { compare, timeOf } from '../../words.ts';
import type { KnownCertificate } from '../certificates.ts';
import { certificateFacts } from './certificate.ts';
import { about } from './certificate-findings.ts';
import type { Draft } from './draft.ts';
import { expirySeverity, type Life, lengthOf, type Thresholds } from './thresholds.ts';

/** A CA limits what it signs to its own expiry; within this, both expire together. */
const TOGETHER_MS = DAY_MS;

/**
 * Findings about CAs that expire before what they signed, or cut it short. The work does not grow with the pairs of CAs
 * and certificates.
 */
export function* authorityFindings(
  certificates: readonly KnownCertificate[],
  provider: Provider,
  thresholds: Thresholds,
  now: number,
): Steps<readonly Draft[]> {
  const authorities = yield* sortInSteps(
    certificates.filter((one) => isAuthority(one) && one.stake.severity !== 'info'),
    byEnd,
  );
  const byName = yield* groupInSteps(authorities, ({ best }) => best.subject ?? '');
  const byKey = yield* groupInSteps(authorities, ({ best }) => keyOf(best.subjectKeyId, best.subject ?? ''));
  const works = new Map(authorities.map((authority) => [authority, emptyWork()]));
  const outlived: Draft[] = [];
  const bySigner = yield* groupInSteps(certificates.filter(isSigned), ({ best }) =>
    keyOf(best.authorityKeyId, best.issuer),
  );
  for (const leaves of bySigner.values()) {
    const { authorityKeyId, issuer = '' } = leaves[0]?.best ?? {};
    // By key identifier if the certificate names one, otherwise by name.
    const signers = authorityKeyId === undefined ? byName.get(issuer) : byKey.get(keyOf(authorityKeyId, issuer));
    if (signers === undefined) continue;
    yield* addWork(leaves, signers, works);
    yield* eachInSteps(leaves, (leaf) => outlived.push(...outlives(leaf, signers, provider, thresholds, now)));
  }
  const bounded = yield* flatMapInSteps(works, ([authority, work]) => bounds(authority, work, provider, now));
  return [...bounded, ...outlived];
}

function isSigned({ best }: KnownCertificate): boolean {
  return best.basis === 'certificate' && best.issuer !== undefined;
}

function isAuthority({ best }: KnownCertificate): boolean {
  return best.basis === 'certificate' && best.isAuthority === true;
}

/**
 * Whether its own key may have signed it. Another CA can have its name: kube-controller-manager and kube-scheduler name
 * theirs after the second of their start.
 */
function isSelfSigned(certificate: KnownCertificate): boolean {
  const { subject, issuer, authorityKeyId, subjectKeyId } = certificate.best;
  return (
    isAuthority(certificate) && subject === issuer && (authorityKeyId === undefined || authorityKeyId === subjectKeyId)
  );
}

function keyOf(keyId: string | undefined, name: string | undefined): string {
  return `${keyId ?? ''}\n${name}`;
}

/** What a CA signed, except itself. */
interface Work {
  /** Certificates that expire together with it, though issued later. */
  cut: number;
  /** The first names of these, sorted. */
  names: readonly string[];
  /** The longest life of all; 0 if it signed nothing. Milliseconds. */
  usual: number;
}

const emptyWork = (): Work => ({ cut: 0, names: [], usual: 0 });

/** Adds leaves with the same possible signers to the work of each of these. */
function* addWork(
  leaves: readonly KnownCertificate[],
  signers: readonly KnownCertificate[],
  works: ReadonlyMap<KnownCertificate, Work>,
): Steps<void> {
  const longest = yield* twoLongest(leaves);
  const inOrder = yield* sortInSteps(leaves, byEnd);
  const ends = inOrder.map(endOf);
  const made = new FirstInRange(inOrder.length);
  const newestFirst = yield* sortInSteps(
    inOrder.map((leaf, index) => ({ leaf, index, began: beginningOf(leaf) })),
    (a, b) => descending(a.began, b.began),
  );
  const lastMadeFirst = yield* sortInSteps(signers, (a, b) => descending(beginningOf(a), beginningOf(b)));
  let next = 0;
  for (const signer of lastMadeFirst) {
    const work = works.get(signer);
    if (work === undefined) continue;
    // A certificate made together with its CA expires with it on purpose.
    const since = beginningOf(signer) + TOGETHER_MS;
    for (let leaf = newestFirst[next]; leaf !== undefined && leaf.began > since; leaf = newestFirst[next]) {
      made.add(leaf.index, leaf.leaf.object);
      next += 1;
      if (next % 64 === 0) yield;
    }
    const cut = made.within(
      firstIndex(ends, (end) => end >= endOf(signer) - TOGETHER_MS),
      firstIndex(ends, (end) => end > endOf(signer) + TOGETHER_MS),
    );
    work.cut += cut.count;
    work.names = [...work.names, ...cut.names].toSorted(compare).slice(0, SHOWN);
    work.usual = Math.max(work.usual, longest.find(({ leaf }) => leaf !== signer)?.length ?? 0);
    yield;
  }
}

/** Two, as the longest may be the CA itself. */
function* twoLongest(
  leaves: readonly KnownCertificate[],
): Steps<readonly { readonly leaf: KnownCertificate; readonly length: number }[]> {
  let longest: { readonly leaf: KnownCertificate; readonly length: number }[] = [];
  yield* eachInSteps(leaves, (leaf) => {
    const length = lengthOf(lifeOf(leaf), leaf.what);
    longest = [...longest, { leaf, length }].toSorted((a, b) => b.length - a.length).slice(0, 2);
  });
  return longest;
}

function bounds(
  authority: KnownCertificate,
  { cut, names, usual }: Work,
  provider: Provider,
  now: number,
): readonly Draft[] {
  const { what, said } = authority;
  const due = timestamp(endOf(authority));
  const common = { ...about(authority, provider, now), code: 'AuthorityBoundsLeaves', due } as const;
  const facts = certificateFacts(authority);
  if (cut > 0) return [{ ...common, severity: 'warning', facts: { ...facts, cutShort: { first: names, count: cut } } }];
  const signs = CERTIFICATE_CLASSES[what].layer === 'authority';
  // A CA that only servers send was made with their certificate, and signs nothing more.
  if (!signs && (usual === 0 || said.every(({ source }) => source === 'tls'))) return [];
  const life = usual > 0 ? usual : LEAF_LIFE_MS;
  if (authority.notAfter - now >= life) return [];
  return [{ ...common, severity: 'info', facts: { ...facts, lifeMs: life } }];
}

/** The default of kubeadm and etcdadm. */
const LEAF_LIFE_MS = 365 * DAY_MS;

/**
 * Compares with the possible signer that expires first, as the certificate is useless from then on. A self-signed one
 * depends on no other.
 */
function outlives(
  leaf: KnownCertificate,
  signers: readonly KnownCertificate[],
  provider: Provider,
  thresholds: Thresholds,
  now: number,
): readonly Draft[] {
  const [authority] = signers;
  if (authority === undefined || isSelfSigned(leaf) || endOf(leaf) <= endOf(authority)) return [];
  return [
    {
      ...about(leaf, provider, now),
      code: 'OutlivesIssuer',
      severity: expirySeverity(lifeOf(authority), authority.what, thresholds, now) === undefined ? 'info' : 'warning',
      facts: { ...certificateFacts(leaf), notAfter: timestamp(endOf(leaf)), authority: authority.object },
      due: timestamp(endOf(authority)),
    },
  ];
}

/** Its own end, whatever else is believed: what a signer did is in the certificate. */
function endOf({ best }: KnownCertificate): number {
  return Date.parse(best.notAfter);
}

function beginningOf({ best }: KnownCertificate): number {
  return timeOf(best.notBefore) ?? Number.NEGATIVE_INFINITY;
}

function lifeOf(certificate: KnownCertificate): Life {
  return { notBefore: timeOf(certificate.best.notBefore), notAfter: endOf(certificate) };
}

function byEnd(a: KnownCertificate, b: KnownCertificate): number {
  return endOf(a) - endOf(b) || compare(a.object, b.object);
}

/** Descending order, also of infinite values. */
function descending(a: number, b: number): number {
  return Number(b > a) - Number(b < a);
}

/** The first index from which on it is so; the length if there is none. Binary search. */
function firstIndex(sorted: readonly number[], isSo: (value: number) => boolean): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isSo(sorted[middle] ?? 0)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Names returned for a range. */
const SHOWN = 3;

/** Counts named items in a range of places, with their first names. Adding and querying take logarithmic time. */
export class FirstInRange {
  readonly #length: number;
  /** A segment tree: the node of place `i` is `length + i`, and the parent of node `n` is `n / 2`. */
  readonly #counts: Uint32Array;
  readonly #names: (readonly string[])[] = [];

  constructor(length: number) {
    this.#length = length;
    this.#counts = new Uint32Array(2 * length);
  }

  add(place: number, name: string): void {
    for (let node = this.#length + place; node > 0; node >>= 1) {
      this.#counts[node] = (this.#counts[node] ?? 0) + 1;
      this.#names[node] = withName(this.#names[node] ?? [], name);
    }
  }

  /** @param to exclusive */
  within(from: number, to: number): { readonly count: number; readonly names: readonly string[] } {
    let count = 0;
    let names: readonly string[] = [];
    const take = (node: number): void => {
      count += this.#counts[node] ?? 0;
      for (const name of this.#names[node] ?? []) names = withName(names, name);
    };
    let [left, right] = [this.#length + from, this.#length + to];
    while (left < right) {
      if (left % 2 === 1) take(left++);
      if (right % 2 === 1) take(--right);
      left >>= 1;
      right >>= 1;
    }
    return { count, names };
  }
}

function withName(names: readonly string[], name: string): readonly string[] {
  return [...names, name].toSorted(compare).slice(0, SHOWN);
}
