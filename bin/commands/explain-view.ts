import { NODE_PREFIX } from '../../lambdas/approval/rules/rules.ts';
import type { NameProof, Verdict } from '../../lambdas/approval/verdict.ts';
import { printable } from '../../lambdas/printable.ts';
import { REASONS } from '../../lambdas/tables/reasons.ts';
import { serverWords } from '../target.ts';
import type { Style } from '../terminal/style.ts';
import { table } from '../terminal/table.ts';
import { ago } from '../terminal/time.ts';
import { hang } from '../terminal/wrap.ts';
import type { Explanation } from './explain.ts';

const ENDINGS = {
  approve: 'The next sweep approves it.',
  leave: 'Left undecided.',
  deny: 'Provably hostile: the next sweep denies it.',
  ignore: 'Not judged.',
} as const;
const OBSERVED = 'The policy only observes: nothing is written.';
const MOST_NAMES = 20;

/**
 * Tells one verdict as a person asks for it: what, by whom, which names, which checks, and what to do.
 *
 * @param width columns of the terminal; undefined wraps nothing
 */
export function renderExplanation(
  { verdict, csr, cluster, server, problems = [] }: Explanation,
  name: string,
  now: number,
  style: Style,
  width: number | undefined,
): string {
  const which = [cluster, server === undefined ? undefined : serverWords(server)].filter((part) => part !== undefined);
  const lines = [
    ...hang('', headline(verdict, csr?.username, name, style), width),
    ...(which.length === 0 ? [] : hang('  ', style.faint(printable(which.join(' · '), 600)), width)),
    '',
  ];
  if (csr !== undefined) {
    const age = csr.createdAt === undefined ? 'at an unknown time' : ago((now - csr.createdAt) / 1000);
    const groups = csr.groups.slice(0, 5).map((group) => printable(group, 60));
    const facts = [
      ['asked', `${age} by ${printable(csr.username, 120)} (${groups.join(', ') || 'no groups'})`],
      ...nameRows(verdict.names, style),
    ];
    if (verdict.policy !== undefined)
      facts.push(['policy', `${verdict.policy}${verdict.mode === 'observe' ? ' (observe: writes nothing)' : ''}`]);
    lines.push(...table(facts, { width }), '');
  }
  if (verdict.checks.length > 0) {
    // What failed comes first: it is what the reader looks for.
    const ordered = verdict.checks.toSorted((a, b) => Number(a.passed) - Number(b.passed));
    lines.push(
      ...table(
        ordered.map(({ passed, rule, expected, found }) => [
          passed ? style.good('✔') : style.bad('✖'),
          rule,
          passed ? found : `${found}  ${style.faint(`(expected: ${expected})`)}`,
        ]),
        { width },
      ),
      '',
    );
  }
  // Before the reason: a name that nobody could look up is not proven either.
  for (const { object, message, remedy } of problems)
    lines.push(...hang(`  ${style.bad('✖')} `, `${object}: ${message}`, width), ...hang('    → ', remedy, width), '');
  const { meaning, next } = REASONS[verdict.reason];
  lines.push(...hang('  ', `${verdict.reason}: ${meaning}`, width));
  if (next !== '') lines.push(...hang('  → ', next, width));
  return lines.join('\n');
}

function headline(verdict: Verdict, username: string | undefined, name: string, style: Style): string {
  const who = username === undefined ? name : printable(username.replace(NODE_PREFIX, ''), 120);
  const paint = { approve: style.good, leave: style.warn, deny: style.bad, ignore: style.faint }[verdict.verdict];
  const writes = verdict.verdict === 'approve' || verdict.verdict === 'deny';
  const ending = writes && verdict.mode === 'observe' ? OBSERVED : ENDINGS[verdict.verdict];
  return `${style.strong(`${story(verdict, who)}.`)} ${paint(ending)}`;
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
function nameRows(names: readonly NameProof[], style: Style): string[][] {
  const ordered = names.toSorted((a, b) => Number(a.proven) - Number(b.proven));
  const cells = ordered.slice(0, MOST_NAMES).map((proof) => nameCell(proof, style));
  if (ordered.length > MOST_NAMES) cells.push(`and ${ordered.length - MOST_NAMES} more; --output json lists them all`);
  return cells.map((cell, index) => [index === 0 ? 'names' : '', cell]);
}

function nameCell({ name, proven, provenBy, ownedBy }: NameProof, style: Style): string {
  if (proven) return `${style.good('✔')} ${name}${provenBy === undefined ? '' : style.faint(` ← ${provenBy.object}`)}`;
  return `${style.bad('✖')} ${name}${ownedBy === undefined ? '' : style.faint(` owned by ${ownedBy.node} (${ownedBy.object})`)}`;
}
