#!/usr/bin/env node
import { Command, CommanderError, Option } from 'commander';
import { DEFAULT_NAMESPACE } from '../lambdas/identifiers.ts';
import { KubernetesError } from '../lambdas/kubernetes/errors.ts';
import { SEVERITIES } from '../lambdas/tables/finding-codes.ts';
import packageJson from '../package.json' with { type: 'json' };
import type { AuditCommandOptions } from './commands/audit/audit.ts';
import type { AuditTargetOptions } from './commands/audit/target.ts';
import { registerCost } from './commands/cost-register.ts';
import type { CredentialsOptions } from './commands/credentials/create.ts';
import type { DoctorOptions } from './commands/doctor.ts';
import { registerJournal } from './commands/journal/journal.ts';
import type { ProbeOptions } from './commands/probe/probe.ts';
import type { RbacOptions } from './commands/rbac.ts';
import { registerRecovery } from './commands/recovery/recovery.ts';
import { registerReport } from './commands/report/register.ts';
import { registerRollout } from './commands/rollout/rollout.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import { loadFleet } from './fleet.ts';
import { pasteable, programName } from './program.ts';
import type { ProgramContext } from './register/context.ts';
import { systemErrorWords } from './system-error.ts';
import { openTarget, repeatOptions, type TargetOptions } from './target.ts';

const EXIT_HELP = `
Exit status:
  0  done
  1  something could not be judged, read or written; the output says what
  2  wrong usage or configuration; nothing was done`;

const PROGRAM = programName(process.env, process.argv[1]);

/**
 * Aborts on the first Ctrl-C, so that a command can say what it did not finish; the second one ends the process.
 *
 * @param means what happens then
 */
function interruption(means = 'writes under way are finished, no new one begins'): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => {
    process.stderr.write(`\nStopping: ${means}. Ctrl-C again ends at once.\n`);
    controller.abort();
    process.once('SIGINT', () => process.exit(130));
  });
  process.once('SIGTERM', () => controller.abort());
  return controller.signal;
}

function repeatable(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

const NAMESPACE_OPTION = [
  '--namespace <namespace>',
  `of the Cluster in Cluster API, its Machines and Secrets; default: as fleet.yaml says, else ${DEFAULT_NAMESPACE}`,
] as const;

/** Which cluster. */
function withCluster(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig of the cluster; default: $KUBECONFIG, else ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: its current one')
    .option('--management-kubeconfig <file>', 'kubeconfig of the Cluster API management cluster that has the Machines')
    .option(...NAMESPACE_OPTION)
    .option('--cluster <name>', 'name of the cluster in Cluster API, EKS and policies; default: as in the kubeconfig')
    .addOption(
      new Option('--provider <provider>', 'default: eks for an EKS endpoint, else eks-anywhere').choices([
        'eks',
        'eks-anywhere',
      ]),
    )
    .option('--allow-exec', 'run the credential command that the kubeconfig names (aws eks get-token, …)')
    .option(
      '--tolerate-expired <pin>',
      'connect although the certificate of the API server has expired, if authority: one of the kubeconfig issued it; or sha256:…: it is this one',
    )
    .option(
      '--expired-at-most <time>',
      'with --tolerate-expired authority: how long ago that may have been, for example 180d; default: 90d, at most 366d',
    );
}

function withTarget(command: Command): Command {
  return withCluster(command)
    .option('--policy <file>', 'fleet.yaml with policies; default: the built-in policy')
    .option(
      '--service-cidr <cidr>',
      'service CIDR, whose addresses no node gets; repeatable; fleet.yaml may have it too',
      repeatable,
    )
    .addOption(
      new Option('--output <format>', 'table for people, json for programs')
        .choices(['table', 'json'])
        .default('table'),
    );
}

const program = new Command(PROGRAM)
  .description(
    'Approves kubelet serving certificates whose every name is proven, and shows when every certificate of a cluster ends.',
  )
  .version(packageJson.version)
  .showHelpAfterError('Add --help for options and examples.')
  .configureHelp({ sortSubcommands: false })
  .addHelpText('after', EXIT_HELP)
  .exitOverride();

let status: number = EXIT.done;

withTarget(program.command('sweep'))
  .description('Judges every pending kubelet serving request of one cluster and approves the proven ones.')
  .option('--observe', 'make every decision, write nothing')
  .option('--every <duration>', 'sweep again after this pause until Ctrl-C, for example 30s')
  .addHelpText(
    'after',
    `
Examples:
  ${PROGRAM} sweep --kubeconfig ~/.kube/config --observe
  ${PROGRAM} sweep --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod
  ${PROGRAM} sweep --kubeconfig berlin.yaml --service-cidr 10.96.0.0/12 --service-cidr fd00:10:96::/112 --observe
  ${PROGRAM} sweep --kubeconfig berlin.yaml --policy fleet.yaml --every 30s
  ${PROGRAM} sweep --kubeconfig berlin.yaml --output json
${EXIT_HELP}`,
  )
  .action(
    async (
      options: TargetOptions & { policy?: string; observe?: boolean; every?: string; output: 'table' | 'json' },
    ) => {
      const fleet = await loadFleet(options.policy);
      const { sweepCommand } = await import('./commands/sweep.ts');
      const again = { program: PROGRAM, repeat: repeatOptions(options) };
      status = await sweepCommand(
        () => openTarget(options, fleet),
        fleet.policies,
        { ...options, ...again },
        interruption(),
      );
    },
  );

program
  .command('decide')
  .description(
    'Judges recorded requests: one JSON object a line on standard input, one verdict a line on standard output.',
  )
  .option('--policy <file>', 'fleet.yaml with policies; default: the built-in policy')
  .addHelpText(
    'after',
    `
A line is {"id","cluster":{"name","provider"},"csr":CertificateSigningRequest,"nodes":[…],"machines":[…],
"ec2Instances":[…],"now":RFC3339}; a source that is absent was not read. An answer is
{"id","verdict":"approve|deny|leave|ignore","reason","message","checks":[…]}, in the order of the lines.

Examples:
  ${PROGRAM} decide < recorded.ndjson
  ${PROGRAM} decide --policy fleet.yaml < recorded.ndjson > verdicts.ndjson
${EXIT_HELP}`,
  )
  .action(async ({ policy }: { policy?: string }) => {
    const { policies } = await loadFleet(policy);
    const { decideCommand } = await import('./commands/decide.ts');
    status = await decideCommand(process, policies);
  });

withTarget(program.command('explain').argument('<csr-name>', 'name of the CertificateSigningRequest'))
  .description('Shows every check of one live request and what to do about it; writes nothing.')
  .addHelpText(
    'after',
    `
Examples:
  ${PROGRAM} explain csr-q77zt --kubeconfig ~/.kube/config
  ${PROGRAM} explain csr-q77zt --kubeconfig berlin.yaml --management-kubeconfig management.yaml --output json
${EXIT_HELP}`,
  )
  .action(async (name: string, options: TargetOptions & { policy?: string; output: 'table' | 'json' }) => {
    const fleet = await loadFleet(options.policy);
    const target = await openTarget(options, fleet);
    const { explainCommand } = await import('./commands/explain.ts');
    try {
      status = await explainCommand(target, fleet.policies, name, options.output, interruption());
    } finally {
      target.close();
    }
  });

registerAudit();
registerAssess();
registerProbe();

program
  .command('rbac')
  .description('Prints the least-privilege RBAC manifests that certmarshal needs in a cluster.')
  .option('--user <name>', 'bind to a user')
  .option('--group <name>', 'bind to a group; default: certmarshal')
  .option('--service-account <namespace/name>', 'make and bind a service account')
  .option('--management', 'for the management cluster: read Machines')
  .option('--policy <file>', 'fleet.yaml: what its policies use is granted')
  .option(
    '--kubeconfig-of <namespace/cluster>',
    'with --management: read the kubeconfig that Cluster API keeps for this workload cluster; repeatable',
    repeatable,
  )
  .option('--no-audit', 'only what approving takes, nothing of what an audit reads')
  .option('--audit-secrets', 'for an audit with --secrets: read Secrets, and the private keys in them')
  .option(
    '--cluster-secrets-of <namespace/cluster>',
    'with --management --audit-secrets: read the Secrets that Cluster API keeps for this workload cluster; repeatable',
    repeatable,
  )
  .option('--kubelet-metrics', 'for an audit with --kubelet-metrics: reach every kubelet through the API server')
  .option('--rollouts', 'with --management: read what the plan of a rollout is made from')
  .option(
    '--rollout-of <namespace/cluster>',
    'with --rollouts: roll the control plane of this Cluster, namespace and name as in Cluster API; repeatable',
    repeatable,
  )
  .option('--rollout-etcd', 'with --rollout-of: its etcd machines too, where etcd is external; experimental')
  .option(
    '--recovery',
    'only what certmarshal recovery open takes: approve client certificates of kubelets; delete it after',
  )
  .addHelpText(
    'after',
    `
Examples:
  ${PROGRAM} rbac | kubectl apply -f -
  ${PROGRAM} rbac --service-account kube-system/certmarshal | kubectl apply -f -
  ${PROGRAM} rbac --management --group certmarshal | kubectl --context management apply -f -
  ${PROGRAM} rbac --management --audit-secrets --cluster-secrets-of eksa-system/berlin-prod
  ${PROGRAM} rbac --management --rollouts --rollout-of eksa-system/berlin-prod --service-account kube-system/certmarshal
  ${PROGRAM} rbac --recovery --user ada@example.com
${EXIT_HELP}`,
  )
  .action(async (options: RbacOptions & { policy?: string }) => {
    const { policies } = await loadFleet(options.policy);
    const { rbacManifests } = await import('./commands/rbac.ts');
    process.stdout.write(rbacManifests(options, policies));
  });

registerCredentials();
registerDoctor();

const context: ProgramContext = {
  program: PROGRAM,
  exitHelp: EXIT_HELP,
  setStatus(next) {
    status = next;
  },
  interruption,
};
registerReport(program, context);
registerJournal(program, context);
registerCost(program, context);
registerRollout(program, context, withCluster);
registerRecovery(program, context, withCluster);

function registerAudit(): void {
  withCluster(program.command('audit'))
    .description('Shows when every certificate of one cluster ends, what renews it, and what could not be seen.')
    .option('--policy <file>', 'fleet.yaml, whose audit.thresholds count; default: the built-in ones')
    .option('--no-handshakes', 'no TLS handshakes with machines and Nodes; only one with the API endpoint')
    .option('--secrets', 'read TLS Secrets and those of Cluster API too: certmarshal rbac --audit-secrets')
    .option('--kubelet-metrics', 'ask the kubelets through the API server: certmarshal rbac --kubelet-metrics')
    .option(
      '--port <name=port>',
      'where a server of the machines listens, if not where Kubernetes and etcd do; repeatable; names: kube-apiserver, kubelet, etcd, etcd-peer, kube-controller-manager, kube-scheduler',
      repeatable,
    )
    .option('--snapshots <directory>', 'remember what was seen from one audit to the next, in a file of this directory')
    .addOption(
      new Option('--fail-on <severity>', 'exit status 1 for a finding that is at least so severe').choices(SEVERITIES),
    )
    .option('--verbose', 'every finding by itself; in JSON every observation')
    .addOption(
      new Option('--output <format>', 'table for people, json for programs, csv for a spreadsheet, openmetrics')
        .choices(['table', 'json', 'csv', 'openmetrics'])
        .default('table'),
    )
    .addHelpText(
      'after',
      `
Nothing is written to the cluster. A handshake sends nothing but the handshake. docs/output.md describes every output,
docs/findings.md every finding, docs/coverage.md what is seen where.

Examples:
  ${PROGRAM} audit --kubeconfig berlin.yaml
  ${PROGRAM} audit --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod --snapshots snapshots
  ${PROGRAM} audit --kubeconfig berlin.yaml --no-handshakes --policy fleet.yaml --output json
  ${PROGRAM} audit --kubeconfig berlin.yaml --output openmetrics > certmarshal.prom
  ${PROGRAM} audit --kubeconfig berlin.yaml --fail-on critical --port kubelet=10250

Exit status:
  0  done
  1  a source or a snapshot could not be read or written, or a finding is as severe as --fail-on; the output says what
  2  wrong usage or configuration; nothing was done`,
    )
    .action(async (options: AuditTargetOptions & AuditCommandOptions & { policy?: string }) => {
      const fleet = await loadFleet(options.policy);
      const [{ openAuditTarget }, { auditRepeat }, { auditCommand, trySnapshots }] = await Promise.all([
        import('./commands/audit/target.ts'),
        import('./commands/audit/repeat.ts'),
        import('./commands/audit/audit.ts'),
      ]);
      if (options.snapshots !== undefined) await trySnapshots(options.snapshots);
      const target = await openAuditTarget(options, fleet);
      try {
        status = await auditCommand(
          target,
          fleet.audit.thresholds,
          { ...options, program: PROGRAM, ...auditRepeat(options) },
          interruption('what was read by now is shown'),
        );
      } finally {
        target.close();
      }
    });
}

function registerAssess(): void {
  program
    .command('assess')
    .description(
      'Assesses recorded observations: one JSON object a line on standard input, its findings a line on standard output.',
    )
    .option('--policy <file>', 'fleet.yaml, whose audit.thresholds count; default: the built-in ones')
    .option('--observations', 'answer with the observations that are kept, too: the previous of the next line')
    .addHelpText(
      'after',
      `
A line is {"cluster":{"id","provider"},"observations":[…],"previous":snapshot,"now":RFC3339}. An answer is
{"cluster","findings":[…]}, in the order of the lines. docs/output.md describes both.

Examples:
  ${PROGRAM} assess < observations.ndjson
  ${PROGRAM} assess --policy fleet.yaml --observations < observations.ndjson > findings.ndjson
${EXIT_HELP}`,
    )
    .action(async ({ policy, ...options }: { policy?: string; observations?: boolean }) => {
      const { audit } = await loadFleet(policy);
      const { assessCommand } = await import('./commands/assess.ts');
      status = await assessCommand(process, audit.thresholds, options);
    });
}

function registerProbe(): void {
  program
    .command('probe')
    .argument('<host:port...>', 'TLS endpoints; an IPv6 address in brackets')
    .description('Shows the certificates of TLS servers and what is wrong with them; no cluster is needed.')
    .option('--ca <file>', 'PEM file of the authorities that may have signed them')
    .option('--sni <name>', 'name to ask every endpoint for; default: the host, where that is a name')
    .option('--timeout <duration>', 'for each endpoint; default: 5s')
    .addOption(
      new Option('--output <format>', 'table for people, json for programs: one line an endpoint')
        .choices(['table', 'json'])
        .default('table'),
    )
    .addHelpText(
      'after',
      `
Nothing is trusted, and nothing but a handshake is sent.

Examples:
  ${PROGRAM} probe 10.0.1.31:2379 10.0.1.31:2380
  ${PROGRAM} probe 10.0.1.31:6443 --ca ca.pem --sni kubernetes --output json

Exit status:
  0  done
  1  an endpoint did not show a certificate, or a finding is at least a warning
  2  wrong usage; nothing was done`,
    )
    .action(async (endpoints: readonly string[], options: ProbeOptions) => {
      const { probeCommand } = await import('./commands/probe/probe.ts');
      status = await probeCommand(endpoints, options, process, interruption('what was seen by now is shown'));
    });
}

function registerCredentials(): void {
  program
    .command('credentials')
    .description('Makes the credentials that certmarshal sweeps a cluster with.')
    .addHelpText('after', EXIT_HELP)
    .command('create')
    .description('Makes ServiceAccount, RBAC and a kubeconfig in a cluster, tries the kubeconfig and stores it.')
    .option('--kubeconfig <file>', 'kubeconfig of an administrator; default: $KUBECONFIG, else ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: its current one')
    .option('--allow-exec', 'run the credential command that the kubeconfig names')
    .option('--cluster <name>', 'name of the cluster in Cluster API, EKS and policies; default: as in the kubeconfig')
    .option('--management', 'a management cluster, or one that manages itself: read Machines and Clusters too')
    .option(
      '--workload-of <cluster>',
      'a workload cluster of this management cluster: the lines for fleet.yaml go there',
    )
    .option('--policy <file>', 'fleet.yaml: what its policies use is granted')
    .option('--no-audit', 'only what approving takes, nothing of what an audit reads')
    .option('--audit-secrets', 'for an audit with --secrets: read Secrets, and the private keys in them')
    .option('--kubelet-metrics', 'for an audit with --kubelet-metrics: reach every kubelet through the API server')
    .option('--namespace <namespace>', 'of the ServiceAccount', 'kube-system')
    .option('--name <name>', 'of the ServiceAccount', 'certmarshal')
    .requiredOption('--store <store>', 'secretsmanager:NAME, or stdout for the kubeconfig and nothing else')
    .addOption(new Option('--output <format>', 'table or json').choices(['table', 'json']).default('table'))
    .addHelpText(
      'after',
      `
Running it again repairs what was changed, and deletes nothing. AWS credentials and Region come from the environment, as for the AWS CLI.

Examples:
  ${PROGRAM} credentials create --kubeconfig berlin.yaml --management --store stdout > certmarshal.yaml
  ${PROGRAM} credentials create --kubeconfig mgmt.yaml --management --policy fleet.yaml --store secretsmanager:certmarshal/mgmt
  ${PROGRAM} credentials create --kubeconfig berlin.yaml --workload-of mgmt --policy fleet.yaml --store secretsmanager:certmarshal/berlin
${EXIT_HELP}`,
    )
    .action(async (options: CredentialsOptions & { policy?: string }) => {
      const { policies } = await loadFleet(options.policy);
      const { createCredentialsCommand } = await import('./commands/credentials/create.ts');
      status = await createCredentialsCommand(options, policies, interruption());
    });
}

function registerDoctor(): void {
  program
    .command('doctor')
    .description('Tries everything that a sweep needs and says how to mend what is missing; writes nothing.')
    .option('--fleet <file>', 'fleet.yaml: try its clusters and places, as whom the AWS credentials here are')
    .option(
      '--sweep-role <arn>',
      'with --fleet: the role that the functions sweep with; default: by hub.account and hub.region of the file',
    )
    .option('--cluster <name>', 'name of the cluster; with --fleet the id of the only one to try')
    .option('--kubeconfig <file>', 'without --fleet: kubeconfig to try; default: $KUBECONFIG, else ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: its current one')
    .option('--management-kubeconfig <file>', 'kubeconfig of the Cluster API management cluster that has the Machines')
    .option(...NAMESPACE_OPTION)
    .addOption(new Option('--provider <provider>', 'default: by the endpoint').choices(['eks', 'eks-anywhere']))
    .option('--policy <file>', 'fleet.yaml with policies; default: the built-in policy')
    .option('--allow-exec', 'run the credential command that the kubeconfig names (aws eks get-token, …)')
    .addOption(new Option('--output <format>', 'table or json').choices(['table', 'json']).default('table'))
    .addHelpText(
      'after',
      `
docs/doctor.md describes every check.

Examples:
  ${PROGRAM} doctor --kubeconfig berlin.yaml
  ${PROGRAM} doctor --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin-prod
  ${PROGRAM} doctor --fleet fleet.yaml --cluster berlin-prod --output json

Exit status:
  0  no check failed; a warning is no failure
  1  a check failed; a kubeconfig that cannot be used is one
  2  wrong usage or configuration; nothing was tried`,
    )
    .action(async (options: DoctorOptions & { output: 'table' | 'json' }) => {
      const { doctorCommand, doctorGroups } = await import('./commands/doctor.ts');
      const signal = interruption();
      const groups = await doctorGroups(options, PROGRAM, signal);
      status = await doctorCommand(groups, { output: options.output, program: PROGRAM }, signal);
    });
}

let outputError: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  outputError = error;
  // Whoever read the output may have seen enough (`| head`): that ends the program, and is no failure.
  const enough = error.code === 'EPIPE';
  if (!enough) process.stderr.write(`Standard output cannot be written: ${systemErrorWords(error)}.\n`);
  // A command whose last write this was ends first, with its own status.
  setImmediate(() => process.exit(enough ? status : EXIT.incomplete));
});
// Nobody is left to tell.
process.stderr.on('error', () => {});

// `npm` only warns about engines; a clone brings its own Node.js, an installed program runs on whatever there is.
if (Number(process.versions.node.split('.')[0]) < 22) {
  process.stderr.write(`certmarshal needs Node.js 22 or later; this is ${process.version}.\n`);
  process.exit(EXIT.usage);
}
try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) status = error.exitCode === 0 ? EXIT.done : EXIT.usage;
  else if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n`);
    status = EXIT.usage;
  } else if (error instanceof KubernetesError) {
    process.stderr.write(`${error.object}: ${error.problem}. ${pasteable(error.remedy, PROGRAM)}\n`);
    status = EXIT.incomplete;
  }
  // The output that a command waits for is gone; that is dealt with.
  else if (error !== outputError) throw error;
}
process.exitCode = status;
