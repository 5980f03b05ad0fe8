import { createDecipheriv, createHmac } from 'node:crypto';

/** The certificates that a server sent, in DER, leaf first. */
export type CertificatesSent =
  | { readonly kind: 'certificates'; readonly certificates: readonly Buffer[] }
  /** Its Certificate message has none. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'too-large'; readonly message: string }
  /** No complete Certificate message arrived. */
  | { readonly kind: 'none' };

/** Certificates of one chain. */
const MAX_CERTIFICATES = 100;
/** The longest Certificate message that OpenSSL accepts; a longer one ends the handshake. */
const MAX_MESSAGE = 100 * 1024;

/** Records of one handshake; a chain of 100 KiB takes 200 of the shortest that RFC 6066 §4 allows. */
export const MAX_RECORDS = 512;
/** Messages up to the Certificate; with TLS 1.3 it is the fifth at the latest. */
const MAX_MESSAGES = 32;

/** TLSPlaintext.type (RFC 8446 §5.1). */
const CHANGE_CIPHER_SPEC = 20;
const HANDSHAKE = 22;
const APPLICATION_DATA = 23;

/** Handshake.msg_type (RFC 8446 §4). */
const SERVER_HELLO = 2;
const CERTIFICATE = 11;

const RECORD_HEADER = 5;
const MESSAGE_HEADER = 4;

/** Suites of TLS 1.3 (RFC 8446 §B.4) that OpenSSL offers. */
const SUITES: ReadonlyMap<number, Suite> = new Map<number, Suite>([
  [0x1301, { cipher: 'aes-128-gcm', keyBytes: 16, digest: 'sha256' }],
  [0x1302, { cipher: 'aes-256-gcm', keyBytes: 32, digest: 'sha384' }],
  [0x1303, { cipher: 'chacha20-poly1305', keyBytes: 32, digest: 'sha256' }],
]);

interface Suite {
  readonly cipher: 'aes-128-gcm' | 'aes-256-gcm' | 'chacha20-poly1305';
  readonly keyBytes: number;
  readonly digest: string;
}

const TAG_BYTES = 16;
const NONCE_BYTES = 12;

/**
 * Finds the Certificate message in the bytes that a TLS server sent: in the clear with TLS 1.2 (RFC 5246 §7.4.2), under
 * the handshake traffic secret with TLS 1.3 (RFC 8446 §4.4.2). Never throws. Unreadable bytes, or more pieces than any
 * server sends, end the search.
 *
 * @param secret the server's handshake traffic secret; only with TLS 1.3
 */
export function certificatesSent(transcript: Buffer, secret: Buffer | undefined): CertificatesSent {
  const clear: Buffer[] = [];
  const hidden: Buffer[] = [];
  for (const { type, fragment, header } of recordsOf(transcript)) {
    if (type === HANDSHAKE && hidden.length === 0) clear.push(fragment);
    else if (type === APPLICATION_DATA) hidden.push(Buffer.concat([header, fragment]));
    else if (type !== CHANGE_CIPHER_SPEC) break;
  }
  const messages = messagesOf(Buffer.concat(clear));
  const inTheClear = messages.find(({ type }) => type === CERTIFICATE);
  if (inTheClear !== undefined) return certificatesIn(inTheClear, false);

  const hello = messages.findLast(({ type }) => type === SERVER_HELLO);
  const suite = hello === undefined ? undefined : suiteOf(hello.body);
  if (secret === undefined || suite === undefined) return { kind: 'none' };
  const message = messagesOf(decrypted(hidden, suite, secret)).find(({ type }) => type === CERTIFICATE);
  return message === undefined ? { kind: 'none' } : certificatesIn(message, true);
}

interface TlsRecord {
  readonly type: number;
  readonly header: Buffer;
  readonly fragment: Buffer;
}

function* recordsOf(transcript: Buffer): Generator<TlsRecord> {
  for (let at = 0, count = 0; at + RECORD_HEADER <= transcript.length && count < MAX_RECORDS; count++) {
    const length = transcript.readUInt16BE(at + 3);
    const end = at + RECORD_HEADER + length;
    if (transcript[at + 1] !== 3 || end > transcript.length) return;
    const header = transcript.subarray(at, at + RECORD_HEADER);
    yield { type: transcript.readUInt8(at), header, fragment: transcript.subarray(at + RECORD_HEADER, end) };
    at = end;
  }
}

interface Message {
  readonly type: number;
  /** As announced; the body may be shorter if the rest did not arrive. */
  readonly length: number;
  readonly body: Buffer;
}

function messagesOf(bytes: Buffer): readonly Message[] {
  const messages: Message[] = [];
  for (let at = 0; at + MESSAGE_HEADER <= bytes.length && messages.length < MAX_MESSAGES; ) {
    const length = bytes.readUIntBE(at + 1, 3);
    const start = at + MESSAGE_HEADER;
    messages.push({ type: bytes.readUInt8(at), length, body: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return messages;
}

/** Cipher suite of a ServerHello: it follows version, random and session id. */
function suiteOf(body: Buffer): Suite | undefined {
  const at = 35 + (body[34] ?? 0);
  return at + 2 <= body.length ? SUITES.get(body.readUInt16BE(at)) : undefined;
}

/**
 * Content of the encrypted records of a handshake, up to the first that cannot be decrypted: it is under the next
 * secret.
 */
function decrypted(records: readonly Buffer[], { cipher, keyBytes, digest }: Suite, secret: Buffer): Buffer {
  const key = expandLabel(digest, secret, 'key', keyBytes);
  const iv = expandLabel(digest, secret, 'iv', NONCE_BYTES);
  const contents: Buffer[] = [];
  for (const [sequence, record] of records.entries()) {
    if (record.length < RECORD_HEADER + TAG_BYTES) break;
    const nonce = Buffer.from(iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(NONCE_BYTES - 4) ^ sequence) >>> 0, NONCE_BYTES - 4);
    try {
      const options = { authTagLength: TAG_BYTES };
      const decipher =
        cipher === 'chacha20-poly1305'
          ? createDecipheriv(cipher, key, nonce, options)
          : createDecipheriv(cipher, key, nonce, options);
      decipher.setAAD(record.subarray(0, RECORD_HEADER), {
        plaintextLength: record.length - RECORD_HEADER - TAG_BYTES,
      });
      decipher.setAuthTag(record.subarray(-TAG_BYTES));
      const inner = Buffer.concat([decipher.update(record.subarray(RECORD_HEADER, -TAG_BYTES)), decipher.final()]);
      // TLSInnerPlaintext (RFC 8446 §5.2): content, its type, and zeros.
      const end = inner.findLastIndex((octet) => octet !== 0);
      if (inner[end] !== HANDSHAKE) break;
      contents.push(inner.subarray(0, end));
    } catch {
      break;
    }
  }
  return Buffer.concat(contents);
}

/** HKDF-Expand-Label (RFC 8446 §7.1) without a context, for no more than one block. */
function expandLabel(digest: string, secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])]);
  return createHmac(digest, secret).update(info).digest().subarray(0, length);
}

/** certificate_list of a Certificate message; TLS 1.3 has a context before it, and extensions after each certificate. */
function certificatesIn({ length, body }: Message, tls13: boolean): CertificatesSent {
  if (length > MAX_MESSAGE)
    return { kind: 'too-large', message: `its chain has ${length} bytes; at most ${MAX_MESSAGE} are read` };
  if (body.length < length) return { kind: 'none' };
  let at = tls13 ? 1 + (body[0] ?? 0) : 0;
  if (at + 3 > body.length) return { kind: 'none' };
  const end = at + 3 + body.readUIntBE(at, 3);
  at += 3;
  const certificates: Buffer[] = [];
  while (at < end) {
    if (certificates.length === MAX_CERTIFICATES) {
      return { kind: 'too-large', message: `its chain has more than ${MAX_CERTIFICATES} certificates` };
    }
    if (at + 3 > body.length) return { kind: 'none' };
    const start = at + 3;
    at = start + body.readUIntBE(at, 3);
    if (at > body.length) return { kind: 'none' };
    certificates.push(body.subarray(start, at));
    if (!tls13) continue;
    if (at + 2 > body.length) return { kind: 'none' };
    at += 2 + body.readUInt16BE(at);
  }
  return certificates.length === 0 ? { kind: 'empty' } : { kind: 'certificates', certificates };
}
