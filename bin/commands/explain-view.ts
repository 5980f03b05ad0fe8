import { NODE_PREFIX } from '../../lambdas/approval/rules/rules.ts';
import type { NameProof, Verdict } from '../../lambdas/approval/verdict.ts';
import { pasteable } from '../../lambdas/command.ts';
import type { Problem } from '../../lambdas/contracts/problem.ts';
import { printable } from '../../lambdas/printable.ts';
import type { SigningCondition, SigningRequest } from '../../lambdas/resources/signing-request.ts';
import { REASONS, type Reason } from '../../lambdas/tables/reasons.ts';
import { instant } from '../../lambdas/time.ts';
import { verdictSentence } from '../../lambdas/words/verdict-words.ts';
import { type NamedServer, serverWords } from '../target.ts';
import { hang, type Lines, table } from '../terminal/draw.ts';
import { bad, faint, good, strong, warn } from '../terminal/paint.ts';
import { nextLine, type Places, problemLines, runbookPlace } from '../terminal/phrases.ts';
import { ago, joined, sentence } from '../terminal/words.ts';

const ENDINGS = {
  approve: 'run --yes approves it, and so does a deployed certmarshal.',
  leave: 'Not approved.',
  deny: 'Provably hostile: run --yes denies it, and so does a deployed certmarshal.',
  ignore: 'Not judged.',
} as const;
const OBSERVED = 'The policy only observes: no sweep writes it without mode: enforce.';
const IGNORED = 'No sweep judges it.';
const MAX_NAMES = 20;
const RUNBOOK = /\bcertmarshal runbook (?<name>[a-z-]+)/g;

export interface Explanation {
  readonly verdict: Verdict;
  /** The verdict of a sweep, if `verdict` is another one. */
  readonly sweep?: Verdict;
  /** Shows more than {@link MAX_NAMES}: the approver must see all. */
  readonly allNames?: boolean;
  readonly cluster?: string;
  readonly server?: NamedServer;
  readonly csr?: SigningRequest;
  /** Evidence that could not be read. */
  readonly problems?: readonly Problem[];
  readonly next?: string | undefined;
}

/** Whether someone decided on the request. */
export function isDecided({ facts: { cause } }: Verdict): boolean {
  return cause === 'decided' || cause === 'issued';
}

/** Their sentence is the meaning of the reason. */
const SAID: ReadonlySet<string> = new Set(['deleting', 'issued']);

/** One verdict for people: what, by whom, which names, which checks, and what to do. */
export function explanationLines(
  { verdict, sweep = verdict, csr, cluster, server, allNames = false, problems = [], next }: Explanation,
  name: string,
  places: Places,
  now: number,
): Lines {
  const which = joined([cluster, server && serverWords(server)], ' · ');
  // Failed checks come first: the reader looks for them.
  const checks = verdict.checks.toSorted((a, b) => Number(a.passed) - Number(b.passed));
  return [
    hang('', headline(verdict, sweep, csr?.username, name)),
    which !== '' && hang('  ', faint(printable(which, 600))),
    '',
    csr && [table(facts(verdict, csr, now, allNames ? Infinity : MAX_NAMES)), ''],
    checks.length > 0 && [
      table(
        checks.map(({ passed, rule, expected, found }) => [
          passed ? good('✔') : bad('✖'),
          rule,
          passed ? found : `${found}  ${faint(`(expected: ${expected})`)}`,
        ]),
      ),
      '',
    ],
    // Before the reason, because a name whose lookup failed is not proven either.
    problems.map(({ object, message, remedy }) => [
      problemLines(`${object}: ${message}`, pasteable(remedy, places.program)),
      '',
    ]),
    [...new Set([verdict.reason, sweep.reason])]
      // Not what the headline says in the same words.
      .filter((reason) => reason !== sweep.reason || !SAID.has(sweep.facts.cause))
      .map((reason) => reasonLines(reason, places, problems.length > 0)),
    next !== undefined && ['', nextLine(next)],
  ];
}

function reasonLines(reason: Reason, places: Places, hasProblems: boolean): Lines {
  const { meaning, next } = REASONS[reason];
  // The problems above have their remedies.
  const isSaid = next === '' || (reason === 'EvidenceUnreadable' && hasProblems);
  const typed = next.replace(RUNBOOK, (_command, name: string) => runbookPlace(name, places));
  return [hang('  ', `${reason}: ${meaning}`), !isSaid && hang('  → ', pasteable(typed, places.program))];
}

function facts(
  { names, policy, mode }: Verdict,
  { createdAt, username, groups, conditions }: SigningRequest,
  now: number,
  mostNames: number,
) {
  const age = createdAt === undefined ? 'at an unknown time' : ago((now - createdAt) / 1000);
  const shown = groups.slice(0, 5).map((group) => printable(group, 60));
  const asked = ['asked', `${age} by ${printable(username, 120)} (${shown.join(', ') || 'no groups'})`];
  const observes = mode === 'observe' ? ' (observe: no sweep writes)' : '';
  const decided = conditions.map((condition) => [condition.type.toLowerCase(), decisionWords(condition, now)]);
  return [
    asked,
    ...decided,
    ...nameRows(names, mostNames),
    ...(policy === undefined ? [] : [['policy', `${policy}${observes}`]]),
  ];
}

/** Who decided, when and why, as far as the request says: approvers choose reason and message. */
function decisionWords({ reason, message = '', updated }: SigningCondition, now: number): string {
  const at = instant(updated);
  const when = at === undefined ? 'at an unknown time' : ago((now - at) / 1000);
  const words = joined(
    [reason !== '' && `reason ${printable(reason, 100)}`, message !== '' && printable(message, 600)],
    ': ',
  );
  return joined([when, words !== '' && words]);
}

function headline(verdict: Verdict, sweep: Verdict, username: string | undefined, name: string): string {
  const who = username === undefined ? printable(name) : printable(username.replace(NODE_PREFIX, ''), 120);
  const paint = { approve: good, leave: warn, deny: bad, ignore: faint }[sweep.verdict];
  const writes = sweep.verdict === 'approve' || sweep.verdict === 'deny';
  const ignored = sweep.verdict === 'ignore' && sweep.reason !== verdict.reason;
  const ending = isDecided(sweep)
    ? `${sentence(verdictSentence(sweep.facts))}.`
    : writes && sweep.mode === 'observe'
      ? OBSERVED
      : ignored
        ? IGNORED
        : ENDINGS[sweep.verdict];
  return `${strong(`${who}: ${verdictSentence(verdict.facts)}.`)} ${paint(ending)}`;
}

/** One name per line, unproven ones first: the reader looks for them. */
export function nameRows(names: readonly NameProof[], most = MAX_NAMES): string[][] {
  const ordered = names.toSorted((a, b) => Number(a.proven) - Number(b.proven));
  const cells = ordered.slice(0, most).map((proof) => nameCell(proof));
  if (ordered.length > most) cells.push(`and ${ordered.length - most} more; --output json lists them all`);
  return cells.map((cell, index) => [index === 0 ? 'names' : '', cell]);
}

function nameCell({ name, proven, provenBy, ownedBy }: NameProof): string {
  if (proven) return `${good('✔')} ${name}${provenBy === undefined ? '' : faint(` ← ${provenBy.object}`)}`;
  return `${bad('✖')} ${name}${ownedBy === undefined ? '' : faint(` owned by ${ownedBy.node} (${ownedBy.object})`)}`;
}
