import { generateKeyPairSync } from 'node:crypto';
import {
  certificate,
  cn,
  extension,
  generalizedTime,
  name,
  oid,
  pem,
  sequence,
  tlv,
  utcTime,
} from '../x509/certificate-writer.ts';

export interface Hostile {
  readonly commonName?: string;
  /** Octets of an extension that nobody knows. */
  readonly padding?: number;
  /** RSA of 1024 bits, signed with SHA-1 by somebody else. */
  readonly weak?: boolean;
}

/** A certificate that ends in 9999, in PEM, with its key. */
export function hostileCertificate({ commonName = 'x', padding, weak = false }: Hostile): {
  readonly leaf: string;
  readonly key: string;
} {
  const pair = weak
    ? generateKeyPairSync('rsa', { modulusLength: 1024 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = name(cn(commonName));
  const der = certificate({
    subject,
    issuer: weak ? name(cn('somebody')) : subject,
    notBefore: utcTime('260101000000Z'),
    notAfter: generalizedTime('99991231235959Z'),
    key: pair.publicKey.export({ format: 'der', type: 'spki' }),
    signer: pair.privateKey,
    ...(weak ? { digest: 'sha1', algorithm: sequence(oid('1.2.840.113549.1.1.5'), tlv(5)) } : {}),
    ...(padding === undefined ? {} : { extensions: [extension('1.2.3.4', tlv(4, Buffer.alloc(padding)))] }),
  });
  return { leaf: pem(der), key: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() };
}
