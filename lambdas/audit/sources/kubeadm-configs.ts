import type { Observation } from '../../contracts/observation.ts';
import { listKind } from '../../kubernetes/list.ts';
import { printable } from '../../printable.ts';
import { field, list, text } from '../../resources/fields.ts';
import { EXPIRY_ANNOTATION } from '../../resources/machine.ts';
import { timeOf } from '../../resources/values.ts';
import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { machineMembers, memberName } from '../machine-name.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';
import { statedCertificate } from '../stated-certificate.ts';

/** Far more than any control plane has machines. */
const MAX_CONFIGS = 1_000;

/**
 * KubeadmConfigs, in which the control plane provider recorded once when the kube-apiserver certificate of the machine
 * expires.
 *
 * Source: Cluster API, `reconcileCertificateExpiries`.
 */
export const kubeadmConfigs: AuditSource = {
  id: 'kubeadm-configs',
  stage: 'second',
  deadlineMs: 10_000,
  optional: { lacking: 'KubeadmConfig' },
  off: ({ management }) => (management === undefined ? false : undefined),
  async observe({ target: { management, cluster, machinesNamespace: namespace }, members, now, signal }) {
    if (management === undefined) return { observations: [], count: 0 };
    const origin = { source: 'kubeadm-configs' as const, observedAt: timestamp(now()) };
    const machines = machineMembers(members);
    const observations: Observation[] = [];
    const configs = listKind(management, 'kubeadmconfigs', { clusterName: cluster.name, namespace, signal });
    const reading = await readList(configs, (config) => {
      if (observations.length === MAX_CONFIGS) return 'full';
      const expiry = field(config, 'metadata', 'annotations', EXPIRY_ANNOTATION);
      if (expiry == null) return 'more';
      const owner = machineOf(config);
      const machine = owner === undefined ? undefined : machines.get(owner);
      // Its Machine is gone, or being deleted.
      if (owner !== undefined && machine === undefined && machines.size > 0) return 'more';
      const sighting = {
        ...origin,
        what: 'kube-apiserver' as const,
        where: `KubeadmConfig ${shownName(config)}`,
        ...(owner === undefined ? {} : { member: memberName(machine ?? { name: owner }) }),
      };
      const at = timeOf(expiry);
      observations.push(
        at === undefined
          ? {
              kind: 'unread',
              ...sighting,
              problem: 'malformed',
              message: `the annotation ${EXPIRY_ANNOTATION} is not an RFC 3339 time`,
              remedy: 'Remove the annotation from the KubeadmConfig: the control plane provider then writes it again.',
            }
          : statedCertificate(sighting, { basis: 'annotation', notAfter: at }, cluster.provider),
      );
      return 'more';
    });
    return { observations: [...observations, ...cutShort(origin, reading)], count: reading.count };
  },
};

/** `eksa-system/berlin-x7k2`: an owner is always in the namespace of what it owns. */
function machineOf(config: unknown): string | undefined {
  const owner = list(config, 'metadata', 'ownerReferences').find(
    (reference) =>
      text(reference, 'kind') === 'Machine' && text(reference, 'apiVersion')?.startsWith('cluster.x-k8s.io/') === true,
  );
  const name = text(owner, 'name');
  const namespace = text(config, 'metadata', 'namespace') ?? '';
  return name === undefined || name === '' ? undefined : `${printable(namespace, 253)}/${printable(name, 253)}`;
}
