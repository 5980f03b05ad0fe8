import type { RolloutTarget } from '../../../lambdas/rollout/observe.ts';
import type { HandshakeResult } from '../../../lambdas/tls/handshake.ts';
import {
  DAY,
  NAME,
  NOW,
  rawCapiCluster,
  rawControlPlane,
  rawEksAnywhere,
  rawHealthCheck,
  rawMachine,
} from '../../unit/rollout/fixtures.ts';
import { type ManagementCluster, managementCluster } from '../../unit/rollout/management-cluster.ts';
import { pathsOf, showing } from '../../unit/rollout/world.ts';

/** A management cluster whose Cluster API rolls control planes: machines older than `rollout.after` are replaced, one at a time. */
export interface RollingManagement {
  readonly cluster: ManagementCluster;
  readonly handshakes: NonNullable<RolloutTarget['handshakes']>;
  /** One older machine of each control plane gives way to a new one. */
  replaceOne(now: number): void;
  /** Writes of the control plane that were done. */
  patches(name: string): number;
  /** Machines are older than `rollout.after`. */
  isRolling(name: string): boolean;
}

/** @param names of workload clusters, whose certificates end 40 days after `start` */
export function rollingManagement(names: readonly string[], start: number): RollingManagement {
  const cluster = managementCluster({
    'cluster.x-k8s.io': ['v1beta2'],
    'controlplane.cluster.x-k8s.io': ['v1beta2'],
    'infrastructure.cluster.x-k8s.io': ['v1beta1'],
    'anywhere.eks.amazonaws.com': ['v1alpha1'],
    'coordination.k8s.io': ['v1'],
  });
  const shown = new Map<string, HandshakeResult>();
  /** API server and stacked etcd. */
  const show = (index: number, number: number, life: { readonly notBefore: number; readonly notAfter: number }) => {
    for (const port of [6443, 2379, 2380])
      shown.set(
        `10.0.${index}.${30 + number}:${port}`,
        showing({ fingerprint: `${index}${number}${port}${life.notAfter}`.padEnd(64, '0'), ...life }),
      );
  };
  const paths = pathsOf();
  for (const [index, name] of names.entries()) {
    const own = (text: string) =>
      text
        .replaceAll(NAME, name)
        .replaceAll('10.0.1.', `10.0.${index}.`)
        .replaceAll(/(?<=[0-9a-f]{8}-)(?:6f2b|0000)(?=-4[0-9a-f]{3}-)/g, `000${index}`)
        .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (time) => timeOf(Date.parse(time) - NOW + start));
    const put = (path: string, object: object) => cluster.put(own(path), JSON.parse(own(JSON.stringify(object))));
    put(paths.cluster, rawCapiCluster());
    put(paths.controlPlane, rawControlPlane());
    put(paths.eksAnywhere, rawEksAnywhere());
    put(paths.healthCheck, rawHealthCheck());
    put(paths.template, {});
    for (const number of [1, 2, 3]) {
      put(paths.machine(`${NAME}-${number}`), rawMachine(number));
      show(index, number, { notBefore: start - 325 * DAY, notAfter: start + 40 * DAY });
    }
  }
  const controlPlaneOf = (name: string) => paths.controlPlane.replaceAll(NAME, name);
  const afterOf = (name: string): number => {
    const spec = cluster.get(controlPlaneOf(name))['spec'] as { rollout?: { after?: string } };
    return Date.parse(spec.rollout?.after ?? '');
  };
  const olderOf = (name: string) =>
    [...cluster.objects].filter(([path, { metadata }]) => {
      const isOwn = path.includes('/machines/') && String(metadata['name']).startsWith(`${name}-`);
      return isOwn && Date.parse(String(metadata['creationTimestamp'])) < afterOf(name);
    });
  return {
    cluster,
    handshakes: async (targets) =>
      targets.map(
        ({ host, port }) =>
          shown.get(`${host}:${port}`) ?? {
            ok: false,
            failure: { kind: 'refused', message: 'it refuses', remedy: 'Start it.' },
          },
      ),
    replaceOne(now) {
      for (const [index, name] of names.entries()) {
        const [old] = olderOf(name);
        if (old === undefined || !(afterOf(name) <= now)) continue;
        const [path, machine] = old;
        const next = String(machine.metadata['name']).replace(/-(?:new-)?(\d)$/, '-new-$1');
        const number = Number(next.at(-1));
        cluster.remove(path);
        cluster.put(path.replace(/[^/]+$/, next), {
          ...machine,
          metadata: { ...machine.metadata, name: next, uid: `uid of ${next}`, creationTimestamp: timeOf(now) },
        });
        show(index, number, { notBefore: now, notAfter: now + 365 * DAY });
      }
    },
    patches: (name) => cluster.calls.filter((call) => call === `PATCH kubeadmcontrolplanes/${name}`).length,
    isRolling: (name) => olderOf(name).length > 0,
  };
}

function timeOf(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}
