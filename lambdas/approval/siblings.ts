import { KUBELET_SERVING_SIGNER } from './policy.ts';
import type { Siblings, SigningRequest } from './request.ts';

/**
 * Looks at all requests of one sweep together: of several undecided ones of one requester only the newest counts, and a requester with
 * too many is told apart from all others. Requests older than the longest age window are not counted: their kubelet gave up on them.
 *
 * @param now milliseconds since the epoch
 * @param maxAgeSeconds the largest `age.max` of the policies in force
 */
export function relateSiblings(
  requests: readonly SigningRequest[],
  now: number,
  maxAgeSeconds: number,
): (csr: SigningRequest) => Siblings {
  const byRequester = new Map<string, { newest: SigningRequest; pending: number }>();
  for (const csr of requests) {
    if (!isUndecided(csr) || (csr.createdAt ?? now) < now - maxAgeSeconds * 1000) continue;
    const known = byRequester.get(csr.username);
    if (known === undefined) byRequester.set(csr.username, { newest: csr, pending: 1 });
    else {
      known.pending += 1;
      if (isNewer(csr, known.newest)) known.newest = csr;
    }
  }
  return (csr) => {
    const known = byRequester.get(csr.username);
    if (known === undefined || !isUndecided(csr)) return { pending: 0 };
    return known.newest.name === csr.name
      ? { pending: known.pending }
      : { pending: known.pending, supersededBy: known.newest.name };
  };
}

function isUndecided(csr: SigningRequest): boolean {
  return csr.signerName === KUBELET_SERVING_SIGNER && csr.conditions.length === 0 && !csr.issued && !csr.deleting;
}

/** Creation times have whole seconds; the name decides between equals so that every sweep picks the same one. */
export function isNewer(a: SigningRequest, b: SigningRequest): boolean {
  const difference = (a.createdAt ?? 0) - (b.createdAt ?? 0);
  return difference === 0 ? a.name > b.name : difference > 0;
}
