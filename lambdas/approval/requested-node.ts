import { isDnsName } from '../names.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import type { DecodedRequest } from '../x509/certificate-request.ts';
import { decodeRequest } from './decide-approval.ts';
import { KUBELET_CLIENT_SIGNER } from './policy.ts';
import { commonNames, NODE_PREFIX } from './rules/rules.ts';

/** The node in the common name of a request; undefined if it names none, or several. Never throws. */
export function nodeInCommonName(decoded: DecodedRequest): string | undefined {
  const [name = '', ...others] = decoded.ok ? commonNames(decoded.request) : [];
  if (others.length > 0 || !name.startsWith(NODE_PREFIX)) return undefined;
  const node = name.slice(NODE_PREFIX.length);
  return isDnsName(node) ? node : undefined;
}

/** The node that the certificate would be for: a bootstrap token asks for any. Empty if none is named. Never throws. */
export function requestedNode(csr: SigningRequest): string {
  return csr.signerName === KUBELET_CLIENT_SIGNER
    ? (nodeInCommonName(decodeRequest(csr)) ?? '')
    : csr.username.slice(NODE_PREFIX.length);
}
