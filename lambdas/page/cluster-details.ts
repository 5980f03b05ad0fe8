import { verdictWords } from '../approval/verdict-words.ts';
import { commandOf } from '../audit/commands.ts';
import type { IssuedSummary, VerdictCounts } from '../contracts/audit-summary.ts';
import type { ClusterHealth } from '../health/fleet-health.ts';
import type { Provider } from '../identifiers.ts';
import { FATES } from '../slo/fates.ts';
import { SOURCE_IDS } from '../tables/audit-sources.ts';
import {
  CERTIFICATE_CLASSES,
  type CertificateClass,
  renewedBy,
  renewedOnceExpired,
} from '../tables/certificate-classes.ts';
import { keysOf } from '../tables/keys.ts';
import { MINUTE_MS } from '../time.ts';
import { kebab } from '../words.ts';
import { urgencyByClass } from './ends.ts';
import type { Basis } from './known.ts';
import { WORST_LAST } from './proven-bar.ts';
import { filled, positive, rolloutDetails } from './rollout-details.ts';
import { cut } from './words.ts';

/** How much of a cluster is in the page: all that the fleet index has, what somebody needs who has to act, or nothing. */
export type Depth = 'full' | 'short';

const SHORT = { signals: 3, findings: 2, verdicts: 2, problems: 1, certificates: 4 } as const;
const FULL = { signals: 20, findings: 20, verdicts: 20, problems: 5, certificates: 40 } as const;

const CLASSES = keysOf(CERTIFICATE_CLASSES);

/** What is the same for every cluster: the details name its entries by their index. */
export const VOCABULARY = {
  classes: CLASSES.map((what) => ({
    title: CERTIFICATE_CLASSES[what].title,
    renewal: { eks: renewal(what, 'eks'), 'eks-anywhere': renewal(what, 'eks-anywhere') },
  })),
  sources: SOURCE_IDS,
} as const;

/** What renews a certificate; the second, where it is another, once it has expired. */
function renewal(what: CertificateClass, provider: Provider): readonly (string | undefined)[] {
  const once = renewedOnceExpired(what, provider);
  return [renewedBy(what, provider), ...(once === undefined ? [] : [once])];
}

export type ClusterDetails = ReturnType<typeof clusterDetails>;

/** What the script reads; `null` is a cluster that there was no room for. */
export type PageData = typeof VOCABULARY & {
  /** When the page was made, in milliseconds since the epoch. */
  readonly at: number;
  readonly basis: Basis;
  /** The command that prints all that the page was made of. */
  readonly again?: string;
  /** The URL at which `docs/runbooks` is published. */
  readonly runbooks?: string;
  readonly clusters: readonly (ClusterDetails | null)[];
};

/** What makes a command about a cluster one that the reader of the page can type. */
export type Typed = (
  command: string,
  about: { readonly id: string; readonly what?: CertificateClass | undefined },
) => string;

/** Characters of a command. Half of one is another command: a longer one is not shown. */
const LONGEST_COMMAND = 600;

/**
 * What the page shows of a cluster when it is opened, as plain data. Keys are short where a thousand well clusters have them; what is empty is absent.
 * Times of certificates are minutes from `now`.
 *
 * @param now milliseconds since the epoch
 */
export function clusterDetails(cluster: ClusterHealth, depth: Depth, now: number, typed: Typed = (command) => command) {
  const most = depth === 'full' ? FULL : SHORT;
  const { id, provider, source, signals, findings, audit, verdicts, slo, maintenance } = cluster;
  const { us, others, missed, refused, unprovable } = slo.counts;
  const typable = (command: string, what?: CertificateClass) => {
    const whole = typed(command, { id, what });
    return whole.length <= LONGEST_COMMAND ? whole : undefined;
  };
  const ends = audit?.ends ?? [];
  const auditFindings = audit?.findings ?? [];
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
      signals.slice(0, most.signals).map(({ story, since, due, command }) => ({
        story: cut(story, 300),
        since,
        due,
        command: typable(command),
      })),
    ),
    rollout: rolloutDetails(cluster, depth),
    issued: issuedDetails(audit?.issued, depth),
    ends: filled(ends.slice(0, most.certificates).map((end) => certificate(end, cluster, now))),
    findings: filled(
      auditFindings.slice(0, most.findings).map((finding) => ({
        severity: finding.severity,
        code: finding.code,
        object: cut(finding.object, 200),
        message: cut(finding.message, 300),
        since: finding.since,
        due: finding.due,
        seen: finding.lastSeen,
        renewal: finding.renewedBy && cut(finding.renewedBy, 200),
        command: typable(commandOf(finding, cluster), finding.what),
        runbook: kebab(finding.code),
      })),
    ),
    moreFindings: positive((audit?.findingCount ?? 0) - Math.min(auditFindings.length, most.findings)),
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
          message: cut(line.message, 300),
          hostile: line.hostile,
        };
      }),
    ),
    moreVerdicts: positive(verdicts.length - most.verdicts),
    problems: filled(
      findings.slice(0, most.problems).map(({ object, message, remedy, since }) => ({
        object: cut(object, 200),
        message: cut(message, 300),
        remedy: cut(remedy, 300),
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
    slo: FATES.some((fate) => slo.counts[fate] > 0)
      ? ([
          us,
          others,
          missed,
          refused,
          unprovable,
          slo.objective,
          Math.round(slo.budgetLeft * 10_000) / 10_000,
        ] as const)
      : undefined,
    day:
      slo.day.accepted === undefined
        ? undefined
        : ([...FATES.map((fate) => slo.day.counts[fate]), slo.day.p50Seconds ?? 0, slo.day.p95Seconds ?? 0] as const),
  };
}

type IssuedOf = readonly [approvedBy: string, ...numbers: number[]];
type IssuedDetails = readonly [numbers: readonly number[], byApprover?: readonly IssuedOf[]];

/** By approver where there is room; of the only approver the numbers are those of all. In short, nothing where all are proven: the row tells that. */
function issuedDetails(issued: IssuedSummary | undefined, depth: Depth): IssuedDetails | undefined {
  if (issued === undefined) return undefined;
  const { counts, byApprover } = issued;
  const all = numbersOf(counts);
  if (depth === 'short') return all.length > 1 ? [all] : undefined;
  return [
    all,
    byApprover.map(({ approvedBy = '', counts: own }): IssuedOf => {
      const numbers = byApprover.length === 1 ? [] : numbersOf(own);
      return [approvedBy.slice(0, 100), ...numbers];
    }),
  ];
}

/** Of each verdict, as a bar has them from the left, up to the last that is not 0. */
function numbersOf(counts: VerdictCounts): readonly number[] {
  const last = WORST_LAST.findLastIndex((verdict) => counts[verdict] > 0);
  return WORST_LAST.slice(0, last + 1).map((verdict) => counts[verdict]);
}

type End = NonNullable<ClusterHealth['audit']>['ends'][number];

type EndDetails = readonly [what: number, count: number, life: number, left: number, urgency: number, where: string];

/** `life` and `left` are minutes, `life` 0 where it is not known. */
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
