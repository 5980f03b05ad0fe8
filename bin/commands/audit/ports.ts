import { DEFAULT_PORTS, type ServerPorts } from '../../../lambdas/audit/audit-target.ts';
import { UsageError } from '../../exit-codes.ts';

const NAMES = {
  'kube-apiserver': 'kubeApiserver',
  kubelet: 'kubelet',
  etcd: 'etcdClient',
  'etcd-peer': 'etcdPeer',
  'kube-controller-manager': 'kubeControllerManager',
  'kube-scheduler': 'kubeScheduler',
} as const satisfies Readonly<Record<string, keyof ServerPorts>>;

/**
 * Ports of the servers of a machine.
 *
 * @param given `kubelet=10250` and the like; the last one of a name counts
 * @throws UsageError that names all that are wrong
 */
export function serverPorts(given: readonly string[]): ServerPorts {
  const ports: { -readonly [name in keyof ServerPorts]: number } = { ...DEFAULT_PORTS };
  const problems: string[] = [];
  for (const text of given) {
    const { name, port } = /^(?<name>[a-z-]+)=(?<port>[1-9]\d{0,4})$/.exec(text)?.groups ?? {};
    const known = Object.entries(NAMES).find(([candidate]) => candidate === name);
    if (known === undefined || Number(port) > 65_535)
      problems.push(
        `--port takes NAME=PORT, for example kubelet=10250; NAME is one of ${Object.keys(NAMES).join(', ')}; got ${text}`,
      );
    else ports[known[1]] = Number(port);
  }
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return ports;
}
