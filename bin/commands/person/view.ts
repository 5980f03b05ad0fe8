import type { Outcome } from '../../../lambdas/approval/act.ts';
import type { DecidedByPerson, Refusal } from '../../../lambdas/approval/person.ts';
import type { Verdict } from '../../../lambdas/approval/verdict.ts';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { ApprovalCondition } from '../../../lambdas/kubernetes/certificate-signing-requests.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { ApprovalSubject } from '../../../lambdas/resources/approval-subject.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import type { KeyboardJournal } from '../../keyboard-journal.ts';
import { pasteable } from '../../program.ts';
import { quote } from '../../target.ts';
import { hang, type Lines } from '../../terminal/draw.ts';
import { bad, faint, good, strong } from '../../terminal/paint.ts';
import { nextLine, problemLines } from '../../terminal/phrases.ts';

/** What a person is shown before anything is written. */
export interface PersonLook {
  readonly csr: SigningRequest | undefined;
  readonly subject: ApprovalSubject | undefined;
  /** By every check. */
  readonly verdict: Verdict;
  /** What a sweep makes of it. */
  readonly sweep: Verdict;
  readonly problems: readonly Problem[];
  readonly refusal: Refusal | undefined;
}

const MAX_NAMES = 20;

/** What `--yes` would write. */
export function intentLines({ csr }: PersonLook, { type, reason, message }: ApprovalCondition): Lines {
  return [
    '',
    `  It would write, on the object of uid ${printable(csr?.uid ?? '', 100)}:`,
    hang('    ', `condition ${type}, reason ${reason}`),
    hang('    ', message),
  ];
}

/** Why it is not done, and what is to be typed for it all the same. */
export function refusalLines(
  { refusal, verdict }: PersonLook,
  { decision, csr }: { readonly decision: DecidedByPerson['decision']; readonly csr: string },
): Lines {
  const { message = '', remedy = '', names = [] } = refusal ?? {};
  const flags = names.slice(0, MAX_NAMES).map((name) => ` --name ${quote(name)}`);
  const isPasteable = printable(csr, 253) === csr && !csr.startsWith('-');
  return [
    '',
    problemLines(`not ${DONE[decision]}: ${message}`, remedy === '' ? undefined : remedy),
    // Never wrapped: to be copied.
    flags.length > 0 && `     ${flags.join('')}`,
    names.length > MAX_NAMES && `      and ${names.length - MAX_NAMES} more; --output json lists them all`,
    verdict.reason === 'NotKubeletServing' && isPasteable && nextLine(`kubectl certificate ${decision} ${quote(csr)}`),
  ];
}

/** Who decided what has to be found again. */
export function recordNotice(): string {
  return '! Nothing but this output and the condition keeps a record of it, and Kubernetes removes the request an hour later. --journal DIRECTORY keeps one.\n';
}

const DONE = { approve: 'approved', deny: 'denied' } as const;

export interface Written {
  readonly kind: Outcome['kind'];
  readonly problem?: Pick<Problem, 'object' | 'message' | 'remedy'> | undefined;
  /** By what. */
  readonly overtaken?: string | undefined;
}

/** What became of the write. */
export function writtenLines(
  { kind, problem, overtaken }: Written,
  {
    decision,
    csr,
    by,
    program,
    condition,
    journal,
  }: {
    readonly decision: DecidedByPerson['decision'];
    readonly csr: string;
    readonly by: string;
    readonly program: string;
    readonly condition: ApprovalCondition;
    readonly journal: KeyboardJournal | undefined;
  },
): Lines {
  const which = strong(printable(csr, 253));
  if (kind === 'written')
    return [
      hang(good('✔ '), `${which}: ${DONE[decision]} by ${by}.`),
      hang('  ', faint(`condition ${condition.type}, reason ${condition.reason}: ${condition.message}`)),
      journal && nextLine(`${program} journal verify --directory ${quote(journal.directory)}`),
    ];
  const said = problem && problemLines(`${problem.object}: ${problem.message}`, pasteable(problem.remedy, program));
  const not = `${which}: not ${DONE[decision]}`;
  if (kind === 'overtaken')
    return hang(bad('✖ '), `${not}: since it was shown, ${overtaken ?? 'it was changed'}. Nothing was written.`);
  if (kind === 'unknown')
    return [hang(bad('✖ '), `${which}: it was sent, and no answer says whether it was written.`), said];
  return [hang(bad('✖ '), `${not}. Nothing was written.`), said];
}
