import type { OpenTarget } from './open-target.ts';

/** Connections that wait for the next sweep of their target. Who takes one out owns it; one in here belongs to nobody. */
export interface IdleTargets {
  take(key: string): OpenTarget | undefined;
  /** Closes the one that waits longest when there are too many. */
  keep(key: string, target: OpenTarget): void;
}

export function createIdleTargets(limit: number): IdleTargets {
  // A Map remembers the order in which its entries came.
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
  };
}
