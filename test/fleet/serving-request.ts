import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { bitString, constructed, integer, oid, sequence } from '../unit/x509/der-writer.ts';
import { extensionRequest, name, OID, type San, subjectAltName, toPem } from '../unit/x509/request-factory.ts';

/** The names that a node's serving certificate is to carry. */
export interface ServingNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** No honest kubelet asks for any. @default [] */
  readonly uris?: readonly string[];
}

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';

/**
 * What a kubelet asks with: a new P-256 key, the node's identity and the names.
 *
 * @returns the request, PEM, and the key it was made with.
 */
export function createServingRequest(
  nodeName: string,
  names: ServingNames,
): { readonly pem: string; readonly privateKey: KeyObject } {
  const { dnsNames, ipAddresses, uris = [] } = names;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const sans: San[] = [
    ...dnsNames.map((value) => ({ kind: 'dNSName' as const, value })),
    ...ipAddresses.map((value) => ({ kind: 'iPAddress' as const, value })),
    ...uris.map((value) => ({ kind: 'uniformResourceIdentifier' as const, value })),
  ];
  const info = sequence(
    integer(0),
    name([
      [{ oid: OID.organization, value: 'system:nodes' }],
      [{ oid: OID.commonName, value: `system:node:${nodeName}` }],
    ]),
    publicKey.export({ type: 'spki', format: 'der' }),
    constructed(0, extensionRequest(subjectAltName(sans))),
  );
  const der = sequence(info, sequence(oid(ECDSA_WITH_SHA256)), bitString(sign('sha256', info, privateKey)));
  return { pem: toPem(der).toString('latin1'), privateKey };
}
