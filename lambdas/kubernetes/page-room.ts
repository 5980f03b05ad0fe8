/** Pages up to this size need no room and are always read. Bytes. */
const FREE = 1024 * 1024;
/** Total size of larger pages in the process. JSON uses several times its size once parsed. Bytes. */
const ROOM = 32 * 1024 * 1024;

/** The part of one page in the room shared by all clusters of this process, until it is disposed of. */
export interface PageRoom extends Disposable {
  /**
   * Called for every piece. @returns false if there is no room left: the page is then requested again with fewer items
   */
  take(bytes: number): boolean;
  /** Returns the room: nothing of the page is held. */
  release(): void;
  /** Bytes of the page. */
  readonly size: number;
  /** Other pages left no room. */
  readonly isRefused: boolean;
}

/** One for each process: many clusters are read concurrently, and their pages together must fit into memory. */
export function createPageRooms(room = ROOM, free = FREE): () => PageRoom {
  let taken = 0;
  return () => {
    let size = 0;
    let isRefused = false;
    let isOver = false;
    const shared = () => Math.max(0, size - free);
    const release = () => {
      taken -= shared();
      size = 0;
    };
    return {
      take(bytes) {
        if (isOver) return false;
        const before = shared();
        size += bytes;
        taken += shared() - before;
        isRefused ||= shared() > 0 && taken > room;
        return !isRefused;
      },
      release,
      get size() {
        return size;
      },
      get isRefused() {
        return isRefused;
      },
      [Symbol.dispose]() {
        isOver = true;
        release();
      },
    };
  };
}

export const pageRoom = createPageRooms();
