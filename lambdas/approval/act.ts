import type { V1CertificateSigningRequest } from '@kubernetes/client-node';
import type { Failure } from '../contracts/problem.ts';
import {
  type ApprovalCondition,
  getSigningRequest,
  updateApproval,
} from '../kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { CERTIFICATE_KINDS, KubernetesError } from '../kubernetes/errors.ts';
import { printable } from '../printable.ts';
import { charged, inTurns } from '../processor-time.ts';
import { type ApprovalSubject, approvalSubjectOf } from '../resources/approval-subject.ts';
import { type JsonObject, list, raw, text } from '../resources/fields.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { readSigningRequest } from '../resources/signing-request.ts';
import { conditionMessage } from '../words/verdict-words.ts';
import { CONDITION_REASONS } from './condition-reasons.ts';
import type { Decision } from './decide.ts';
import { decideApproval, gateReason } from './decide-approval.ts';
import type { Evidence } from './evidence/evidence.ts';
import { type DecidedByPerson, MAX_BECAUSE } from './person.ts';
import type { EnginePolicy } from './policy.ts';
import type { Verdict } from './verdict.ts';

/**
 * The outcome of a decision.
 *
 * - `none`: nothing to write (leave, ignore).
 * - `written`: the condition is on the object.
 * - `observed`: not written, because the policy is in mode observe or the run writes nothing.
 * - `overtaken`: another writer decided, deleted or replaced the object after it was read; nothing was written.
 * - `failed`: the write was not sent, or was rejected; `error` says why.
 * - `unfinished`: time ran out before the write began.
 * - `unknown`: the write was sent, but no answer says whether it was done; `error` is absent if certmarshal itself
 * failed.
 */
export type Outcome =
  | { readonly kind: 'none' | 'written' | 'observed' | 'overtaken' | 'unfinished' }
  | { readonly kind: 'failed'; readonly error: Failure }
  | { readonly kind: 'unknown'; readonly error?: KubernetesError };

/**
 * A decision that was carried out, as reports need it. After a conflict, the verdict is that of the second judgement.
 */
export interface Acted {
  readonly csr: SigningRequest;
  /** `names` is present only in `onActed`: a hostile request can have a thousand, too many to keep during a storm. */
  readonly verdict: Omit<Verdict, 'checks' | 'names'> & Partial<Pick<Verdict, 'names'>>;
  readonly outcome: Outcome;
}

interface WriteContext {
  readonly client: KubernetesClient;
  readonly signal: AbortSignal;
}

interface Context extends WriteContext {
  readonly evidence: Evidence;
  readonly policies: readonly EnginePolicy[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * Called before each write, also after a conflict. An outcome that it returns replaces the write. @default every
   * write is done
   */
  readonly instead?: ((decision: Decision) => Promise<Outcome | undefined>) | undefined;
  readonly onActed?: (acted: Acted) => void;
  /** Receives the first bug after all writes have ended, so that they are reported. @default the bug is thrown then */
  readonly onBug?: (error: unknown) => void;
}

/**
 * Writes the decisions concurrently. Each write carries uid and resourceVersion of the judged object, so it can change
 * only that object. A failed write does not stop the others. What is left when the signal aborts is not judged.
 */
export async function act(decisions: Iterable<Decision>, context: Context): Promise<readonly Acted[]> {
  const acted: Acted[] = [];
  const bugs: unknown[] = [];
  const writes = new Set<Promise<void>>();
  const limiter = createWriteLimiter(() => context.client.stats.throttled);
  const done = (entry: Acted) => {
    acted.push(withoutNames(entry));
    context.onActed?.(entry);
  };
  try {
    for await (const decision of inTurns(decisions, (decided) => decided)) {
      if (context.signal.aborted) break;
      const unwritten = outcomeWithoutWrite(decision.verdict);
      if (unwritten !== undefined) {
        done(actedOn(decision, unwritten));
        continue;
      }
      await limiter.enter();
      const underWay = writeDecision(decision, context)
        .catch((error: unknown) => {
          bugs.push(error);
          return actedOn(decision, { kind: 'unknown' });
        })
        .then(done)
        .catch((error: unknown) => void bugs.push(error))
        .finally(() => {
          limiter.leave();
          writes.delete(underWay);
        });
      writes.add(underWay);
    }
  } catch (error) {
    bugs.push(error);
  }
  await Promise.all(writes);
  if (bugs.length > 0) {
    const [bug] = bugs;
    if (context.onBug === undefined) throw bug;
    context.onBug(bug);
  }
  return acted;
}

function outcomeWithoutWrite({ verdict, mode }: Verdict): Outcome | undefined {
  if (verdict !== 'approve' && verdict !== 'deny') return { kind: 'none' };
  return mode === 'enforce' ? undefined : { kind: 'observed' };
}

function actedOn({ csr, verdict: { checks: _checks, ...verdict } }: Decision, outcome: Outcome): Acted {
  return { csr, verdict, outcome };
}

function withoutNames({ verdict: { names: _names, ...verdict }, ...entry }: Acted): Acted {
  return { ...entry, verdict };
}

async function writeDecision(decision: Decision, context: Context): Promise<Acted> {
  const written = await write(decision.subject, conditionOf(decision.verdict), context, decision);
  return written.kind === 'conflict' ? secondLook(decision, written, context) : actedOn(decision, written);
}

/**
 * The object changed since it was listed: reads and judges it again, and writes only if it is still the same object.
 */
async function secondLook(decision: Decision, first: Conflict, context: Context): Promise<Acted> {
  const { evidence, policies } = context;
  const look = await lookAgain(decision.csr, conditionOf(decision.verdict), first, context);
  if ('outcome' in look) return actedOn(decision, look.outcome);
  const { object } = look;
  const read = readSigningRequest(object);
  const subject = approvalSubjectOf(object);
  if (
    !read.ok ||
    subject === undefined ||
    read.csr.uid !== decision.csr.uid ||
    gateReason(read.csr, decision.csr.signerName)
  )
    return actedOn(decision, { kind: 'overtaken' });
  const request = { ...decision.request, csr: read.csr };
  const verdict = charged(() => decideApproval(request, evidence, policies, context.now()));
  const again: Decision = { csr: read.csr, subject, request, verdict };
  const unwritten = outcomeWithoutWrite(verdict);
  if (unwritten !== undefined) return actedOn(again, unwritten);
  const written = await write(subject, conditionOf(verdict), context, again);
  if (written.kind !== 'conflict') return actedOn(again, written);
  // Another writer is changing the object, and the next sweep sees the result; unless it was our own write.
  const last = await lookAgain(again.csr, conditionOf(verdict), written, context);
  return actedOn(again, 'outcome' in last ? last.outcome : { kind: 'overtaken' });
}

/**
 * Reads the object after a conflict, or returns the outcome if that is known. A retried write can conflict with its own
 * first attempt.
 */
async function lookAgain(
  { name, uid }: Pick<ApprovalSubject, 'name' | 'uid'>,
  condition: ApprovalCondition,
  { isRetried }: Conflict,
  { client, signal }: WriteContext,
): Promise<{ readonly object: JsonObject } | { readonly outcome: Outcome }> {
  try {
    const object = await getSigningRequest(client, name, signal);
    return isRetried && isWritten(object, uid, condition) ? { outcome: { kind: 'written' } } : { object };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (isRetried) return { outcome: { kind: 'unknown', error } };
    if (error.kind === 'not-found') return { outcome: { kind: 'overtaken' } };
    return { outcome: error.kind === 'aborted' && signal.aborted ? { kind: 'unfinished' } : { kind: 'failed', error } };
  }
}

/**
 * Whether the object has the condition. Without a retry this proves nothing: another certmarshal wrote it, and reports
 * it.
 */
function isWritten(object: JsonObject, uid: string, { type, reason, message }: ApprovalCondition): boolean {
  const request = raw<V1CertificateSigningRequest>(object);
  return (
    text(request, 'metadata', 'uid') === uid &&
    list(request, 'status', 'conditions').some(
      (found) => text(found, 'type') === type && text(found, 'reason') === reason && text(found, 'message') === message,
    )
  );
}

interface Conflict {
  readonly kind: 'conflict';
  /** This write may have been sent more than once. */
  readonly isRetried: boolean;
}

/**
 * Writes a person's decision on exactly this object, without judging it again. If the object was decided, changed,
 * deleted or replaced since it was read, nothing is written (`overtaken`).
 */
export async function writeForPerson(
  subject: ApprovalSubject,
  condition: ApprovalCondition,
  context: WriteContext,
): Promise<Outcome> {
  const written = await write(subject, condition, context);
  if (written.kind !== 'conflict') return written;
  const look = await lookAgain(subject, condition, written, context);
  return 'outcome' in look ? look.outcome : { kind: 'overtaken' };
}

/** @param decision that of a policy, which `instead` may replace. @default a person's */
async function write(
  subject: ApprovalSubject | undefined,
  condition: ApprovalCondition,
  { client, signal, instead }: WriteContext & Pick<Context, 'instead'>,
  decision?: Decision,
): Promise<Outcome | Conflict> {
  // `decide` approves nothing without a subject.
  if (signal.aborted || subject === undefined) return { kind: 'unfinished' };
  const replaced = decision && (await instead?.(decision));
  if (replaced !== undefined) return replaced;
  const { retries } = client.stats;
  try {
    await updateApproval(client, subject, condition, signal);
    return { kind: 'written' };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    // The client counts retries of all writes together: one retry makes every concurrent conflict doubtful.
    if (error.kind === 'conflict') return { kind: 'conflict', isRetried: client.stats.retries !== retries };
    if (error.kind === 'not-found') return { kind: 'overtaken' };
    return { kind: isRefused(error) ? 'failed' : 'unknown', error };
  }
}

function conditionOf(verdict: Verdict): ApprovalCondition {
  const { facts, policy } = verdict;
  if (verdict.verdict !== 'approve')
    return { type: 'Denied', reason: CONDITION_REASONS.deny, message: conditionMessage(facts, verdict.reason, policy) };
  const reason = CONDITION_REASONS[facts.cause === 'recovered' ? 'recover' : 'approve'];
  return { type: 'Approved', reason, message: conditionMessage(facts, undefined, policy) };
}

/** Says who decided and their reason, in at most 1,500 printable characters. */
export function conditionByPerson({ decision, by, because }: DecidedByPerson): ApprovalCondition {
  const approve = decision === 'approve';
  return {
    type: approve ? 'Approved' : 'Denied',
    reason: CONDITION_REASONS[approve ? 'approveByPerson' : 'denyByPerson'],
    message: `${printable(by)}: ${printable(because, MAX_BECAUSE)}`,
  };
}

const NOT_CONNECTED: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);
/** Without a status, these errors occur before the write is sent. */
const NOT_SENT: ReadonlySet<string> = new Set(['credentials', 'invalid', 'unauthorized', ...CERTIFICATE_KINDS]);

/**
 * Whether the write was certainly not done. A 5xx leaves that open; a 2xx is an error only if its body is unreadable.
 */
function isRefused({ kind, status, code }: KubernetesError): boolean {
  if (status !== undefined) return status >= 300 && status < 500;
  return NOT_SENT.has(kind) || NOT_CONNECTED.has(code ?? '');
}

// 16 to 64 writes in flight saturate a kube-apiserver with two cores; more only queue. A 429 halves the limit, ten
// answers in a row raise it by one.
const INITIAL = 32;
const MAXIMUM = 64;
const RAISE_AFTER = 10;

/** Limits concurrent writes: additive increase, multiplicative decrease. */
export interface WriteLimiter {
  /** Resolves when there is room for one more write; each call needs one {@link leave}. */
  enter(): Promise<void>;
  leave(): void;
  readonly limit: number;
}

/**
 * @param throttled how often the server has asked to slow down so far; retries inside a write count as well
 * @param most writes at once
 */
export function createWriteLimiter(throttled: () => number, most: number = MAXIMUM): WriteLimiter {
  let limit = Math.min(INITIAL, most);
  let inFlight = 0;
  let answered = 0;
  let heeded = throttled();
  const waiting: (() => void)[] = [];

  return {
    async enter() {
      if (inFlight < limit) inFlight += 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
    leave() {
      inFlight -= 1;
      answered += 1;
      if (throttled() > heeded) {
        heeded = throttled();
        answered = 0;
        limit = Math.max(1, Math.floor(limit / 2));
      } else if (answered >= RAISE_AFTER && limit < most) {
        answered = 0;
        limit += 1;
      }
      while (inFlight < limit && waiting.length > 0) {
        inFlight += 1;
        waiting.shift()?.();
      }
    },
    get limit() {
      return limit;
    },
  };
}
