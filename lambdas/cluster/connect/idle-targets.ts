import type { OpenTarget } from './open-target.ts';

/** Idle connections until the next sweep of their target. Taking one out transfers ownership. */
export interface IdleTargets {
  take(key: string): OpenTarget | undefined;
  /** Closes the one idle for longest when there are too many. */
  keep(key: string, target: OpenTarget): void;
  /** Closes all. */
  close(): void;
}

export function createIdleTargets(limit: number): IdleTargets {
  // A Map keeps insertion order.
  const idle = new Map<string, OpenTarget>();
  return {
    take(key) {
      const target = idle.get(key);
      idle.delete(key);
      return target;
    },
    keep(key, target) {
      idle.get(key)?.close();
      idle.delete(key);
      idle.set(key, target);
      if (idle.size <= limit) return;
      const [[oldestKey, oldest] = []] = idle;
      if (oldestKey !== undefined) idle.delete(oldestKey);
      oldest?.close();
    },
    close() {
      for (const target of idle.values()) target.close();
      idle.clear();
    },
  };
}
