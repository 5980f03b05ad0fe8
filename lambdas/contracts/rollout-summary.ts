import * as z from 'zod/mini';
import { ROLLOUT_STATES } from '../tables/rollout-states.ts';
import { type Contract, list, matching, printed } from './contract.ts';
import { RolloutId, Trigger } from './rollout-mark.ts';
import { Count, Flag, Time } from './values.ts';

/** Characters; longer text is cut. */
export const ROLLOUT_LIMITS = { message: 400, object: 200, text: 300, name: 253 } as const;
export const MAX_REASONS = 10;
/** Most machines, for control plane and etcd each. */
export const MAX_MACHINES = 9;

const name = printed(ROLLOUT_LIMITS.name);
const object = printed(ROLLOUT_LIMITS.object);
const sentence = printed(ROLLOUT_LIMITS.text);
/** A section of `docs/runbooks/rollouts.md`. */
const PageId = matching(/^[a-z][a-z0-9-]{0,59}$/, 'the id of a page');

/** Why it does not begin or continue automatically: a failed check, or a reason to hold. */
const HoldReason = z.object({
  id: PageId,
  /** `MachineHealthCheck eksa-system/berlin-kcp-unhealthy`; absent if it is about the whole cluster. */
  object: z.optional(object),
  /** Without a full stop: `2 of 3 machines healthy`. */
  message: sentence,
  remedy: sentence,
  /** It passes with time, without anyone. */
  passing: Flag,
});
export type HoldReason = Contract<typeof HoldReason>;

const Machine = z.object({
  name,
  node: z.optional(name),
  /**
   * `old` waits for its turn, `new` is being created, `replaced` has its Node, `verified` serves its new certificate,
   * `leaving` is being deleted, or its etcd member is to be removed.
   */
  state: z.enum(['old', 'new', 'replaced', 'verified', 'leaving']),
  createdAt: z.optional(Time),
  /** Expiry of its certificate, if a handshake showed one. */
  notBefore: z.optional(Time),
  notAfter: z.optional(Time),
});
export type MachineSummary = Contract<typeof Machine>;

const Progress = z.object({
  wanted: Count,
  replaced: Count,
  verified: Count,
  /** Those that are not verified come first. */
  machines: list(Machine, MAX_MACHINES),
  movedAt: z.optional(Time),
});

export const RolloutSummary = z.object({
  state: z.enum(ROLLOUT_STATES),
  /** The whole story in one sentence, without a full stop. */
  message: printed(ROLLOUT_LIMITS.message),
  /** Time of the step. */
  at: Time,
  /** Our current or last rollout. */
  rollout: z.optional(
    z.object({
      id: RolloutId,
      start: Time,
      trigger: Trigger,
      abortedAt: z.optional(Time),
    }),
  ),
  /** When the first certificate expires that a rollout would renew. */
  soonestEnd: z.optional(Time),
  /** The span for the schedule to begin: after `until` only a person can. */
  span: z.optional(z.object({ from: Time, until: Time })),
  /** When a maintenance window opens next, if there are any and none is open. */
  nextWindow: z.optional(Time),
  /** The first reasons of `reasonCount`. */
  reasons: list(HoldReason, MAX_REASONS),
  reasonCount: Count,
  /** Of the control plane, and of external etcd. */
  progress: z.optional(z.extend(Progress, { etcd: z.optional(Progress) })),
  /** Duration from the start to the last activity, once done. */
  durationMs: z.optional(Count),
  /** The write of this step, successful or not. */
  write: z.optional(
    z.object({
      kind: z.enum([
        'roll-control-plane',
        'pause-control-plane',
        'roll-etcd',
        'unpause-control-plane',
        'hold',
        'abort',
      ]),
      outcome: z.enum(['written', 'overtaken', 'refused', 'locked', 'failed', 'unknown']),
    }),
  ),
});
export type RolloutSummary = Contract<typeof RolloutSummary>;
export type ProgressSummary = NonNullable<RolloutSummary['progress']>;
