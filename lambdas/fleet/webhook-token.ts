import { createHmac, timingSafeEqual } from 'node:crypto';
import { CLUSTER_ID } from '../identifiers.ts';

// A cluster sends its hints to a path that only it was given: /hint/ID/TOKEN. The token is made of the id and of a key that the hub has, so that nothing is stored for
// each cluster and whoever knows one token knows no other. A URL of a webhook has no query and no fragment (Kubernetes API reference, WebhookClientConfig).

/** What {@link isKey} takes: 32 bytes at least, as RFC 2104 (section 3) wants it for SHA-256. */
const KEY = /^[\w+/=.-]{43,256}$/;
/** HMAC-SHA-256 in base64url: all of its 256 bits. */
const PATH = /^\/hint\/(?<id>[^?#]{1,302})\/(?<token>[A-Za-z0-9_-]{43})$/;

/** Header of an answer with the proof of {@link proofOf}. */
export const PROOF_HEADER = 'x-certmarshal-proof';

/** Whether this text is long enough to be a key. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

/** Where a cluster sends its hints to, from the host on. */
export function hintPath(key: string, id: string): string {
  return `/hint/${id}/${tokenOf(key, id)}`;
}

/**
 * The cluster that a path is the path of; undefined where the token is not that of the cluster. The comparison takes as long for any token.
 *
 * @param path as it was sent: nothing in it is decoded
 */
export function hintedBy(key: string, path: string): string | undefined {
  const { id, token } = PATH.exec(path)?.groups ?? {};
  if (id === undefined || token === undefined || !CLUSTER_ID.test(id)) return undefined;
  return timingSafeEqual(Buffer.from(token, 'latin1'), Buffer.from(tokenOf(key, id), 'latin1')) ? id : undefined;
}

/**
 * Tells whoever has the key, and nobody else, what became of a hint: to all others it is a random text, for the same call again too.
 *
 * @param uid of the request that is answered
 * @param salt another one for each answer, without a full stop
 */
export function proofOf(key: string, outcome: 'accepted' | 'refused', uid: string, salt: string): string {
  return `${salt}.${mac(key, `${outcome} ${uid} ${salt}`)}`;
}

/** Whether {@link proofOf} made it of a hint that was accepted. */
export function provesAccepted(key: string, uid: string, proof: string): boolean {
  return proof === proofOf(key, 'accepted', uid, proof.slice(0, proof.indexOf('.')));
}

function tokenOf(key: string, id: string): string {
  return mac(key, `hint ${id}`);
}

/** An id has no space, and the first word of each kind is its own: no token is a proof. */
function mac(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}
