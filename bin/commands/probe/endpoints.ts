import { isIP } from 'node:net';
import { printable } from '../../../lambdas/printable.ts';
import type { HandshakeTarget } from '../../../lambdas/tls/handshake.ts';

const DEFAULT_PORT = 443;
const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_.])?$/;

/** Parses an endpoint: `10.0.1.31:6443`, `[::1]:443`, `db.example.com`. A returned string is the problem. */
export function parseEndpoint(text: string): HandshakeTarget | string {
  const quoted = printable(text);
  if (text.includes('://') || text.includes('/'))
    return `${quoted} is not a HOST:PORT: leave out the scheme and the path`;
  const { host, port, bare = false } = split(text);
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535))
    return `${quoted} has no port from 1 to 65535`;
  if (isIP(host) === 0 && !isServerName(host))
    return `${quoted} is not a HOST:PORT, for example 10.0.1.31:6443, [::1]:443`;
  // Without brackets a port is ambiguous: `::1:9111` as a whole is an address, too.
  if (bare && isIP(host) === 6) {
    const whole = isIP(text) === 6 ? `, or [${quoted}] if all of it is the address` : '';
    return `${quoted} needs brackets: write [${printable(host)}]:${port}${whole}`;
  }
  return { host, port: port === undefined ? DEFAULT_PORT : Number(port) };
}

/** Whether SNI can carry it: a DNS name, not an address (RFC 6066 §3). */
export function isServerName(text: string): boolean {
  return isIP(text) === 0 && NAME.test(text) && !/^[\d.]+$/.test(text);
}

interface Split {
  readonly host: string;
  readonly port: string | undefined;
  /** The host has a port, but no brackets. */
  readonly bare?: true;
}

function split(text: string): Split {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  if (bracketed !== null)
    return { host: isIP(bracketed[1] ?? '') === 6 ? (bracketed[1] ?? '') : '', port: bracketed[2] };
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, Math.max(0, colon));
  const port = text.slice(colon + 1);
  // A text that is only valid as a whole address has no port.
  if (colon === -1 || (isIP(text) === 6 && (isIP(host) !== 6 || !/^\d+$/.test(port))))
    return { host: text, port: undefined };
  return { host, port, bare: true };
}
