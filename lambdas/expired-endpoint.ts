/** A TLS client does not say which one: the server may also send an expired intermediate CA. */
export const EXPIRED = 'a certificate of the endpoint has expired';
/** A CA of the bundle has expired, too. */
export const EXPIRED_OR_CA = 'a certificate of the endpoint, or its CA, has expired';

/** Whether this problem of a connection is an expired server. */
export function isExpiredEndpoint(problem: string): boolean {
  return problem.endsWith(EXPIRED) || problem.endsWith(EXPIRED_OR_CA);
}

/** The same for a problem with its kind: no other kind may say so in words of a server. */
export function isOfExpiredEndpoint({ kind, message }: { readonly kind: string; readonly message: string }): boolean {
  return kind === 'certificate' && isExpiredEndpoint(message);
}
