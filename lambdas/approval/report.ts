import type { CsrCounts } from '../contracts/outcome.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { VerdictFacts } from '../contracts/verdict-facts.ts';
import type { Provider } from '../identifiers.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { describeSkew, type ServerClock, SKEW_REMEDY } from '../kubernetes/server-clock.ts';
import { printable } from '../printable.ts';
import type { EvidenceSource } from '../tables/evidence-sources.ts';
import { REASONS, type Reason, type VerdictKind } from '../tables/reasons.ts';
import { verdictSentence } from '../words/verdict-words.ts';
import type { Acted, Outcome } from './act.ts';
import type { SourceReading } from './evidence/evidence.ts';
import type { Observed } from './observe.ts';
import type { Mode } from './policy.ts';
import { requestedNode } from './requested-node.ts';

/** A judged request. */
export interface SweepRow {
  readonly csr: string;
  readonly uid: string;
  readonly verdict: VerdictKind;
  readonly reason: Reason;
  readonly facts: VerdictFacts;
  readonly message: string;
  /** True if the request is provably hostile, even if the policy only leaves it pending. */
  readonly hostile: boolean;
  readonly outcome: Outcome['kind'];
  /** Empty if a request for a client certificate names none. */
  readonly node: string;
  readonly ageSeconds: number;
  readonly policy?: string;
  readonly mode?: Mode;
}

/**
 * The result of one sweep of one cluster. The CLI prints it as JSON, the function counts it as metrics. Stable: fields
 * are added, never changed. Ignored requests are counted by reason, all others have a row.
 */
export interface SweepReport {
  readonly version: 1;
  readonly cluster: string;
  readonly provider: Provider;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly durationMs: number;
  /** False if the requests of the cluster could not be listed: then nothing is known about it. */
  readonly readable: boolean;
  /** False if anything could not be read, judged or written; `problems` says what. */
  readonly complete: boolean;
  readonly counts: {
    readonly approved: number;
    readonly denied: number;
    /** Decisions not written because of mode observe or a dry run. */
    readonly wouldWrite: number;
    readonly left: number;
    readonly ignored: number;
    /** Decisions that are not confirmed as written. */
    readonly failed: number;
  };
  readonly ignored: Readonly<Partial<Record<Reason, number>>>;
  readonly rows: readonly SweepRow[];
  /** Ignored requests of kubelets that the API server takes for another user, at most 20. */
  readonly misnamed?: Observed['misnamed'];
  readonly evidence: readonly {
    readonly source: EvidenceSource;
    readonly lookedAt: number;
    readonly problem?: string;
    /** Kind of the error: `unauthorized`, `denied`, … */
    readonly kind?: string;
  }[];
  readonly problems: readonly Problem[];
  /** Only in a sweep of a hub. */
  readonly counted?: CsrCounts | undefined;
  readonly requests: { readonly sent: number; readonly writes: number; readonly retries: number };
}

/** The result for client certificates of kubelets, besides its decisions. */
export interface Recovered {
  readonly ignored: ReadonlyMap<Reason, number>;
  readonly problems: readonly Problem[];
}

interface ReportInput {
  readonly cluster: string;
  readonly provider: Provider;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly observed?: Omit<Observed, 'approvals' | 'cluster'>;
  readonly acted: readonly Acted[];
  /** The requests for client certificates, if they were judged. */
  readonly recovered?: Recovered & { readonly acted: readonly Acted[] };
  readonly counted?: CsrCounts | undefined;
  /** The error that stopped the sweep before it judged anything. */
  readonly failure?: KubernetesError;
  /** Clock of the API server, if it answered. */
  readonly serverClock?: ServerClock & { readonly server: string };
  readonly requests: SweepReport['requests'];
}

/** Outcomes of decisions that are not confirmed as written. */
const UNWRITTEN: ReadonlySet<string> = new Set<Outcome['kind']>(['failed', 'unfinished', 'unknown']);

/** Folds what was observed, decided and done into plain data. Pure. */
export function report(input: ReportInput): SweepReport {
  const { observed, acted, recovered, failure } = input;
  const ignored = new Map(observed?.ignored);
  const ignore = (reason: Reason, requests: number) => ignored.set(reason, (ignored.get(reason) ?? 0) + requests);
  recovered?.ignored.forEach((requests, reason) => ignore(reason, requests));
  const rows: SweepRow[] = [];
  for (const entry of [...acted, ...(recovered?.acted ?? [])]) {
    const { reason, verdict } = entry.verdict;
    if (verdict === 'ignore') ignore(reason, 1);
    else rows.push(rowOf(entry, input.startedAt));
  }
  const problems = [
    ...(failure === undefined ? [] : [problemOf(failure)]),
    ...clockProblem(input),
    ...problemsOf(observed, acted),
    ...(recovered?.problems ?? []),
  ];
  const count = (matches: (row: SweepRow) => boolean) => rows.filter(matches).length;
  return {
    version: 1,
    cluster: input.cluster,
    provider: input.provider,
    startedAt: new Date(input.startedAt).toISOString(),
    durationMs: Math.round(input.finishedAt - input.startedAt),
    readable: observed !== undefined,
    complete: problems.length === 0,
    counts: {
      approved: count(({ verdict, outcome }) => verdict === 'approve' && outcome === 'written'),
      denied: count(({ verdict, outcome }) => verdict === 'deny' && outcome === 'written'),
      wouldWrite: count(({ outcome }) => outcome === 'observed'),
      left: count(({ verdict }) => verdict === 'leave'),
      ignored: [...ignored.values()].reduce((sum, next) => sum + next, 0),
      failed: count(({ outcome }) => UNWRITTEN.has(outcome)),
    },
    ignored: Object.fromEntries([...ignored].toSorted(([a], [b]) => a.localeCompare(b))),
    rows,
    misnamed: observed?.misnamed,
    evidence: (observed?.evidence.readings ?? []).map((reading) =>
      reading.ok
        ? { source: reading.source, lookedAt: reading.lookedAt }
        : {
            source: reading.source,
            lookedAt: 0,
            problem: reading.problem,
            kind: reading.kind,
          },
    ),
    problems,
    counted: input.counted,
    requests: input.requests,
  };
}

function rowOf(
  { csr, verdict: { verdict, reason, facts, hostile, policy, mode }, outcome }: Acted,
  now: number,
): SweepRow {
  const { createdAt = now } = csr;
  return {
    csr: printable(csr.name, 253),
    uid: printable(csr.uid, 100),
    verdict,
    reason,
    facts,
    message: verdictSentence(facts),
    hostile,
    outcome: outcome.kind,
    node: printable(requestedNode(csr), 253),
    ageSeconds: Math.max(0, Math.round((now - createdAt) / 1000)),
    policy,
    mode,
  };
}

/** Problems of reading, judging and writing that a person must know. */
export function problemsOf(observed: ReportInput['observed'], acted: readonly Acted[]): readonly Problem[] {
  const { unreadable = [], unreadableCount = 0, open = acted } = observed ?? {};
  const malformed = REASONS.ObjectMalformed.next;
  const unread = unreadable.map(({ name, problem, remedy = malformed }) =>
    problemOn('unreadable', name === undefined ? `${CSR} (without a name)` : csrNamed(name), problem, remedy),
  );
  const hidden = unreadableCount - unreadable.length;
  if (hidden > 0) unread.push(problemOn('unreadable', `${hidden} more ${CSR}s`, 'not readable either', malformed));
  const unjudged = open.length - acted.length;
  const unselected = acted.find(({ verdict }) => verdict.reason === 'NoPolicySelected')?.verdict;
  // Problems of the whole cluster first: some displays show only a few.
  return [
    ...(observed?.evidence.readings ?? []).flatMap(evidenceProblem),
    ...(unselected === undefined
      ? []
      : [problemOn('policy', 'policies', verdictSentence(unselected.facts), REASONS.NoPolicySelected.next)]),
    ...(unjudged === 0
      ? []
      : [
          problemOn(
            'unfinished',
            `${unjudged} ${CSR}s`,
            'the sweep ran out of time before they were judged',
            'The next sweep judges them; if it happens again, find out who creates so many requests.',
          ),
        ]),
    ...unread,
    ...acted.flatMap(unwritten),
  ];
}

const CSR = 'CertificateSigningRequest';
const csrNamed = (name: string): string => `${CSR} ${printable(name, 253)}`;

function problemOn(kind: string, object: string, message: string, remedy: string): Problem {
  return { kind, object, message, remedy };
}

function unwritten({ csr, verdict, outcome }: Acted): readonly Problem[] {
  const object = csrNamed(csr.name);
  if (verdict.reason === 'JudgeFailed')
    return [problemOn('bug', object, verdictSentence(verdict.facts), REASONS.JudgeFailed.next)];
  if (outcome.kind === 'failed')
    return [{ ...problemOf(outcome.error), object, message: `${outcome.error.object}: ${outcome.error.problem}` }];
  if (outcome.kind === 'unfinished') {
    const message = 'the sweep ran out of time before it was written';
    return [problemOn('unfinished', object, message, 'The next sweep judges it again.')];
  }
  if (outcome.kind !== 'unknown') return [];
  const [kind, why, remedy] = unansweredBy(outcome.error);
  const message = `the decision was sent, but no answer says whether it was written: ${why}`;
  return [problemOn(kind, object, message, `The next sweep shows whether it was written. ${remedy}`.trimEnd())];
}

function unansweredBy(error: KubernetesError | undefined): readonly [kind: string, why: string, remedy: string] {
  if (error === undefined) return ['bug', 'certmarshal itself failed', 'Report it as a bug.'];
  if (error.kind === 'aborted') return ['unfinished', 'the sweep ran out of time', ''];
  return [error.kind, `${error.object}: ${error.problem}`, error.remedy];
}

/** The age of a request is our time minus the server's: a wrong clock makes young requests old, or old ones young. */
function clockProblem({ serverClock }: ReportInput): Problem[] {
  const skew = describeSkew(serverClock);
  if (serverClock === undefined || skew === undefined) return [];
  const object = `API server ${serverClock.server}`;
  return [{ kind: 'clock', object, message: `${skew}, by which requests are aged`, remedy: SKEW_REMEDY }];
}

/** The problem of an unread source of evidence, without which an unproven name would look final; at most one. */
export function evidenceProblem(reading: SourceReading): readonly Problem[] {
  const { source, problem: message, remedy = '' } = reading;
  if (message === undefined) return [];
  return [{ kind: 'evidence', object: `evidence ${source}`, message, remedy }];
}
