const SMALLEST = 16 * 1024;

/** Bytes that arrive in pieces, however small: takes at most twice what was added, and 16 KiB at least. */
export interface BodyBuffer {
  /** Copies the piece: a piece of one byte would keep the whole buffer it was cut from, and an object of its own. */
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
        // Not from Node's pool, which other buffers share.
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
