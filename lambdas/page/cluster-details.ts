import { pasteable } from '../command.ts';
import type { ExpiryFinding } from '../contracts/finding.ts';
import { isEksChange } from '../health/due.ts';
import type { ClusterHealth } from '../health/fleet-health.ts';
import type { Provider } from '../identifiers.ts';
import { ALARM_IDS, ALARMS, isOnSignal } from '../tables/alarms.ts';
import { SOURCE_IDS } from '../tables/audit-sources.ts';
import {
  CERTIFICATE_CLASSES,
  type CertificateClass,
  renewedBy,
  renewedOnceExpired,
} from '../tables/certificate-classes.ts';
import { NOT_READ } from '../tables/finding-codes.ts';
import { keysOf } from '../tables/keys.ts';
import type { SignalId } from '../tables/signals.ts';
import { MINUTE_MS } from '../time.ts';
import { messageOf, nextOf } from '../words/findings.ts';
import { verdictSentence, verdictWords } from '../words/verdict-words.ts';
import { firstOf, kebab } from '../words.ts';
import { urgencyByClass } from './ends.ts';
import { filled, positive, rolloutDetails } from './rollout-details.ts';
import { cut, cutRemedy } from './words.ts';

/** How much of a cluster is in the page: everything in the fleet index, what an engineer needs to act, or nothing. */
export type Depth = 'full' | 'short';

const SHORT = { signals: 3, findings: 2, verdicts: 2, problems: 1, certificates: 4 } as const;
const FULL = { signals: 20, findings: 20, verdicts: 20, problems: 5, certificates: 40 } as const;

const CLASSES = keysOf(CERTIFICATE_CLASSES);

const RUNBOOKS: ReadonlyMap<SignalId, string> = new Map(
  ALARM_IDS.filter(isOnSignal).map((id) => [ALARMS[id].watches.signal, kebab(id)]),
);

/** Shared by all clusters: the details refer to its entries by index. */
export const VOCABULARY = {
  classes: CLASSES.map((what) => ({
    title: CERTIFICATE_CLASSES[what].title,
    renewal: { eks: renewal(what, 'eks'), 'eks-anywhere': renewal(what, 'eks-anywhere') },
  })),
  sources: SOURCE_IDS,
} as const;

/** What renews a certificate; the second entry, if different, for an expired one. */
function renewal(what: CertificateClass, provider: Provider): readonly (string | undefined)[] {
  const once = renewedOnceExpired(what, provider);
  return [renewedBy(what, provider), ...(once === undefined ? [] : [once])];
}

export type ClusterDetails = ReturnType<typeof clusterDetails>;

/** The data for the script; `null` is a cluster without room. */
export type PageData = typeof VOCABULARY & {
  /** When the page was made, in milliseconds since the epoch. */
  readonly at: number;
  /** How the reader starts certmarshal. */
  readonly program: string;
  /** The URL at which `docs/runbooks` is published. */
  readonly runbooks?: string;
  readonly clusters: readonly (ClusterDetails | null)[];
};

/** Rewrites a command about a cluster so that the reader of the page can type it. */
export type Typed = (command: string, about: { readonly id: string }) => string;

/** How the reader of the page types commands. */
export interface Reader {
  /** How the reader starts certmarshal. */
  readonly program: string;
  readonly typed: Typed;
}

/** Most objects that one entry names. */
const MAX_OBJECTS = 5;
/** Longest command in characters. Half of a command is another one, so longer ones are dropped. */
const LONGEST_COMMAND = 600;

/** A command as the reader types it: whole, or not at all. */
function typable(typed: Typed, id: string, command: string): string | undefined {
  const whole = typed(command, { id });
  return whole.length <= LONGEST_COMMAND ? whole : undefined;
}

/**
 * What the page shows of an opened cluster, as plain data. Keys are short where a thousand healthy clusters have them;
 * empty values are absent. Times of certificates are minutes from `now`.
 *
 * @param now milliseconds since the epoch
 */
export function clusterDetails(cluster: ClusterHealth, depth: Depth, now: number, { program, typed }: Reader) {
  const most = depth === 'full' ? FULL : SHORT;
  const { id, provider, source, signals, findings, audit, verdicts, maintenance } = cluster;
  const ends = audit?.ends ?? [];
  const kinds = findingKinds(audit).slice(0, most.findings);
  return {
    id,
    provider,
    source,
    cut: depth === 'short' ? true : undefined,
    readableAt: cluster.readable ? undefined : (cluster.readableAt ?? 'never'),
    incomplete: cluster.readable && !cluster.complete ? true : undefined,
    gone: cluster.goneSince,
    maintenance: maintenance && ([maintenance.until, cut(maintenance.reason ?? '', 200)] as const),
    signals: filled(
      signals.slice(0, most.signals).map((signal) => ({
        story: cut(pasteable(signal.story, program), 300),
        since: signal.since,
        due: dueOf(signal.due, audit),
        command: typable(typed, id, signal.command),
        runbook: RUNBOOKS.get(signal.id),
      })),
    ),
    rollout: rolloutDetails(cluster, depth),
    ends: filled(ends.slice(0, most.certificates).map((end) => certificate(end, cluster, now))),
    findings: filled(
      kinds.map(({ finding, objects, count }) => ({
        severity: finding.severity,
        code: finding.code,
        count: count > 1 ? count : undefined,
        object: cut(firstOf(objects, Math.min(MAX_OBJECTS, objects.length), count), 200),
        message: cut(pasteable(messageOf(finding, now), program), 300),
        since: finding.since,
        due: dueOf(finding.due, audit),
        seen: finding.lastSeen,
        renewal: finding.renewedBy && cut(finding.renewedBy, 200),
        command: typable(typed, id, nextOf(finding, cluster)),
        runbook: kebab(finding.code),
      })),
    ),
    moreFindings: positive((audit?.findingCount ?? 0) - kinds.reduce((sum, { count }) => sum + count, 0)),
    verdicts: filled(
      verdicts.slice(0, most.verdicts).map((line) => {
        const { tone, words } = verdictWords(line);
        return {
          at: line.at,
          csr: cut(line.csr, 120),
          node: cut(line.node, 120),
          tone,
          words,
          reason: line.reason,
          message: cut(verdictSentence(line.facts), 300),
          hostile: line.hostile,
        };
      }),
    ),
    moreVerdicts: positive(verdicts.length - most.verdicts),
    problems: filled(
      findings.slice(0, most.problems).map(({ object, message, remedy, since }) => ({
        object: cut(object, 200),
        message: cut(message, 300),
        remedy: cutRemedy(pasteable(remedy, program)),
        since,
      })),
    ),
    moreProblems: positive(findings.length - most.problems),
    auditedAt: audit?.auditedAt,
    partial: audit?.partial,
    snapshotProblem: audit?.snapshotProblem && cut(audit.snapshotProblem, 300),
    read: filled(indexes(audit?.sources.read)),
    unread: filled(indexes(audit?.sources.unread)),
    off: filled(indexes(audit?.sources.off)),
  };
}

/** A time, and whether it is a change that EKS makes instead of an expiry. */
export type Due = readonly [at: string, isChange?: true];

function dueOf(at: string | undefined, audit: ClusterHealth['audit']): Due | undefined {
  if (at === undefined) return undefined;
  return isEksChange(at, audit) ? [at, true] : [at];
}

interface FindingKind {
  /** The first. */
  readonly finding: ExpiryFinding;
  readonly objects: readonly string[];
  /** Includes those for which the summary has no room. */
  readonly count: number;
}

/** Findings about what could not be read mostly have one cause, and are one entry. */
function findingKinds(audit: ClusterHealth['audit']): readonly FindingKind[] {
  const { findings = [], tally = [] } = audit ?? {};
  const kinds = Map.groupBy(findings, ({ severity, code }, index) =>
    NOT_READ.has(code) ? `${severity} ${code}` : index,
  );
  return [...kinds.values()].flatMap((same) => {
    const [finding] = same;
    if (finding === undefined) return [];
    const { severity, code } = finding;
    const told = tally.filter((entry) => NOT_READ.has(code) && entry.code === code && entry.severity === severity);
    const all = told.reduce((sum, { count }) => sum + count, 0);
    return [{ finding, objects: same.map(({ object }) => object), count: Math.max(all, same.length) }];
  });
}

type End = NonNullable<ClusterHealth['audit']>['ends'][number];

type EndDetails = readonly [what: number, count: number, life: number, left: number, urgency: number, where: string];

/** `life` and `left` are minutes; `life` is 0 if unknown. */
function certificate(end: End, cluster: ClusterHealth, now: number): EndDetails {
  const at = Date.parse(end.notAfter);
  const from = end.notBefore === undefined ? Number.NaN : Date.parse(end.notBefore);
  const urgency = urgencyByClass(cluster).get(end.what);
  return [
    CLASSES.indexOf(end.what),
    end.count,
    Number.isNaN(from) ? 0 : Math.max(0, Math.round((at - from) / MINUTE_MS)),
    Math.round((at - now) / MINUTE_MS),
    urgency === 'critical' ? 2 : urgency === 'warning' ? 1 : 0,
    cut(end.where, 100),
  ];
}

function indexes(sources: readonly (typeof SOURCE_IDS)[number][] | undefined): readonly number[] {
  return (sources ?? []).map((source) => SOURCE_IDS.indexOf(source));
}
