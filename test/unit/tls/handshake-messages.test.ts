import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { certificatesSent, MAX_RECORDS } from '../../../lambdas/tls/handshake-messages.ts';
import { certificate } from '../x509/certificate-writer.ts';

const HANDSHAKE = 22;
const secret = randomBytes(32);
const der = certificate();

const uint24 = (value: number) => Buffer.from([value >> 16, (value >> 8) & 0xff, value & 0xff]);
const message = (type: number, body: Buffer) => Buffer.concat([Buffer.from([type]), uint24(body.length), body]);
const record = (type: number, fragment: Buffer) =>
  Buffer.concat([Buffer.from([type, 3, 3, fragment.length >> 8, fragment.length & 0xff]), fragment]);

/** Version, random, an empty session id and TLS_AES_128_GCM_SHA256. */
const hello = record(
  HANDSHAKE,
  message(2, Buffer.concat([Buffer.from([3, 3]), Buffer.alloc(32), Buffer.from([0, 0x13, 0x01])])),
);

function expand(label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, length);
}

const key = expand('key', 16);
const iv = expand('iv', 12);

function hidden(content: Buffer, sequence: number): Buffer {
  const nonce = Buffer.from(iv);
  nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ sequence) >>> 0, 8);
  const header = Buffer.from([23, 3, 3, 0, content.length + 17]);
  const cipher = createCipheriv('aes-128-gcm', key, nonce).setAAD(header);
  const text = Buffer.concat([cipher.update(Buffer.concat([content, Buffer.from([HANDSHAKE])])), cipher.final()]);
  return Buffer.concat([header, text, cipher.getAuthTag()]);
}

/** A handshake of TLS 1.3 whose Certificate message comes in so many records, after as many octets of a message before it. */
function inPieces(octets: number, padding = 0): Buffer {
  const entry = Buffer.concat([uint24(der.length), der, Buffer.from([0, 0])]);
  const sent = Buffer.concat([
    message(8, Buffer.alloc(padding)),
    message(11, Buffer.concat([Buffer.from([0]), uint24(entry.length), entry])),
  ]);
  const pieces = Array.from({ length: Math.ceil(sent.length / octets) }, (_, index) =>
    hidden(sent.subarray(index * octets, (index + 1) * octets), index),
  );
  return Buffer.concat([hello, ...pieces]);
}

describe('a Certificate message in many records', () => {
  test.each([100, 10, 1])('of %i octets', (octets) => {
    expect(certificatesSent(inPieces(octets), secret)).toEqual({ kind: 'certificates', certificates: [der] });
  });

  test('in more than any server sends', () => {
    const overhead = 4 + 4 + 1 + 3 + 3 + 2 + der.length;
    const most = MAX_RECORDS - 1 - overhead;
    expect(certificatesSent(inPieces(1, most), secret).kind).toBe('certificates');
    expect(certificatesSent(inPieces(1, most + 1), secret).kind).toBe('none');
  });

  test('as the 45,000 smallest that fit into a transcript is not read beyond these', () => {
    const transcript = Buffer.concat([hello, ...Array<Buffer>(45_000).fill(hidden(Buffer.alloc(1), 0))]);
    const lengths = vi.spyOn(transcript, 'readUInt16BE');
    expect(certificatesSent(transcript, secret)).toEqual({ kind: 'none' });
    expect(lengths).toHaveBeenCalledTimes(MAX_RECORDS);
  });
});

test('a Certificate message in the clear after more messages than any server sends', () => {
  const entry = Buffer.concat([uint24(der.length), der]);
  const chain = message(11, Buffer.concat([uint24(entry.length), entry]));
  const sent = (before: number) =>
    certificatesSent(record(HANDSHAKE, Buffer.concat([Buffer.alloc(4 * before), chain])), undefined).kind;
  expect([0, 5, 31, 32, 3000].map(sent)).toEqual(['certificates', 'certificates', 'certificates', 'none', 'none']);
});
