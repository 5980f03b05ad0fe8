import type { KubernetesObject } from '@kubernetes/client-node';
import { printable } from '../printable.ts';
import { raw, text } from '../resources/fields.ts';

/** The longest name in Kubernetes. */
const LONGEST = 253;

/** `name` or `namespace/name` of an object from a cluster, for people. */
export function shownName(item: unknown): string {
  const object = raw<KubernetesObject>(item);
  const name = text(object, 'metadata', 'name') || '(without a name)';
  const namespace = text(object, 'metadata', 'namespace');
  return printable(namespace === undefined ? name : `${namespace}/${name}`, 2 * LONGEST);
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** etcd accepts objects of 1.5 MiB. */
const MAX_TEXT = 1024 * 1024;

/** Decodes a base64 field, or says why it cannot. An empty text is valid. */
export function decodedText(base64: unknown): { readonly pem: string } | { readonly problem: string } {
  if (typeof base64 !== 'string') return { problem: 'it is not text' };
  if (base64.length > MAX_TEXT) return { problem: `it is larger than ${MAX_TEXT} characters` };
  if (base64.length % 4 !== 0 || !BASE64.test(base64)) return { problem: 'it is not base64' };
  return { pem: Buffer.from(base64, 'base64').toString('latin1') };
}
