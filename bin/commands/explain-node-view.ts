import { approverName } from '../../lambdas/approval/condition-reasons.ts';
import { isWord, pasteable } from '../../lambdas/command.ts';
import { printable } from '../../lambdas/printable.ts';
import type { FindingCode } from '../../lambdas/tables/finding-codes.ts';
import { ISSUED, type IssuedVerdict } from '../../lambdas/tables/issued-verdicts.ts';
import { kebab } from '../../lambdas/words.ts';
import { type NamedServer, serverWords } from '../target.ts';
import { hang, type Lines, table } from '../terminal/draw.ts';
import { faint, strong, warn } from '../terminal/paint.ts';
import { type Places, problemLines, runbookPlace } from '../terminal/phrases.ts';
import { dayOf, joined, sentence, span } from '../terminal/words.ts';
import { VERDICT_MARKS } from './audit/issued.ts';
import type { NodeExplanation } from './explain-node.ts';
import { nameRows } from './explain-view.ts';

const RUNBOOKS: Readonly<Partial<Record<IssuedVerdict, FindingCode>>> = {
  'names-another': 'IssuedNamesAnother',
  'not-proven': 'IssuedUnproven',
};

interface Rendering extends Places {
  readonly cluster: string;
  readonly server: NamedServer | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The certificate of one node for people: a summary, where it was seen, each name with its proof, who issued and
 * approved it, and what to do.
 */
export function nodeExplanationLines(explanation: NodeExplanation, rendering: Rendering): Lines {
  const { cluster, server, now } = rendering;
  const { seen, judged, problems, waiting } = explanation;
  return [
    hang('', headline(explanation)),
    hang('  ', faint(printable(joined([cluster, server && serverWords(server)], ' · '), 600))),
    '',
    seen !== undefined && [table(facts(explanation, seen, now)), ''],
    problems.map(({ object, message, remedy }) => [
      problemLines(`${object}: ${message}`, pasteable(remedy, rendering.program)),
      '',
    ]),
    judged !== undefined && hang('  ', `${sentence(ISSUED[judged.verdict].title)}: ${ISSUED[judged.verdict].meaning}`),
    seen === undefined ? hang('  → ', waitingNext(waiting, rendering.program)) : nextLines(judged?.verdict, rendering),
  ];
}

function waitingNext(waiting: string | undefined, program: string): string {
  if (waiting === undefined) return `kubectl get csr shows whether a request of it waits, and ${program} explain why`;
  return `its request waits: ${isWord(waiting) ? `${program} explain ${waiting}` : waiting}`;
}

/** @param verdict undefined if the cluster did not issue the certificate */
function nextLines(verdict: IssuedVerdict | undefined, places: Places): Lines {
  if (verdict === 'proven') return [];
  if (verdict === 'unknown') return hang('  → ', 'Find out why the evidence cannot tell, and run this again.');
  const code = verdict === undefined ? 'IssuerUnknown' : RUNBOOKS[verdict];
  return [code !== undefined && hang('  → ', runbookPlace(kebab(code), places))];
}

function headline({ node, seen, judged, names }: NodeExplanation): string {
  const who = printable(node, 120);
  if (seen === undefined) return `${strong(`${who}: its serving certificate cannot be seen.`)} ${warn('Not judged.')}`;
  const has = seen.in === 'handshake' ? 'serves' : 'was issued';
  if (judged === undefined)
    return `${strong(`${who} ${has} a certificate that the cluster did not issue.`)} ${warn('Not judged.')}`;
  const { verdict, why } = judged;
  const [symbol, paint] = VERDICT_MARKS[verdict];
  const ending = paint(`${symbol} ${sentence(ISSUED[verdict].title)}.`);
  if (verdict !== 'proven')
    return `${strong(`${who} ${has} a certificate: ${why ?? 'no reason is known'}.`)} ${ending}`;
  const proofs = new Set(names.flatMap(({ provenBy }) => provenBy?.object ?? []));
  return `${strong(`${who} ${has} a certificate for its own names, all proven by ${[...proofs].join(' and ')}.`)} ${ending}`;
}

function facts(
  { node, request, judged, names }: NodeExplanation,
  seen: NonNullable<NodeExplanation['seen']>,
  now: number,
) {
  const { notBefore, notAfter, issuer, key } = seen.certificate;
  const left = notAfter - now;
  return [
    ['seen', whereSeen(seen, request?.name)],
    ...nameRows(names),
    ['issued', `${dayOf(notBefore)}, ${span(now - notBefore)} ago, by ${issuer}, key ${key}`],
    ...(judged === undefined ? [] : [['approved', approvedWords(node, request)]]),
    ['expires', `${dayOf(notAfter)}, ${left > 0 ? `in ${span(left)}` : `${span(left)} ago`}`],
  ];
}

function whereSeen(seen: NonNullable<NodeExplanation['seen']>, request: string | undefined): string {
  if (seen.in === 'request') return `in ${request ?? 'a request'}, its newest that was issued; not at the kubelet`;
  return `in a handshake with ${seen.where}${seen.keyProven ? '' : ', which did not show that it has the key'}`;
}

function approvedWords(node: string, request: NodeExplanation['request']): string {
  if (request !== undefined)
    return `by ${request.approvedBy === undefined ? 'an unknown approver' : approverName(request.approvedBy)} (${request.name})`;
  return `approver not known: its request is gone. The audit log of the API server has the user that approved a request of system:node:${printable(node, 253)}`;
}
