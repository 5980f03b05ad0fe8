/** The problem of a connection that a TLS client calls CERT_HAS_EXPIRED. */
export const EXPIRED_ENDPOINT = 'the certificate of the endpoint, or its CA, has expired';
