import { isIP } from 'node:net';
import type { AddressRule } from '../allowed-addresses.ts';
import type { ExpiredServer } from '../contracts/order.ts';
import { DAY_MS } from '../time.ts';

/** How one API server is reached and how certmarshal proves to it who it is. */
export interface Connection {
  /** `https://` URL of the API server; may have a path prefix, never user information, a query or a fragment. */
  readonly server: string;
  /** The only authorities trusted for this server: one or more PEM certificates. @default Node's built-in roots */
  readonly caPem?: string;
  /** The name that the serving certificate must carry, where it differs from the host of `server`. @default that host */
  readonly tlsServerName?: string;
  /** Where it may lead. */
  readonly addresses: AddressRule;
  /** Connects although the serving certificate has expired, and only that. @default an expired certificate is refused */
  readonly expiredServer?: ExpiredServer;
  readonly credentials: Credentials;
}

export const DEFAULT_EXPIRED_AT_MOST_MS = 90 * DAY_MS;

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

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/** Whether a server can be asked for by this name: a DNS name of at most 253 characters, or an IP address without a zone. It is sent as it is, in the clear. */
export function isServerName(name: string): boolean {
  if (isIP(name) !== 0) return !name.includes('%');
  return name.length <= 253 && name.split('.').every((label) => LABEL.test(label));
}
