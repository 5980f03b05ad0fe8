import type { Acted } from '../approval/act.ts';
import type { NameProof } from '../approval/verdict.ts';
import { printable } from '../printable.ts';
import { requestHash, type SigningRequest } from '../resources/signing-request.ts';
import { verdictSentence } from '../words/verdict-words.ts';
import type { DecisionEntry, JournalEvidence } from './journal.ts';

/** What all decisions of one sweep have in common. */
export interface SweepContext {
  readonly cluster: string;
  /** Milliseconds since the epoch: when the sweep began. */
  readonly startedAt: number;
  readonly policyHash: string;
  readonly program: string;
}

/** Collects journal entries while a sweep runs, so that nothing else of a decision stays in memory. */
export interface DecisionCollector {
  take(acted: Acted): void;
  collected(): readonly DecisionEntry[];
}

/** Most refusals of a sweep. A cluster decides how many there are, not how much is written about them. */
export const MAX_REFUSALS = 500;

/** A real node has fewer. */
const MAX_NAMES = 20;
const MAX_EVIDENCE = 20;

/**
 * Turns the decisions of a sweep into journal entries: every one that was written or may have been; of the others, which
 * refuse or hold, the first ones, hostile ones before all. Decisions that were overtaken or not begun are dropped. Pure.
 *
 * @param isLine whether the refusal of a CSR is a line of this sweep
 */
export function createDecisionCollector(
  context: SweepContext,
  isLine: (csr: SigningRequest) => boolean,
): DecisionCollector {
  const written: DecisionEntry[] = [];
  const refused: Record<'hostile' | 'other', DecisionEntry[]> = { hostile: [], other: [] };
  let refusals = 0;
  return {
    take(acted) {
      const { verdict, hostile } = acted.verdict;
      const { kind } = acted.outcome;
      if (verdict === 'ignore' || kind === 'overtaken' || kind === 'unfinished') return;
      if (kind === 'written' || kind === 'unknown') written.push(decisionEntry(acted, verdict, context));
      else if (isLine(acted.csr)) {
        refusals += 1;
        const list = refused[hostile ? 'hostile' : 'other'];
        if (list.length < MAX_REFUSALS) list.push(decisionEntry(acted, verdict, context));
      }
    },
    collected() {
      const first = [...refused.hostile, ...refused.other].slice(0, MAX_REFUSALS);
      const leftOut = refusals - first.length;
      const last = leftOut > 0 ? first.pop() : undefined;
      return [...written, ...first, ...(last === undefined ? [] : [{ ...last, leftOut }])];
    },
  };
}

/** @param verdict what was decided */
export function decisionEntry(
  { csr, verdict: judged, outcome }: Acted,
  verdict: DecisionEntry['verdict'],
  { cluster, startedAt, policyHash, program }: SweepContext,
): DecisionEntry {
  const at = new Date(startedAt).toISOString();
  const { names = [], policy } = judged;
  return {
    version: 1,
    kind: 'decision',
    at,
    cluster,
    csr: printable(csr.name, 253),
    uid: printable(csr.uid, 100),
    requester: printable(csr.username, 300),
    names: names.slice(0, MAX_NAMES).map(({ name }) => printable(name, 253)),
    nameCount: names.length,
    verdict,
    reason: judged.reason,
    message: printable(verdictSentence(judged.facts), 600),
    hostile: judged.hostile,
    outcome: outcome.kind,
    policy: policy === undefined ? undefined : printable(policy, 100),
    policyHash,
    evidence: evidenceOf(names, at),
    requestHash: requestHash(csr),
    program,
  };
}

/** Each object once. */
function evidenceOf(names: readonly NameProof[], readAt: string): JournalEvidence[] {
  const found = new Map<string, JournalEvidence>();
  for (const { provenBy, ownedBy } of names) {
    if (found.size >= MAX_EVIDENCE) break;
    const evidence = provenBy ?? ownedBy;
    if (evidence === undefined) continue;
    const object = printable(evidence.object, 300);
    found.set(object, { source: evidence.source, object, readAt });
  }
  return [...found.values()];
}
