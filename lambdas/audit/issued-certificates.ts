import { KUBELET_CLIENT_SIGNER, KUBELET_SERVING_SIGNER } from '../approval/policy.ts';
import { NODE_PREFIX } from '../approval/rules/rules.ts';
import type { Observation, UnreadObservation } from '../contracts/observation.ts';
import { printable } from '../printable.ts';
import { inTurns } from '../processor-time.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import { REMEMBERED_OF_ONE_PLACE } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../tables/certificate-classes.ts';
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

/** As many as a snapshot keeps, and what 5,000 nodes that start at once take, four times over. */
const MOST = 10_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** An ordinary one has 1 to 2 KB. */
const LONGEST = 64 * 1024;

/** A request that has its certificate. */
export type IssuedRequest = Pick<CountedRequest, 'signer' | 'requester' | 'createdAt' | 'certificate' | 'approvedBy'>;

export interface IssuedCertificates {
  add(request: IssuedRequest): void;
  /** The newest one of each place; of classes of which one place can have several, the newest few. */
  observations(context: AuditContext): Promise<readonly Observation[]>;
}

/**
 * What requests were issued, in bounded memory. A request is deleted an hour after its approval, so a place is not named after it but after whose
 * certificate it is: the next one of the same kubelet takes its place.
 */
export function collectIssued(): IssuedCertificates {
  const kept = new Map<string, IssuedRequest>();
  let characters = 0;
  let left = 0;
  return {
    add(request) {
      const { signer, requester, createdAt } = request;
      // A kubelet renews its own. Others, and kubelets that have no certificate yet, may ask for many.
      const own =
        (signer === KUBELET_SERVING_SIGNER || signer === KUBELET_CLIENT_SIGNER) && requester.startsWith(NODE_PREFIX);
      const key = own ? `${signer} ${requester}` : `${signer} ${requester} ${kept.size}`;
      const before = kept.get(key);
      if (before !== undefined && before.createdAt > createdAt) return;
      // What is no certificate is said to be none.
      const certificate = request.certificate.length > LONGEST ? '' : request.certificate;
      const grown = certificate.length - (before?.certificate.length ?? 0);
      if ((before === undefined && kept.size === MOST) || characters + grown > MAX_CHARACTERS) {
        left += 1;
        return;
      }
      characters += grown;
      kept.set(key, { ...request, certificate });
    },
    async observations(context) {
      const observations: Observation[] = [];
      const seen = new Map<string, Set<string>>();
      let more = left;
      const newestFirst = [...kept.values()].toSorted((a, b) => b.createdAt - a.createdAt);
      const serving = newestFirst.some(({ signer }) => signer === KUBELET_SERVING_SIGNER);
      const judge = serving ? await context.issuedJudge() : undefined;
      for await (const issued of inTurns(newestFirst, (request) => observe(request, context, judge))) {
        const { place, several, fingerprint, found } = issued;
        const before = seen.get(place) ?? new Set();
        seen.set(place, before);
        if (before.has(fingerprint) || (!several && before.size > 0)) continue;
        if (before.size === REMEMBERED_OF_ONE_PLACE) {
          more += 1;
          continue;
        }
        before.add(fingerprint);
        for (const observation of found) observations.push(observation);
      }
      return more === 0 ? observations : [...observations, tooMany(more, context)];
    },
  };
}

function observe(
  { signer, requester, certificate, approvedBy }: IssuedRequest,
  context: AuditContext,
  judge: IssuedJudge | undefined,
): {
  readonly place: string;
  /** Whether others of the same place are others. */
  readonly several: boolean;
  readonly fingerprint: string;
  readonly found: readonly Observation[];
} {
  const what = CLASSES.get(signer) ?? 'issued-other';
  const text = decodedText(certificate);
  const bundle = 'problem' in text ? { certificates: [], problem: text.problem } : decodeBundle(text.pem);
  const [first] = bundle.certificates;
  const leaf = first?.ok ? first.certificate : undefined;
  const { where, member } = placeOf({ what, signer, requester, leaf });
  const isServing = signer === KUBELET_SERVING_SIGNER && leaf !== undefined;
  const sighting = {
    source: 'signing-requests' as const,
    observedAt: new Date(context.now()).toISOString(),
    what,
    where,
    member,
    issued: isServing ? judge?.ofRequest(leaf, requester, approvedBy) : undefined,
  };
  return {
    place: `${what} ${where}`,
    several: CERTIFICATE_CLASSES[what].severalAtAPlace,
    fingerprint: leaf?.fingerprint ?? '',
    found: bundleAt(sighting, bundle, context.target.cluster.provider).observations,
  };
}

interface Issued {
  readonly what: CertificateClass;
  readonly signer: string;
  readonly requester: string;
  readonly leaf: Certificate | undefined;
}

function placeOf({ what, signer, requester, leaf }: Issued): { readonly where: string; readonly member?: string } {
  // Who asks for the first client certificate of a kubelet is the bootstrap token; only the certificate names the node.
  const identity = what === 'kubelet-client' ? (leaf?.commonName ?? requester) : requester;
  if ((what === 'kubelet-client' || what === 'kubelet-serving') && identity.startsWith(NODE_PREFIX)) {
    const member = printable(identity.slice(NODE_PREFIX.length), 253);
    return { where: `${what.replace('-', ' ')} of ${member}, issued by request`, member };
  }
  const subject = leaf?.subject || leaf?.dnsNames[0] || leaf?.addresses[0] || 'a certificate';
  return { where: `${subject}, issued by ${printable(signer, 100)} to ${printable(requester, 253)}` };
}

function tooMany(left: number, { now }: AuditContext): UnreadObservation {
  return {
    kind: 'unread',
    source: 'signing-requests',
    observedAt: new Date(now()).toISOString(),
    where: 'certificates issued by request',
    problem: 'too-large',
    message: `${left} more than an audit keeps were issued within the hour and not looked at`,
    remedy: 'Find out who asks for so many: kubectl get csr shows the requesters.',
  };
}
