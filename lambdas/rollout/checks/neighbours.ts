import { word } from '../../expiry/commands.ts';
import { counted, DAY_MS, date, firstOf, span } from '../../expiry/words.ts';
import type { CheckQuestion } from '../checks.ts';
import { DEFAULT_ROLLOUT_POLICY, FLOOR_DAYS } from '../policy.ts';
import { fails, passes, type Verdict } from './verdict.ts';

/** A holder that nobody heard of for so long, while nothing rolls, is gone. */
const STALE_MS = DAY_MS;

/** One cluster of a management cluster at a time: its controllers and its capacity are shared. */
export function oneOfItsManagementCluster({ observed, now }: CheckQuestion): Verdict {
  const { siblings, lease, cluster, capiCluster, controlPlane } = observed;
  const rolling = siblings.filter((sibling) => sibling.rolling);
  if (rolling.length > 0) {
    return fails({
      object: `Cluster ${rolling[0]?.namespace}/${rolling[0]?.cluster}`,
      found: `${counted(rolling.length, 'other cluster')} of its management cluster ${rolling.length === 1 ? 'is' : 'are'} not settled: ${firstOf(rolling.map((sibling) => sibling.cluster))}`,
      remedy: `Wait until it is settled: kubectl get kubeadmcontrolplanes.controlplane.cluster.x-k8s.io -A`,
      passing: true,
    });
  }
  const namespace = capiCluster?.namespace ?? controlPlane?.namespace ?? '';
  const { holder = '', acquiredAt = 0, renewedAt = 0 } = lease ?? {};
  const free = holder === '' || holder.startsWith(`${namespace}/${cluster.name} `);
  // A Lease without any time is nobody's: whoever takes it judges the same.
  if (free || Math.max(acquiredAt, renewedAt) + STALE_MS < now) {
    return passes('no other cluster of its management cluster rolls');
  }
  return fails({
    object: 'Lease kube-system/certmarshal-rollout',
    found: `another rollout holds it: ${holder}`,
    remedy: `Wait until that is done: kubectl -n kube-system get lease certmarshal-rollout -o yaml`,
    passing: true,
  });
}

/** What makes the machines of the others has to be well while theirs are replaced. Undefined for a cluster that manages no others. */
export function managementClusterLast({ observed, policy, now }: CheckQuestion): Verdict | undefined {
  if (!observed.cluster.managesItself) return undefined;
  const others = observed.siblings.filter(({ optedIn }) => optedIn);
  const unknown = others.filter(({ soonestEnd }) => soonestEnd === undefined);
  const begin = (policy ?? DEFAULT_ROLLOUT_POLICY).begin.days * DAY_MS;
  // One that is past its floor no schedule begins any more: waiting for it would only make this one too late as well.
  const isDue = (end: number): boolean => end - begin <= now && now <= end - FLOOR_DAYS * DAY_MS;
  const first = others.find(({ soonestEnd }) => soonestEnd !== undefined && isDue(soonestEnd));
  if (first?.soonestEnd !== undefined) {
    return fails({
      object: `Cluster ${first.namespace}/${first.cluster}`,
      found: `it is due first: its certificates end in ${span(first.soonestEnd - now)}, and the management cluster comes last`,
      remedy: `See what keeps it: certmarshal rollout plan; where it is not to roll, remove its annotation certmarshal.dev/rollout-mode. This one goes on at ${date(first.soonestEnd - FLOOR_DAYS * DAY_MS)} at the latest`,
      passing: true,
    });
  }
  const [one] = unknown;
  if (one !== undefined) {
    return fails({
      object: `Cluster ${one.namespace}/${one.cluster}`,
      found: 'when its certificates end is in the status of none of its Machines, so it may be due first',
      remedy: `See why Cluster API does not know: kubectl -n ${word(one.namespace, 'NAMESPACE')} get kubeadmconfigs.bootstrap.cluster.x-k8s.io -o yaml, annotation machine.cluster.x-k8s.io/certificates-expiry`,
    });
  }
  return passes('no other cluster of it is due');
}
