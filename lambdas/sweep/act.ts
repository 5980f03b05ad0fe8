import { decideApproval, gateReason } from '../approval/decide.ts';
import type { Evidence } from '../approval/evidence.ts';
import type { ApprovalPolicy } from '../approval/policy.ts';
import { readSigningRequest } from '../approval/read-request.ts';
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
import { createWriteLimiter, type WriteLimiter } from './write-limiter.ts';

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

/** A decision that was carried out. After a conflict the verdict is that of the second look. */
export interface Acted extends Decision {
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

/**
 * Writes the decisions, several at a time. Each write carries uid and resourceVersion of the object that was judged, so that
 * it can only land on exactly that object. One failed write does not stop the others.
 */
export async function act(decisions: readonly Decision[], context: Context): Promise<readonly Acted[]> {
  const limiter = createWriteLimiter(() => context.client.stats.throttled);
  return Promise.all(
    decisions.map(async (decision) => {
      const acted = await actOn(decision, context, limiter);
      context.onActed?.(acted);
      return acted;
    }),
  );
}

async function actOn(decision: Decision, context: Context, limiter: WriteLimiter): Promise<Acted> {
  const { verdict } = decision;
  if (verdict.verdict !== 'approve' && verdict.verdict !== 'deny') return { ...decision, outcome: { kind: 'none' } };
  if (verdict.mode !== 'enforce') return { ...decision, outcome: { kind: 'observed' } };
  return limiter.run(async () => {
    if (context.signal.aborted) return { ...decision, outcome: { kind: 'unfinished' } };
    try {
      await write(context, decision.subject, verdict);
      return { ...decision, outcome: { kind: 'written' } };
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      if (error.kind === 'not-found') return { ...decision, outcome: { kind: 'overtaken' } };
      if (error.kind !== 'conflict') return { ...decision, outcome: outcomeOf(error, context.signal) };
      return secondLook(decision, context);
    }
  });
}

/** The object changed since it was listed: read it again, judge it again, and write only if it is still the same object. */
async function secondLook(decision: Decision, context: Context): Promise<Acted> {
  const { client, evidence, policies, signal } = context;
  try {
    const object = await getSigningRequest(client, decision.csr.name, signal);
    const read = readSigningRequest(object);
    const subject = approvalSubjectOf(object);
    if (!read.ok || subject === undefined || read.csr.uid !== decision.csr.uid || gateReason(read.csr) !== undefined)
      return { ...decision, outcome: { kind: 'overtaken' } };
    const request = { ...decision.request, csr: read.csr };
    const verdict = decideApproval(request, evidence, policies, context.now());
    const again: Decision = { csr: read.csr, subject, request, verdict };
    if (verdict.verdict !== 'approve' && verdict.verdict !== 'deny') return { ...again, outcome: { kind: 'none' } };
    if (verdict.mode !== 'enforce') return { ...again, outcome: { kind: 'observed' } };
    await write(context, subject, verdict);
    return { ...again, outcome: { kind: 'written' } };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    // A second conflict means that somebody is busy with the object; the next sweep sees what they made of it.
    if (error.kind === 'conflict' || error.kind === 'not-found') return { ...decision, outcome: { kind: 'overtaken' } };
    return { ...decision, outcome: outcomeOf(error, signal) };
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
