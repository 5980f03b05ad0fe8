import { attribute, cn, certificate as encode, name, pem, set, utcTime, utf8 } from '../x509/certificate-writer.ts';
import { oid, sequence, tlv } from '../x509/der-writer.ts';
import { addressBytes, extension, OID } from '../x509/request-factory.ts';

export interface ServingCertificate {
  readonly node: string;
  /** @default the node */
  readonly dnsNames?: readonly string[];
  readonly addresses: readonly string[];
  /** When it was issued, and how long it lives: milliseconds. */
  readonly at: number;
  readonly lifeMs?: number;
  readonly key?: Buffer;
}

const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 86_400_000;
const ORGANIZATION = '2.5.4.10';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
let serial = 0;

/** The certificate that kube-controller-manager issues to a kubelet, in PEM: faster than any library, under a key that no authority has. */
export function servingCertificate(wanted: ServingCertificate): string {
  const { node, dnsNames = [node], addresses, at, lifeMs = YEAR_MS, key } = wanted;
  serial += 1;
  const names = [
    ...dnsNames.map((dns) => tlv(0x82, Buffer.from(dns))),
    ...addresses.map((address) => tlv(0x87, addressBytes(address))),
  ];
  const encoded = encode({
    serial: [1, (serial >> 16) & 0xff, (serial >> 8) & 0xff, serial & 0xff],
    issuer: name(cn('kubernetes')),
    subject: name(set(attribute(ORGANIZATION, utf8('system:nodes'))), cn(`system:node:${node}`)),
    // It dates back.
    notBefore: time(at - 5 * MINUTE_MS),
    notAfter: time(at + lifeMs),
    extensions: [
      extension(OID.subjectAltName, sequence(...names)),
      extension(EXTENDED_KEY_USAGE, sequence(oid(SERVER_AUTH))),
    ],
    ...(key === undefined ? {} : { key }),
  });
  return pem(encoded);
}

function time(at: number): Buffer {
  return utcTime(`${new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`);
}
