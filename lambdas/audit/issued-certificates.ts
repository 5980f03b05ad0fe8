import { nodeOf } from '../approval/issued.ts';
import { KUBELET_CLIENT_SIGNER, KUBELET_SERVING_SIGNER } from '../approval/policy.ts';
import type { Observation, UnreadObservation } from '../contracts/observation.ts';
import { printable } from '../printable.ts';
import { inTurns } from '../processor-time.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import type { CertificateClass } from '../tables/certificate-classes.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../tables/issued-verdicts.ts';
import { counted } from '../words.ts';
import type { Certificate } from '../x509/certificate.ts';
import { decodeBundle } from '../x509/certificate-bundle.ts';
import type { AuditContext } from './audit-source.ts';
import { bundleAt } from './certificates-at.ts';
import type { IssuedJudge } from './issued-judge.ts';
import { decodedText } from './objects.ts';

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

export type IssuedRequest = Pick<
  CountedRequest,
  'signer' | 'requester' | 'ofNodes' | 'createdAt' | 'certificate' | 'approvedBy'
>;

export interface IssuedCertificates {
  add(request: IssuedRequest): void;
  observations(context: AuditContext): Promise<readonly Observation[]>;
}

/**
 * The certificates issued by request. A request is deleted an hour after its approval, so a place is named after the
 * owner of the certificate: the next one of the same kubelet replaces it.
 */
export function collectIssued(): IssuedCertificates {
  const requesters = new Map<string, { newest: IssuedRequest[]; cut: number }>();
  const bound = (all: { newest: IssuedRequest[]; cut: number }): void => {
    all.cut += Math.max(0, all.newest.length - MOST_OF_ONE);
    all.newest = all.newest.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, MOST_OF_ONE);
  };
  return {
    add(request) {
      const key = `${request.signer} ${request.ofNodes} ${request.requester}`;
      const all = requesters.get(key) ?? { newest: [], cut: 0 };
      requesters.set(key, all);
      // Too long for a certificate: reported as unreadable.
      all.newest.push(request.certificate.length > LONGEST ? { ...request, certificate: '' } : request);
      if (all.newest.length === 2 * MOST_OF_ONE) bound(all);
    },
    async observations(context) {
      const all = [...requesters.values()];
      for (const one of all) bound(one);
      const newestFirst = all.flatMap(({ newest }) => newest).toSorted((a, b) => b.createdAt - a.createdAt);
      const isJudged = newestFirst.some(({ signer }) => signer === KUBELET_SERVING_SIGNER);
      const judge = isJudged ? await context.issuedJudge() : undefined;
      const places = new Map<string, Map<string | undefined, ObservedRequest>>();
      for await (const seen of inTurns(newestFirst, (request) => observe(request, context, judge))) {
        const same = places.get(seen.place) ?? new Map<string | undefined, ObservedRequest>();
        places.set(seen.place, same);
        if (!same.has(seen.fingerprint)) same.set(seen.fingerprint, seen);
      }
      return [
        ...[...places.values()].flatMap((same) => reported([...same.values()])),
        ...all.flatMap(({ newest: [newest], cut }) =>
          newest === undefined || cut === 0 ? [] : notRead(newest, cut, context),
        ),
      ];
    },
  };
}

interface ObservedRequest {
  readonly place: string;
  readonly most: number;
  readonly fingerprint: string | undefined;
  readonly rank: number;
  readonly notAfter: number;
  readonly observations: readonly Observation[];
}

function reported([newest, ...others]: readonly ObservedRequest[]): readonly Observation[] {
  const worst = others.toSorted((a, b) => a.rank - b.rank || a.notAfter - b.notAfter);
  return [newest, ...worst].flatMap((one, index) => (one !== undefined && index < one.most ? one.observations : []));
}

function observe(request: IssuedRequest, context: AuditContext, judge: IssuedJudge | undefined): ObservedRequest {
  const what = CLASSES.get(request.signer) ?? 'issued-other';
  const text = decodedText(request.certificate);
  const bundle = 'problem' in text ? { certificates: [], problem: text.problem } : decodeBundle(text.pem);
  const [first] = bundle.certificates;
  const leaf = first?.ok ? first.certificate : undefined;
  const { where, member } = placeOf(what, request, leaf);
  const problem = first?.ok === false ? first.problem : bundle.problem;
  const judged = leaf === undefined ? unreadable(problem) : judge?.ofRequest(leaf, request);
  const issued = what === 'kubelet-serving' ? judged : undefined;
  const observedAt = new Date(context.now()).toISOString();
  const sighting = { source: 'signing-requests' as const, observedAt, what, where, member, issued };
  return {
    place: `${what} ${where}`,
    most: what === 'kubelet-client' ? 1 : MOST_OF_A_PLACE,
    fingerprint: leaf?.fingerprint,
    rank: ISSUED_VERDICTS.indexOf(issued?.verdict ?? 'proven'),
    notAfter: leaf?.notAfter ?? 0,
    observations: bundleAt(sighting, bundle, context.target.cluster.provider).observations,
  };
}

/** The verdict on a kubelet serving certificate that cannot be decoded. */
export function unreadable(problem: string | undefined): { readonly verdict: IssuedVerdict; readonly why: string } {
  return { verdict: 'not-proven', why: `it cannot be read, so its names are not known: ${problem}` };
}

function placeOf(
  what: CertificateClass,
  { signer, requester, ofNodes }: IssuedRequest,
  leaf?: Certificate,
): { readonly where: string; readonly member?: string } {
  // A bootstrap token requests the first client certificate of a kubelet; only the certificate names the node.
  const identity = what === 'kubelet-client' ? (leaf?.commonName ?? requester) : ofNodes ? requester : '';
  const node = nodeOf(identity);
  if ((what === 'kubelet-client' || what === 'kubelet-serving') && node !== '') {
    const member = printable(node, 253);
    return { where: `${what.replace('-', ' ')} of ${member}, issued by request`, member };
  }
  // The requester chooses the subject, and could create any number of places.
  if (what === 'kubelet-serving') return { where: `${printable(requester, 253)}, issued by ${printable(signer, 100)}` };
  const subject = leaf?.subject || leaf?.dnsNames[0] || leaf?.addresses[0] || 'a certificate';
  return { where: `${subject}, issued by ${printable(signer, 100)} to ${printable(requester, 253)}` };
}

/** Older certificates of one requester that asked for too many. */
function notRead(newest: IssuedRequest, count: number, { now }: AuditContext): UnreadObservation {
  const what = CLASSES.get(newest.signer) ?? 'issued-other';
  const message = `${counted(count, 'certificate')} issued to ${printable(newest.requester, 253)} within the hour ${count === 1 ? 'was' : 'were'} not read: an audit reads ${MOST_OF_ONE} of each requester`;
  return {
    kind: 'unread',
    source: 'signing-requests',
    observedAt: new Date(now()).toISOString(),
    what,
    ...placeOf(what, newest),
    problem: 'too-large',
    message,
    remedy: 'Find out why it asks so often: kubectl get csr.',
    issued: what === 'kubelet-serving' ? { verdict: 'not-proven', why: message } : undefined,
  };
}
