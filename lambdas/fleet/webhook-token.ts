import { createHmac, timingSafeEqual } from 'node:crypto';
import { CLUSTER_ID } from '../identifiers.ts';

/** Nothing is stored for a cluster: its token is an HMAC-SHA-256 of its id, all 256 bits in base64url. */
const PATH = /^\/sweep\/(?<id>[^?#]{1,302})\/(?<token>[A-Za-z0-9_-]{43})$/;

/** Path of the URL that has a cluster swept. A webhook URL has no query (Kubernetes API reference, WebhookClientConfig). */
export function sweepPath(key: string, id: string): string {
  return `/sweep/${id}/${tokenOf(key, id)}`;
}

/** @param path as received; nothing in it is decoded. @returns the cluster, undefined for a wrong token */
export function clusterOf(key: string, path: string): string | undefined {
  const { id, token } = PATH.exec(path)?.groups ?? {};
  if (id === undefined || token === undefined || !CLUSTER_ID.test(id)) return undefined;
  return timingSafeEqual(Buffer.from(token), Buffer.from(tokenOf(key, id))) ? id : undefined;
}

function tokenOf(key: string, id: string): string {
  return createHmac('sha256', key).update(id).digest('base64url');
}
