import { ForbiddenAddressError } from '../allowed-addresses.ts';
import { printable } from '../printable.ts';
import type { End, HandshakeFailure, HandshakeTarget } from './handshake.ts';

/** TLSPlaintext.type of an alert, and of a handshake (RFC 8446 §5.1). */
const ALERT = 21;
const HANDSHAKE = 22;

/** AlertDescription (RFC 8446 §6). */
const PROTOCOL_VERSION = 70;
const INTERNAL_ERROR = 80;
const UNRECOGNIZED_NAME = 112;
const ALERTS: ReadonlyMap<number, string> = new Map([
  [0, 'close_notify'],
  [10, 'unexpected_message'],
  [40, 'handshake_failure'],
  [47, 'illegal_parameter'],
  [PROTOCOL_VERSION, 'protocol_version'],
  [71, 'insufficient_security'],
  [INTERNAL_ERROR, 'internal_error'],
  [UNRECOGNIZED_NAME, 'unrecognized_name'],
]);

const OLD_TLS: HandshakeFailure = {
  kind: 'old-tls',
  message: 'it speaks only TLS 1.0 or 1.1',
  remedy: 'Let the server speak TLS 1.2 or later: older versions are broken (RFC 8996).',
};

const KUBELET_PORT = 10_250;
/** Source: kubelet `server.go`, "no serving certificate available for the kubelet". */
const KUBELET_WITHOUT_CERTIFICATE: HandshakeFailure = {
  kind: 'closed',
  message: 'it refused the handshake (tls: internal error): the kubelet has no serving certificate yet',
  remedy: 'Its request waits for an approval: kubectl get csr names it, and certmarshal explain says why.',
};

/** Why a server showed no certificate. */
export function failureOf(target: HandshakeTarget, end: End, transcript: Buffer, timeoutMs: number): HandshakeFailure {
  switch (end.kind) {
    case 'done':
      return noCertificate();
    case 'aborted':
      return aborted();
    case 'flood':
      return tooLarge('it sent more than a handshake needs');
    case 'timeout':
      return timedOut(target, end.connected, transcript, timeoutMs);
    case 'closed':
    case 'error':
      return transcript.length > 0
        ? spoken(target, transcript)
        : unspoken(target, end.kind === 'error' ? end.error : undefined);
  }
}

export function aborted(): HandshakeFailure {
  return {
    kind: 'aborted',
    message: 'not done: canceled, or out of time',
    remedy: 'It is checked again the next time.',
  };
}

/** @param address the host, or what it resolves to */
export function forbidden(host: string, address = host): HandshakeFailure {
  const found = address === host ? printable(host) : `${printable(host)} leads to ${printable(address)}, which`;
  return {
    kind: 'forbidden',
    message: `${found} is not an address of another machine, so certmarshal does not connect to it`,
    remedy:
      'Find out who wrote this address: certmarshal connects to no link-local, loopback, multicast or metadata address.',
  };
}

export function noCertificate(): HandshakeFailure {
  return {
    kind: 'no-certificate',
    message: 'it shows no certificate',
    remedy: 'Give the server a certificate: without one no client can tell who answers.',
  };
}

export function tooLarge(message: string): HandshakeFailure {
  return {
    kind: 'too-large',
    message,
    remedy: 'Let the server send its certificate and the CAs between it and the root, and nothing else.',
  };
}

function timedOut(
  { port }: HandshakeTarget,
  connected: boolean,
  transcript: Buffer,
  timeoutMs: number,
): HandshakeFailure {
  const within = `within ${timeoutMs / 1000} s`;
  if (transcript.length > 0)
    return {
      kind: 'timeout',
      message: `it began to answer, but showed no certificate ${within}`,
      remedy: 'Check the load of the server.',
    };
  return connected
    ? {
        kind: 'timeout',
        message: `it accepts connections, but says nothing ${within}`,
        remedy: 'The route is open: check that what listens there speaks TLS, and check its load.',
      }
    : {
        kind: 'timeout',
        message: `no answer ${within}`,
        remedy: `Check the route, and that security groups and firewalls let port ${port} pass.`,
      };
}

/** It answered, but not with a certificate. */
function spoken({ port }: HandshakeTarget, transcript: Buffer): HandshakeFailure {
  const [type, major] = transcript;
  if (major !== 3 || (type !== ALERT && type !== HANDSHAKE)) return notTls(transcript);
  // A ServerHello of TLS 1.0 or 1.1 has the version after the headers of record and message.
  if (type === HANDSHAKE && transcript[9] === 3 && (transcript[10] ?? 3) < 3) return OLD_TLS;
  if (type === ALERT) {
    const description = transcript[6] ?? 0;
    if (description === PROTOCOL_VERSION) return OLD_TLS;
    if (description === INTERNAL_ERROR && port === KUBELET_PORT) return KUBELET_WITHOUT_CERTIFICATE;
    const name = ALERTS.get(description) ?? `alert ${description}`;
    return {
      kind: 'closed',
      message: `it refused the handshake: ${name}`,
      remedy:
        description === UNRECOGNIZED_NAME
          ? 'Ask it by a name that it serves.'
          : 'Read the log of the server: it says what the server requires.',
    };
  }
  return {
    kind: 'closed',
    message: 'it ended the handshake before it showed a certificate',
    remedy: 'Read the log of the server.',
  };
}

function notTls(transcript: Buffer): HandshakeFailure {
  const start = transcript.toString('latin1', 0, 8);
  const spoke = SPOKEN.find(([prefix]) => start.startsWith(prefix))?.[1];
  return {
    kind: 'not-tls',
    message: spoke === undefined ? 'what answers there is not TLS' : `${spoke} answers there, not TLS`,
    remedy: 'Check the port: its service does not speak TLS.',
  };
}

const SPOKEN: readonly (readonly [prefix: string, name: string])[] = [
  ['HTTP/', 'plain HTTP'],
  ['SSH-', 'SSH'],
  ['220 ', 'a mail or FTP server'],
  ['220-', 'a mail or FTP server'],
];

/** It sent nothing. */
function unspoken({ host, port }: HandshakeTarget, error: Error | undefined): HandshakeFailure {
  if (error instanceof ForbiddenAddressError) return forbidden(host, error.address);
  const code = error !== undefined && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ECONNREFUSED':
      return {
        kind: 'refused',
        message: 'connection refused',
        remedy: `Check that the server runs, and listens on port ${port} of this address.`,
      };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_NODATA':
    case 'EAI_NONAME':
    case 'EAI_FAIL':
      return {
        kind: 'name',
        message: `${printable(host)} cannot be resolved`,
        remedy: 'Check the name, and the DNS server that is used here.',
      };
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
    case 'EACCES':
    case 'EPERM':
      return {
        kind: 'unreachable',
        message: `there is no route to it (${code})`,
        remedy: 'Check the route from here to this network.',
      };
    case 'ETIMEDOUT':
      return {
        kind: 'timeout',
        message: 'no answer',
        remedy: `Check the route, and that security groups and firewalls let port ${port} pass.`,
      };
    case 'EMFILE':
    case 'ENFILE':
      return {
        kind: 'unreachable',
        message: `no connection can be opened here (${code})`,
        remedy: 'Check fewer servers at once, or raise the limit of open files.',
      };
    default:
      return {
        kind: 'closed',
        message: 'it closed the connection without an answer',
        remedy: 'Check that what listens there speaks TLS, and read its log.',
      };
  }
}
