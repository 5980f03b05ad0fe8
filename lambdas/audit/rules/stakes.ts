import type { CertificateObservation, Observation, UnreadObservation } from '../../contracts/observation.ts';
import { eachInSteps, flatMapInSteps, groupInSteps, type Steps } from '../../steps.ts';
import { CERTIFICATE_CLASSES } from '../../tables/certificate-classes.ts';
import type { Severity } from '../../tables/finding-codes.ts';
import { timeOf } from '../../words.ts';

/** A certificate, or bytes in its place that its clients refuse. */
type Shown = CertificateObservation | UnreadObservation;

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

/** What certificates elsewhere in the cluster say about their issuers and clients. */
interface Context {
  /** Valid CAs of the cluster, by subject. */
  readonly anchors: ReadonlyMap<string, readonly CertificateObservation[]>;
  /** Valid certificates, by issuer. */
  readonly issued: ReadonlyMap<string, readonly CertificateObservation[]>;
  /** CAs with which webhooks verify a server, by its name: `SERVICE.NAMESPACE.svc`. */
  readonly verifiers: ReadonlyMap<string, readonly CertificateObservation[]>;
  /** Secrets with a certificate that is valid for the server of a webhook, by its name. */
  readonly servers: ReadonlyMap<string, readonly CertificateObservation[]>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Which certificate matters to whom: what its clients do decides how severe any fault of it can be. Pure.
 *
 * - A client trusts a bundle while one certificate in it is valid. It skips what it cannot read (Go, `AppendCertsFromPEM`).
 * - A client verifies the first certificate of a chain, and needs of the others only those that lead to a CA that it
 * trusts. Go refuses the whole chain if it cannot read one.
 * - A webhook with `failurePolicy: Ignore` is skipped.
 *
 * @param now milliseconds since the epoch
 */
export function* stakes(observations: readonly Observation[], now: number): Steps<ReadonlyMap<Observation, Stake>> {
  const shown = yield* flatMapInSteps(observations, (one): readonly Shown[] => (isShown(one) ? [one] : []));
  const valid = shown.filter((one) => isValid(one, now));
  const bySubject = ({ subject = '' }: CertificateObservation): string => subject;
  const verifiers = shown.filter((one) => one.kind === 'certificate' && one.usedBy?.server !== undefined);
  const context: Omit<Context, 'servers'> = {
    anchors: yield* groupInSteps(valid.filter(isAnchor), bySubject),
    issued: yield* groupInSteps(
      valid.filter((one) => !isSelfIssued(one)),
      ({ issuer = '' }) => issuer,
    ),
    verifiers: Map.groupBy(verifiers.filter(isCertificate), ({ usedBy }) => usedBy?.server ?? ''),
    now,
  };
  const servers = yield* flatMapInSteps(valid, (leaf) =>
    verifiersOf(leaf, context).map(({ usedBy }) => ({ leaf, server: usedBy?.server ?? '' })),
  );
  const serving = new Map(
    [...Map.groupBy(servers, ({ server }) => server)].map(([server, all]) => [server, all.map(({ leaf }) => leaf)]),
  );
  const places = yield* groupInSteps(shown, placeOf);
  const result = new Map<Observation, Stake>();
  yield* eachInSteps([...places.values()], (place) => {
    const stakeOf = place.some(isTrusted) ? ofBundle(place, context) : ofChain(place, { ...context, servers: serving });
    for (const one of place) result.set(one, stakeOf(one));
  });
  return result;
}

function isShown(one: Observation): one is Shown {
  return one.kind === 'certificate' || (one.kind === 'unread' && one.broken === true);
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
  const { source, where = '', what = '' } = one;
  return `${source}\n${where}\n${isTrusted(one) ? what : ''}`;
}

function isValid(one: Shown, now: number): one is CertificateObservation {
  if (one.kind !== 'certificate' || one.refused !== undefined) return false;
  return (timeOf(one.notBefore) ?? now) <= now && (timeOf(one.notAfter) ?? 0) > now;
}

function isSelfIssued(one: CertificateObservation): boolean {
  return one.subject !== undefined && isIssuedBy(one, one);
}

/** By name and key identifier; no signature is verified. */
function isIssuedBy(one: CertificateObservation, authority: CertificateObservation): boolean {
  const { issuer, authorityKeyId } = one;
  const { subject, subjectKeyId } = authority;
  return (
    issuer === subject &&
    (authorityKeyId === undefined || subjectKeyId === undefined || authorityKeyId === subjectKeyId)
  );
}

function ofBundle(place: readonly Shown[], { issued, now }: Context | Omit<Context, 'servers'>): (one: Shown) => Stake {
  // What was there before is not there beside bytes that were read later.
  const broken = place.reduce(
    (last, one) => (one.kind === 'unread' && one.observedAt > last ? one.observedAt : last),
    '',
  );
  const isUsable = (one: Shown): boolean => isValid(one, now) && one.observedAt >= broken;
  const valid = place.filter(isUsable).length;
  return (one) => {
    const isSpare = valid > (isUsable(one) ? 1 : 0);
    if (one.usedBy !== undefined && !isSpare)
      return { severity: one.usedBy.blocks ? 'critical' : 'warning', effect: one.usedBy.effect };
    const isNeeded =
      one.kind === 'certificate' &&
      isAnchor(one) &&
      (issued.get(one.subject ?? '') ?? []).some((leaf) => isIssuedBy(leaf, one));
    return isSpare && !isNeeded ? SPARE : WHOLE_STAKE;
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
    if (one.kind === 'unread') return whole ?? ofLeaf(one, context);
    if ((one.position ?? 0) === 0) return ofLeaf(one, context);
    return needed.has(one) || one.refused !== undefined ? (whole ?? WHOLE_STAKE) : UNUSED;
  };
}

function ofLeaf(one: Shown, context: Context): Stake {
  const isMild = one.what !== undefined && CERTIFICATE_CLASSES[one.what].mild;
  return (one.kind === 'certificate' ? ofServer(one, context) : undefined) ?? (isMild ? SPARE : WHOLE_STAKE);
}

/** What was sent along and leads from a certificate to a CA of the cluster; a root is only trusted, never needed. */
function neededFrom(
  leaf: CertificateObservation,
  chain: readonly CertificateObservation[],
  { anchors, now }: Context,
): readonly CertificateObservation[] {
  // Then valid certificates lead there.
  if (leaf.issuedByCluster === true) return [];
  const needed = new Set<CertificateObservation>();
  const sent = Map.groupBy(
    chain.filter((one) => (one.position ?? 0) > 0 && one.isAuthority === true && !isSelfIssued(one)),
    ({ subject = '' }) => subject,
  );
  const open = [leaf];
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    const { issuer = '' } = current;
    const isIssuer = (authority: CertificateObservation): boolean => isIssuedBy(current, authority);
    if ((anchors.get(issuer) ?? []).some(isIssuer)) continue;
    const issuers = (sent.get(issuer) ?? []).filter((one) => isIssuer(one) && !needed.has(one));
    const valid = issuers.filter((one) => isValid(one, now));
    for (const one of valid.length > 0 ? valid : issuers) {
      needed.add(one);
      open.push(one);
    }
  }
  return [...needed];
}

/** The CAs with which webhooks verify the certificate of a Secret: in the namespace of their Service, and for its name. */
function verifiersOf(
  one: CertificateObservation,
  { verifiers }: Pick<Context, 'verifiers'>,
): readonly CertificateObservation[] {
  const { serverNames = [], where } = one;
  const [, namespace] = /^Secret ([^/]+)\//.exec(where) ?? [];
  return serverNames
    .filter((name) => name.endsWith(`.${namespace}.svc`))
    .flatMap((name) => (verifiers.get(name) ?? []).filter((authority) => isIssuedBy(one, authority)));
}

/** Of the certificate of a Secret that a webhook needs, unless another Secret has a valid one. */
function ofServer(leaf: CertificateObservation, context: Context): Stake | undefined {
  const verifier = verifiersOf(leaf, context).find(
    ({ usedBy }) =>
      usedBy?.blocks === true && !context.servers.get(usedBy.server ?? '')?.some((other) => other.where !== leaf.where),
  );
  if (verifier === undefined) return undefined;
  return { severity: 'critical', effect: `it serves ${verifier.where}: ${verifier.usedBy?.effect ?? ''}` };
}
