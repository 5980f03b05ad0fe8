import { nodeOf } from '../approval/issued.ts';
import { KUBELET_CLIENT_SIGNER, KUBELET_SERVING_SIGNER } from '../approval/policy.ts';
import { NOT_ISSUED, type Observation, type UnreadObservation } from '../contracts/observation.ts';
import { printable } from '../printable.ts';
import { inTurns } from '../processor-time.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import { REMEMBERED_OF_ONE_PLACE } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../tables/certificate-classes.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../tables/issued-verdicts.ts';
import { counted } from '../words.ts';
import type { Certificate } from '../x509/certificate.ts';
import { decodeBundle } from '../x509/certificate-bundle.ts';
import { decodeCertificateRequest } from '../x509/decode-certificate-request.ts';
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

/** Certificates of kubelet servers, and of all others: twice those of 5,000 nodes that start at once. */
const MOST = 10_000;
/** Characters of each of the two; twice as many are held while the list is read. */
const MAX_CHARACTERS = 20 * 1024 * 1024;
/** The least that each counts for, so that there are at most {@link MOST}. */
const LEAST_CHARACTERS = Math.floor(MAX_CHARACTERS / MOST);
/** Larger ones come after the others of their requester. */
const ORDINARY_CHARACTERS = 8 * 1024;
/** Requesters reported because some of their certificates were not read. */
const MOST_CUT = 200;
/** An ordinary one has 1 to 2 KB. */
const LONGEST = 120_000;

export type IssuedRequest = Pick<
  CountedRequest,
  'signer' | 'requester' | 'ofNodes' | 'createdAt' | 'certificate' | 'approvedBy'
>;

/** A request; it has its text while it is approved and not issued yet. */
export type ApprovedRequest = Omit<IssuedRequest, 'certificate'> & Pick<CountedRequest, 'request'>;

export interface IssuedCertificates {
  add(request: IssuedRequest): void;
  /** Adds a request if it is approved but not issued: its names are known before anyone has the certificate. */
  addApproved(request: ApprovedRequest): void;
  /**
   * For kubelet clients, the newest certificate of each; for classes with several at a place, the newest few; for
   * kubelet servers, the newest and those with the worst verdicts.
   */
  observations(context: AuditContext): Promise<readonly Observation[]>;
}

/**
 * Collects certificates issued by request, in bounded memory. A request is deleted an hour after its approval, so a
 * place is named after the owner of the certificate: the next one of the same kubelet replaces it, unless one of its
 * names is not proven.
 */
export function collectIssued(): IssuedCertificates {
  const [servers, others, waiting] = [collectFairly(), collectFairly(), collectFairly()];
  return {
    add(request) {
      (request.signer === KUBELET_SERVING_SIGNER ? servers : others).add(request);
    },
    addApproved({ request, ...approved }) {
      // The request stands in for its future certificate.
      if (request !== undefined && approved.signer === KUBELET_SERVING_SIGNER)
        waiting.add({ ...approved, certificate: request });
    },
    async observations(context) {
      const [serving, rest, approved] = [servers.fairest(), others.fairest(), waiting.fairest()];
      const places = new Map<string, ObservedRequest[]>();
      const newestFirst = [...serving.kept, ...rest.kept].toSorted(byAge);
      const judge =
        serving.kept.length + serving.cut.length + approved.kept.length > 0 ? await context.issuedJudge() : undefined;
      for await (const issued of inTurns(newestFirst, (request) => observe(request, context, judge))) {
        const same = places.get(issued.place);
        if (same === undefined) places.set(issued.place, [issued]);
        else if (same.every(({ fingerprint }) => fingerprint !== issued.fingerprint)) same.push(issued);
      }
      const several = [...places.values()].map((same) => ({ same, told: toldOfPlace(same) }));
      const more = several
        .filter(({ same: [newest] }) => newest?.several === true)
        .reduce((sum, { same, told }) => sum + same.length - told.length, serving.left + rest.left + approved.left);
      const notIssued: UnreadObservation[] = [];
      for await (const told of inTurns(approved.kept, (request) => notIssuedYet(request, context, judge)))
        if (told !== undefined) notIssued.push(told);
      const observations = [
        ...several.flatMap(({ told }) => told.flatMap(({ found }) => found)),
        ...serving.cut.map((requester) => notLookedAt(requester, context, judge)),
        ...worstOfPlaces(notIssued),
      ];
      return more === 0 ? observations : [...observations, tooMany(more, context)];
    },
  };
}

/** A requester with certificates that were not read: the newest of these, and their number. */
interface CutRequester {
  readonly newest: Omit<IssuedRequest, 'certificate'>;
  readonly count: number;
}

interface Fairest {
  readonly kept: readonly IssuedRequest[];
  readonly left: number;
  readonly cut: readonly CutRequester[];
}

/** Selects the certificates that one audit reads, in bounded memory. No requester can hide those of another. */
function collectFairly() {
  let kept: readonly IssuedRequest[] = [];
  let added: IssuedRequest[] = [];
  let characters = 0;
  let left = 0;
  const cut = new Map<string, CutRequester>();
  const bound = (): void => {
    const { fit, others } = fairest([...kept, ...added]);
    left += others.length;
    for (const { certificate: _, ...request } of others) {
      const key = requesterOf(request);
      const { newest = request, count = 0 } = cut.get(key) ?? {};
      if (count > 0 || cut.size < MOST_CUT)
        cut.set(key, { newest: byAge(request, newest) < 0 ? request : newest, count: count + 1 });
    }
    kept = fit;
    added = [];
    characters = kept.reduce((sum, request) => sum + charactersOf(request), 0);
  };
  return {
    add(request: IssuedRequest): void {
      // Too long for a certificate: reported as unreadable.
      const one = request.certificate.length > LONGEST ? { ...request, certificate: '' } : request;
      added.push(one);
      characters += charactersOf(one);
      if (characters > 2 * MAX_CHARACTERS) bound();
    },
    fairest(): Fairest {
      bound();
      return { kept, left, cut: [...cut.values()] };
    },
  };
}

/**
 * Requesters with the fewest characters so far come first; of one requester, the newest of ordinary size. One that does
 * not fit keeps out no smaller one.
 */
function fairest(requests: readonly IssuedRequest[]): {
  readonly fit: readonly IssuedRequest[];
  readonly others: readonly IssuedRequest[];
} {
  const taken = new Map<string, number>();
  const inTurn = requests
    .toSorted((a, b) => Number(isLarge(a)) - Number(isLarge(b)) || byAge(a, b))
    .map((request) => {
      const key = requesterOf(request);
      const turn = (taken.get(key) ?? 0) + charactersOf(request);
      taken.set(key, turn);
      return { request, turn };
    })
    .toSorted((a, b) => a.turn - b.turn || byAge(a.request, b.request));
  const [fit, others]: [IssuedRequest[], IssuedRequest[]] = [[], []];
  let room = MAX_CHARACTERS;
  for (const { request } of inTurn) {
    const fits = charactersOf(request) <= room;
    if (fits) room -= charactersOf(request);
    (fits ? fit : others).push(request);
  }
  return { fit, others };
}

function charactersOf({ certificate }: IssuedRequest): number {
  return Math.max(certificate.length, LEAST_CHARACTERS);
}

function isLarge({ certificate }: IssuedRequest): boolean {
  return certificate.length > ORDINARY_CHARACTERS;
}

function requesterOf({ signer, requester, ofNodes }: Pick<IssuedRequest, 'signer' | 'requester' | 'ofNodes'>): string {
  return `${signer} ${ofNodes} ${requester}`;
}

function byAge(a: Pick<IssuedRequest, 'createdAt'>, b: Pick<IssuedRequest, 'createdAt'>): number {
  return b.createdAt - a.createdAt;
}

interface ObservedRequest {
  readonly place: string;
  /** Whether its place can have several certificates. */
  readonly several: boolean;
  /** How many of its place are reported. */
  readonly most: number;
  readonly fingerprint: string | undefined;
  readonly verdict: IssuedVerdict | undefined;
  readonly found: readonly Observation[];
}

/** The reported certificates of a place: the newest, and the worst of the others. */
function toldOfPlace(newestFirst: readonly ObservedRequest[]): readonly ObservedRequest[] {
  const worstFirst = newestFirst.slice(1).toSorted((a, b) => rankOf(a.verdict) - rankOf(b.verdict));
  return [...newestFirst.slice(0, 1), ...worstFirst].filter(({ most }, index) => index < most);
}

function rankOf(verdict: IssuedVerdict | undefined): number {
  return ISSUED_VERDICTS.indexOf(verdict ?? 'proven');
}

function observe(request: IssuedRequest, context: AuditContext, judge: IssuedJudge | undefined): ObservedRequest {
  const { signer, requester, ofNodes, certificate } = request;
  const what = CLASSES.get(signer) ?? 'issued-other';
  const text = decodedText(certificate);
  const bundle = 'problem' in text ? { certificates: [], problem: text.problem } : decodeBundle(text.pem);
  const [first] = bundle.certificates;
  const leaf = first?.ok ? first.certificate : undefined;
  const { where, member } = placeOf({ what, signer, requester, ofNodes, leaf });
  const isServing = signer === KUBELET_SERVING_SIGNER;
  const problem = first?.ok === false ? first.problem : bundle.problem;
  const verdict = !isServing
    ? undefined
    : leaf === undefined
      ? judge?.unreadable({ ...unreadOf(request, 'malformed'), where, member, why: unreadableBecause(problem) })
      : judge?.ofRequest(leaf, request);
  const sighting = {
    source: 'signing-requests' as const,
    observedAt: new Date(context.now()).toISOString(),
    what,
    where,
    member,
    issued: verdict,
  };
  return {
    place: `${what} ${where}`,
    several: CERTIFICATE_CLASSES[what].severalAtAPlace,
    most: what === 'kubelet-client' ? 1 : REMEMBERED_OF_ONE_PLACE,
    fingerprint: leaf?.fingerprint,
    verdict: verdict?.verdict,
    found: bundleAt(sighting, bundle, context.target.cluster.provider).observations,
  };
}

function unreadOf({ approvedBy, createdAt }: Pick<IssuedRequest, 'approvedBy' | 'createdAt'>, problem: string) {
  return { source: 'signing-requests' as const, problem, approvedBy, issuedAt: createdAt };
}

/** Why a certificate that cannot be decoded is not proven. */
export function unreadableBecause(problem: string | undefined): string {
  return `it cannot be read, so its names are not known: ${problem}`;
}

interface Issued {
  readonly what: CertificateClass;
  readonly signer: string;
  readonly requester: string;
  readonly ofNodes: boolean;
  readonly leaf: Certificate | undefined;
}

function placeOf({ what, signer, requester, ofNodes, leaf }: Issued): {
  readonly where: string;
  readonly member?: string;
} {
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

/**
 * An approved request for a kubelet serving certificate whose names are not proven. A signer issues nothing for a
 * request that cannot be decoded.
 */
function notIssuedYet(
  request: IssuedRequest,
  context: AuditContext,
  judge: IssuedJudge | undefined,
): UnreadObservation | undefined {
  const decoded = decodeCertificateRequest(Buffer.from(request.certificate, 'base64'));
  if (!decoded.ok) return undefined;
  const what = 'kubelet-serving' as const;
  const { where, member } = placeOf({ ...request, what, leaf: undefined });
  const place = { ...unreadOf(request, NOT_ISSUED), where: `${where}, not issued yet`, member };
  const issued = judge?.ofApproved(decoded.request, request, place);
  if (issued === undefined) return undefined;
  return {
    kind: 'unread',
    source: place.source,
    observedAt: new Date(context.now()).toISOString(),
    what,
    where: place.where,
    member,
    problem: NOT_ISSUED,
    message: `approved, and not issued yet: ${issued.why ?? issued.verdict}`,
    remedy: 'Delete the request before its signer issues it: kubectl get csr.',
    issued,
  };
}

function worstOfPlaces(told: readonly UnreadObservation[]): readonly UnreadObservation[] {
  const worstLast = told.toSorted((a, b) => rankOf(b.issued?.verdict) - rankOf(a.issued?.verdict));
  return [...new Map(worstLast.map((one) => [one.where, one])).values()];
}

/** The certificates of one requester above the limit of an audit: their names are unknown. */
function notLookedAt(
  { newest, count }: CutRequester,
  context: AuditContext,
  judge: IssuedJudge | undefined,
): UnreadObservation {
  const what = 'kubelet-serving' as const;
  const place = placeOf({ ...newest, what, leaf: undefined });
  const message = `${counted(count, 'certificate')} issued to ${printable(newest.requester, 253)} within the hour ${count === 1 ? 'was' : 'were'} not read: an audit has no room for more`;
  return {
    kind: 'unread',
    source: 'signing-requests',
    observedAt: new Date(context.now()).toISOString(),
    what,
    ...place,
    problem: 'too-large',
    message,
    remedy: 'Find out why it asks so often: kubectl get csr.',
    issued: judge?.unreadable({ ...unreadOf(newest, 'too-large'), ...place, why: message }),
  };
}

function tooMany(left: number, { now }: AuditContext): UnreadObservation {
  return {
    kind: 'unread',
    source: 'signing-requests',
    observedAt: new Date(now()).toISOString(),
    where: 'certificates issued by request',
    problem: 'too-large',
    message: `${left} more than an audit keeps were issued within the hour and not checked`,
    remedy: 'Find out who asks for so many: kubectl get csr shows the requesters.',
  };
}
