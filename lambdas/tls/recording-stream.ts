import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

export interface Recording {
  /** Forwards everything, both ways. */
  readonly stream: Duplex;
  received(): Buffer;
}

/**
 * Forwards a socket and keeps its incoming bytes.
 *
 * @param maxBytes nothing more is kept or forwarded
 * @param onFull called once, when more arrives
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
