import { FLOOD_LIMIT } from '../approval/decide.ts';
import type { SigningRequest } from '../approval/request.ts';
import { isNewer } from '../approval/siblings.ts';
import type { ApprovalSubject } from '../kubernetes/certificate-signing-requests.ts';

/** An undecided request with what a write to it needs. */
export interface OpenRequest {
  readonly csr: SigningRequest;
  readonly subject: ApprovalSubject;
}

/** One more than a flood needs to be seen as one; what is older than these is superseded whatever it holds. */
const KEPT_OF_A_REQUESTER = FLOOD_LIMIT + 1;

/** 10,000 requests of kubelets hold about 6 MB of PEM. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The open requests of one cluster, kept within a fixed amount of memory whatever the cluster sends. */
export interface OpenRequests {
  /** `superseded` is an older one that made room, or the given one; `refused` when there is no room for it at all. */
  add(request: OpenRequest): 'kept' | 'superseded' | 'refused';
  all(): readonly OpenRequest[];
}

export function collectOpenRequests(maxBytes = MAX_BYTES): OpenRequests {
  const byRequester = new Map<string, OpenRequest[]>();
  let bytes = 0;
  return {
    add(request) {
      const size = request.csr.request?.length ?? 0;
      const kept = byRequester.get(request.csr.username) ?? [];
      // An object that was listed twice counts once.
      if (kept.some(({ csr }) => csr.uid === request.csr.uid)) return 'kept';
      if (bytes + size > maxBytes) return 'refused';
      bytes += size;
      kept.push(request);
      byRequester.set(request.csr.username, kept);
      if (kept.length <= KEPT_OF_A_REQUESTER) return 'kept';
      const oldest = kept.reduce((old, next) => (isNewer(old.csr, next.csr) ? next : old));
      kept.splice(kept.indexOf(oldest), 1);
      bytes -= oldest.csr.request?.length ?? 0;
      return 'superseded';
    },
    all: () => [...byRequester.values()].flat(),
  };
}
