import { spellsAddress } from '../names.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { HOUR_MS, MINUTE_MS } from '../time.ts';
import { decodeCertificateRequest } from '../x509/decode-certificate-request.ts';
import { canonicalNames, isNewer } from './request.ts';

/** Sources show a moved address within this time, and a kubelet asks for no address that it lost. */
const STANDS_MS = 20 * MINUTE_MS;
/**
 * Older CSRs do not count. Kubernetes keeps approved and denied ones for this time, so none is missing that a newer one
 * outdates. Source: kube-controller-manager, `pkg/controller/certificates/cleaner`.
 */
const COUNTED_MS = HOUR_MS;

/** The CSRs of one requester of the last hour, whatever became of them. */
export interface Claims {
  readonly newest: Mark;
  /** Creation times of all. */
  readonly times: readonly number[];
  /** By address, or DNS name that spells one. */
  readonly names: ReadonlyMap<string, Claim>;
}

type Mark = Pick<SigningRequest, 'name' | 'uid'> & { readonly createdAt: number };

interface Claim {
  readonly first: Mark;
  readonly last: Mark;
  /** CSRs that name it. */
  readonly count: number;
  readonly isApproved: boolean;
}

/** A kubelet makes 4 CSRs an hour, or 112 if each is denied. */
const MAX_CSRS = 256;
const MAX_NAMES = 1024;
const MAX_REQUESTERS = 20_000;
/** 0.4 s of decoding, and 20 MiB of claims; 5,000 nodes with 4 CSRs each take 14 MiB and 20,000. */
const ROOM = { bytes: 16 * 1024 * 1024, names: 100_000 } as const;

/**
 * Collects the claims while CSRs are listed, in bounded time and memory. What has no room is not called hostile for an
 * address, and approved no more easily.
 *
 * @param now milliseconds since the epoch
 */
export function collectClaims(
  now: number,
  room: { readonly bytes: number; readonly names: number } = ROOM,
): { add(csr: SigningRequest): void; of(username: string): Claims | undefined } {
  const byUsername = new Map<string, { newest: Mark; times: number[]; names: Map<string, Claim> }>();
  let { bytes, names: namesLeft } = room;
  const namesOf = ({ request }: SigningRequest): Iterable<string> => {
    if (request === undefined || request.length > bytes) return [];
    bytes -= request.length;
    const decoded = decodeCertificateRequest(request);
    // Addresses, and DNS names that move with one, once each.
    return decoded.ok ? new Set(canonicalNames(decoded.request, spellsAddress)) : [];
  };
  return {
    add(csr) {
      const { name, uid, username, createdAt } = csr;
      if (createdAt === undefined || now - createdAt > COUNTED_MS) return;
      const mark: Mark = { name, uid, createdAt };
      const claims = byUsername.get(username) ?? { newest: mark, times: [], names: new Map<string, Claim>() };
      if (isNewer(mark, claims.newest)) claims.newest = mark;
      if (claims.times.length >= MAX_CSRS || byUsername.size >= MAX_REQUESTERS) return;
      byUsername.set(username, claims);
      claims.times.push(createdAt);
      const isApproved = csr.issued || csr.conditions.some(({ type }) => type === 'Approved');
      for (const named of namesOf(csr)) {
        const claim = claims.names.get(named) ?? { first: mark, last: mark, count: 0, isApproved };
        if (claim.count === 0 && (claims.names.size >= MAX_NAMES || namesLeft-- <= 0)) continue;
        claims.names.set(named, {
          first: isNewer(claim.first, mark) ? mark : claim.first,
          last: isNewer(mark, claim.last) ? mark : claim.last,
          count: claim.count + 1,
          isApproved: claim.isApproved || isApproved,
        });
      }
    },
    of: (username) => byUsername.get(username),
  };
}

/**
 * The names that a requester has claimed for 20 minutes without an approval: its newest CSR has one, or it dropped one
 * and named it again. A kubelet that lost an address does not name it again. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function standingClaims({ newest, times, names }: Claims, now: number): readonly string[] {
  return [...names].flatMap(([name, { first, last, count, isApproved }]) => {
    const [from, until] = [first.createdAt, last.createdAt];
    const isDropped = times.filter((time) => time >= from && time <= until).length > count;
    const stands = last.uid === newest.uid ? now - from >= STANDS_MS : isDropped && until - from >= STANDS_MS;
    return stands && !isApproved ? [name] : [];
  });
}
