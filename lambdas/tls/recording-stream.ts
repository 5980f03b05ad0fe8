import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

export interface Recording {
  /** Passes everything on, both ways. */
  readonly stream: Duplex;
  /** All that came in. */
  received(): Buffer;
}

/**
 * A socket whose incoming bytes are kept.
 *
 * @param maxBytes beyond which nothing is kept or passed on
 * @param onFull once, when more came in
 */
export function recordingStream(socket: Socket, maxBytes: number, onFull: () => void): Recording {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let full = false;
  const stream = new Duplex({
    read: () => {
      socket.resume();
    },
    write: (chunk: Buffer, _encoding, done) => {
      socket.write(chunk, done);
    },
    final: (done) => {
      socket.end(done);
    },
    destroy: (error, done) => {
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    if (full) return;
    if (bytes + chunk.length > maxBytes) {
      full = true;
      onFull();
      return;
    }
    bytes += chunk.length;
    chunks.push(chunk);
    if (!stream.push(chunk)) socket.pause();
  });
  socket.once('end', () => {
    if (!stream.destroyed) stream.push(null);
  });
  return { stream, received: () => Buffer.concat(chunks, bytes) };
}
