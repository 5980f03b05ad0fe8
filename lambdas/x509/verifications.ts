import { X509Certificate } from 'node:crypto';
import type { Certificate } from './certificate.ts';

/**
 * Signatures that are verified for one handshake; an honest chain takes 2 or 3, and a few more where authorities share a name. The slowest key that is
 * calculated with, P-521, takes up to 2 ms.
 */
export const VERIFICATIONS_A_HANDSHAKE = 24;

/** Signatures verified for one question. Whoever asks decides with it how long an answer may take, whatever was sent. */
export interface Verifications {
  /** Calculations so far. What was found out once is not calculated again. */
  readonly count: number;
  /** Whether the key of an authority made the signature of a certificate; undefined where that is not found out. Never throws. */
  isSignedBy(certificate: Certificate, authority: Certificate): boolean | undefined;
}

/** @param most after which nothing more is found out */
export function verifications(most: number = VERIFICATIONS_A_HANDSHAKE): Verifications {
  const known = new Map<string, boolean>();
  return {
    get count() {
      return known.size;
    },
    isSignedBy(certificate, authority) {
      if (!authority.verifiesFast) return undefined;
      const pair = `${certificate.fingerprint} ${authority.fingerprint}`;
      const before = known.get(pair);
      if (before !== undefined || known.size >= most) return before;
      const signed = verify(certificate, authority);
      known.set(pair, signed);
      return signed;
    },
  };
}

/** OpenSSL takes up to some milliseconds to read one, so each is read once. */
const parsed = new WeakMap<Certificate, X509Certificate>();

function verify(certificate: Certificate, authority: Certificate): boolean {
  try {
    return opened(certificate).verify(opened(authority).publicKey);
  } catch {
    // It is one that OpenSSL does not take, and nobody else does.
    return false;
  }
}

function opened(certificate: Certificate): X509Certificate {
  const before = parsed.get(certificate);
  if (before !== undefined) return before;
  const made = new X509Certificate(certificate.der);
  parsed.set(certificate, made);
  return made;
}
