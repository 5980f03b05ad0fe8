import { randomBytes } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import packageJson from '../../../package.json' with { type: 'json' };
import { type Register, repeatable, withCluster, withOutput } from '../../command.ts';
import { UsageError } from '../../exit-codes.ts';
import { loadFleet } from '../../fleet.ts';
import { PROCESS } from '../../io.ts';
import { openKeyboardJournal } from '../../keyboard-journal.ts';
import { openCluster, repeatedFlags, repeatOptions, type TargetOptions } from '../../target.ts';
import { type RecoveryBucket, recoveryCloseInBucket, recoveryListInBucket, recoveryOpenInBucket } from './bucket.ts';
import { RECOVERY_PORTS, recoveryOpenCommand } from './open.ts';
import { type RecoveryWindowOptions, recoveryWindow } from './window.ts';

type OpenOptions = TargetOptions &
  Omit<RecoveryWindowOptions, 'by'> & {
    readonly bucket?: string;
    readonly yes?: boolean;
    readonly by?: string;
    readonly fleet?: string;
    readonly journal?: string;
    readonly output: 'table' | 'json';
  };

interface BucketOptions {
  readonly bucket?: string;
  readonly cluster?: string;
  readonly yes?: boolean;
  readonly output: 'table' | 'json';
}

/**
 * Options for the connection from here and for the user's name: a deployed certmarshal knows the first, STS the second.
 */
const KEYBOARD_OPTIONS = [
  ['kubeconfig', '--kubeconfig'],
  ['context', '--context'],
  ['managementKubeconfig', '--management-kubeconfig'],
  ['managementContext', '--management-context'],
  ['namespace', '--namespace'],
  ['provider', '--provider'],
  ['allowExec', '--allow-exec'],
  ['tolerateExpired', '--tolerate-expired'],
  ['expiredAtMost', '--expired-at-most'],
  ['fleet', '--fleet'],
  ['by', '--by'],
  ['journal', '--journal'],
] as const satisfies readonly (readonly [keyof OpenOptions, string])[];

const JSON_OF = (json: string) => `table for people, json for programs: ${json}`;
const BUCKET_OPTION = [
  '--bucket <name>',
  'state bucket of a hub; uses the AWS credentials and Region of the environment',
] as const;
const SEE_LIST = 'run recovery list to see whether the window is open';

export const register: Register = (recovery, { program, interruption, run }) => {
  withOutput(
    withCluster(recovery.command('open'))
      .description(
        'For a short time, approves client certificates of named control plane kubelets whose certificates have expired.',
      )
      .option('--yes', 'open it; without it one sweep shows what it would approve, and nothing is written')
      .option('--bucket <name>', 'state bucket of a hub: its sweep then approves; needs only AWS credentials')
      .option('--nodes <list>', 'names of the control plane Nodes, separated by commas; at most 9')
      .option('--for <duration>', 'how long the window is open, at most 1h', '30m')
      .option('--approvals <number>', 'approvals per Node, at most 5; default: 2')
      .option('--by <name>', 'who opens it, for the record; default: your user name and host; with --bucket: your ARN')
      .option(
        '--bootstrap-group <group>',
        'group of the bootstrap tokens of the Nodes; repeatable; default: that of kubeadm',
        repeatable,
      )
      .option('--fleet <file>', 'fleet.yaml, for the id of the cluster')
      .option('--journal <file>', 'file to which every decision is appended, one line of JSON'),
    JSON_OF('one document per sweep'),
  )
    .addHelpText(
      'after',
      `
With --yes and without --bucket it runs until the window closes, and sweeps every 10 s. kube-apiserver has to answer; if its certificate
has expired, add --tolerate-expired. You need these rights:
  ${program} rbac --recovery --user YOU

With --yes and --bucket the deployed sweep approves, within 2 minutes. If the certificate of the API server has expired, recovery in
fleet.yaml lets it connect. Its user needs the same rights:
  ${program} rbac --recovery --service-account kube-system/certmarshal

All steps before and after:
  ${program} runbook recovery

Examples:
  ${program} recovery open --kubeconfig berlin.yaml --nodes berlin-cp-1,berlin-cp-2,berlin-cp-3 --for 30m --yes
  ${program} recovery open --kubeconfig berlin.yaml --nodes berlin-cp-1 --tolerate-expired authority --journal journal.ndjson --yes
  ${program} recovery open --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --nodes berlin-cp-1 --by ada@example.com --yes
  ${program} recovery open --bucket certmarshal-state --cluster berlin-prod --nodes berlin-cp-1,berlin-cp-2 --for 30m --yes

Exit status:
  0  done: every Node of the window was approved, or has a valid certificate; with --bucket: the window is open
  1  a Node was not approved and has no valid certificate, --yes is missing, something could not be read or written, or the first look did not reach the cluster; the output says what
  2  wrong usage or configuration, or a window is open already; nothing was done`,
    )
    .action(run((options: OpenOptions) => (options.bucket === undefined ? openHere(options) : openDeployed(options))));

  async function openDeployed({ bucket, output, yes, ...options }: OpenOptions): Promise<number> {
    const useless = KEYBOARD_OPTIONS.filter(([key]) => options[key] !== undefined).map(([, flag]) => flag);
    if (useless.length > 0)
      throw new UsageError(
        `With --bucket the deployed sweep enters the cluster, and your ARN is the record: leave out ${useless.join(', ')}.`,
      );
    const cluster = requireCluster(options.cluster);
    const id = windowId();
    const windowBy = (by: string, now: number) => recoveryWindow({ ...options, by }, { id, cluster, now });
    // Before anything is connected to: all that is wrong with the options.
    windowBy('you', Date.now());
    const opened = await connect(bucket);
    return recoveryOpenInBucket(opened, windowBy, { output, program, yes }, interruption(SEE_LIST), PROCESS);
  }

  async function openHere(options: OpenOptions): Promise<number> {
    const opening = { id: windowId(), now: Date.now() };
    const given = { ...options, by: options.by ?? `${userInfo().username} on ${hostname()}` };
    // Before anything is connected to: all that is wrong with the options.
    recoveryWindow(given, { ...opening, cluster: options.cluster ?? '' });
    const journal = options.journal === undefined ? undefined : await openKeyboardJournal(options.journal);
    const fleet = await loadFleet(options.fleet, '--fleet');
    const { id, ...target } = await openCluster(options, fleet, ({ provider }) => {
      if (provider === 'eks')
        throw new UsageError('This is an EKS cluster: AWS runs its control plane, so there is nothing to recover.');
    });
    try {
      const window = recoveryWindow(given, { ...opening, cluster: id, now: Date.now() });
      const signal = interruption(options.yes === true ? 'the window is closed' : 'nothing is written');
      const command = {
        yes: options.yes,
        output: options.output,
        program,
        version: packageJson.version,
        repeat: `${program} recovery open${repeatOptions(options)}${repeatWindow(options)}`,
        repeatCluster: repeatOptions(options),
        journal,
      };
      return await recoveryOpenCommand({ ...target, clusterId: id }, window, command, signal, RECOVERY_PORTS);
    } finally {
      target.close();
    }
  }

  withOutput(
    recovery
      .command('close')
      .description('Closes the recovery window of a cluster in a deployed certmarshal early.')
      .option('--yes', 'close it; without it the window is shown, and nothing is written')
      .option(...BUCKET_OPTION)
      .option('--cluster <id>', 'id of the cluster in the fleet'),
    JSON_OF('the window'),
  )
    .addHelpText(
      'after',
      `
No new sweep uses the window; one that runs ends within 2 minutes. Ctrl-C closes a window that was opened without --bucket.

Example:
  ${program} recovery close --bucket certmarshal-state --cluster berlin-prod --yes

Exit status:
  0  done
  1  --yes is missing, or the bucket could not be read or written; the output says why
  2  wrong usage, or no window of the cluster is open; nothing was done`,
    )
    .action(
      run(async ({ bucket, cluster, yes, output }: BucketOptions) => {
        const id = requireCluster(cluster);
        const opened = await connect(bucket);
        return recoveryCloseInBucket(opened, id, { output, program, yes }, interruption(SEE_LIST), PROCESS);
      }),
    );

  withOutput(
    recovery
      .command('list')
      .description('Shows the recovery windows of a deployed certmarshal that are open, or were open within a day.')
      .option(...BUCKET_OPTION),
    JSON_OF('one document'),
  )
    .addHelpText(
      'after',
      `
Example:
  ${program} recovery list --bucket certmarshal-state

Exit status:
  0  done, also without any window
  1  the bucket could not be read; the output says why
  2  wrong usage`,
    )
    .action(
      run(async ({ bucket, output }: BucketOptions) => {
        const opened = await connect(bucket);
        return recoveryListInBucket(opened, { output, program }, interruption('nothing is written'), PROCESS);
      }),
    );
};

/** @throws UsageError */
async function connect(bucket: string | undefined): Promise<RecoveryBucket> {
  if (bucket === undefined)
    throw new UsageError('Name the state bucket with --bucket: output FleetBucketName of the hub stack.');
  // Load the SDK only for a bucket.
  const { recoveryBucket } = await import('./aws.ts');
  return recoveryBucket(bucket);
}

/** @throws UsageError */
function requireCluster(cluster: string | undefined): string {
  if (cluster === undefined) throw new UsageError('--cluster takes the id of the cluster in the fleet.');
  return cluster;
}

function windowId(): string {
  return `${Date.now().toString(36)}-${randomBytes(4).toString('hex')}`;
}

function repeatWindow({ nodes = '', for: length, approvals, by, bootstrapGroup = [], fleet }: OpenOptions): string {
  return repeatedFlags([
    ['--nodes', nodes],
    ['--for', length],
    ['--approvals', approvals],
    ['--by', by],
    ...bootstrapGroup.map((group) => ['--bootstrap-group', group] as const),
    ['--fleet', fleet],
  ]);
}
