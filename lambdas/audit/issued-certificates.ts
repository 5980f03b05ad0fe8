import type { SourceReading } from '../approval/evidence/evidence.ts';
import { type Bearer, judgeIssued, nodeOf } from '../approval/issued.ts';
import { observeNodes } from '../approval/observe.ts';
import { DEFAULT_POLICY, KUBELET_CLIENT_SIGNER, KUBELET_SERVING_SIGNER } from '../approval/policy.ts';
import type { IssuedObservation, Observation } from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { printable } from '../printable.ts';
import { inTurns } from '../processor-time.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import type { CertificateClass } from '../tables/certificate-classes.ts';
import { timestamp } from '../time.ts';
import { compare, counted } from '../words.ts';
import { type Certificate, readable } from '../x509/certificate.ts';
import { decodeBundle } from '../x509/certificate-bundle.ts';
import type { AuditContext } from './audit-source.ts';
import { certificatesAt, malformed } from './certificates-at.ts';
import { decodedText } from './objects.ts';
import { issuedCertificates, issuedOf, rankOf } from './rules/issued.ts';

/** Judges a kubelet serving certificate by the evidence of one audit. Its verdicts neither approve nor deny. */
export type IssuedJudge = (certificate: Certificate, by: Bearer) => IssuedObservation;

/** Limit for reading further evidence, so that it does not use up the audit. Milliseconds. */
const READ_MS = 8_000;

/**
 * Reads the evidence that the first stage did not list, if the policies of the cluster trust it. Failed reads are part
 * of the evidence; the last verdict on each certificate is the only memory.
 */
export async function createIssuedJudge(
  { target, members, signal }: Pick<AuditContext, 'target' | 'members' | 'signal'>,
  listed: readonly SourceReading[],
  previous: Snapshot | undefined,
): Promise<IssuedJudge> {
  const { policies = [DEFAULT_POLICY] } = target;
  const nodes = new Set(members.flatMap(({ node }) => node ?? []));
  const within = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
  const grounds = { ...(await observeNodes(target, nodes, policies, within, listed)), policies, nodes };
  const before = issuedCertificates(previous?.observations ?? []);
  const last = new Map(
    before.map(({ worst, issued }) => [worst.kind === 'certificate' ? worst.fingerprint : undefined, issued]),
  );
  // An address stays another's in a new certificate.
  const suspects = before.filter(({ issued }) => issued.addressOfAnother || issued.verdict === 'names-another');
  const ofNodes = new Map(suspects.map(({ worst, issued }) => [worst.member, issued]));
  return (certificate, by) => {
    const node = 'address' in by ? by.node : nodeOf(by.requester);
    const earlier = last.get(certificate.fingerprint) ?? ofNodes.get(node);
    const { names: _, ...issued } = judgeIssued(certificate, by, grounds, earlier);
    return issued;
  };
}

/** Source: Kubernetes documentation, "Certificates and Certificate Signing Requests"; Amazon EKS user guide, "Secure workloads with certificates". */
const CLASSES: ReadonlyMap<string, CertificateClass> = new Map([
  [KUBELET_SERVING_SIGNER, 'kubelet-serving'],
  [KUBELET_CLIENT_SIGNER, 'kubelet-client'],
  ['kubernetes.io/kube-apiserver-client', 'issued-client'],
  ['beta.eks.amazonaws.com/app-serving', 'app-serving'],
]);

/** Certificates read of one requester and signer, the newest: so it hides none of another. */
const MOST_OF_ONE = 2_000;
/** Most certificates reported of one place: the newest, and the worst or those that expire first. */
const MOST_OF_A_PLACE = 16;
/** Characters; an ordinary one has 1 to 2 KB. */
const LONGEST = 32_000;
const TOO_LONG = `longer than ${LONGEST} characters`;

interface IssuedRequest extends Omit<CountedRequest, 'name' | 'state' | 'message' | 'certificate'> {
  /** Absent if it is too long. */
  readonly certificate?: string | undefined;
}

/**
 * The certificates issued by request. A request is deleted an hour after its approval, so a place is named after the
 * owner of the certificate: the next one of the same kubelet replaces it.
 */
export function collectIssued() {
  const requesters = new Map<string, { newest: IssuedRequest[]; count: number }>();
  return {
    add({ certificate, ...request }: CountedRequest): void {
      const key = `${request.signer} ${request.ofNodes} ${request.requester}`;
      const all = requesters.get(key) ?? { newest: [], count: 0 };
      requesters.set(key, all);
      all.count += 1;
      all.newest.push(certificate.length > LONGEST ? request : { ...request, certificate });
      if (all.newest.length === 2 * MOST_OF_ONE) all.newest = newestFirst(all.newest);
    },
    async observations(context: AuditContext): Promise<readonly Observation[]> {
      const all = [...requesters.values()].map((one) => ({ ...one, newest: newestFirst(one.newest) }));
      const requests = all.flatMap(({ newest }) => newest).toSorted((a, b) => b.createdAt - a.createdAt);
      const isJudged = requests.some(({ signer }) => signer === KUBELET_SERVING_SIGNER);
      const judge = isJudged ? await context.issuedJudge() : undefined;
      const read: (readonly Observation[])[] = [];
      for await (const one of inTurns(requests, (request) => observe(request, context, judge))) read.push(one);
      const places = Map.groupBy(read, ([first]) => first && 'where' in first && `${first.what} ${first.where}`);
      return [...[...places.values()].flatMap(reported), ...all.flatMap((one) => cut(one, context))];
    },
  };
}

function newestFirst(requests: readonly IssuedRequest[]): IssuedRequest[] {
  return requests.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, MOST_OF_ONE);
}

const leafOf = ([first]: readonly Observation[]) => (first?.kind === 'certificate' ? first : undefined);
const rank = ([first]: readonly Observation[]) => rankOf((first && issuedOf(first)) ?? { verdict: 'proven' });
const endOf = (one: readonly Observation[]) => leafOf(one)?.notAfter ?? '';

/** Of those of one place, the newest first: each once, and the worst for all that cannot be read. */
function reported(place: readonly (readonly Observation[])[]): readonly Observation[] {
  const same = [...Map.groupBy(place, (one) => leafOf(one)?.fingerprint).values()];
  const [newest = [], ...others] = same.map((all) => all.reduce((one, next) => (rank(next) < rank(one) ? next : one)));
  const worst = others.toSorted((a, b) => rank(a) - rank(b) || compare(endOf(a), endOf(b)));
  // A kubelet uses one client certificate, the newest.
  const isClient = newest.some((one) => 'what' in one && one.what === 'kubelet-client');
  return [newest, ...worst].slice(0, isClient ? 1 : MOST_OF_A_PLACE).flat();
}

function observe(
  request: IssuedRequest,
  context: AuditContext,
  judge: IssuedJudge | undefined,
): readonly Observation[] {
  const observedAt = timestamp(context.now());
  const approvedBy = request.approvedBy && printable(request.approvedBy, 100);
  const source = 'signing-requests' as const;
  if (request.certificate === undefined) {
    // No kubelet asks for so many names: they may hide another's.
    const issued = { verdict: 'names-another', why: `it is ${TOO_LONG}, and may have any name`, approvedBy } as const;
    return [{ ...malformed({ source, observedAt, ...placeOf(request) }, `the certificate is ${TOO_LONG}`), issued }];
  }
  const text = decodedText(request.certificate);
  const bundle = 'problem' in text ? { certificates: [], problem: text.problem } : decodeBundle(text.pem);
  const [leaf] = readable(bundle.certificates.slice(0, 1));
  const place = placeOf(request, leaf);
  const isJudged = place.what === 'kubelet-serving' && leaf !== undefined && judge !== undefined;
  const issued = isJudged ? { ...judge(leaf, request), approvedBy } : undefined;
  const sighting = { source, observedAt, ...place, issued };
  return certificatesAt(sighting, bundle, context.target.cluster.provider).observations;
}

interface Place {
  readonly what: CertificateClass;
  readonly where: string;
  readonly member?: string;
}

function placeOf({ signer, requester, ofNodes }: IssuedRequest, leaf?: Certificate): Place {
  const what = CLASSES.get(signer) ?? 'issued-other';
  // A bootstrap token requests the first client certificate of a kubelet; only the certificate names the node.
  const identity = what === 'kubelet-client' ? (leaf?.commonName ?? requester) : ofNodes ? requester : '';
  const member = printable(nodeOf(identity), 253);
  if ((what === 'kubelet-client' || what === 'kubelet-serving') && member !== '')
    return { what, where: `${what.replace('-', ' ')} of ${member}, issued by request`, member };
  const by = printable(requester, 253);
  // The requester chooses the subject, and could create any number of places.
  if (what === 'kubelet-serving') return { what, where: `${by}, issued by ${printable(signer, 100)}` };
  const subject = leaf?.subject || leaf?.dnsNames[0] || leaf?.addresses[0] || 'a certificate';
  return { what, where: `${subject}, issued by ${printable(signer, 100)} to ${by}` };
}

/** Older certificates of one requester that asked for too many. */
function cut(
  { newest, count }: { readonly newest: readonly IssuedRequest[]; readonly count: number },
  { now }: AuditContext,
): readonly Observation[] {
  const more = count - newest.length;
  return newest.slice(0, more > 0 ? 1 : 0).map((one) => {
    const message = `${counted(more, 'more certificate')} issued to ${printable(one.requester, 253)} within the hour than the ${MOST_OF_ONE} that an audit reads of each requester`;
    return {
      kind: 'unread',
      source: 'signing-requests',
      observedAt: timestamp(now()),
      ...placeOf(one),
      problem: 'too-large',
      // No kubelet asks as often: they may hide one with another's name.
      issued: { verdict: 'names-another', why: `there are ${message}` },
      message,
      remedy: 'Find out why it asks so often: kubectl get csr.',
    };
  });
}
