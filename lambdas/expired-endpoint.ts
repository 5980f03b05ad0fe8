export const EXPIRED = 'the certificate of the endpoint has expired';
/** A CA of the bundle has expired, too: a TLS client does not say which of them it was. */
export const EXPIRED_OR_CA = 'the certificate of the endpoint, or its CA, has expired';

/** Whether this problem of a connection is an expired server. */
export function isExpiredEndpoint(problem: string): boolean {
  return problem.endsWith(EXPIRED) || problem.endsWith(EXPIRED_OR_CA);
}
