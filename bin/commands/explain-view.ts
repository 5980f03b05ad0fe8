import { NODE_PREFIX } from '../../lambdas/approval/rules/rules.ts';
import type { NameProof, Verdict } from '../../lambdas/approval/verdict.ts';
import type { Problem } from '../../lambdas/contracts/problem.ts';
import { printable } from '../../lambdas/printable.ts';
import type { SigningRequest } from '../../lambdas/resources/signing-request.ts';
import { REASONS } from '../../lambdas/tables/reasons.ts';
import { type NamedServer, serverWords } from '../target.ts';
import { hang, type Lines, table } from '../terminal/draw.ts';
import { bad, faint, good, strong, warn } from '../terminal/paint.ts';
import { problemLines } from '../terminal/phrases.ts';
import { ago, joined } from '../terminal/words.ts';

const ENDINGS = {
  approve: 'The next sweep approves it.',
  leave: 'Left undecided.',
  deny: 'Provably hostile: the next sweep denies it.',
  ignore: 'Not judged.',
} as const;
const OBSERVED = 'The policy only observes: nothing is written.';
const MAX_NAMES = 20;

export interface Explanation {
  readonly verdict: Verdict;
  /** The cluster that was asked. */
  readonly cluster?: string;
  readonly server?: NamedServer;
  readonly csr?: SigningRequest;
  /** Of the evidence: what it could not show. */
  readonly problems?: readonly Problem[];
}

/** Tells one verdict as a person asks for it: what, by whom, which names, which checks, and what to do. */
export function explanationLines(
  { verdict, csr, cluster, server, problems = [] }: Explanation,
  name: string,
  now: number,
): Lines {
  const which = joined([cluster, server && serverWords(server)], ' · ');
  // What failed comes first: it is what the reader looks for.
  const checks = verdict.checks.toSorted((a, b) => Number(a.passed) - Number(b.passed));
  const { meaning, next } = REASONS[verdict.reason];
  return [
    hang('', headline(verdict, csr?.username, name)),
    which !== '' && hang('  ', faint(printable(which, 600))),
    '',
    csr && [table(facts(verdict, csr, now)), ''],
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
    // Before the reason: a name that could not be looked up is not proven either.
    problems.map(({ object, message, remedy }) => [problemLines(`${object}: ${message}`, remedy), '']),
    hang('  ', `${verdict.reason}: ${meaning}`),
    next !== '' && hang('  → ', next),
  ];
}

function facts({ names, policy, mode }: Verdict, { createdAt, username, groups }: SigningRequest, now: number) {
  const age = createdAt === undefined ? 'at an unknown time' : ago((now - createdAt) / 1000);
  const shown = groups.slice(0, 5).map((group) => printable(group, 60));
  const asked = ['asked', `${age} by ${printable(username, 120)} (${shown.join(', ') || 'no groups'})`];
  const observes = mode === 'observe' ? ' (observe: writes nothing)' : '';
  return [asked, ...nameRows(names), ...(policy === undefined ? [] : [['policy', `${policy}${observes}`]])];
}

function headline(verdict: Verdict, username: string | undefined, name: string): string {
  const who = username === undefined ? name : printable(username.replace(NODE_PREFIX, ''), 120);
  const paint = { approve: good, leave: warn, deny: bad, ignore: faint }[verdict.verdict];
  const writes = verdict.verdict === 'approve' || verdict.verdict === 'deny';
  const ending = writes && verdict.mode === 'observe' ? OBSERVED : ENDINGS[verdict.verdict];
  return `${strong(`${story(verdict, who)}.`)} ${paint(ending)}`;
}

function story({ verdict, names, message }: Verdict, who: string): string {
  const stranger = names.find(({ ownedBy }) => ownedBy !== undefined);
  if (stranger?.ownedBy !== undefined)
    return `${who} asks for a serving certificate that covers ${stranger.name} of ${stranger.ownedBy.node}`;
  if (verdict !== 'approve') return `${who}: ${message}`;
  const proofs = new Set(names.flatMap(({ provenBy }) => provenBy?.object ?? []));
  return `${who} asks for its own names, all proven by ${[...proofs].join(' and ')}`;
}

/** One name a line, the unproven ones first: they are what the reader looks for. */
export function nameRows(names: readonly NameProof[]): string[][] {
  const ordered = names.toSorted((a, b) => Number(a.proven) - Number(b.proven));
  const cells = ordered.slice(0, MAX_NAMES).map((proof) => nameCell(proof));
  if (ordered.length > MAX_NAMES) cells.push(`and ${ordered.length - MAX_NAMES} more; --output json lists them all`);
  return cells.map((cell, index) => [index === 0 ? 'names' : '', cell]);
}

function nameCell({ name, proven, provenBy, ownedBy }: NameProof): string {
  if (proven) return `${good('✔')} ${name}${provenBy === undefined ? '' : faint(` ← ${provenBy.object}`)}`;
  return `${bad('✖')} ${name}${ownedBy === undefined ? '' : faint(` owned by ${ownedBy.node} (${ownedBy.object})`)}`;
}
