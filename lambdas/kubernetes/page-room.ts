/** Bytes of a page that need no room: small pages are always read. */
const FREE = 1024 * 1024;
/** Bytes of all other pages that the process holds at a time. JSON takes several times its size once it is parsed. */
const ROOM = 32 * 1024 * 1024;

/** What one page takes of the room that all clusters of this process share, until it is disposed of. */
export interface PageRoom extends Disposable {
  /** Called for every piece that arrives. @returns false when the others leave no room for it: then the page is asked for again with fewer items */
  take(bytes: number): boolean;
  /** Gives it back: nothing of the page is held. */
  release(): void;
  /** The others left no room for it. */
  readonly isRefused: boolean;
}

/** Of one process: many clusters are read at once, whose pages together must not fill its memory. */
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
