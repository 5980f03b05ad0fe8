const SMALLEST = 16 * 1024;

/** Collects bytes that arrive in pieces of any size; uses at most twice their size, and at least 16 KiB. */
export interface BodyBuffer {
  /** Copies the piece: even one byte would keep its whole source buffer, and an object, alive. */
  add(piece: Buffer): void;
  /** Everything added so far; shares the memory. */
  bytes(): Buffer;
}

export function createBodyBuffer(): BodyBuffer {
  let room = Buffer.alloc(0);
  let size = 0;
  return {
    add(piece) {
      const wanted = size + piece.length;
      if (wanted > room.length) {
        // Not from Node's pool, which is shared with other buffers.
        const larger = Buffer.allocUnsafeSlow(Math.max(SMALLEST, wanted, 2 * size));
        room.copy(larger, 0, 0, size);
        room = larger;
      }
      piece.copy(room, size);
      size = wanted;
    },
    bytes: () => room.subarray(0, size),
  };
}
