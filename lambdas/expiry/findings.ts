import type { Provider } from '../approval/policy.ts';
import { printable } from '../printable.ts';
import { COMMANDS } from './commands.ts';
import type { Draft } from './draft.ts';
import { type ExpiryFinding, SEVERITIES } from './finding.ts';
import { type FindingCode, runbookOf } from './finding-codes.ts';
import { compare, isoOf, timeOf } from './words.ts';

/** Of one cluster; whoever has more mends these first, and the last one says how many there are. */
export const MAX_FINDINGS = 10_000;
const MAX_PLACES = 20;
/** Characters. */
const LIMITS = { object: 300, place: 200, message: 600, renewedBy: 200 };

/** The same trouble under a stronger name: its beginning is that of the weaker. */
const BEGAN_AS: Readonly<Partial<Record<FindingCode, readonly FindingCode[]>>> = {
  SourceLost: ['SourceUnread', 'Unreachable'],
};

/** Adds what all findings have, bounds them, and sorts them: the worst first, then what bites first. */
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
  if (sorted.length <= MAX_FINDINGS) return sorted;
  return [...sorted.slice(0, MAX_FINDINGS - 1), tooMany(sorted.length - MAX_FINDINGS + 1, id, now)];
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
    command: COMMANDS[code]({ ...context, ...words }),
    runbook: runbookOf(code),
  };
}

function tooMany(count: number, cluster: string, now: number): ExpiryFinding {
  return findingOf(
    {
      code: 'SourcePartial',
      severity: 'warning',
      object: 'findings',
      message: `${count} more findings, none of them worse than these, are left out`,
    },
    cluster,
    isoOf(now),
    { cluster, provider: 'eks-anywhere' },
  );
}

/** What has no date bites now. */
export function byUrgency(a: ExpiryFinding, b: ExpiryFinding): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    compare(a.due ?? '', b.due ?? '') ||
    compare(a.code, b.code) ||
    compare(a.object, b.object) ||
    compare(a.message, b.message)
  );
}

function keyOf(code: FindingCode, object: string): string {
  return `${code} ${object}`;
}
