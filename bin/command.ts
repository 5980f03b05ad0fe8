import { type Command, Option } from 'commander';
import { DEFAULT_NAMESPACE } from '../lambdas/identifiers.ts';

/** What a command is registered with. */
export interface Context {
  /** How the user starts this program. */
  readonly program: string;
  /** Aborts on the first Ctrl-C, so that a command can say what it did not finish. @param means what happens then */
  readonly interruption: (means?: string) => AbortSignal;
  /** The work of a command, whose exit status becomes that of the program. */
  readonly run: <Given extends readonly unknown[]>(
    work: (...given: Given) => number | Promise<number>,
  ) => (...given: Given) => Promise<void>;
}

/** What a file of `commands/` exports: it gives its command options, subcommands and work. */
export type Register = (command: Command, context: Context) => void;

export const EXIT_HELP = `
Exit status:
  0  done
  1  something could not be judged, read or written; the output says what
  2  wrong usage or configuration; nothing was done`;

export function repeatable(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

export function withOutput(command: Command, description = 'table for people, json for programs'): Command {
  return command.addOption(
    new Option('-o, --output <format>', description).choices(['table', 'json']).default('table'),
  );
}

export const NAMESPACE_OPTION = [
  '-n, --namespace <namespace>',
  `namespace of the Cluster API Cluster, its Machines and Secrets; default: as in fleet.yaml, else ${DEFAULT_NAMESPACE}`,
] as const;

export const ALLOW_EXEC_OPTION = [
  '--allow-exec',
  'run the credential command that the kubeconfig names; not needed for what aws eks update-kubeconfig writes',
] as const;

export function withManagement(command: Command): Command {
  return command
    .option(
      '--management-kubeconfig <file>',
      'kubeconfig of the Cluster API management cluster that has the Machines; default with --management-context: that of the cluster',
    )
    .option('--management-context <name>', 'context of the management cluster; default: the current one of its file');
}

export function providerOption(description: string): Option {
  return new Option('--provider <provider>', description).choices(['eks', 'eks-anywhere']);
}

const CLUSTER_OPTION = [
  '--cluster <name>',
  'name of the cluster in Cluster API, EKS and policies; default: as in the kubeconfig',
] as const;

function withServer(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig of the cluster; default: the files of $KUBECONFIG, else ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: its current one');
}

/** Which cluster, for a command that only names it. */
export function withNames(command: Command): Command {
  return withManagement(withServer(command)).option(...CLUSTER_OPTION);
}

/** What is read of a management cluster proves names in another one, and an expired certificate may be that of an impostor. */
export const OF_KUBECONFIG = 'the API server of --kubeconfig (never of the management cluster)';

/** Which cluster. @param tolerated whose certificate may have expired */
export function withCluster(command: Command, tolerated = OF_KUBECONFIG): Command {
  const named = withManagement(withServer(command.optionsGroup('Which cluster:')))
    .option(...NAMESPACE_OPTION)
    .option(...CLUSTER_OPTION)
    .addOption(providerOption('default: eks for an EKS endpoint, else eks-anywhere'))
    .option(...ALLOW_EXEC_OPTION);
  return withTolerance(named, tolerated).optionsGroup('');
}

/** Whether a server with an expired certificate is entered. @param server which one, for people */
export function withTolerance(command: Command, server: string): Command {
  return command
    .option(
      '--tolerate-expired <pin>',
      `connect although the certificate of ${server} has expired; authority: any certificate that a CA of the kubeconfig issued; sha256:…: exactly this certificate`,
    )
    .option(
      '--expired-at-most <time>',
      'with --tolerate-expired authority: it expired at most this long ago, for example 180d; default: 90d, at most 366d',
    );
}

/** Which clusters, where the state of their minutes is, and their page. */
export function withClusters(command: Command): Command {
  return command
    .option('--all-contexts', 'every cluster of the kubeconfig; one that does not answer delays no other')
    .option(
      '--fleet <file>',
      'the clusters of a fleet.yaml, found and entered with the AWS credentials of the environment',
    )
    .option('--state <directory>', 'remembers there between two runs; default: nothing is remembered')
    .option(
      '--report <file>',
      'with --all-contexts or --fleet, of at least two clusters: file of their page, named .html; default: report.html, beside the state if that is named',
    );
}

/** Which cluster, judged by which policies. */
export function withTarget(command: Command): Command {
  return withOutput(
    withCluster(command)
      .option('--policy <file>', 'fleet.yaml with policies; default: the built-in policy')
      .option(
        '--service-cidr <cidr>',
        'service CIDR: its addresses are never approved; repeatable; added to those of fleet.yaml',
        repeatable,
      ),
  );
}
