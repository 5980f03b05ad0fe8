import type { Depth } from './cluster-details.ts';

export interface Fitted {
  /** One for each cluster, in order; `null` without room. */
  readonly pieces: readonly (string | null)[];
  /** Number of clusters in full, then in short. */
  readonly full: number;
  readonly short: number;
}

/** If there is no room for all clusters in short, the most urgent ones get the room in full. */
const SHORT_SHARE = 0.6;

/**
 * Chooses how much of each cluster to show so that all fit: each in short, then in full while there is room. The least
 * urgent ones are dropped first. Pure.
 *
 * @param count of clusters, the most urgent ones first
 * @param room bytes, with a comma after each
 */
export function fit(count: number, room: number, piece: (index: number, depth: Depth) => string): Fitted {
  const shorts = Array.from({ length: count }, (_, index) => piece(index, 'short'));
  // `null,` for a dropped one.
  const free = room - 5 * count;
  const growth = shorts.map((text) => Buffer.byteLength(text) - 4);
  const all = growth.reduce((sum, bytes) => sum + bytes, 0);
  let left = all <= free ? free : free * SHORT_SHARE;
  let told = 0;
  while (told < count && left >= (growth[told] ?? 0)) {
    left -= growth[told] ?? 0;
    told += 1;
  }
  if (all > free) left += free * (1 - SHORT_SHARE);
  const pieces: (string | null)[] = shorts.map((text, index) => (index < told ? text : null));
  let full = 0;
  for (; full < count; full += 1) {
    const text = piece(full, 'full');
    const grows = Buffer.byteLength(text) - 4 - (full < told ? (growth[full] ?? 0) : 0);
    if (grows > left) break;
    left -= grows;
    pieces[full] = text;
  }
  return { pieces, full, short: Math.max(0, told - full) };
}
