import { hostname, userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import { AwsError } from '../../lambdas/aws/errors.ts';
import { parseDuration } from '../../lambdas/config/duration.ts';
import type { Journal } from '../../lambdas/journal/journal.ts';
import { isDnsName } from '../../lambdas/names.ts';
import { printable } from '../../lambdas/printable.ts';
import {
  BOOTSTRAP_GROUP,
  DEFAULT_BOOTSTRAP_GROUPS,
  MAX_BOOTSTRAP_GROUPS,
  MAX_NODES,
  MAX_RECOVERY_AT_KEYBOARD_MS,
  type Recovery,
} from '../../lambdas/recovery/recovery.ts';
import { instant, MINUTE_MS } from '../../lambdas/time.ts';
import { type Register, repeatable, withClusters, withTarget } from '../command.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { type Io, PROCESS } from '../io.ts';
import { keepAtKeyboard, openKeyboardJournal } from '../keyboard-journal.ts';
import { type MinuteCommandOptions, runMinutes } from '../minute/run-minutes.ts';
import { awaitingYes, isHostile, minuteLines, unreadIn } from '../minute/screen.ts';
import { providerOf } from '../target.ts';

interface Given extends MinuteCommandOptions, RunRecoveryOptions {
  readonly yes?: boolean;
  readonly every?: string;
  readonly journal?: string;
  /** Exit status 1 for a provably hostile request. */
  readonly failOn?: 'hostile';
  readonly handshakes?: boolean;
}

export const register: Register = (command, { program: name, interruption, run }) => {
  const own = command
    .option('--yes', 'approve what is proven, and take the steps of rollouts; without it nothing is written')
    .option('--every <duration>', 'a minute again and again until Ctrl-C, for example 1m; in whole minutes')
    .option('--journal <file>', 'file to which decisions are appended, one line of JSON each')
    .option('--no-handshakes', 'connect by TLS to API endpoints only, not to machines and Nodes')
    .addOption(
      new Option('--fail-on <what>', 'exit status 1 for a request that is provably hostile').choices(['hostile']),
    );
  withTarget(withClusters(withRecovery(own)))
    .addHelpText(
      'after',
      `
A minute as the hub makes it: sweep, audit, rollout, report. docs/without-aws.md has more.

Examples:
  ${name} run --kubeconfig ~/.kube/config
  ${name} run --all-contexts --every 1m --state ~/.certmarshal
  ${name} run --fleet fleet.yaml --state state --every 1m --yes
  ${name} run --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --yes
  ${name} run --kubeconfig berlin.yaml --service-cidr 10.96.0.0/12 --service-cidr fd00:10:96::/112 --yes
  ${name} run --kubeconfig berlin.yaml --fail-on hostile --output json --yes
  ${name} run --kubeconfig berlin.yaml --recover berlin-cp-1 berlin-cp-2 --until 2026-11-22T05:30:00Z --every 1m --yes

Exit status:
  0  everything was read; there was nothing to do, or it is done
  1  something could not be judged, read or written; a request would be approved, but --yes is missing and the output is not a terminal; or, with --fail-on hostile, a request is provably hostile
  2  wrong usage or configuration; nothing was done`,
    )
    .action(
      run(async (options: Given) => {
        const signal = options.yes === true ? interruption() : interruption('nothing is written');
        return runCommand({ ...options, program: name }, signal, PROCESS);
      }),
    );
};

/**
 * Makes the minutes of `certmarshal run`.
 *
 * @returns the worst exit status
 * @throws UsageError
 */
export async function runCommand(options: Given, signal: AbortSignal, io: Io): Promise<number> {
  const { yes = false, failOn, fleet: file, policy } = options;
  if (file !== undefined && policy !== undefined)
    throw new UsageError('--fleet FILE has the policies too: leave out --policy.');
  const fleet = await loadFleet(file ?? policy, file === undefined ? '--policy' : '--fleet');
  const recovery = recoveryOf(options, io.clock());
  if (recovery !== undefined && (options.allContexts === true || file !== undefined))
    throw new UsageError('--recover is about one cluster: leave out --all-contexts or --fleet.');
  if (recovery !== undefined) io.stderr.write(recoveryNotice(recovery, yes));
  return runMinutes(
    options,
    fleet,
    {
      writes: yes,
      everyMs: options.every === undefined ? undefined : everyMs(options.every),
      journal: options.journal === undefined ? undefined : await journalIn(options.journal, io),
      recovery: ({ id, server = '' }) => {
        if (recovery === undefined) return fleet.recovery;
        if (providerOf(options.provider, server) === 'eks')
          throw new UsageError('This is an EKS cluster: AWS runs its control plane, so --recover has nothing to do.');
        return [{ cluster: id, ...recovery }];
      },
      show: (health, also) => minuteLines(health, options.program, also),
      statusOf: (health) => {
        const awaiting = yes ? [] : awaitingYes(health, fleet.policies);
        const hostile = health.clusters.some(isHostile);
        if (awaiting.length > 0) io.stderr.write('Nothing was written. To approve: add --yes\n');
        const isIncomplete =
          unreadIn(health).length + health.problems.length > 0 ||
          (hostile && failOn !== undefined) ||
          (awaiting.length > 0 && io.stdout.isTTY !== true);
        if (hostile && !isIncomplete && io.stdout.isTTY !== true) io.stderr.write(HOSTILE_PASSES);
        return isIncomplete ? EXIT.incomplete : EXIT.done;
      },
    },
    signal,
    io,
  );
}

/** For a job that relies on the exit status. */
const HOSTILE_PASSES = 'Exit status 0 despite a hostile request; for status 1: --fail-on hostile\n';

async function journalIn(file: string, { stderr }: Io): Promise<Journal> {
  const journal = await openKeyboardJournal(file);
  return {
    async append(_cluster, entries) {
      const unkept = await keepAtKeyboard(journal, entries);
      if (unkept === undefined) return;
      stderr.write(`Not journaled: ${unkept}\n`);
      throw new AwsError({
        kind: 'unavailable',
        object: `journal ${file}`,
        problem: 'it could not be written',
        remedy: 'Make room for it, or name another file with --journal.',
      });
    },
  };
}

function everyMs(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < 60 || seconds % 60 !== 0)
    throw new UsageError(`--every takes whole minutes, for example 1m or 1h; got ${text}`);
  return seconds * 1_000;
}

interface RunRecoveryOptions {
  readonly recover?: readonly string[];
  readonly until?: string;
  readonly bootstrapGroup?: readonly string[];
}

function withRecovery(command: Command): Command {
  return command
    .option(
      '--recover <node...>',
      `also approve client certificates of the kubelets of these control plane Nodes, whose own have expired; at most ${MAX_NODES}`,
    )
    .option('--until <time>', 'with --recover: until then, at most an hour from now; RFC 3339')
    .option(
      '--bootstrap-group <group>',
      'with --recover: group of the bootstrap tokens of the Nodes; repeatable; default: that of kubeadm',
      repeatable,
    );
}

/**
 * What the options say about client certificates; undefined if they do not.
 *
 * @param now milliseconds since the epoch
 * @throws UsageError with all problems of the options
 */
export function recoveryOf({ recover, until, bootstrapGroup }: RunRecoveryOptions, now: number): Recovery | undefined {
  if (recover === undefined) {
    if (until === undefined && bootstrapGroup === undefined) return undefined;
    throw new UsageError('--until and --bootstrap-group go with --recover: name the Nodes, or leave them out.');
  }
  const nodes = [...new Set(recover)];
  const leftMs = (instant(until) ?? Number.NaN) - now;
  const groups = bootstrapGroup ?? DEFAULT_BOOTSTRAP_GROUPS;
  const problems = [
    nodes.length > MAX_NODES ? `--recover takes at most ${MAX_NODES} names of Nodes; got ${nodes.length}` : undefined,
    ...nodes
      .filter((node) => !isDnsName(node))
      .map((node) => `--recover "${printable(node, 100)}" is not a name that a Node can have`),
    leftMs > 0 && leftMs <= MAX_RECOVERY_AT_KEYBOARD_MS
      ? undefined
      : `--until takes a time at most an hour from now, for example ${new Date(now + 30 * MINUTE_MS).toISOString()}; got ${until === undefined ? 'none' : printable(until, 60)}`,
    groups.length > MAX_BOOTSTRAP_GROUPS || !groups.every((group) => BOOTSTRAP_GROUP.test(group))
      ? `--bootstrap-group takes a group that a bootstrap token can have, system:bootstrappers: and a name; at most ${MAX_BOOTSTRAP_GROUPS}`
      : undefined,
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0 || until === undefined) throw new UsageError(problems.join('\n'));
  return { nodes, until, bootstrapGroups: groups, by: `${userInfo().username} on ${hostname()}` };
}

/** So that no one approves these without knowing it. */
function recoveryNotice({ nodes, until }: Recovery, yes: boolean): string {
  return `! Client certificates of kubelets ${yes ? 'are' : 'would be'} approved until ${until} for ${nodes.join(', ')}: only where a Machine or instance of the control plane proves the Node, and its certificate has expired.\n`;
}
