import type { CertificateRequest } from '../../../lambdas/x509/certificate-request.ts';
import { decodeCertificateRequest } from '../../../lambdas/x509/decode-certificate-request.ts';
import { makeRequest, type RequestOptions } from './request-factory.ts';

/** A row of a table of refusals: what is wrong, the request, and `Code: message`. */
export type Refused = readonly [wrong: string, options: RequestOptions, refusal: string];

/** What becomes of a request that must be accepted. */
export function decoded(options: RequestOptions): CertificateRequest {
  const result = decodeCertificateRequest(makeRequest(options).pem);
  if (!result.ok) throw new Error(`refused: ${result.refusal.message}`);
  return result.request;
}

/** The refusal as `Code: message`, or `accepted`. */
export function refusalOf(pem: Uint8Array): string {
  const result = decodeCertificateRequest(pem);
  return result.ok ? 'accepted' : `${result.refusal.code}: ${result.refusal.message}`;
}
