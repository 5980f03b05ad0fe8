import type { Outcome } from '../../../lambdas/approval/act.ts';
import type { DecidedByPerson, Refusal } from '../../../lambdas/approval/person.ts';
import type { Verdict } from '../../../lambdas/approval/verdict.ts';
import { pasteable } from '../../../lambdas/command.ts';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { ApprovalCondition } from '../../../lambdas/kubernetes/certificate-signing-requests.ts';
import { isPlainWord, printable } from '../../../lambdas/printable.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { quote } from '../../target.ts';
import { hang, type Lines } from '../../terminal/draw.ts';
import { bad, faint, good, strong } from '../../terminal/paint.ts';
import { nextLine, problemLines } from '../../terminal/phrases.ts';

const MAX_NAMES = 20;

export function intentLines({ uid }: SigningRequest, { type, reason, message }: ApprovalCondition): Lines {
  return [
    '',
    `  It would write, to the object with uid ${printable(uid, 100)}:`,
    hang('    ', `condition ${type}, reason ${reason}`),
    hang('    ', message),
  ];
}

/** Why it is not done, and the flags that override the refusal. */
export function refusalLines(
  { message, remedy, names = [] }: Refusal,
  { reason }: Verdict,
  { decision, csr }: Asked,
): Lines {
  const flags = names.slice(0, MAX_NAMES).map((name) => ` --name ${quote(name)}`);
  return [
    '',
    problemLines(`not ${DONE[decision]}: ${message}`, remedy === '' ? undefined : remedy),
    // Never wrapped, so that it can be copied.
    flags.length > 0 && `     ${flags.join('')}`,
    names.length > MAX_NAMES && `      and ${names.length - MAX_NAMES} more: all that are marked above`,
    reason === 'NotKubeletServing' && isPlainWord(csr) && nextLine(`kubectl certificate ${decision} ${quote(csr)}`),
  ];
}

/** A decision must stay traceable to its author. */
export function recordNotice(): string {
  return '! Only this output and the condition record it, and Kubernetes removes the request an hour later. --journal FILE keeps a record.\n';
}

const DONE = { approve: 'approved', deny: 'denied' } as const;

interface Asked {
  readonly decision: DecidedByPerson['decision'];
  readonly csr: string;
}

interface WrittenBy {
  readonly condition: ApprovalCondition;
  readonly by: string;
  readonly program: string;
}

export interface Written {
  readonly kind: Outcome['kind'];
  readonly problem?: Pick<Problem, 'object' | 'message' | 'remedy'> | undefined;
  /** What overtook the write. */
  readonly overtaken?: string | undefined;
}

export function writtenLines(
  { kind, problem, overtaken }: Written,
  { decision, csr }: Asked,
  { condition, by, program }: WrittenBy,
): Lines {
  const which = strong(printable(csr, 253));
  if (kind === 'written')
    return [
      hang(good('✔ '), `${which}: ${DONE[decision]} by ${by}.`),
      hang('  ', faint(`condition ${condition.type}, reason ${condition.reason}: ${condition.message}`)),
    ];
  const said = problem && problemLines(`${problem.object}: ${problem.message}`, pasteable(problem.remedy, program));
  const not = `${which}: not ${DONE[decision]}`;
  if (kind === 'overtaken')
    return hang(bad('✖ '), `${not}: since it was shown, ${overtaken ?? 'it was changed'}. Nothing was written.`);
  if (kind === 'unknown')
    return [hang(bad('✖ '), `${which}: it was sent, but no answer says whether it was written.`), said];
  return [hang(bad('✖ '), `${not}. Nothing was written.`), said];
}
