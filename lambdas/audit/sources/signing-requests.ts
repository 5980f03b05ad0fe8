import { KUBELET_SERVING_SIGNER } from '../../approval/policy.ts';
import { collectApprovals, unissuedApprovals } from '../../approval/unissued.ts';
import type { RequestsObservation } from '../../contracts/observation.ts';
import { getSigningRequest, listSigningRequests } from '../../kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { KubernetesError } from '../../kubernetes/errors.ts';
import { readCountedRequest, readSigningRequest } from '../../resources/signing-request.ts';
import { timestamp } from '../../time.ts';
import { counted } from '../../words.ts';
import type { AuditSource } from '../audit-source.ts';
import { collectIssued } from '../issued-certificates.ts';
import { cutShort, type ListReading, readList } from '../read-list.ts';
import { countRequests } from '../request-counts.ts';

/**
 * All CertificateSigningRequests: counts by requester and state, and the certificates issued within the hour. Clusters
 * with half a million of them have been seen; what was counted before the deadline is a lower bound.
 */
export const signingRequests: AuditSource = {
  id: 'signing-requests',
  stage: 'second',
  deadlineMs: 20_000,
  off: () => undefined,
  async observe(context) {
    const { target, now, signal } = context;
    const origin = { source: 'signing-requests' as const, observedAt: timestamp(now()) };
    const counts = countRequests(now());
    const issued = collectIssued();
    const approvals = collectApprovals();
    let malformed = 0;
    const look = (item: unknown): 'more' => {
      const request = readCountedRequest(item);
      if (request === undefined) malformed += 1;
      else {
        counts.add(request);
        if (request.state === 'issued') issued.add(request);
        const csr = request.signer === KUBELET_SERVING_SIGNER ? readSigningRequest(item) : undefined;
        if (csr?.ok === true) approvals.add(csr.csr);
      }
      return 'more';
    };
    const reading = await readList(listSigningRequests(target.workload, { signal }), look);
    const hidden = await readSkipped(target.workload, reading, look, signal);
    const cut = cutShort(origin, reading).map((short) => ({
      ...short,
      message: `${short.message}; ${reading.count} requests were counted`,
    }));
    // A later one that was issued may be in the part that was not read.
    const unissued = cut.length > 0 ? [] : unissuedApprovals(approvals.all(), now());
    const waiting = new Set(unissued.map(({ requester }) => requester));
    const isWaiting = ({ signer, state, requester }: RequestsObservation): boolean =>
      signer === KUBELET_SERVING_SIGNER && state === 'approved' && waiting.has(requester);
    return {
      observations: [
        ...counts
          .observations(origin.observedAt)
          .map((group) => (isWaiting(group) ? { ...group, signerIdle: true as const } : group)),
        ...(await issued.observations(context)),
        ...(malformed === 0 ? [] : [{ kind: 'unread' as const, ...origin, ...strange(malformed) }]),
        ...(hidden === 0 ? [] : [{ kind: 'unread' as const, ...origin, ...tooLarge(hidden) }]),
        ...cut,
      ],
      count: reading.count,
    };
  },
};

/**
 * No API server writes these: any request may be among them, so the list counts as not read, and earlier counts hold.
 */
function strange(count: number) {
  return {
    problem: 'malformed',
    message: `${count} CertificateSigningRequests lack the name, signer, requester or creation time that every API server writes`,
    remedy: 'Check them: kubectl get csr -o yaml.',
  };
}

/**
 * Reads each request of a kubelet that was too large for the list: annotations must not hide what was issued.
 *
 * @returns how many could not be read
 */
async function readSkipped(
  client: KubernetesClient,
  { problem }: ListReading,
  look: (item: unknown) => void,
  signal: AbortSignal,
): Promise<number> {
  const { items = [], count = 0 } = problem?.skipped ?? {};
  let unread = count - items.length;
  for (const { name = '', signerName } of items) {
    if ((signerName ?? KUBELET_SERVING_SIGNER) !== KUBELET_SERVING_SIGNER) continue;
    try {
      look(await getSigningRequest(client, name, signal));
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      if (error.kind !== 'not-found') unread += 1;
    }
  }
  return unread;
}

function tooLarge(count: number) {
  const hidden = `${counted(count, 'request')} too large to be read`;
  return {
    where: 'CertificateSigningRequests that are too large',
    what: 'kubelet-serving' as const,
    problem: 'too-large',
    issued: { verdict: 'not-proven' as const, why: `it may be that of ${hidden}` },
    message: hidden,
    remedy: 'Find out who makes them: kubectl get csr.',
  };
}
