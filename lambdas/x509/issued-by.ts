import type { KeyObject } from 'node:crypto';
import type { Certificate } from './certificate.ts';
import { OWN_CURVE } from './certificate-key.ts';
import { isSignedBy, verifyingKey } from './signed-by.ts';

/** One authority signs many certificates; its key is read once. */
const keys = new WeakMap<Certificate, KeyObject | undefined>();

/** Whether the key of an authority made the signature of a certificate, and the authority is what its issuer is called. Never throws. */
export function isIssuedBy(certificate: Certificate, authority: Certificate): boolean {
  if (certificate.issuer !== authority.subject || authority.key === OWN_CURVE) return false;
  if (!keys.has(authority)) keys.set(authority, verifyingKey(authority.der));
  const key = keys.get(authority);
  return key !== undefined && isSignedBy(certificate.der, key);
}
