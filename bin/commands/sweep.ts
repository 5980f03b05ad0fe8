import { approve } from '../../lambdas/approval/approve.ts';
import type { SweepTarget } from '../../lambdas/approval/observe.ts';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import type { SweepReport } from '../../lambdas/approval/report.ts';
import { isFor } from '../../lambdas/approval/selection.ts';
import { parseDuration } from '../../lambdas/config/duration.ts';
import { type AllContextsOptions, withAllContexts } from '../all-contexts.ts';
import { EXIT_HELP, type Register, withTarget } from '../command.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { type Io, PROCESS, print, printJson } from '../io.ts';
import { type OpenCluster, openTarget, otherwiseNotice, repeatOptions } from '../target.ts';
import { draw, screenOf } from '../terminal/draw.ts';
import { faint } from '../terminal/paint.ts';
import { startProgress } from '../terminal/progress.ts';
import { sweepLines } from './sweep-view.ts';

export interface SweepOptions {
  readonly observe?: boolean;
  readonly output: 'table' | 'json';
  readonly every?: string;
  /** How the user starts this program. */
  readonly program: string;
  /** The options that say which cluster, for the commands it recommends. */
  readonly repeat: string;
}

export const register: Register = (command, { program: name, interruption, run }) => {
  withAllContexts(withTarget(command), 'sweeps, which write nothing')
    .option('--observe', 'make every decision, write nothing')
    .option('--every <duration>', 'sweep again after this pause until Ctrl-C, for example 30s')
    .addHelpText(
      'after',
      `
Examples:
  ${name} sweep --kubeconfig ~/.kube/config --observe
  ${name} sweep --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod
  ${name} sweep --kubeconfig berlin.yaml --service-cidr 10.96.0.0/12 --service-cidr fd00:10:96::/112 --observe
  ${name} sweep --kubeconfig berlin.yaml --policy fleet.yaml --every 30s
  ${name} sweep --kubeconfig berlin.yaml --output json
  ${name} sweep --all-contexts
${EXIT_HELP}`,
    )
    .action(
      run(async (options: AllContextsOptions & { policy?: string } & Omit<SweepOptions, 'program' | 'repeat'>) => {
        const fleet = await loadFleet(options.policy);
        if (options.allContexts === true) {
          // The page is only loaded by those who ask for it.
          const { sweepAllContexts } = await import('./sweep-contexts.ts');
          return sweepAllContexts(options, fleet, interruption('what was read by now is shown'), PROCESS);
        }
        const given = { ...options, program: name, repeat: repeatOptions(options) };
        return sweepCommand(() => openTarget(options, fleet), fleet.policies, given, interruption(), PROCESS);
      }),
    );
};

/**
 * Sweeps one cluster once, or again and again with `every` until the signal aborts. JSON is one document a sweep, on one line. The target
 * is opened anew for each sweep: credentials of a kubeconfig expire.
 *
 * @returns the exit status of the worst sweep
 */
async function sweepCommand(
  open: () => Promise<SweepTarget & Pick<OpenCluster, 'server' | 'close'>>,
  policies: readonly ApprovalPolicy[],
  options: SweepOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const pauseMs = options.every === undefined ? undefined : everyMs(options.every);
  const inForce: readonly ApprovalPolicy[] =
    options.observe === true ? policies.map((policy) => ({ ...policy, mode: 'observe' as const })) : policies;
  const { stdout, stderr, clock } = io;
  let status: number = EXIT.done;
  for (let round = 1; ; round += 1) {
    if (pauseMs !== undefined && options.output === 'table')
      stdout.write(`${round === 1 ? '' : '\n'}${draw(faint(localTime(clock())), screenOf(stdout, io.env))}\n`);
    const target = await open();
    const { cluster, server } = target;
    if (round === 1) stderr.write(otherwiseNotice(cluster.name, server) ?? '');
    const report = await sweepOnce(target, inForce, signal, io).finally(() => target.close());
    if (options.output === 'json') printJson(io, report);
    else print(io, sweepLines({ ...options, report, server, policies: inForce.filter((one) => isFor(one, cluster)) }));
    if (!report.complete) status = EXIT.incomplete;
    if (pauseMs === undefined || signal.aborted) return status;
    try {
      await io.sleep(pauseMs, signal);
    } catch {
      return status;
    }
  }
}

async function sweepOnce(
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  signal: AbortSignal,
  { stderr, clock }: Io,
): Promise<SweepReport> {
  const progress = startProgress(stderr);
  const { name } = target.cluster;
  progress.say(`${name}: reading requests and evidence`);
  let open = 0;
  let judged = 0;
  return approve(target, policies, clock, signal, {
    observed: (observed) => {
      open = observed.open.length;
    },
    acted: () => {
      judged += 1;
      progress.say(`${name}: ${judged} of ${open} open requests judged`);
    },
  }).finally(() => progress.done());
}

/** `14:03:05`: what the clock on the wall says. */
function localTime(now: number): string {
  return new Date(now).toTimeString().slice(0, 8);
}

function everyMs(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < 1)
    throw new UsageError(`--every takes a duration of at least 1s, for example 30s or 5m; got ${text}`);
  return seconds * 1000;
}
