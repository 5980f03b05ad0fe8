import { Option } from 'commander';
import type { Acted } from '../../lambdas/approval/act.ts';
import { approve, type Recover } from '../../lambdas/approval/approve.ts';
import type { Observed, SweepTarget } from '../../lambdas/approval/observe.ts';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import type { SweepReport } from '../../lambdas/approval/report.ts';
import { isFor } from '../../lambdas/approval/selection.ts';
import { parseDuration } from '../../lambdas/config/duration.ts';
import { createDecisionCollector, type DecisionCollector } from '../../lambdas/journal/decisions.ts';
import { refusalLines } from '../../lambdas/journal/refusal-lines.ts';
import { policyHash } from '../../lambdas/journal/sweep-journal.ts';
import { recoverNodes } from '../../lambdas/recovery/recover-nodes.ts';
import type { Recovery } from '../../lambdas/recovery/recovery.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { type AllContextsOptions, DEFAULT_REQUESTS_PAGE, requireOneCluster, withAllContexts } from '../all-contexts.ts';
import { type Register, withTarget } from '../command.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { type Io, PROCESS, print, printJson } from '../io.ts';
import { type KeyboardJournal, keepAtKeyboard, openKeyboardJournal } from '../keyboard-journal.ts';
import { type OpenCluster, openTarget, otherwiseNotice, repeatNames, repeatOptions } from '../target.ts';
import { draw, screenOf } from '../terminal/draw.ts';
import { faint } from '../terminal/paint.ts';
import { startProgress } from '../terminal/progress.ts';
import { recoveryNotice, recoveryOf, type SweepRecoveryOptions, withRecovery } from './sweep-recovery.ts';
import { HOSTILE_PASSES, isHostile, sweepLines } from './sweep-view.ts';

export interface SweepOptions {
  /** Approves; without it nothing is written. */
  readonly yes?: boolean;
  /** Exit status 1 for a provably hostile request. */
  readonly failOn?: 'hostile';
  readonly output: 'table' | 'json';
  readonly every?: string;
  /** Whose client certificates are judged too. @default no one's */
  readonly recovery?: Recovery | undefined;
  /** @default only the output keeps a record */
  readonly journal?: KeyboardJournal | undefined;
  /** The command that starts this program. */
  readonly program: string;
  /** The target options as text, for the next command. */
  readonly repeat: string;
  /** Of them, those of a runbook. */
  readonly repeatNames: string;
}

type Given = AllContextsOptions & { policy?: string; journal?: string } & SweepRecoveryOptions &
  Omit<SweepOptions, 'program' | 'recovery' | 'repeat' | 'repeatNames' | 'journal'>;

export const register: Register = (command, { program: name, interruption, run }) => {
  const own = command
    .option('--yes', 'approve what is proven; without it nothing is written')
    .option('--every <duration>', 'sweep again after this pause until Ctrl-C, for example 30s')
    .option('--journal <file>', 'file to which decisions are appended, one line of JSON each')
    .addOption(
      new Option('--fail-on <what>', 'exit status 1 for a request that is provably hostile').choices(['hostile']),
    );
  withTarget(withAllContexts(withRecovery(own), 'dry runs', DEFAULT_REQUESTS_PAGE))
    .addHelpText(
      'after',
      `
Examples:
  ${name} sweep --kubeconfig ~/.kube/config
  ${name} sweep --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --yes
  ${name} sweep --kubeconfig berlin.yaml --service-cidr 10.96.0.0/12 --service-cidr fd00:10:96::/112 --yes
  ${name} sweep --kubeconfig berlin.yaml --policy fleet.yaml --every 30s --yes
  ${name} sweep --kubeconfig berlin.yaml --fail-on hostile --output json --yes
  ${name} sweep --kubeconfig berlin.yaml --recover berlin-cp-1 berlin-cp-2 --until 2026-11-22T05:30:00Z --every 10s --yes
  ${name} sweep --all-contexts

Exit status:
  0  done; without --fail-on hostile also if a request is provably hostile
  1  something could not be judged, read or written; a request would be approved, but --yes is missing and the output is not a terminal; or, with --fail-on hostile, a request is provably hostile
  2  wrong usage or configuration; nothing was done`,
    )
    .action(
      run(async (options: Given) => {
        const fleet = await loadFleet(options.policy);
        const recovery = recoveryOf(options, Date.now());
        if (options.allContexts === true) {
          if (recovery !== undefined)
            throw new UsageError('--recover is about one cluster, --all-contexts takes all: leave out one of them.');
          // Load the page only on request.
          const { sweepAllContexts } = await import('./sweep-contexts.ts');
          const given = { ...options, program: name };
          return sweepAllContexts(given, fleet, interruption('what was read so far is shown'), PROCESS);
        }
        requireOneCluster(options);
        const repeated = { repeat: repeatOptions(options), repeatNames: repeatNames(options) };
        const journal = options.journal === undefined ? undefined : await openKeyboardJournal(options.journal);
        const opened = { ...options, journal, recovery, program: name, ...repeated };
        const signal = options.yes === true ? interruption() : interruption('nothing is written');
        return sweepCommand(() => openTarget(options, fleet), fleet.policies, opened, signal, PROCESS);
      }),
    );
};

/**
 * Sweeps one cluster once, or repeatedly with `every` until the signal aborts. Nothing is written without `yes`: if
 * only that prevented a write and the output is not a terminal, the exit status is `incomplete`, because a job that
 * should approve would not notice. JSON is one document per sweep, on one line. Each sweep opens the target again,
 * because credentials of a kubeconfig expire.
 *
 * @returns the worst exit status
 */
export async function sweepCommand(
  open: () => Promise<SweepTarget & Pick<OpenCluster, 'id' | 'server' | 'close'>>,
  policies: readonly ApprovalPolicy[],
  options: SweepOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const pauseMs = options.every === undefined ? undefined : everyMs(options.every);
  const { stdout, stderr, clock } = io;
  let status: number = EXIT.done;
  let lastHeard: number | undefined;
  for (let round = 1; ; round += 1) {
    if (pauseMs !== undefined && options.output === 'table')
      stdout.write(`${round === 1 ? '' : '\n'}${draw(faint(localTime(clock())), screenOf(stdout, io.env))}\n`);
    const target = await open();
    const { cluster, server } = target;
    if (round === 1) stderr.write(otherwiseNotice(cluster.name, server) ?? '');
    if (round === 1 && options.recovery !== undefined)
      stderr.write(recoveryNotice(options.recovery, options.yes === true));
    const startedAt = clock();
    const decisions = decisionsOf(target, policies, startedAt, lastHeard);
    const work = { policies, decisions, dryRun: options.yes !== true, recovery: options.recovery };
    const keep = async (): Promise<void> => {
      const unkept = options.journal && (await keepAtKeyboard(options.journal, decisions.collected()));
      if (unkept === undefined) return;
      stderr.write(`Not journaled: ${unkept}\n`);
      status = EXIT.incomplete;
    };
    let report: SweepReport;
    try {
      report = await sweepOnce(target, work, signal, io);
    } finally {
      target.close();
      // What was written before a bug is on record, too.
      await keep();
    }
    if (report.readable) lastHeard = startedAt;
    if (options.output === 'json') printJson(io, report);
    else print(io, sweepLines({ ...options, report, server, policies: policies.filter((one) => isFor(one, cluster)) }));
    if (signal.aborted && !report.complete) stderr.write('Interrupted: what was not read by then is not judged.\n');
    if (needsYes(report)) {
      stderr.write('Nothing was written. To approve: add --yes\n');
      if (stdout.isTTY !== true) status = EXIT.incomplete;
    }
    if (!report.complete || (options.failOn !== undefined && isHostile(report))) status = EXIT.incomplete;
    if (status === EXIT.done && isHostile(report) && stdout.isTTY !== true) stderr.write(HOSTILE_PASSES);
    if (pauseMs === undefined || signal.aborted) return status;
    try {
      await io.sleep(pauseMs, signal);
    } catch {
      return status;
    }
  }
}

/** What the journal has of one round. */
function decisionsOf(
  target: SweepTarget & Pick<OpenCluster, 'id'>,
  policies: readonly ApprovalPolicy[],
  startedAt: number,
  lastHeard: number | undefined,
): DecisionCollector {
  return createDecisionCollector(
    { cluster: target.id, startedAt, policyHash: policyHash(policies), program: packageJson.version },
    refusalLines(target, policies, startedAt, lastHeard),
  );
}

/** Whether only the missing `--yes` prevented a write: a policy in mode `observe` prevents it, too. */
function needsYes({ rows }: SweepReport): boolean {
  return rows.some(({ outcome, mode }) => outcome === 'observed' && mode === 'enforce');
}

interface Round {
  readonly policies: readonly ApprovalPolicy[];
  readonly decisions: DecisionCollector;
  readonly dryRun: boolean;
  readonly recovery: Recovery | undefined;
}

async function sweepOnce(
  target: SweepTarget,
  { policies, decisions, dryRun, recovery }: Round,
  signal: AbortSignal,
  { stderr, clock }: Io,
): Promise<SweepReport> {
  if (recovery !== undefined && target.cluster.provider === 'eks')
    throw new UsageError('This is an EKS cluster: AWS runs its control plane, so --recover has nothing to do.');
  const progress = startProgress(stderr);
  const { name } = target.cluster;
  progress.say(`${name}: reading requests and evidence`);
  let open = 0;
  let judged = 0;
  const told = {
    observed: (observed: Observed) => {
      open = observed.open.length;
    },
    acted: (acted: Acted) => {
      decisions.take(acted);
      judged += 1;
      progress.say(`${name}: ${judged} of ${open} open requests judged`);
    },
  };
  const recover: Recover | undefined =
    recovery && (async (onActed) => recoverNodes(target, recovery, { clock, signal, dryRun, onActed }));
  return approve(target, policies, clock, signal, told, { dryRun, recover }).finally(() => progress.done());
}

/** `14:03:05` in local time. */
function localTime(now: number): string {
  return new Date(now).toTimeString().slice(0, 8);
}

function everyMs(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < 1)
    throw new UsageError(`--every takes a duration of at least 1s, for example 30s or 5m; got ${text}`);
  return seconds * 1000;
}
