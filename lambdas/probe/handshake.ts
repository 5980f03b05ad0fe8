import type { DecodedCertificate } from '../x509/certificate.ts';

/** One server to shake hands with. */
export interface HandshakeTarget {
  readonly host: string;
  readonly port: number;
  /** Sent as SNI. @default the host, where that is a name */
  readonly serverName?: string;
}

export type HandshakeFailureKind =
  | 'refused'
  | 'unreachable'
  | 'name'
  | 'timeout'
  | 'not-tls'
  | 'closed'
  | 'no-certificate'
  | 'too-large'
  | 'aborted';

export interface HandshakeFailure {
  readonly kind: HandshakeFailureKind;
  /** What happened, without a full stop. */
  readonly message: string;
  /** One sentence. */
  readonly remedy: string;
}

/** What one server showed. Nothing is trusted, and no byte but those of a handshake is sent. */
export type HandshakeResult =
  | {
      readonly ok: true;
      /** As the server sent it, the leaf first. */
      readonly chain: readonly DecodedCertificate[];
      /** `TLSv1.3`; absent where the handshake ended before. */
      readonly protocol?: string;
    }
  | { readonly ok: false; readonly failure: HandshakeFailure };
