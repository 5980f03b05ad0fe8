import {
  credentialsOf,
  readSigningRequest,
  type SigningRequest,
  type UnreadableRequest,
} from '../resources/signing-request.ts';

/** The signer of client certificates of kubelets. */
export const KUBELET_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';

/** A request for a client certificate, as the rules of a window see it. */
export interface RecoveryRequest {
  readonly csr: SigningRequest;
  /** See {@link credentialsOf}. */
  readonly credentials: readonly string[];
}

/** Reads a CertificateSigningRequest from JSON. Never throws. */
export function readRecoveryRequest(
  object: unknown,
): { readonly ok: true; readonly request: RecoveryRequest } | ({ readonly ok: false } & UnreadableRequest) {
  const read = readSigningRequest(object);
  if (!read.ok) return read;
  const credentials = credentialsOf(object);
  if (credentials === undefined)
    return { ok: false, name: read.csr.name, problem: 'spec.extra is not lists of strings' };
  return { ok: true, request: { csr: read.csr, credentials } };
}
