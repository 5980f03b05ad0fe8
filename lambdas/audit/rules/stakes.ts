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
const REFUSED: Stake = { severity: 'critical', effect: 'for one such certificate, clients in pods refuse all of them' };
const UNUSED: Stake = { severity: 'info', effect: 'clients do not need it: leave it out of the chain' };

/** A certificate, or bytes in its place that its clients refuse. */
type Shown = CertificateObservation | UnreadObservation;
type Certificates = readonly CertificateObservation[];

/** A Secret with a name of a Service in its namespace. */
interface Server {
  readonly name: string;
  readonly where: string;
  /** Its certificate, and those that lead from it to a CA. */
  readonly path: Certificates;
  readonly isValid: boolean;
}

/** What certificates elsewhere in the cluster say about issuers and clients. */
interface Context {
  /** Valid CAs of the cluster, by subject. */
  readonly anchors: ReadonlyMap<string | undefined, Certificates>;
  readonly issued: ReadonlyMap<string | undefined, Certificates>;
  /** By name: `SERVICE.NAMESPACE.svc`, `*.NAMESPACE.svc`. */
  readonly servers: ReadonlyMap<string, readonly Server[]>;
  /** Of Secrets without which a webhook fails, by place. */
  readonly needed: Map<string, Stake>;
  readonly now: number;
}

/**
 * Which certificate matters to whom: what its clients do decides how severe any fault of it can be. Pure.
 *
 * - A client trusts a bundle while one CA in it is valid that issued what its server shows. A caBundle may hold what it
 * cannot read (client-go, transport.go, rootCertPool: AppendCertsFromPEM); a ConfigMap may not (client-go,
 * `rest.InClusterConfig`; apiserver, configmap_cafile_content.go; kubeadm: all call `ParseCertsPEM`).
 * - A client verifies the first certificate of a chain, and needs of the others only those that lead to a CA that it
 * trusts. Go refuses a chain of which it cannot read one.
 * - A webhook with `failurePolicy: Ignore` is skipped. Any valid Secret may be the one that serves it.
 */
export function* stakes(observations: readonly Observation[], now: number): Steps<ReadonlyMap<Observation, Stake>> {
  const shown = yield* flatMapInSteps(observations, (one): readonly Shown[] =>
    one.kind === 'certificate' || (one.kind === 'unread' && one.broken === true) ? [one] : [],
  );
  const valid = shown.filter((one) => isValid(one, now));
  const places = [...(yield* groupInSteps(shown, placeOf)).values()];
  const anchors = yield* groupInSteps(valid.filter(isAnchor), ({ subject }) => subject);
  const issued = yield* groupInSteps(valid.filter(isInUse), ({ issuer }) => issuer);
  const issuers: Context = { anchors, issued, servers: new Map(), needed: new Map(), now };
  const servers = yield* flatMapInSteps(places, (place) => serversAt(place, issuers));
  const context = { ...issuers, servers: Map.groupBy(servers, ({ name }) => name) };
  const result = new Map<Observation, Stake>();
  // Bundles first: they say which Secrets are needed.
  for (const stakesOf of [ofBundle, ofChain])
    yield* eachInSteps(places, (place) => {
      if (place.some(isTrusted) !== (stakesOf === ofBundle)) return;
      const stakeOf = stakesOf(place, context);
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

function isRefused(one: Shown): boolean {
  return !isCertificate(one) || one.refused !== undefined;
}

function isAnchor(one: CertificateObservation): boolean {
  return isTrusted(one) && CERTIFICATE_CLASSES[one.what].layer === 'authority';
}

function placeOf(one: Shown): string {
  return `${one.source}\n${one.where}\n${isTrusted(one) ? one.what : ''}`;
}

function isValid(one: Shown, now: number): one is CertificateObservation {
  if (!isCertificate(one) || isRefused(one)) return false;
  return (timeOf(one.notBefore) ?? now) <= now && Date.parse(one.notAfter) > now;
}

/** By name and key identifier; no signature is verified. */
function isIssuedBy(one: CertificateObservation, authority: CertificateObservation, withoutKey = true): boolean {
  const [named = '', key = ''] = [one.authorityKeyId, authority.subjectKeyId];
  return one.issuer === authority.subject && (named === '' || key === '' ? withoutKey : named === key);
}

function isSelfIssued(one: CertificateObservation): boolean {
  return one.subject !== undefined && isIssuedBy(one, one);
}

/** Without it the cluster fails, and no one made it up: anyone can write the name of a CA into a TLS Secret. */
function isInUse(one: CertificateObservation): boolean {
  return !isSelfIssued(one) && (one.issuedByCluster ?? !CERTIFICATE_CLASSES[one.what].mild);
}

/** By what a CA in its pool issued, or by what is itself in the pool (Go, `Certificate.Verify`). */
function isAccepted(path: Certificates, trusted: CertificateObservation, withoutKey?: boolean): boolean {
  if (trusted.fingerprint !== undefined && path[0]?.fingerprint === trusted.fingerprint) return true;
  return trusted.isAuthority !== false && path.some((one) => isIssuedBy(one, trusted, withoutKey));
}

function serversAt(place: readonly Shown[], context: Context): readonly Server[] {
  const certificates = place.filter(isCertificate);
  const [leaf] = certificates.filter(({ position = 0 }) => position === 0);
  if (leaf === undefined) return [];
  const [, namespace = ''] = /^Secret ([^/]+)\//.exec(leaf.where) ?? [];
  const path = [leaf, ...neededFrom(leaf, certificates, context)];
  const { where, serverNames = [] } = leaf;
  const server = { where, path, isValid: !place.some(isRefused) && path.every((one) => isValid(one, context.now)) };
  return serverNames.filter((name) => name.endsWith(`.${namespace}.svc`)).map((name) => ({ name, ...server }));
}

function ofBundle(place: readonly Shown[], { issued, servers, needed, now }: Context): (one: Shown) => Stake {
  const [{ where: webhook, usedBy: { blocks = true, effect, server = '' } = {} } = {}] = place;
  // Go matches `*` with one label.
  const all = [server, server.replace(/^[^.]+/, '*')].flatMap((name) => servers.get(name) ?? []);
  const secrets = all.filter((secret) => secret.isValid);
  // What was seen earlier is no longer beside bytes that were read now.
  const bytes = place.filter((one) => !isCertificate(one));
  const usable = place
    .filter((one) => isValid(one, now))
    .filter((one) => bytes.every(({ observedAt }) => observedAt <= one.observedAt))
    .filter((one) => one.isAuthority !== false || secrets.some(({ path }) => isAccepted(path, one)));
  const accepted = secrets.filter(({ path }) => usable.some((one) => isAccepted(path, one)));
  const bundle = blocks ? place.filter(isCertificate) : [];
  for (const { where, path } of all)
    if (accepted.every((other) => other.where === where) && bundle.some((one) => isAccepted(path, one)))
      needed.set(where, { severity: 'critical', effect: `it serves ${webhook}: ${effect}` });
  const isNeeded = (one: CertificateObservation): boolean => {
    const others = usable.filter((other) => other !== one);
    const isSpared = (path: Certificates): boolean => others.some((other) => isAccepted(path, other, false));
    const leaves = isAnchor(one) ? (issued.get(one.subject) ?? []) : [];
    if (leaves.some((leaf) => isIssuedBy(leaf, one) && !isSpared([leaf]))) return true;
    return secrets.some(({ path }) => isAccepted(path, one)) && !secrets.some(({ path }) => isSpared(path));
  };
  return (one) => {
    if (isRefused(one) && one.where?.startsWith('ConfigMap ') === true) return REFUSED;
    if (usable.some((other) => other !== one) && !(isCertificate(one) && isNeeded(one))) return SPARE;
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
    return needed.has(one) || isRefused(one) ? (whole ?? WHOLE_STAKE) : UNUSED;
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
    const isIssuer = (one: CertificateObservation): boolean => isIssuedBy(current, one);
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

function ofLeaf({ what = 'endpoint', where = '' }: Shown, { needed }: Context): Stake {
  return needed.get(where) ?? (CERTIFICATE_CLASSES[what].mild ? SPARE : WHOLE_STAKE);
}
