import { isIP } from 'node:net';
import type { AddressRule } from '../allowed-addresses.ts';
import type { ExpiredServer } from '../contracts/order.ts';
import { DAY_MS } from '../time.ts';

/** The address of one API server and the credentials for it. */
export interface Connection {
  /** `https://` URL of the API server; may have a path prefix, never user information, a query or a fragment. */
  readonly server: string;
  /** The only CAs trusted for this server: one or more PEM certificates. @default Node's built-in roots */
  readonly caPem?: string;
  /** The name that the serving certificate must contain, if it differs from the host of `server`. @default that host */
  readonly tlsServerName?: string;
  readonly addresses: AddressRule;
  /**
   * Tolerates an expired serving certificate, and no other fault; `never` where what this server says proves names in
   * another cluster. @default none is tolerated
   */
  readonly expiredServer?: ExpiredServer | 'never' | undefined;
  readonly credentials: Credentials;
}

export const DEFAULT_EXPIRED_AT_MOST_MS = 90 * DAY_MS;

export type Credentials =
  | { readonly kind: 'token'; readonly token: string | TokenSource }
  | { readonly kind: 'certificate'; readonly certificatePem: string; readonly keyPem: string };

/** Returns the bearer token of one try. Called before each, so it caches a token itself while that is valid. */
export type TokenSource = () => Promise<string>;

/**
 * Parses the URL of an API server. Only https: a bearer token must not be sent in the clear.
 *
 * @returns the URL, or one sentence that quotes nothing of the input
 */
export function parseServerUrl(server: string): URL | string {
  if (!URL.canParse(server)) return 'is not a URL';
  const url = new URL(server);
  if (url.protocol !== 'https:') return 'is not an https:// URL';
  if (url.username !== '' || url.password !== '') return 'carries a user name or password';
  if (url.search !== '' || url.hash !== '') return 'has a query or a fragment';
  return url;
}

/** The host of a URL in the form for sockets and names: URL keeps the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/**
 * Whether a name is valid for SNI: a DNS name of at most 253 characters, or an IP address without a zone. It is sent
 * unchanged and unencrypted.
 */
export function isServerName(name: string): boolean {
  if (isIP(name) !== 0) return !name.includes('%');
  return name.length <= 253 && name.split('.').every((label) => LABEL.test(label));
}
