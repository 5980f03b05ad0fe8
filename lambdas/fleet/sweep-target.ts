import type { ApprovalPolicy } from '../approval/policy.ts';
import type { ReadKubeconfigSecret } from '../aws/kubeconfig-secret.ts';
import type { Problem } from '../problem.ts';
import type { SweepReport } from '../sweep/report.ts';
import { type Clock, sweep } from '../sweep/sweep.ts';
import { createIdleTargets } from './idle-targets.ts';
import { type OpenTarget, openTarget, UnusableTargetError } from './open-target.ts';
import type { Target } from './target.ts';

/** What became of a target. Nothing of this is a failure of certmarshal: the next tick sweeps the cluster again. */
export type TargetOutcome =
  | { readonly kind: 'swept'; readonly report: SweepReport }
  /** No client could be made from its secrets. */
  | { readonly kind: 'unusable'; readonly problem: Problem };

export interface TargetSweeperOptions {
  readonly readSecret: ReadKubeconfigSecret;
  readonly policies: readonly ApprovalPolicy[];
  readonly clock: Clock;
}

/**
 * Sweeps one target; not twice at once.
 *
 * @throws KubeconfigSecretError of kind `unavailable` when Secrets Manager cannot be asked
 */
export type SweepOneTarget = (target: Target, signal: AbortSignal) => Promise<TargetOutcome>;

/** Each keeps a few sockets, and about 100 kB, between two sweeps. */
const KEPT_TARGETS = 64;

/** Problems that other credentials or another CA bundle may end. A source of evidence does not say why it could not be read. */
const SUSPECT: ReadonlySet<string> = new Set(['unauthorized', 'certificate', 'evidence']);

/**
 * A function that sweeps targets and keeps their connections from one sweep to the next. The secrets are read again whenever a sweep
 * gives reason to believe that they changed: after a rotation of credentials or of the cluster's CA the same tick already succeeds.
 */
export function createTargetSweeper({ readSecret, policies, clock }: TargetSweeperOptions): SweepOneTarget {
  const idle = createIdleTargets(KEPT_TARGETS);
  return async (target, signal) => {
    const key = JSON.stringify(target);
    const kept = idle.take(key);
    if (kept !== undefined) {
      const report = await sweepOpen(key, kept, signal);
      // Once something was written, only this report knows it.
      if (!isSuspect(report) || report.requests.writes > 0 || signal.aborted) return { kind: 'swept', report };
    }
    try {
      const report = await sweepOpen(key, await openTarget(target, readSecret, signal), signal);
      return { kind: 'swept', report };
    } catch (error) {
      if (error instanceof UnusableTargetError) return { kind: 'unusable', problem: error.problem };
      throw error;
    }
  };

  async function sweepOpen(key: string, open: OpenTarget, signal: AbortSignal): Promise<SweepReport> {
    let keep = false;
    try {
      const report = await sweep(open, policies, clock, signal);
      keep = !isSuspect(report);
      return report;
    } finally {
      if (keep) idle.keep(key, open);
      else open.close();
    }
  }
}

function isSuspect({ problems }: SweepReport): boolean {
  return problems.some(({ kind }) => SUSPECT.has(kind));
}
