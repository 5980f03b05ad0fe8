import type { FleetIndex, IndexedCluster } from '../contracts/fleet-index.ts';
import { type Cut, DETAIL_CUTS, LAST_CUTS } from './cut-cluster.ts';

/** Bytes of JSON: three quarters of the largest object that is written, so that an index at its bound has room for the next batch of outcomes. */
export const MAX_INDEX_SIZE = 24 * 1024 * 1024;
/** Bytes of JSON of the fields that every cluster has, of those that are bounded by themselves, and of all names of fields. */
const FIXED_SIZE = 3_000;

/**
 * The index in at most `most` bytes of JSON, whatever clusters say: an index that nobody can write makes everybody blind. Pure; twice is once.
 *
 * Every cluster has the same share, and what a small one leaves of its own is shared by the others: only clusters that say more are cut, until each fits into
 * its share or has no detail left. One that was cut says so. {@link DETAIL_CUTS} come first, for all; {@link LAST_CUTS} only when they are not enough.
 *
 * @returns the very same index when it fits; one that is larger when even what is left of all clusters does not fit
 */
export function boundIndex(index: FleetIndex, most: number = MAX_INDEX_SIZE): FleetIndex {
  const clusters = Object.values(index.clusters);
  // An index that cannot be near the bound is not measured: its JSON is made once, when it is written.
  if (clusters.reduce((sum, cluster) => sum + atMost(cluster), 0) + bytesOf(index.dispatch) <= most) return index;
  const room = most - bytesOf({ ...index, clusters: {} });
  const sized = clusters.map((cluster): Sized => ({ cluster, bytes: entryBytes(cluster) }));
  if (total(sized) <= room) return index;
  const cut = inShares(inShares(sized, DETAIL_CUTS, room), LAST_CUTS, room);
  return { ...index, clusters: Object.fromEntries(cut.map(({ cluster }) => [cluster.id, cluster])) };
}

interface Sized {
  readonly cluster: IndexedCluster;
  readonly bytes: number;
  /** Nothing more can be taken. */
  readonly isBare?: boolean;
}

/** Shares get smaller as long as some cluster is larger than its share although nothing can be taken of it any more. */
function inShares(clusters: readonly Sized[], cuts: readonly Cut[], room: number): readonly Sized[] {
  let known = clusters.map(({ cluster, bytes }): Sized => ({ cluster, bytes }));
  let share = shareOf(known, room);
  for (;;) {
    const next = known.map((sized) => (sized.bytes > share && !sized.isBare ? reduced(sized, cuts, share) : sized));
    const exhausted = next.filter(({ bytes }) => bytes > share);
    const left = room - total(exhausted);
    const others = next.filter(({ bytes }) => bytes <= share);
    known = next;
    if (total(next) <= room || others.length === 0) return known;
    const less = Math.min(share - 1, shareOf(others, left));
    if (less < 0) return known;
    share = less;
  }
}

/** The largest share with which all of them are in the room, when each takes no more than its share. */
function shareOf(clusters: readonly Sized[], room: number): number {
  let left = room;
  const sorted = clusters.map(({ bytes }) => bytes).toSorted((a, b) => a - b);
  for (const [n, bytes] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - n));
    if (bytes > share) return share;
    left -= bytes;
  }
  return room;
}

/** Cut after cut, until it fits into its share. */
function reduced({ cluster, bytes }: Sized, cuts: readonly Cut[], share: number): Sized {
  let best: Sized = { cluster, bytes };
  for (const cut of cuts) {
    const less = { ...cut(best.cluster), cut: true as const };
    const size = entryBytes(less);
    if (size < best.bytes) best = { cluster: less, bytes: size };
    if (best.bytes <= share) return best;
  }
  return { ...best, isBare: true };
}

/**
 * Never less than {@link bytesOf}, but cheaper: a character of a text is at most six bytes of JSON, and of one that passed `printable` at most three. Rows
 * are a few numbers each.
 */
function atMost({ findings, verdicts = [], audit, slo, workloadClusters, rollout }: IndexedCluster): number {
  let characters = 0;
  let fixed = FIXED_SIZE;
  for (const { kind, object, message, remedy } of findings) {
    characters += kind.length + object.length + message.length + remedy.length;
    fixed += 120;
  }
  for (const { csr, uid, node, message } of verdicts) {
    characters += csr.length + uid.length + node.length + message.length;
    fixed += 300;
  }
  for (const { object, message, places = [], renewedBy = '' } of audit?.findings ?? []) {
    characters += object.length + message.length + renewedBy.length;
    for (const place of places) characters += place.length + 3;
    fixed += 700;
  }
  for (const { where } of audit?.ends ?? []) {
    characters += where.length;
    fixed += 220;
  }
  if (rollout !== undefined) {
    const { message, failed, reasons, progress } = rollout;
    characters += message.length;
    fixed += 1_500;
    for (const { id, object = '', found, remedy = '' } of failed) {
      characters += id.length + object.length + found.length + remedy.length;
      fixed += 80;
    }
    for (const { id, object = '', message: why, remedy } of reasons) {
      characters += id.length + object.length + why.length + remedy.length;
      fixed += 60;
    }
    for (const { name, node = '' } of [...(progress?.machines ?? []), ...(progress?.etcd?.machines ?? [])]) {
      characters += name.length + node.length;
      fixed += 220;
    }
  }
  characters += audit?.snapshotProblem?.length ?? 0;
  fixed += (audit?.tally?.length ?? 0) * 150;
  // A count has at most 16 digits.
  if (slo !== undefined) fixed += slo.open.length * 120 + (slo.hours.length + slo.days.length) * 105;
  for (const { namespace, name, serviceCidrs = [] } of workloadClusters?.clusters ?? [])
    fixed += namespace.length + name.length + serviceCidrs.length * 60 + 60;
  return 3 * characters + fixed;
}

function entryBytes(cluster: IndexedCluster): number {
  return bytesOf(cluster.id) + bytesOf(cluster) + 2;
}

function bytesOf(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}

function total(clusters: readonly Sized[]): number {
  return clusters.reduce((sum, { bytes }) => sum + bytes, 0);
}
