import { REASONS } from '../../lambdas/approval/reasons.ts';
import { NODE_PREFIX } from '../../lambdas/approval/rules.ts';
import type { NameProof, Verdict } from '../../lambdas/approval/verdict.ts';
import { printable } from '../../lambdas/printable.ts';
import type { Style } from '../terminal/style.ts';
import { table } from '../terminal/table.ts';
import { ago } from '../terminal/time.ts';
import type { Explanation } from './explain.ts';

const ENDINGS = {
  approve: 'Every name is proven: the next sweep approves it.',
  leave: 'Left undecided.',
  deny: 'Provably hostile: the next sweep denies it.',
  ignore: 'Not judged.',
} as const;

/** Tells one verdict as a person asks for it: what, by whom, which names, which checks, and what to do. */
export function renderExplanation({ verdict, csr }: Explanation, name: string, now: number, style: Style): string {
  const lines = [headline(verdict, csr?.username, name, style), ''];
  if (csr !== undefined) {
    const age = csr.createdAt === undefined ? 'at an unknown time' : ago((now - csr.createdAt) / 1000);
    const groups = csr.groups.slice(0, 5).map((group) => printable(group, 60));
    const facts = [['asked', `${age} by ${printable(csr.username, 120)} (${groups.join(', ') || 'no groups'})`]];
    if (verdict.names.length > 0)
      facts.push([
        'names',
        verdict.names
          .slice(0, 20)
          .map((proof) => nameCell(proof, style))
          .join('    '),
      ]);
    if (verdict.policy !== undefined)
      facts.push(['policy', `${verdict.policy}${verdict.mode === 'observe' ? ' (observe: writes nothing)' : ''}`]);
    lines.push(...table(facts), '');
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
      ),
      '',
    );
  }
  const { meaning, next } = REASONS[verdict.reason];
  lines.push(`  ${verdict.reason}: ${meaning}`);
  if (next !== '') lines.push(`  → ${next}`);
  return lines.join('\n');
}

function headline(verdict: Verdict, username: string | undefined, name: string, style: Style): string {
  const who = username === undefined ? name : printable(username.replace(NODE_PREFIX, ''), 120);
  const paint = { approve: style.good, leave: style.warn, deny: style.bad, ignore: style.faint }[verdict.verdict];
  const stranger = verdict.names.find(({ ownedBy }) => ownedBy !== undefined);
  const story =
    stranger?.ownedBy === undefined
      ? `${who}: ${verdict.message}.`
      : `${who} asks for a serving certificate that covers ${stranger.name} of ${stranger.ownedBy.node}.`;
  return `${style.strong(story)} ${paint(ENDINGS[verdict.verdict])}`;
}

function nameCell({ name, proven, provenBy, ownedBy }: NameProof, style: Style): string {
  if (proven) return `${name} ${style.good('✔')}${provenBy === undefined ? '' : style.faint(` ${provenBy.object}`)}`;
  return `${name} ${style.bad('✖')}${ownedBy === undefined ? '' : style.faint(` owned by ${ownedBy.node}`)}`;
}
