import { DEFAULT_PORTS, type ServerPorts } from '../../../lambdas/audit/audit-target.ts';
import { keysOf } from '../../../lambdas/tables/keys.ts';
import { UsageError } from '../../exit-codes.ts';

const NAMES: Readonly<Record<keyof ServerPorts, string>> = {
  kubeApiserver: 'kube-apiserver',
  kubelet: 'kubelet',
  etcdClient: 'etcd',
  etcdPeer: 'etcd-peer',
  kubeControllerManager: 'kube-controller-manager',
  kubeScheduler: 'kube-scheduler',
};

/**
 * The server ports of a machine.
 *
 * @param given `kubelet=10250`; the last one of a name counts
 * @throws UsageError with all problems
 */
export function serverPorts(given: readonly string[]): ServerPorts {
  const ports: { -readonly [name in keyof ServerPorts]: number } = { ...DEFAULT_PORTS };
  const problems: string[] = [];
  for (const text of given) {
    const { name, port } = /^(?<name>[a-z-]+)=(?<port>[1-9]\d{0,4})$/.exec(text)?.groups ?? {};
    const known = keysOf(NAMES).find((server) => NAMES[server] === name);
    if (known === undefined || Number(port) > 65_535)
      problems.push(
        `--port takes NAME=PORT, for example kubelet=10250; NAME is one of ${Object.values(NAMES).join(', ')}; got ${text}`,
      );
    else ports[known] = Number(port);
  }
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return ports;
}
