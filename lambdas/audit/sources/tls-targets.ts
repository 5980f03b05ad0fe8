import { isIP } from 'node:net';
import type { MemberObservation } from '../../contracts/observation.ts';
import type { Provider } from '../../identifiers.ts';
import type { CertificateClass } from '../../tables/certificate-classes.ts';
import { DAY_MS } from '../../time.ts';
import type { ServerPorts } from '../audit-target.ts';

/** One server of a machine, and the addresses at which it may answer. */
export interface ServerTarget {
  readonly what: CertificateClass;
  readonly member: string;
  readonly port: number;
  /** At most two, the preferred one first; empty if none is known. */
  readonly addresses: readonly string[];
  /** A kubelet's: clients connect to the first address of its Node, InternalIP before ExternalIP. */
  readonly nodeAddress?: string | undefined;
  /** kubeadm binds it to loopback. */
  readonly usuallyHidden?: boolean | undefined;
}

const MAX_ADDRESSES = 2;

/**
 * The servers on machines and Nodes of a cluster. A Node and its Machine are one.
 *
 * @param now milliseconds since the epoch
 */
export function serversOf(
  members: readonly MemberObservation[],
  provider: Provider,
  ports: ServerPorts,
  now: number,
): readonly ServerTarget[] {
  const hasEtcdMachines = members.some(({ role }) => role === 'etcd');
  const machines = Map.groupBy(members, ({ name, node }) => node ?? name);
  return [...machines].flatMap(([member, entries]) => {
    if (entries.some(({ kindOfNode }) => kindOfNode === 'fargate')) return [];
    const roles = new Set(entries.map(({ role }) => role));
    const joined = entries.find((entry) => entry.node !== undefined);
    const addresses = addressesOf(entries);
    const own = entries.find((entry) => !isMachine(entry));
    const server = (what: CertificateClass, port: number, usuallyHidden?: boolean): ServerTarget => ({
      what,
      member,
      port,
      addresses,
      usuallyHidden,
    });
    // The control plane of EKS is behind its endpoint.
    const controlPlane = roles.has('control-plane') && provider !== 'eks';
    const etcd = provider !== 'eks' && (roles.has('etcd') || (controlPlane && !hasEtcdMachines));
    const servers = [
      ...(controlPlane
        ? [
            server('kube-apiserver', ports.kubeApiserver),
            server('kube-controller-manager', ports.kubeControllerManager, true),
            server('kube-scheduler', ports.kubeScheduler, true),
          ]
        : []),
      ...(etcd ? [server('etcd-server', ports.etcdClient), server('etcd-peer', ports.etcdPeer)] : []),
      ...(joined !== undefined && (roles.has('control-plane') || roles.has('worker'))
        ? [{ ...server('kubelet-serving', ports.kubelet), nodeAddress: own?.addresses.find((one) => isIP(one) !== 0) }]
        : []),
    ];
    // A machine being created has no address yet. One with a Node has one; so does an etcd machine, which never gets a
    // Node, after a day.
    const isBeingMade = joined === undefined && entries.every(({ createdAt }) => now - Date.parse(createdAt) <= DAY_MS);
    return addresses.length === 0 && isBeingMade ? [] : servers;
  });
}

/** Those of the Machine first: the Node's come from its kubelet. */
function addressesOf(entries: readonly MemberObservation[]): readonly string[] {
  const ordered = [...entries.filter(isMachine), ...entries];
  const addresses = ordered.flatMap((entry) => entry.addresses.filter((address) => isIP(address) !== 0));
  return [...new Set(addresses)].slice(0, MAX_ADDRESSES);
}

function isMachine({ name }: MemberObservation): boolean {
  return name.startsWith('Machine ');
}

/** `10.0.1.31:10250`, `[fd00::1]:10250`. */
export function placeOf(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
