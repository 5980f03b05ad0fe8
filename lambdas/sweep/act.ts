import { setImmediate as nextTurn } from 'node:timers/promises';
import { decideApproval, gateReason } from '../approval/decide.ts';
import type { Evidence } from '../approval/evidence.ts';
import type { ApprovalPolicy } from '../approval/policy.ts';
import { readSigningRequest } from '../approval/read-request.ts';
import type { SigningRequest } from '../approval/request.ts';
import type { Verdict } from '../approval/verdict.ts';
import {
  type ApprovalSubject,
  approvalSubjectOf,
  getSigningRequest,
  updateApproval,
} from '../kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import type { Decision } from './decide.ts';
import { createWriteLimiter } from './write-limiter.ts';

/** The reason on the conditions that certmarshal writes; `kubectl get csr NAME -o yaml` shows it. */
export const CONDITION_REASONS = { approve: 'CertMarshalApproved', deny: 'CertMarshalDenied' } as const;

/**
 * What became of a decision.
 *
 * - `none`: nothing to write (leave, ignore).
 * - `written`: the condition is on the object.
 * - `observed`: it would have been written; the policy is in mode observe.
 * - `overtaken`: somebody else decided, deleted or replaced the object since it was read; nothing was written.
 * - `failed`: the write failed; `error` says why.
 * - `unfinished`: the time was over before the write began.
 */
export type Outcome =
  | { readonly kind: 'none' | 'written' | 'observed' | 'overtaken' | 'unfinished' }
  | { readonly kind: 'failed'; readonly error: KubernetesError };

/** A decision that was carried out: what a report needs of it. After a conflict the verdict is that of the second look. */
export interface Acted {
  readonly csr: SigningRequest;
  /** `names` only as it is told: hostile requests have a thousand each, too many to keep until a storm is over. */
  readonly verdict: Omit<Verdict, 'checks' | 'names'> & Partial<Pick<Verdict, 'names'>>;
  readonly outcome: Outcome;
}

interface Context {
  readonly client: KubernetesClient;
  readonly evidence: Evidence;
  readonly policies: readonly ApprovalPolicy[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly onActed?: (acted: Acted) => void;
}

/** Milliseconds of judging after which other clusters in this process, and the deadline, get their turn. */
export const TURN_MS = 20;

/**
 * Writes the decisions, several at a time. Each write carries uid and resourceVersion of the object that was judged, so that
 * it can only land on exactly that object. One failed write does not stop the others. When the signal aborts, what is left is not judged.
 */
export async function act(decisions: Iterable<Decision>, context: Context): Promise<readonly Acted[]> {
  const limiter = createWriteLimiter(() => context.client.stats.throttled);
  const acted: Acted[] = [];
  const writes = new Set<Promise<void>>();
  let bug: unknown;
  const done = (entry: Acted) => {
    acted.push(withoutNames(entry));
    context.onActed?.(entry);
  };
  let turn = performance.now();
  for (const decision of decisions) {
    if (performance.now() - turn > TURN_MS) {
      await nextTurn();
      turn = performance.now();
    }
    if (context.signal.aborted) break;
    const unwritten = outcomeWithoutWrite(decision.verdict);
    if (unwritten !== undefined) {
      done(actedOn(decision, unwritten));
      continue;
    }
    await limiter.enter();
    const underWay = writeDecision(decision, context)
      .then(done)
      .catch((error: unknown) => {
        bug ??= error;
      })
      .finally(() => {
        limiter.leave();
        writes.delete(underWay);
      });
    writes.add(underWay);
  }
  await Promise.all(writes);
  if (bug !== undefined) throw bug;
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
  const { subject } = decision;
  // `decide` never approves what it cannot write.
  if (context.signal.aborted || subject === undefined) return actedOn(decision, { kind: 'unfinished' });
  try {
    await write(context, subject, decision.verdict);
    return actedOn(decision, { kind: 'written' });
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (error.kind === 'conflict') return secondLook(decision, context);
    return actedOn(decision, error.kind === 'not-found' ? { kind: 'overtaken' } : outcomeOf(error, context.signal));
  }
}

/** The object changed since it was listed: read it again, judge it again, and write only if it is still the same object. */
async function secondLook(decision: Decision, context: Context): Promise<Acted> {
  const { client, evidence, policies, signal } = context;
  try {
    const object = await getSigningRequest(client, decision.csr.name, signal);
    const read = readSigningRequest(object);
    const subject = approvalSubjectOf(object);
    if (!read.ok || subject === undefined || read.csr.uid !== decision.csr.uid || gateReason(read.csr) !== undefined)
      return actedOn(decision, { kind: 'overtaken' });
    const request = { ...decision.request, csr: read.csr };
    const verdict = decideApproval(request, evidence, policies, context.now());
    const again: Decision = { csr: read.csr, subject, request, verdict };
    const unwritten = outcomeWithoutWrite(verdict);
    if (unwritten !== undefined) return actedOn(again, unwritten);
    await write(context, subject, verdict);
    return actedOn(again, { kind: 'written' });
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    // A second conflict means that somebody is busy with the object; the next sweep sees what they made of it.
    const overtaken = error.kind === 'conflict' || error.kind === 'not-found';
    return actedOn(decision, overtaken ? { kind: 'overtaken' } : outcomeOf(error, signal));
  }
}

async function write({ client, signal }: Context, subject: ApprovalSubject, verdict: Verdict): Promise<void> {
  const approve = verdict.verdict === 'approve';
  await updateApproval(
    client,
    subject,
    {
      type: approve ? 'Approved' : 'Denied',
      reason: CONDITION_REASONS[approve ? 'approve' : 'deny'],
      message: `policy ${verdict.policy ?? ''}: ${approve ? '' : `${verdict.reason}: `}${verdict.message}`,
    },
    signal,
  );
}

function outcomeOf(error: KubernetesError, signal: AbortSignal): Outcome {
  return error.kind === 'aborted' && signal.aborted ? { kind: 'unfinished' } : { kind: 'failed', error };
}
