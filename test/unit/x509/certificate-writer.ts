import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { oid, sequence, tlv } from './der-writer.ts';
import { toPem } from './request-factory.ts';

/** Writes certificates that no library would, in DER. */

export const set = (...parts: readonly Buffer[]) => tlv(0x31, ...parts);
export const utf8 = (text: string) => tlv(0x0c, Buffer.from(text));
export const utcTime = (text: string) => tlv(0x17, Buffer.from(text));
export const generalizedTime = (text: string) => tlv(0x18, Buffer.from(text));
export const attribute = (type: string, value: Buffer) => sequence(oid(type), value);
export const name = (...rdns: readonly Buffer[]) => sequence(...rdns);
export const cn = (text: string) => set(attribute('2.5.4.3', utf8(text)));

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const P256 = publicKey.export({ format: 'der', type: 'spki' });

const ECDSA_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));

export interface Parts {
  /** Undefined is version 1. */
  readonly version?: number | undefined;
  readonly serial?: readonly number[];
  readonly algorithm?: Buffer;
  readonly outerAlgorithm?: Buffer;
  readonly issuer?: Buffer;
  readonly notBefore?: Buffer;
  readonly notAfter?: Buffer;
  readonly subject?: Buffer;
  readonly key?: Buffer;
  readonly extensions?: readonly Buffer[];
  readonly digest?: string;
  readonly signer?: KeyObject;
}

export function certificate(parts: Parts = {}): Buffer {
  const { algorithm = ECDSA_SHA256, issuer = name(cn('ca')), subject = name(cn('leaf')), digest = 'sha256' } = parts;
  const version = 'version' in parts ? parts.version : 3;
  const signed = sequence(
    ...(version === undefined ? [] : [tlv(0xa0, tlv(2, [version - 1]))]),
    tlv(2, parts.serial ?? [1]),
    algorithm,
    issuer,
    sequence(parts.notBefore ?? utcTime('260101000000Z'), parts.notAfter ?? utcTime('270101000000Z')),
    subject,
    parts.key ?? P256,
    ...(parts.extensions === undefined ? [] : [tlv(0xa3, sequence(...parts.extensions))]),
  );
  const signature = sign(digest, signed, parts.signer ?? privateKey);
  return sequence(signed, parts.outerAlgorithm ?? algorithm, tlv(3, [0], signature));
}

export function pem(der: Buffer, label = 'CERTIFICATE'): string {
  return toPem(der, label).toString('latin1');
}
