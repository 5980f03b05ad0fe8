export const EXPIRED = 'the certificate of the endpoint has expired';
export const EXPIRED_OR_CA = 'the certificate of the endpoint, or its CA, has expired';

/** Whether this problem of a connection is an expired server. */
export function isExpiredEndpoint(problem: string): boolean {
  return problem.endsWith(EXPIRED) || problem.endsWith(EXPIRED_OR_CA);
}
