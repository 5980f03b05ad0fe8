import { setTimeout as delay } from 'node:timers/promises';
import type { SweepTarget } from '../../lambdas/approval/observe.ts';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import type { SweepReport } from '../../lambdas/approval/report.ts';
import { isFor } from '../../lambdas/approval/selection.ts';
import { sweep } from '../../lambdas/approval/sweep.ts';
import { parseDuration } from '../../lambdas/config/duration.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type OpenCluster, otherwiseNotice } from '../target.ts';
import { startProgress } from '../terminal/progress.ts';
import { styleFor } from '../terminal/style.ts';
import { terminalWidth } from '../terminal/wrap.ts';
import { renderSweep } from './sweep-view.ts';

export interface SweepOptions {
  readonly observe?: boolean;
  readonly output: 'table' | 'json';
  readonly every?: string;
  /** How the user starts this program. */
  readonly program: string;
  /** The options that say which cluster, for the commands it recommends. */
  readonly repeat: string;
}

/**
 * Sweeps one cluster once, or again and again with `every` until the signal aborts. JSON is one document a sweep, on one line. The target
 * is opened anew for each sweep: credentials of a kubeconfig expire.
 *
 * @returns the exit status of the worst sweep
 */
export async function sweepCommand(
  open: () => Promise<SweepTarget & Pick<OpenCluster, 'server' | 'close'>>,
  policies: readonly ApprovalPolicy[],
  options: SweepOptions,
  signal: AbortSignal,
): Promise<number> {
  const pauseMs = options.every === undefined ? undefined : everyMs(options.every);
  const inForce: readonly ApprovalPolicy[] =
    options.observe === true ? policies.map((policy) => ({ ...policy, mode: 'observe' as const })) : policies;
  let status: number = EXIT.done;
  const style = styleFor(process.stdout, process.env);
  for (let round = 1; ; round += 1) {
    if (pauseMs !== undefined && options.output === 'table')
      process.stdout.write(`${round === 1 ? '' : '\n'}${style.faint(localTime(new Date()))}\n`);
    const target = await open();
    if (round === 1) process.stderr.write(otherwiseNotice(target.cluster.name, target.server) ?? '');
    const report = await sweepOnce(target, inForce, signal).finally(() => target.close());
    const { server } = target;
    const view = { ...options, report, server, policies: inForce.filter((policy) => isFor(policy, target.cluster)) };
    process.stdout.write(
      options.output === 'json'
        ? `${JSON.stringify(report)}\n`
        : `${renderSweep(view, style, terminalWidth(process.stdout))}\n`,
    );
    if (!report.complete) status = EXIT.incomplete;
    if (pauseMs === undefined || signal.aborted) return status;
    try {
      await delay(pauseMs, undefined, { signal });
    } catch {
      return status;
    }
  }
}

async function sweepOnce(
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
): Promise<SweepReport> {
  const progress = startProgress(process.stderr);
  const { name } = target.cluster;
  progress.say(`${name}: reading requests and evidence`);
  let open = 0;
  let judged = 0;
  try {
    return await sweep(target, policies, Date.now, signal, {
      observed: (observed) => {
        open = observed.open.length;
      },
      acted: () => {
        judged += 1;
        progress.say(`${name}: ${judged} of ${open} open requests judged`);
      },
    });
  } finally {
    progress.done();
  }
}

/** `14:03:05`: what the clock on the wall says. */
function localTime(time: Date): string {
  return time.toTimeString().slice(0, 8);
}

function everyMs(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < 1)
    throw new UsageError(`--every takes a duration of at least 1s, for example 30s or 5m; got ${text}`);
  return seconds * 1000;
}
