import { TEXT_LIMIT } from '../../contracts/facts.ts';
import type { ExpiryFinding } from '../../contracts/finding.ts';
import { MAX_FINDINGS } from '../../contracts/snapshot.ts';
import { printableParts } from '../../printable.ts';
import { printableName } from '../../printable-name.ts';
import { eachInSteps, filterInSteps, finished, mapInSteps, type Steps, sortInSteps } from '../../steps.ts';
import { CERTIFICATE_CLASSES, type Layer } from '../../tables/certificate-classes.ts';
import { type FindingCode, SEVERITIES } from '../../tables/finding-codes.ts';
import { timestamp } from '../../time.ts';
import { compare, timeOf } from '../../words.ts';
import type { Draft } from './draft.ts';

const MAX_PLACES = 20;

/** Findings that began as others, and keep their start: a read that fails in another way is the same gap. */
const BEGAN_AS: Readonly<Partial<Record<FindingCode, readonly FindingCode[]>>> = {
  SourceLost: ['SourceUnread', 'SourcePartial', 'Unreachable'],
  SourceUnread: ['SourceLost', 'SourcePartial'],
  SourcePartial: ['SourceLost', 'SourceUnread'],
};

/** Completes drafts to findings of a cluster, limits their number and size, and sorts them by urgency. */
export function* findingsOf(
  cluster: string,
  drafts: readonly Draft[],
  before: readonly ExpiryFinding[],
  now: number,
): Steps<readonly ExpiryFinding[]> {
  const beginnings = Map.groupBy(before, ({ code, object }) => beginningKey(code, object));
  const sinceOf = ({ code, since, object }: Draft): string => {
    const times = [code, ...(BEGAN_AS[code] ?? [])]
      .flatMap<Pick<Draft, 'since'>>((known) => beginnings.get(beginningKey(known, object)) ?? [])
      .concat({ since })
      .flatMap((one) => timeOf(one.since) ?? []);
    return timestamp(Math.min(now, ...times));
  };
  const made = (draft: Draft): ExpiryFinding => findingOf(draft, cluster, sinceOf(draft));
  const found = new Map<string, Draft>();
  yield* eachInSteps(drafts, (given) => {
    const draft = { ...given, object: printableName(given.object, TEXT_LIMIT) };
    const key = keyOf(draft.code, draft.object);
    const other = found.get(key);
    if (other === undefined || byUrgency(draft, other) < 0) found.set(key, draft);
  });
  const sorted = yield* sortInSteps([...found.values()], byUrgency);
  if (sorted.length <= MAX_FINDINGS) return yield* mapInSteps(sorted, made);
  const first = yield* mostUrgentInSteps(sorted, MAX_FINDINGS - 1);
  const ofFirst = new Set(first);
  const left = yield* filterInSteps(sorted, (draft) => !ofFirst.has(draft));
  return yield* sortInSteps([...(yield* mapInSteps(first, made)), made(tooMany(left))], byUrgency);
}

/**
 * As many findings as there is room for. Findings about
 * workloads, which a tenant can multiply, get at most half of the room if the others need it. Within a severity, every
 * kind has a turn before any has another: many of one kind hide none of another. Pure.
 *
 * @param sorted by urgency, like the result
 */
export function mostUrgent<T extends Urgency>(sorted: readonly T[], most: number): readonly T[] {
  return finished(mostUrgentInSteps(sorted, most));
}

function* mostUrgentInSteps<T extends Urgency>(sorted: readonly T[], most: number): Steps<readonly T[]> {
  const { theirs, own } = yield* firstByTurns(sorted, most);
  const ownKept = own.slice(0, most - Math.min(theirs.length, Math.floor(most / 2)));
  const kept = new Set([...ownKept, ...theirs.slice(0, most - ownKept.length)]);
  return sorted.filter((finding) => kept.has(finding));
}

/**
 * The first one of each kind, then the second, and so on; the worst severity first.
 *
 * @param most findings about workloads, and most of the others
 */
function* firstByTurns<T extends Urgency>(
  sorted: readonly T[],
  most: number,
): Steps<{ readonly theirs: readonly T[]; readonly own: readonly T[] }> {
  const turns = new Map<string, number>();
  const placed = yield* mapInSteps(sorted, (finding) => {
    const { severity, code, what = '' } = finding;
    const kind = `${severity} ${code} ${what}`;
    const turn = turns.get(kind) ?? 0;
    turns.set(kind, turn + 1);
    return { finding, turn, severity: SEVERITIES.indexOf(severity) };
  });
  const byTurns = (yield* sortInSteps(placed, (a, b) => a.severity - b.severity || a.turn - b.turn)).map(
    ({ finding }) => finding,
  );
  return {
    theirs: byTurns.filter(isOfWorkload).slice(0, most),
    own: byTurns.filter((finding) => !isOfWorkload(finding)).slice(0, most),
  };
}

function isOfWorkload({ what }: Pick<Draft, 'what'>): boolean {
  return what !== undefined && CERTIFICATE_CLASSES[what].layer === 'workload';
}

function findingOf(draft: Draft, cluster: string, since: string): ExpiryFinding {
  const { places, lastSeen, ...rest } = draft;
  const finding: ExpiryFinding = {
    ...rest,
    cluster,
    ...(places === undefined || places.length === 0
      ? {}
      : { places: places.slice(0, MAX_PLACES), placeCount: places.length }),
    since,
    lastSeen: lastSeen === undefined ? undefined : timestamp(lastSeen),
  };
  return printableParts(finding, TEXT_LIMIT);
}

function tooMany(left: readonly Draft[]): Draft {
  const critical = left.filter(({ severity }) => severity === 'critical').length;
  const theirs = left.filter(isOfWorkload).length;
  return {
    code: 'SourcePartial',
    severity: 'warning',
    object: 'findings',
    facts: { of: 'findings', count: left.length, critical, workloads: theirs },
  };
}

/** Layers that the whole cluster needs come first, workloads last; findings without a certificate are in between. */
const LAYERS: readonly (Layer | undefined)[] = [
  'control plane',
  'etcd',
  'authority',
  undefined,
  'node',
  'client',
  'workload',
];

function rankOf({ what }: Pick<Draft, 'what'>): number {
  return LAYERS.indexOf(what === undefined ? undefined : CERTIFICATE_CLASSES[what].layer);
}

type Urgency = Pick<Draft, 'code' | 'severity' | 'object' | 'what' | 'due' | 'facts'>;

/** The worst first, then by layer, then by due date: a finding without one is due now. */
export function byUrgency(a: Urgency, b: Urgency): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    rankOf(a) - rankOf(b) ||
    compare(a.due ?? '', b.due ?? '') ||
    compare(a.code, b.code) ||
    compare(a.object, b.object) ||
    compare(JSON.stringify(a.facts), JSON.stringify(b.facts))
  );
}

/** One for a source and for its places, which may fail in turns. */
function beginningKey(code: FindingCode, object: string): string {
  return keyOf(code, object.replace(/^places of /, 'source '));
}

function keyOf(code: FindingCode, object: string): string {
  return `${code} ${object}`;
}
