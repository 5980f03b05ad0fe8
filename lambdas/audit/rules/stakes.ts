import type { CertificateObservation, Observation, UnreadObservation } from '../../contracts/observation.ts';
import { eachInSteps, flatMapInSteps, groupInSteps, type Steps } from '../../steps.ts';
import { CERTIFICATE_CLASSES } from '../../tables/certificate-classes.ts';
import type { Severity } from '../../tables/finding-codes.ts';
import { timeOf } from '../../words.ts';

/** What its clients lose if a certificate is not valid. */
export interface Stake {
  /** The worst severity of any fault of it. */
  readonly severity: Severity;
  /** For people: `CREATE of pods fails (failurePolicy Fail)`; absent if the class of the certificate says it. */
  readonly effect?: string | undefined;
}

export const WHOLE_STAKE: Stake = { severity: 'critical' };
const SPARE: Stake = { severity: 'warning' };
const UNUSED: Stake = { severity: 'info', effect: 'clients do not need it: leave it out of the chain' };

/** A certificate, or bytes in its place that its clients refuse. */
type Shown = CertificateObservation | UnreadObservation;
type Certificates = readonly CertificateObservation[];

/** What certificates elsewhere in the cluster say about issuers and clients. */
interface Context {
  /** Valid CAs of the cluster, by subject. */
  readonly anchors: ReadonlyMap<string | undefined, Certificates>;
  readonly issued: ReadonlyMap<string | undefined, Certificates>;
  /** CAs with which webhooks verify a server, by its name: `SERVICE.NAMESPACE.svc`. */
  readonly verifiers: ReadonlyMap<string | undefined, Certificates>;
  /** Valid certificates of Secrets, by the same names. */
  readonly servers: ReadonlyMap<string, readonly { readonly one: CertificateObservation }[]>;
  readonly now: number;
}

/**
 * Which certificate matters to whom: what its clients do decides how severe any fault of it can be. Pure.
 *
 * - A client trusts a bundle while one certificate in it is valid, and skips what it cannot read (Go,
 * `AppendCertsFromPEM`).
 * - A client verifies the first certificate of a chain, and needs of the others only those that lead to a CA that it
 * trusts. Go refuses a chain of which it cannot read one.
 * - A webhook with `failurePolicy: Ignore` is skipped.
 */
export function* stakes(observations: readonly Observation[], now: number): Steps<ReadonlyMap<Observation, Stake>> {
  const shown = yield* flatMapInSteps(observations, (one): readonly Shown[] =>
    one.kind === 'certificate' || (one.kind === 'unread' && one.broken === true) ? [one] : [],
  );
  const valid = shown.filter((one) => isValid(one, now));
  const servers = valid.flatMap((one) => (one.serverNames ?? []).map((server) => ({ one, server })));
  const context: Context = {
    anchors: yield* groupInSteps(valid.filter(isAnchor), ({ subject }) => subject),
    issued: yield* groupInSteps(valid, ({ issuer }) => issuer),
    verifiers: Map.groupBy(shown.filter(isCertificate), ({ usedBy }) => usedBy?.server),
    servers: Map.groupBy(servers, ({ server }) => server),
    now,
  };
  const places = yield* groupInSteps(shown, placeOf);
  const result = new Map<Observation, Stake>();
  yield* eachInSteps([...places.values()], (place) => {
    const stakeOf = place.some(isTrusted) ? ofBundle(place, context) : ofChain(place, context);
    for (const one of place) result.set(one, stakeOf(one));
  });
  return result;
}

function isCertificate(one: Shown): one is CertificateObservation {
  return one.kind === 'certificate';
}

/** A bundle of CAs that its clients trust; what a server sends along is none. */
function isTrusted({ what, source }: Shown): boolean {
  return what !== undefined && CERTIFICATE_CLASSES[what].authority && source !== 'tls';
}

function isAnchor(one: CertificateObservation): boolean {
  return isTrusted(one) && CERTIFICATE_CLASSES[one.what].layer === 'authority';
}

function placeOf(one: Shown): string {
  return `${one.source}\n${one.where}\n${isTrusted(one) ? one.what : ''}`;
}

function isValid(one: Shown, now: number): one is CertificateObservation {
  if (one.kind !== 'certificate' || one.refused !== undefined) return false;
  return (timeOf(one.notBefore) ?? now) <= now && Date.parse(one.notAfter) > now;
}

/** By name and key identifier; no signature is verified. */
function isIssuedBy(one: CertificateObservation, authority: CertificateObservation): boolean {
  const [named = '', key = ''] = [one.authorityKeyId, authority.subjectKeyId];
  return one.issuer === authority.subject && (named === '' || key === '' || named === key);
}

function isSelfIssued(one: CertificateObservation): boolean {
  return one.subject !== undefined && isIssuedBy(one, one);
}

function ofBundle(place: readonly Shown[], { issued, now }: Context): (one: Shown) => Stake {
  // What was seen earlier is no longer beside bytes that were read now.
  const since = place.reduce(
    (last, one) => (one.kind === 'unread' && one.observedAt > last ? one.observedAt : last),
    '',
  );
  const isUsable = (one: Shown): boolean => isValid(one, now) && one.observedAt >= since;
  const usable = place.filter(isUsable).length;
  const isNeeded = (one: CertificateObservation): boolean =>
    isAnchor(one) && (issued.get(one.subject) ?? []).some((leaf) => !isSelfIssued(leaf) && isIssuedBy(leaf, one));
  return (one) => {
    if (usable > (isUsable(one) ? 1 : 0)) return isCertificate(one) && isNeeded(one) ? WHOLE_STAKE : SPARE;
    const { blocks = true, effect } = one.usedBy ?? {};
    return { severity: blocks ? 'critical' : 'warning', effect };
  };
}

function ofChain(place: readonly Shown[], context: Context): (one: Shown) => Stake {
  const certificates = place.filter(isCertificate);
  // A place can have the certificates of several requests.
  const leaves = certificates.filter(({ position = 0 }) => position === 0);
  const needed = new Set(leaves.flatMap((leaf) => neededFrom(leaf, certificates, context)));
  const ofLeaves = leaves.map((leaf) => ofLeaf(leaf, context));
  const whole = ofLeaves.find(({ severity }) => severity === 'critical') ?? ofLeaves[0];
  return (one) => {
    if (!isCertificate(one)) return whole ?? ofLeaf(one, context);
    if ((one.position ?? 0) === 0) return ofLeaf(one, context);
    return needed.has(one) || one.refused !== undefined ? (whole ?? WHOLE_STAKE) : UNUSED;
  };
}

/** What was sent along and leads from a certificate to a CA of the cluster; a root is only trusted, never needed. */
function neededFrom(leaf: CertificateObservation, chain: Certificates, { anchors, now }: Context): Certificates {
  // Then valid certificates lead there.
  if (leaf.issuedByCluster === true) return [];
  const sent = Map.groupBy(
    chain.filter((one) => one.isAuthority === true && !isSelfIssued(one)),
    ({ subject }) => subject,
  );
  const needed = new Set<CertificateObservation>();
  const open = [leaf];
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    const { issuer } = current;
    const isIssuer = isIssuedBy.bind(undefined, current);
    if (anchors.get(issuer)?.some(isIssuer) === true) continue;
    const issuers = (sent.get(issuer) ?? []).filter((one) => isIssuer(one) && !needed.has(one));
    const valid = issuers.filter((one) => isValid(one, now));
    for (const one of valid.length > 0 ? valid : issuers) {
      needed.add(one);
      open.push(one);
    }
  }
  return [...needed];
}

/** A Secret in the namespace of a webhook's Service, for its name, is needed unless another one there is valid. */
function ofLeaf(one: Shown, { verifiers, servers }: Context): Stake {
  const { what = 'endpoint', where = '' } = one;
  const usual = CERTIFICATE_CLASSES[what].mild ? SPARE : WHOLE_STAKE;
  const [folder = '', namespace = ''] = /^Secret ([^/]+)\//.exec(where) ?? [];
  if (!isCertificate(one)) return usual;
  const isAnother = (other: CertificateObservation, verifier: CertificateObservation): boolean =>
    other.where !== where && other.where.startsWith(folder) && isIssuedBy(other, verifier);
  const [verifier] = (one.serverNames ?? [])
    .filter((name) => name.endsWith(`.${namespace}.svc`))
    .flatMap((name) => (verifiers.get(name) ?? []).map((authority) => ({ name, authority })))
    .filter(({ authority }) => authority.usedBy?.blocks === true && isIssuedBy(one, authority))
    .filter(({ name, authority }) => !servers.get(name)?.some((other) => isAnother(other.one, authority)));
  if (verifier === undefined) return usual;
  const { where: webhook, usedBy } = verifier.authority;
  return { severity: 'critical', effect: `it serves ${webhook}: ${usedBy?.effect}` };
}
