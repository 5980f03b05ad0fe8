import { type Acted, conditionByPerson, type Outcome, writeForPerson } from '../../../lambdas/approval/act.ts';
import type { SweepTarget } from '../../../lambdas/approval/observe.ts';
import {
  type DecidedByPerson,
  judgeForPerson,
  MAX_BECAUSE,
  overtakenBy,
  type Refusal,
  refusalOf,
} from '../../../lambdas/approval/person.ts';
import type { ApprovalPolicy } from '../../../lambdas/approval/policy.ts';
import type { Verdict } from '../../../lambdas/approval/verdict.ts';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import { decisionEntry, type SweepContext } from '../../../lambdas/journal/decisions.ts';
import type { PersonEntry } from '../../../lambdas/journal/journal.ts';
import { policyHash } from '../../../lambdas/journal/sweep-journal.ts';
import { getSigningRequest } from '../../../lambdas/kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { reviewSelf } from '../../../lambdas/kubernetes/self-review.ts';
import { isPlainWord, printable } from '../../../lambdas/printable.ts';
import type { ApprovalSubject } from '../../../lambdas/resources/approval-subject.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { REASONS } from '../../../lambdas/tables/reasons.ts';
import { verdictDocument } from '../../../lambdas/words/verdict-words.ts';
import { EXIT } from '../../exit-codes.ts';
import { type Io, print, printJson } from '../../io.ts';
import { type KeyboardJournal, keepAtKeyboard } from '../../keyboard-journal.ts';
import { type NamedServer, otherwiseNotice, quote } from '../../target.ts';
import type { Lines } from '../../terminal/draw.ts';
import { explain, noSuchRequest } from '../explain.ts';
import { explanationLines } from '../explain-view.ts';
import { intentLines, recordNotice, refusalLines, writtenLines } from './view.ts';

export interface PersonAsked extends Omit<DecidedByPerson, 'by'> {
  /** Name of the CertificateSigningRequest. */
  readonly csr: string;
  readonly yes: boolean;
  /** The uid of the request that was shown before. */
  readonly uid?: string | undefined;
  /** Names that the user vouches for. */
  readonly names: readonly string[];
}

export interface PersonSettings {
  readonly output: 'table' | 'json';
  /** The command that starts this program. */
  readonly program: string;
  /** Version of certmarshal, for the journal. */
  readonly version: string;
  /** The target options as text, for the next command. */
  readonly repeat: string;
  /** Of them, those of a runbook. */
  readonly repeatNames: string;
  /** User name if the API server does not report it. */
  readonly localUser: string;
  /** @default only the output and the condition keep a record */
  readonly journal?: KeyboardJournal | undefined;
}

/** What is shown before anything is written. Writing is allowed only without `refused`. */
type PersonLook = {
  /** The verdict of all checks. */
  readonly verdict: Verdict;
  /** The verdict of a sweep. */
  readonly sweep: Verdict;
  /** Evidence that could not be read. */
  readonly problems: readonly Problem[];
} & (
  | { readonly refused: Refusal; readonly csr: SigningRequest | undefined }
  | { readonly refused?: undefined; readonly csr: SigningRequest; readonly subject: ApprovalSubject }
);

/** The cluster, with its id in the fleet for the journal. */
export type PersonTarget = SweepTarget & { readonly id: string; readonly server?: NamedServer };

/**
 * Shows one request with every check. With `yes`, writes the user's decision on exactly that object, once: observe,
 * decide, act, report.
 *
 * @returns the exit status: `done` if the condition is written, and journaled if requested
 * @throws KubernetesError if the request or the user's identity cannot be read
 */
export async function personCommand(
  target: PersonTarget,
  policies: readonly ApprovalPolicy[],
  asked: PersonAsked,
  settings: PersonSettings,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const startedAt = io.clock();
  const { id, cluster, server, workload } = target;
  const { decision, because, yes } = asked;
  const { output, journal } = settings;
  io.stderr.write(otherwiseNotice(cluster.name, server) ?? '');
  const look = await lookAt(target, policies, asked, startedAt, signal);
  if (look === undefined) {
    io.stderr.write(noSuchRequest(cluster.name, asked.csr));
    return EXIT.incomplete;
  }
  const { verdict, sweep, refused, problems: unread } = look;
  const document = {
    version: 1,
    kind: decision,
    at: new Date(startedAt).toISOString(),
    cluster: printable(cluster.name),
    csr: printable(asked.csr, 253),
    uid: look.csr && printable(look.csr.uid, 100),
    because,
    judged: verdictDocument(verdict),
    sweep: verdictDocument({ verdict: sweep.verdict, reason: sweep.reason, facts: sweep.facts }),
    unread,
  };
  const show = (following: Lines): void => {
    if (output === 'table')
      print(io, [
        explanationLines({ ...look, allNames: true, cluster: cluster.name, server }, asked.csr, settings, startedAt),
        following,
      ]);
  };
  if (refused !== undefined) {
    show(refusalLines(refused, verdict, asked));
    if (output === 'json') printJson(io, { ...document, refused });
    io.stderr.write(`Nothing was written: ${refused.message}.\n`);
    return EXIT.incomplete;
  }
  const { csr, subject } = look;
  const decided = { decision, because, by: await userOf(workload, settings.localUser, signal) };
  const condition = conditionByPerson(decided);
  if (!yes) {
    show(intentLines(csr, condition));
    if (output === 'json') printJson(io, { ...document, by: decided.by, condition });
    io.stderr.write(`Nothing was written: --yes does it.${nextCommand(csr, asked, settings)}\n`);
    return EXIT.incomplete;
  }

  show(undefined);
  if (journal === undefined) io.stderr.write(recordNotice());
  const outcome = await writeForPerson(subject, condition, { client: workload, signal });
  const context = { cluster: id, startedAt, policyHash: policyHash(policies), program: settings.version };
  const entry = personEntry({ csr, outcome, verdict, ...decided }, context);
  const unkept = journal && entry && (await keepAtKeyboard(journal, [entry]));
  const written = {
    kind: outcome.kind,
    problem: problemOf(outcome),
    overtaken: outcome.kind === 'overtaken' ? await whatOvertook(workload, subject, signal) : undefined,
  };
  const journaled = journal !== undefined && entry !== undefined && unkept === undefined;
  if (output === 'json') printJson(io, { ...document, by: decided.by, condition, written, journaled });
  else print(io, ['', writtenLines(written, asked, { condition, by: decided.by, program: settings.program })]);
  if (unkept !== undefined) io.stderr.write(`Not journaled: ${unkept}\n`);
  return outcome.kind === 'written' && unkept === undefined ? EXIT.done : EXIT.incomplete;
}

/** Undefined if the request does not exist. */
async function lookAt(
  target: PersonTarget,
  policies: readonly ApprovalPolicy[],
  { csr: name, decision, uid, names }: PersonAsked,
  now: number,
  signal: AbortSignal,
): Promise<PersonLook | undefined> {
  const explained = await explain(target, policies, name, now, signal).catch((error: unknown) => {
    if (error instanceof KubernetesError && error.kind === 'not-found') return undefined;
    throw error;
  });
  if (explained === undefined) return undefined;
  const { csr, subject, observed, problems = [], verdict: sweep } = explained;
  const verdict =
    observed === undefined || csr === undefined
      ? sweep
      : judgeForPerson(observed.cluster, csr, observed.evidence, policies, now);
  const readings = observed?.evidence.readings ?? [];
  const allRead = readings.length > 0 && readings.every(({ ok }) => ok);
  const shown = { verdict, sweep, problems };
  const refused =
    csr !== undefined && uid !== undefined && csr.uid !== uid
      ? {
          message: `it is not the request of --uid: another request has its name now, uid ${printable(csr.uid, 100)}`,
          remedy: 'Check this one like any other, without --uid.',
        }
      : refusalOf({ decision, verdict, cluster: observed?.cluster ?? target.cluster, allRead, names });
  if (refused !== undefined || csr === undefined) return { ...shown, csr, refused: refused ?? UNWRITABLE };
  return subject === undefined ? { ...shown, csr, refused: UNWRITABLE } : { ...shown, csr, subject };
}

const UNWRITABLE: Refusal = {
  message: 'the object lacks what a write is bound to, or has too much metadata to be written back as it was',
  remedy: REASONS.ObjectMalformed.next,
};

/** Our user name at the API server. */
async function userOf(client: KubernetesClient, localUser: string, signal: AbortSignal): Promise<string> {
  try {
    return (await reviewSelf(client, signal)).username;
  } catch (error) {
    // Kubernetes before 1.28 does not report it.
    if (error instanceof KubernetesError && error.kind === 'not-found')
      return printable(`${localUser} (not proven: the API server does not say)`);
    throw error;
  }
}

async function whatOvertook(
  client: KubernetesClient,
  { name, uid }: ApprovalSubject,
  signal: AbortSignal,
): Promise<string> {
  try {
    return overtakenBy(uid, await getSigningRequest(client, name, signal));
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return error.kind === 'not-found' ? 'it was deleted' : `${error.object}: ${error.problem}`;
  }
}

function problemOf(outcome: Outcome) {
  const error = 'error' in outcome ? outcome.error : undefined;
  return error && { object: error.object, message: error.problem, remedy: error.remedy };
}

/** A UUID of kube-apiserver. Source: apimachinery, `uuid.NewUUID`. */
const UID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Empty if the uid or the name from the cluster is unsafe to paste. */
function nextCommand({ uid }: SigningRequest, asked: PersonAsked, { program, repeat }: PersonSettings): string {
  const { csr: name, decision, because, names } = asked;
  if (!UID.test(uid) || !isPlainWord(name)) return '';
  const typed = names.map((each) => ` --name ${quote(each)}`).join('');
  return ` ${program} ${decision} ${quote(name)} --uid ${uid} --because ${quote(because, 'REASON')}${typed}${repeat} --yes`;
}

interface ActedByPerson extends Pick<Acted, 'csr' | 'outcome'>, DecidedByPerson {
  /** The verdict shown to the person. */
  readonly verdict: Verdict;
}

/**
 * The entry of one decision of a person; undefined if nothing was sent, for example because the CSR was decided or
 * changed first. Pure.
 */
export function personEntry(
  { csr, outcome, verdict, decision, by, because }: ActedByPerson,
  context: SweepContext,
): PersonEntry | undefined {
  if (outcome.kind === 'overtaken' || outcome.kind === 'unfinished') return undefined;
  return {
    ...decisionEntry({ csr, verdict, outcome }, decision, context),
    kind: 'person',
    verdict: decision,
    judged: verdict.verdict,
    failed: verdict.checks.flatMap(({ passed, rule }) => (passed ? [] : [rule])),
    by: printable(by),
    because: printable(because, MAX_BECAUSE),
  };
}
