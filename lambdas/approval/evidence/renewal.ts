import { canonicalAddress, canonicalDnsName } from '../../names.ts';
import type { Certificate, DecodedCertificate } from '../../x509/certificate.ts';
import { isIssuedBy, isSelfSigned } from '../../x509/issued-by.ts';
import type { Owner } from './evidence.ts';

/** id-kp-serverAuth, RFC 5280 §4.2.1.12. */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/** What a kubelet showed in a finished handshake, which proves that it has the private key. */
export interface ServedCertificate {
  /** The node whose kubelet was dialled. */
  readonly node: string;
  /** `10.0.1.23:10250`. */
  readonly where: string;
  /** Leaf first. */
  readonly chain: readonly DecodedCertificate[];
}

export type RenewalProof =
  | { readonly ok: true; readonly owner: Owner }
  | {
      readonly ok: false;
      /** Without a full stop: `the certificate that it serves at 10.0.1.23:10250 is self-signed`. */
      readonly why: string;
    };

/**
 * What the certificate that a node serves now proves: its approver gave exactly its names to this node. A certificate
 * that the signer of kubelet serving certificates would not have issued proves nothing.
 *
 * Source: the renewal flow of OpenShift's cluster-machine-approver; `ValidateKubeletServingCSR` in
 * kubernetes/pkg/apis/certificates.
 *
 * @param authorities CAs that the connection to the API server trusts; one of them must have signed the leaf itself
 * @param now milliseconds since the epoch
 */
export function ownerFromServedCertificate(
  { node, where, chain: [leaf] }: ServedCertificate,
  authorities: readonly Certificate[],
  now: number,
): RenewalProof {
  if (leaf === undefined) return { ok: false, why: `what it serves at ${where} is not a certificate` };
  if (!leaf.ok) return { ok: false, why: `what it serves at ${where} cannot be read: ${leaf.problem}` };
  const { certificate } = leaf;
  const fault = faultOf(certificate, node, authorities, now);
  if (fault !== undefined) return { ok: false, why: `the certificate that it serves at ${where} ${fault}` };
  return {
    ok: true,
    owner: {
      source: 'renewal',
      object: `certificate that ${node} serves at ${where}`,
      nodes: [node],
      dnsNames: certificate.dnsNames.map(canonicalDnsName),
      addresses: certificate.addresses.map((address) => canonicalAddress(address) ?? address),
    },
  };
}

/** Checks the issuer first: no other fault matters if the CA is unknown. */
function faultOf(
  certificate: Certificate,
  node: string,
  authorities: readonly Certificate[],
  now: number,
): string | undefined {
  if (isSelfSigned(certificate) === true) return 'is self-signed';
  const issuer = authorities.find((authority) => authority.isAuthority && isIssuedBy(certificate, authority));
  if (issuer === undefined) return 'is not signed by a CA that the connection to the API server trusts';
  if (!isValid(issuer, now)) return 'is signed by a CA that is not valid now';
  if (now < certificate.notBefore) return 'is not valid yet';
  if (now > certificate.notAfter) return `expired at ${new Date(certificate.notAfter).toISOString()}`;
  if (certificate.commonName !== `system:node:${node}`) return `is not of system:node:${node}`;
  if (certificate.organizations.length !== 1 || certificate.organizations[0] !== 'system:nodes')
    return 'is not of the organization system:nodes alone';
  const usages = certificate.extendedKeyUsages ?? [];
  if (usages.length === 0 || usages.some((usage) => usage !== SERVER_AUTH)) return 'is not for server auth alone';
  if (certificate.isAuthority) return 'is a CA';
  const weak = certificate.weakKey ?? certificate.weakSignature;
  if (weak !== undefined) return `is weak: ${weak}`;
  if (certificate.otherNames) return 'has names that are neither DNS names nor addresses';
  if (certificate.dnsNames.length + certificate.addresses.length === 0) return 'has no name';
  return undefined;
}

function isValid({ notBefore, notAfter }: Certificate, now: number): boolean {
  return notBefore <= now && now <= notAfter;
}
