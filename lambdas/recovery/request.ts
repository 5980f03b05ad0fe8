import { readSigningRequest, type UnreadableRequest } from '../approval/read-request.ts';
import type { SigningRequest } from '../approval/request.ts';
import { field } from '../resources/fields.ts';

/** The signer of client certificates of kubelets. */
export const KUBELET_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';

/** A request for a client certificate, as the rules of a window see it. */
export interface RecoveryRequest {
  readonly csr: SigningRequest;
  /**
   * What its requester authenticated with, as kube-apiserver wrote it: `X509SHA256=…` for a certificate. Empty where it says nothing, as before Kubernetes 1.32.
   *
   * Source: Kubernetes, `CredentialIDKey` (apiserver/pkg/authentication/user).
   */
  readonly credentials: readonly string[];
}

const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
const MOST_CREDENTIALS = 16;

/** Reads a CertificateSigningRequest from JSON. Never throws. */
export function readRecoveryRequest(
  object: unknown,
): { readonly ok: true; readonly request: RecoveryRequest } | ({ readonly ok: false } & UnreadableRequest) {
  const read = readSigningRequest(object);
  if (!read.ok) return read;
  const credentials = field(object, 'spec', 'extra', CREDENTIAL_ID) ?? [];
  if (!isTexts(credentials)) return { ok: false, name: read.csr.name, problem: 'spec.extra is not lists of strings' };
  return { ok: true, request: { csr: read.csr, credentials } };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= MOST_CREDENTIALS && value.every((entry) => typeof entry === 'string');
}
