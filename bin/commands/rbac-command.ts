import { EXIT_HELP, type Register, repeatable } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { type RbacOptions, rbacManifests } from './rbac.ts';

export const register: Register = (command, { program: name, run }) => {
  command
    .option('--user <name>', 'bind to a user')
    .option('--group <name>', 'bind to a group; default: certmarshal')
    .option('--service-account <ns/name>', 'make and bind a service account')
    .option('--management', 'for the management cluster: read Machines')
    .option('--policy <file>', 'fleet.yaml: grant what its policies use')
    .option(
      '--kubeconfig-of <ns/cluster>',
      'with --management: read the kubeconfig that Cluster API keeps for this workload cluster; repeatable',
      repeatable,
    )
    .option('--no-audit', 'only what approvals need, nothing of what an audit reads')
    .option('--audit-secrets', 'for an audit with --secrets: read Secrets, and the private keys in them')
    .option(
      '--cluster-secrets-of <ns/cluster>',
      'with --management --audit-secrets: read the Secrets that Cluster API keeps for this workload cluster; repeatable',
      repeatable,
    )
    .option('--kubelet-metrics', 'for an audit with --kubelet-metrics: reach every kubelet through the API server')
    .option('--rollouts', 'with --management: read what the plan of a rollout needs')
    .option(
      '--rollout-of <ns/cluster>',
      'with --rollouts: roll the control plane of this Cluster, namespace and name as in Cluster API; repeatable',
      repeatable,
    )
    .option('--rollout-etcd', 'with --rollout-of: its etcd machines too, where etcd is external; experimental')
    .option(
      '--recovery',
      'only what a recovery needs besides: approve client certificates of kubelets; delete it afterwards',
    )
    .addHelpText(
      'after',
      `
Examples:
  ${name} rbac | kubectl apply -f -
  ${name} rbac --service-account kube-system/certmarshal | kubectl apply -f -
  ${name} rbac --management --group certmarshal | kubectl --context management apply -f -
  ${name} rbac --management --audit-secrets --cluster-secrets-of eksa-system/berlin-prod
  ${name} rbac --management --rollouts --rollout-of eksa-system/berlin-prod --service-account kube-system/certmarshal
  ${name} rbac --recovery --user ada@example.com
${EXIT_HELP}`,
    )
    .action(
      run(async ({ policy, ...options }: RbacOptions & { policy?: string }) => {
        process.stdout.write(rbacManifests(options, (await loadFleet(policy)).policies));
        return EXIT.done;
      }),
    );
};
