import type { ApprovalSubject } from '../resources/approval-subject.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import type { Claims } from './claims.ts';
import { FLOOD_LIMIT } from './decide-approval.ts';
import { isNewer } from './request.ts';

/** The newest pending request of one requester, and what a write to it needs. */
export interface OpenRequest {
  readonly csr: SigningRequest;
  /** Absent if the object cannot be written back as it was; then it is not approved. */
  readonly subject: ApprovalSubject | undefined;
  /** Creation times of all pending requests of the requester, including this one; at most as many as show a flood. */
  readonly askedAt: readonly number[];
  /** Absent for another signer than that of serving certificates. */
  readonly claims?: Claims | undefined;
}

/**
 * The open requests of one cluster: the newest of each requester, because its kubelet has given up on the others.
 * Memory is bounded whatever the cluster sends, and large requests never take the room of ordinary ones.
 */
export interface OpenRequests {
  /** `superseded`: this one, or the older one it replaces, is not judged. `refused`: there is no room for it. */
  add(csr: SigningRequest, subject: ApprovalSubject | undefined): 'kept' | 'superseded' | 'refused';
  all(): readonly OpenRequest[];
}

/** A kubelet's request with ten names takes about 3 KiB, including bookkeeping. */
const ORDINARY_BYTES = 8 * 1024;
/**
 * Bytes of one sweep: over 10,000 ordinary requests, where Kubernetes supports 5,000 nodes. A function runs up to ten
 * sweeps concurrently.
 */
const ROOM = { ordinary: 32 * 1024 * 1024, large: 4 * 1024 * 1024 } as const;
/** Bytes of an entry besides its texts. */
const OVERHEAD_BYTES = 2 * 1024;

/** @param keyOf only the newest request of each key is kept */
export function collectOpenRequests(
  room: { readonly ordinary: number; readonly large: number } = ROOM,
  keyOf: (csr: SigningRequest) => string = ({ username }) => username,
): OpenRequests {
  const newest = new Map<string, { csr: SigningRequest; subject: ApprovalSubject | undefined; askedAt: number[] }>();
  const used = { ordinary: 0, large: 0 };

  const take = (size: number): boolean => {
    const kind = kindOf(size);
    if (used[kind] + size > room[kind]) return false;
    used[kind] += size;
    return true;
  };

  return {
    add(csr, subject) {
      // An unreadable creation time counts as now.
      const askedAt = csr.createdAt ?? Number.POSITIVE_INFINITY;
      const known = newest.get(keyOf(csr));
      if (known === undefined) {
        if (!take(sizeOf(csr, subject))) return 'refused';
        newest.set(keyOf(csr), { csr, subject, askedAt: [askedAt] });
        return 'kept';
      }
      // An object listed twice counts once.
      if (known.csr.uid === csr.uid) return 'kept';
      if (known.askedAt.length <= FLOOD_LIMIT) known.askedAt.push(askedAt);
      else replaceOldest(known.askedAt, askedAt);
      if (isNewer(csr, known.csr)) {
        const old = sizeOf(known.csr, known.subject);
        used[kindOf(old)] -= old;
        if (!take(sizeOf(csr, subject))) {
          take(old);
          return 'refused';
        }
        known.csr = csr;
        known.subject = subject;
      }
      return 'superseded';
    },
    all: () => [...newest.values()],
  };
}

function kindOf(size: number): 'ordinary' | 'large' {
  return size <= ORDINARY_BYTES ? 'ordinary' : 'large';
}

function replaceOldest(times: number[], time: number): void {
  const oldest = Math.min(...times);
  times[times.indexOf(oldest)] = Math.max(oldest, time);
}

function sizeOf(csr: SigningRequest, subject: ApprovalSubject | undefined): number {
  const texts = [
    ...csr.groups,
    ...(csr.credentials ?? []),
    ...csr.usages,
    ...csr.conditions.flatMap(({ type, status, reason, message = '' }) => [type, status, reason, message]),
  ];
  return (
    OVERHEAD_BYTES +
    (csr.request?.length ?? 0) +
    texts.reduce((sum, text) => sum + text.length, 0) +
    (subject === undefined ? 0 : JSON.stringify([subject.metadata, subject.conditions]).length)
  );
}
