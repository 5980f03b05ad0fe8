import { word } from '../../command.ts';
import { firstOf } from '../../words.ts';
import type { ObservedMachine, ObservedRollout } from '../observed.ts';
import type { RolloutCheck } from '../step.ts';

export type Verdict = Pick<RolloutCheck, 'passed' | 'passing' | 'warning' | 'object' | 'found' | 'remedy'>;

/** @param found without a full stop */
export function passes(found: string, object?: string): Verdict {
  return { passed: true, object, found };
}

export interface Failure {
  readonly object?: string | undefined;
  /** Without a full stop. */
  readonly found: string;
  readonly remedy: string;
  /** It passes with time. */
  readonly passing?: boolean;
}

export function fails({ passing, ...failure }: Failure): Verdict {
  return { passed: false, passing: passing || undefined, ...failure };
}

/** Fails with all problems; passes without any. */
export function verdictOf(
  wrong: readonly string[],
  { object, good, remedy }: { readonly object?: string | undefined; readonly good: string; readonly remedy: string },
): Verdict {
  return wrong.length === 0 ? passes(good, object) : fails({ object, found: firstOf(wrong, 5), remedy });
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** `Machine eksa-system/berlin-prod-1` */
export function objectOf(kind: string, { namespace, name }: Named): string {
  return `${kind} ${namespace}/${name}`;
}

/** A command that can be pasted: text that a shell would interpret becomes a placeholder. */
export function kubectl(
  verb: string,
  resource: string,
  { namespace, name }: Named,
  ...rest: readonly string[]
): string {
  return ['kubectl -n', word(namespace, 'NAMESPACE'), verb, resource, word(name, 'NAME'), ...rest].join(' ');
}

export const CONTROL_PLANES = 'kubeadmcontrolplanes.controlplane.cluster.x-k8s.io';
export const CAPI_CLUSTERS = 'clusters.cluster.x-k8s.io';
export const EKS_ANYWHERE_CLUSTERS = 'clusters.anywhere.eks.amazonaws.com';
export const ETCD_CLUSTERS = 'etcdadmclusters.etcdcluster.cluster.x-k8s.io';
export const MACHINES = 'machines.cluster.x-k8s.io';

/** The servers of a machine; that of `served` has no port. */
export function serversOf(machine: ObservedMachine) {
  return [
    { machine, port: undefined, served: machine.served },
    ...machine.etcdPorts.map((one) => ({ machine, ...one })),
  ];
}

/** For people: ` on port 2379`. */
export function onPort(port: number | undefined): string {
  return port === undefined ? '' : ` on port ${port}`;
}

/** Machines of the control plane and of external etcd; those in deletion are skipped. */
export function stayingMachines({ machines, etcd }: ObservedRollout): ObservedRollout['machines'] {
  return [...machines, ...(etcd?.machines ?? [])].filter(({ deleting }) => !deleting);
}
