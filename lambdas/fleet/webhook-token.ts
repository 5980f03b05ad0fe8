import { createHmac, timingSafeEqual } from 'node:crypto';
import { CLUSTER_ID } from '../identifiers.ts';

// A cluster sends its hints to a secret path: /hint/ID/TOKEN. The token is derived from the id and a key of the hub, so
// that nothing is stored for each cluster and knowing one token reveals no other. A webhook URL has no query and no
// fragment (Kubernetes API reference, WebhookClientConfig).

/** At least 32 bytes, as RFC 2104 (section 3) recommends for SHA-256. */
const KEY = /^[\w+/=.-]{43,256}$/;
/** HMAC-SHA-256 in base64url: all of its 256 bits. */
const PATH = /^\/hint\/(?<id>[^?#]{1,302})\/(?<token>[A-Za-z0-9_-]{43})$/;

/** Header of an answer with the proof of {@link proofOf}. */
export const PROOF_HEADER = 'x-certmarshal-proof';

/** Whether this text is long enough to be a key. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

export function hintPath(key: string, id: string): string {
  return `/hint/${id}/${tokenOf(key, id)}`;
}

/**
 * The cluster of a path; undefined for a wrong token. Compares in constant time.
 *
 * @param path as received: nothing in it is decoded
 */
export function hintedBy(key: string, path: string): string | undefined {
  const { id, token } = PATH.exec(path)?.groups ?? {};
  if (id === undefined || token === undefined || !CLUSTER_ID.test(id)) return undefined;
  return timingSafeEqual(Buffer.from(token, 'latin1'), Buffer.from(tokenOf(key, id), 'latin1')) ? id : undefined;
}

/**
 * Tells only holders of the key what became of a hint: for others it is a random text, also for a repeated call.
 *
 * @param uid of the request that is answered
 * @param salt a new one for each answer, without a full stop
 */
export function proofOf(key: string, outcome: 'accepted' | 'refused', uid: string, salt: string): string {
  return `${salt}.${mac(key, `${outcome} ${uid} ${salt}`)}`;
}

/** Whether {@link proofOf} made it for an accepted hint. */
export function provesAccepted(key: string, uid: string, proof: string): boolean {
  return proof === proofOf(key, 'accepted', uid, proof.slice(0, proof.indexOf('.')));
}

function tokenOf(key: string, id: string): string {
  return mac(key, `hint ${id}`);
}

/** Ids have no space, and each kind has its own first word: no token is a proof. */
function mac(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}
