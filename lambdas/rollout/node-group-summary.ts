import type { Problem } from '../contracts/problem.ts';
import { type HoldReason, ROLLOUT_LIMITS, type RolloutSummary } from '../contracts/rollout-summary.ts';
import { printable } from '../printable.ts';
import { NODES_BY_HAND, type NodeGroupHoldId, type NodeGroupRequest, successorOf } from './node-groups.ts';
import type { NodeGroupsStepped } from './step-node-groups.ts';
import { boundedReasons, failedChecks, textOf } from './summary.ts';

/**
 * The state of the node groups of an EKS cluster, for people. The span is from the successor CA to the last day for
 * beginning. Pure.
 */
export function nodeGroupSummaryOf({
  observed,
  step,
  written,
  at,
}: Pick<NodeGroupsStepped, 'observed' | 'step' | 'written' | 'at'>): RolloutSummary {
  const { message, checks, deadline, nextWindow, asks } = step;
  const refused = written?.kind === 'refused' ? written.problem : undefined;
  const held = step.kind === 'hold' ? step.reasons : refused === undefined ? [] : [notUpdated(refused)];
  const [from, until] = [textOf(successorOf(observed.authorities)?.createdAt), textOf(deadline)];
  return {
    state: refused === undefined ? step.state : 'refused',
    message: printable(message, ROLLOUT_LIMITS.message),
    at,
    ...failedChecks(checks),
    reasons: boundedReasons([...held, ...asks.map(byHand)]),
    span: from === undefined || until === undefined ? undefined : { from, until },
    nextWindow: textOf(nextWindow),
    write: step.kind === 'act' && written ? ({ kind: 'update-node-group', outcome: written.kind } as const) : undefined,
  };
}

/** The next step tries again, but only a person can make it succeed. */
function notUpdated({ object, message, remedy }: Problem): HoldReason {
  return { id: 'node-group-not-updated' satisfies NodeGroupHoldId, object, message, remedy };
}

/** Left to a person in any case. */
function byHand({ object, message, command }: NodeGroupRequest): HoldReason {
  return { id: NODES_BY_HAND, object, message, remedy: command };
}
