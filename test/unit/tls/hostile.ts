import { generateKeyPairSync } from 'node:crypto';
import { certificate, cn, generalizedTime, name, pem, utcTime } from '../x509/certificate-writer.ts';
import { oid, sequence, tlv } from '../x509/der-writer.ts';
import { extension } from '../x509/request-factory.ts';

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
    extensions: padding === undefined ? undefined : [extension('1.2.3.4', tlv(4, Buffer.alloc(padding)))],
  });
  return { leaf: pem(der), key: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() };
}

/** A serving certificate and 98 certificates that may all have signed it, under one key and one name: as many as are read, in PEM, with its key. */
export function hostileCrowd(namedCurve: string): { readonly cert: string; readonly key: string } {
  const signer = generateKeyPairSync('ec', { namedCurve });
  const serving = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const made = (serial: number, { publicKey }: typeof signer, isAuthority: boolean) =>
    pem(
      certificate({
        serial: [serial],
        subject: name(cn('crowd')),
        issuer: name(cn('crowd')),
        key: publicKey.export({ format: 'der', type: 'spki' }),
        signer: signer.privateKey,
        extensions: [extension('2.5.29.19', sequence(...(isAuthority ? [tlv(1, [0xff])] : [])))],
      }),
    );
  const others = Array.from({ length: 98 }, (_, index) => made(index + 2, signer, true));
  return {
    cert: made(1, serving, false) + others.join(''),
    key: serving.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}
