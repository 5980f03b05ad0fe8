/** A TLS client does not say which one: the server may also send an expired intermediate CA. */
export const EXPIRED = 'a certificate of the endpoint has expired';
/** A CA of the bundle has expired, too. */
export const EXPIRED_OR_CA = 'a certificate of the endpoint, or its CA, has expired';

/** Whether this problem of a connection is an expired server. */
export function isExpiredEndpoint(problem: string): boolean {
  return problem.endsWith(EXPIRED) || problem.endsWith(EXPIRED_OR_CA);
}
