import { createKubernetesClient } from '../../lambdas/kubernetes/client.ts';
import type { Connection } from '../../lambdas/kubernetes/connection.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { KubeconfigError } from '../../lambdas/kubernetes/kubeconfig-document.ts';
import { joined } from '../terminal/words.ts';
import { type Answer, type Check, either, type Fix, failed, passed } from './check.ts';
import type { Server } from './server-checks.ts';

/**
 * The check that turns a kubeconfig into a connection.
 *
 * @param load the connection, or why it is not allowed
 */
export function kubeconfigCheck(
  server: Server,
  { object, needs = [], renew }: { readonly object: string; readonly needs?: readonly string[]; readonly renew: Fix },
  load: () => Connection | Answer | Promise<Connection | Answer>,
): Check {
  return {
    id: 'kubeconfig',
    title: 'kubeconfig is usable',
    object,
    needs,
    async run(): Promise<Answer> {
      try {
        const loaded = await load();
        if ('status' in loaded) return loaded;
        server.connection = loaded;
        server.client = createKubernetesClient(server.connection);
        return passed(server.client.server);
      } catch (error) {
        if (error instanceof KubeconfigError)
          return failed(
            error.problems.map(({ where, problem }) => `${where}: ${problem}`).join('; '),
            either([...new Set(error.problems.map(({ remedy }) => remedy))].join(' '), renew),
          );
        if (error instanceof KubernetesError) return failed(`${error.object}: ${error.problem}`, renew);
        throw error;
      }
    },
  };
}

/** The command that creates new credentials, with a note. */
export function renewFix(
  program: string,
  { cluster, management, workloadOf, policyFile, store }: RenewOptions,
): Fix & { readonly command: string } {
  const options = joined(
    [
      cluster !== undefined && `--cluster ${cluster}`,
      management && '--management',
      workloadOf !== undefined && `--workload-of ${workloadOf}`,
      policyFile !== undefined && `--policy ${policyFile}`,
    ],
    ' ',
  );
  const create = `${program} credentials create --kubeconfig ADMIN.yaml ${options}`;
  return store === undefined
    ? {
        text: `Make new credentials with a kubeconfig of an administrator, ADMIN.yaml, then use --kubeconfig certmarshal.yaml:`,
        command: `${create} --store stdout --yes > certmarshal.yaml`,
      }
    : {
        text: 'Make new credentials with a kubeconfig of an administrator, ADMIN.yaml:',
        command: `${create} --store secretsmanager:${store} --yes`,
      };
}

interface RenewOptions {
  /** Quoted for a shell. @default the name in the administrator's kubeconfig */
  readonly cluster?: string;
  readonly policyFile?: string;
  readonly management: boolean;
  readonly workloadOf?: string;
  /** Name of the secret; absent for a file. */
  readonly store?: string;
}
