/** How one API server is reached and how certmarshal proves to it who it is. */
export interface Connection {
  /** `https://` URL of the API server; may have a path prefix, never user information, a query or a fragment. */
  readonly server: string;
  /** The only authorities trusted for this server: one or more PEM certificates. @default Node's built-in roots */
  readonly caPem?: string;
  /** The name that the serving certificate must carry, where it differs from the host of `server`. @default that host */
  readonly tlsServerName?: string;
  /** Connects although the serving certificate has expired, and only that. @default an expired certificate is refused */
  readonly expiredServer?: ExpiredServer;
  readonly credentials: Credentials;
}

/**
 * What has to be proven by a server whose certificate has expired, beside its name and its private key: an authority of `caPem` that is valid itself issued it, or it is
 * exactly the one with this SHA-256 (64 lowercase hexadecimal digits). One that has not expired is verified as ever.
 */
export type ExpiredServer = { readonly pin: 'authority' } | { readonly pin: 'fingerprint'; readonly sha256: string };

export type Credentials =
  | { readonly kind: 'token'; readonly token: string | TokenSource }
  | { readonly kind: 'certificate'; readonly certificatePem: string; readonly keyPem: string };

/** Gives the bearer token of one try. It is asked before each, so it keeps a token itself for as long as that is good. */
export type TokenSource = () => Promise<string>;

/**
 * The URL of an API server, or why it cannot be one. Only https: a bearer token must not travel in the clear.
 *
 * @returns the parsed URL, or one sentence that quotes nothing of the input.
 */
export function parseServerUrl(server: string): URL | string {
  if (!URL.canParse(server)) return 'is not a URL';
  const url = new URL(server);
  if (url.protocol !== 'https:') return 'is not an https:// URL';
  if (url.username !== '' || url.password !== '') return 'carries a user name or password';
  if (url.search !== '' || url.hash !== '') return 'has a query or a fragment';
  return url;
}

/** The host of a server's URL as sockets and names have it: URL keeps the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
