import { isIP } from 'node:net';
import { printable } from '../../lambdas/printable.ts';
import type { HandshakeTarget } from '../../lambdas/probe/handshake.ts';

const DEFAULT_PORT = 443;
const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_.])?$/;

/** An endpoint as a person writes it: `10.0.1.31:6443`, `[::1]:443`, `db.example.com`; or what is wrong with it. */
export function parseEndpoint(text: string): HandshakeTarget | string {
  const quoted = printable(text);
  if (text.includes('://') || text.includes('/')) return `${quoted} is no HOST:PORT: leave out the scheme and the path`;
  const { host, port } = split(text);
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535))
    return `${quoted} has no port from 1 to 65535`;
  if (isIP(host) === 0 && !isServerName(host))
    return `${quoted} is no HOST:PORT, for example 10.0.1.31:6443, [::1]:443`;
  return { host, port: port === undefined ? DEFAULT_PORT : Number(port) };
}

/** What SNI can carry: a DNS name, no address (RFC 6066 §3). */
export function isServerName(text: string): boolean {
  return isIP(text) === 0 && NAME.test(text) && !/^[\d.]+$/.test(text);
}

function split(text: string): { readonly host: string; readonly port: string | undefined } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  if (bracketed !== null)
    return { host: isIP(bracketed[1] ?? '') === 6 ? (bracketed[1] ?? '') : '', port: bracketed[2] };
  // An IPv6 address without brackets has no port.
  if (isIP(text) === 6) return { host: text, port: undefined };
  const colon = text.lastIndexOf(':');
  return colon === -1 ? { host: text, port: undefined } : { host: text.slice(0, colon), port: text.slice(colon + 1) };
}
