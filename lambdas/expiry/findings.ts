import type { Provider } from '../approval/policy.ts';
import { printable } from '../printable.ts';
import type { Layer } from './certificate-classes.ts';
import { COMMANDS } from './commands.ts';
import type { Draft } from './draft.ts';
import { type ExpiryFinding, SEVERITIES } from './finding.ts';
import { type FindingCode, runbookOf } from './finding-codes.ts';
import { layerOf } from './layers.ts';
import { compare, isoOf, timeOf } from './words.ts';

/** Of one cluster; whoever has more mends these first, and one of them says how many there are. */
export const MAX_FINDINGS = 10_000;
/** Of the JSON of all of them: ordinary ones have under 800 bytes each. */
const MAX_BYTES = 12 * 1024 * 1024;
const MAX_PLACES = 20;
/** Characters. */
const LIMITS = { object: 300, place: 200, message: 600, renewedBy: 200 };

/** The same trouble under a stronger name: its beginning is that of the weaker. */
const BEGAN_AS: Readonly<Partial<Record<FindingCode, readonly FindingCode[]>>> = {
  SourceLost: ['SourceUnread', 'Unreachable'],
};

/** Adds what all findings have, bounds them, and sorts them by urgency. */
export function findingsOf(
  { id, provider, name = id }: { readonly id: string; readonly provider: Provider; readonly name?: string },
  drafts: readonly Draft[],
  before: readonly ExpiryFinding[],
  now: number,
): readonly ExpiryFinding[] {
  const beginnings = new Map<string, string>();
  for (const { code, object, since } of before) beginnings.set(keyOf(code, object), since);
  const sinceOf = ({ code, since }: Draft, object: string): string => {
    const times = [code, ...(BEGAN_AS[code] ?? [])]
      .flatMap((known) => timeOf(beginnings.get(keyOf(known, object))) ?? [])
      .concat(timeOf(since) ?? []);
    return isoOf(Math.min(now, ...times));
  };
  const found = new Map<string, ExpiryFinding>();
  for (const draft of drafts) {
    const finding = findingOf(draft, id, sinceOf(draft, printable(draft.object, LIMITS.object)), {
      cluster: name,
      provider,
    });
    const key = keyOf(finding.code, finding.object);
    const other = found.get(key);
    found.set(key, other === undefined || byUrgency(finding, other) < 0 ? finding : other);
  }
  const sorted = [...found.values()].toSorted(byUrgency);
  const shown = mostUrgent(sorted, { most: MAX_FINDINGS, bytes: MAX_BYTES });
  if (shown.length === sorted.length) return shown;
  const kept = new Set(mostUrgent(sorted, { most: MAX_FINDINGS - 1, bytes: MAX_BYTES }));
  const more = tooMany(sorted.filter((finding) => !kept.has(finding)));
  const told = findingOf(more, id, sinceOf(more, more.object), { cluster: name, provider });
  return [...kept, told].toSorted(byUrgency);
}

/** What a list has room for. */
export interface Room {
  readonly most: number;
  /** Of JSON. */
  readonly bytes: number;
}

/**
 * As many as there is room for, and at least one of the cluster itself if there is any. Those about workloads, of which a tenant can make as many as
 * it likes, take at most half of what the others need. Pure.
 *
 * @param sorted by urgency, as is what is returned
 */
export function mostUrgent(sorted: readonly ExpiryFinding[], room: Room): readonly ExpiryFinding[] {
  const theirs = sorted.filter(isOfWorkload).slice(0, room.most);
  const own = sorted.filter((finding) => !isOfWorkload(finding)).slice(0, room.most);
  const half = { most: Math.floor(room.most / 2), bytes: Math.floor(room.bytes / 2) };
  const ownKept = fitting(own, without(room, fitting(theirs, half)), 1);
  const kept = new Set([...ownKept, ...fitting(theirs, without(room, ownKept), ownKept.length === 0 ? 1 : 0)]);
  return sorted.filter((finding) => kept.has(finding));
}

function isOfWorkload({ what }: ExpiryFinding): boolean {
  return what !== undefined && layerOf(what) === 'workload';
}

/** The first ones, `least` of them whatever their size. */
function fitting(findings: readonly ExpiryFinding[], { most, bytes }: Room, least = 0): readonly ExpiryFinding[] {
  let size = 0;
  const end = findings.findIndex((finding, index) => {
    size += bytesOf(finding);
    return index >= most || (index >= least && size > bytes);
  });
  return end === -1 ? findings : findings.slice(0, end);
}

function without({ most, bytes }: Room, taken: readonly ExpiryFinding[]): Room {
  return { most: most - taken.length, bytes: taken.reduce((left, finding) => left - bytesOf(finding), bytes) };
}

function bytesOf(finding: ExpiryFinding): number {
  return Buffer.byteLength(JSON.stringify(finding)) + 1;
}

function findingOf(
  { code, severity, object, what, places, message, due, lastSeen, renewedBy, words }: Draft,
  cluster: string,
  since: string,
  context: { readonly cluster: string; readonly name?: string; readonly provider: Provider },
): ExpiryFinding {
  return {
    code,
    severity,
    cluster,
    object: printable(object, LIMITS.object),
    ...(what === undefined ? {} : { what }),
    ...(places === undefined || places.length === 0
      ? {}
      : {
          places: places.slice(0, MAX_PLACES).map((place) => printable(place, LIMITS.place)),
          placeCount: places.length,
        }),
    message: printable(message, LIMITS.message),
    since,
    ...(due === undefined ? {} : { due }),
    ...(lastSeen === undefined ? {} : { lastSeen: isoOf(lastSeen) }),
    ...(renewedBy === undefined ? {} : { renewedBy: printable(renewedBy, LIMITS.renewedBy) }),
    command: COMMANDS[code]({ ...context, ...words, what }),
    runbook: runbookOf(code),
  };
}

function tooMany(left: readonly ExpiryFinding[]): Draft {
  const critical = left.filter(({ severity }) => severity === 'critical').length;
  const theirs = left.filter(isOfWorkload).length;
  return {
    code: 'SourcePartial',
    severity: 'warning',
    object: 'findings',
    message: `${left.length} more findings are left out, ${critical} of them critical and ${theirs} about certificates of workloads; delete what is not in use any more, such as old TLS Secrets`,
  };
}

/** What everything in the cluster needs comes first, what a workload has last; what is about no certificate is in between. */
const LAYERS: readonly (Layer | undefined)[] = [
  'control plane',
  'etcd',
  'authority',
  undefined,
  'node',
  'client',
  'workload',
];

function rankOf({ what }: ExpiryFinding): number {
  return LAYERS.indexOf(what === undefined ? undefined : layerOf(what));
}

/** The worst first, of these what most depends on, and then what bites first: what has no date bites now. */
export function byUrgency(a: ExpiryFinding, b: ExpiryFinding): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    rankOf(a) - rankOf(b) ||
    compare(a.due ?? '', b.due ?? '') ||
    compare(a.code, b.code) ||
    compare(a.object, b.object) ||
    compare(a.message, b.message)
  );
}

function keyOf(code: FindingCode, object: string): string {
  return `${code} ${object}`;
}
