import { word } from '../../command.ts';
import { DAY_MS } from '../../time.ts';
import { counted, firstOf, span } from '../../words.ts';
import type { CheckQuestion } from '../checks.ts';
import { DEFAULT_ROLLOUT_POLICY, FLOOR_DAYS } from '../policy.ts';
import { hasWaitedItsTurn, isBinding, TURN_MS } from '../turn.ts';
import { fails, passes, type Verdict } from './verdict.ts';

const NO_LONGER = `This cluster waits at most ${span(TURN_MS)} of the time in which it may begin`;

/**
 * One cluster of a management cluster at a time: controllers and capacity are shared. Rollouts of certmarshal have the
 * Lease. Other movement is waited for, but not forever: the owner of another cluster can keep its machines moving.
 */
export function oneOfItsManagementCluster(question: CheckQuestion): Verdict {
  const { siblings, moreSiblings, lease, cluster, controlPlane } = question.observed;
  const namespace = controlPlane?.namespace ?? '';
  const isOurs = lease?.holder?.startsWith(`${namespace}/${cluster.name} `) === true;
  if (lease !== undefined && !isOurs && isBinding(lease, question.now, siblings)) {
    return fails({
      object: 'Lease kube-system/certmarshal-rollout',
      found: `another rollout holds it: ${lease.holder}`,
      remedy: `Wait until that is done: kubectl -n kube-system get lease certmarshal-rollout -o yaml; ${byHand('one-of-its-management-cluster')}`,
      passing: true,
    });
  }
  const rolling = siblings.filter((sibling) => sibling.rolling);
  if (rolling.length === 0 && moreSiblings !== true) return passes('no other cluster of its management cluster rolls');
  const found =
    rolling.length === 0
      ? 'its management cluster has more control planes than certmarshal reads, and one of them may roll'
      : `${counted(rolling.length, 'other cluster')} of its management cluster ${rolling.length === 1 ? 'is' : 'are'} not settled: ${firstOf(rolling.map((sibling) => sibling.cluster))}`;
  if (hasWaitedItsTurn(question)) return passes(`${found}; no longer waited for`);
  if (rolling.length === 0)
    return fails({
      object: 'KubeadmControlPlanes of the management cluster',
      found,
      remedy: `Find out who creates so many of these or of their Machines: kubectl get kubeadmcontrolplanes.controlplane.cluster.x-k8s.io,machines.cluster.x-k8s.io -A. ${NO_LONGER}; ${byHand('one-of-its-management-cluster')}`,
      passing: true,
    });
  return fails({
    object: `Cluster ${rolling[0]?.namespace}/${rolling[0]?.cluster}`,
    found,
    remedy: `Wait until it is settled: kubectl get kubeadmcontrolplanes.controlplane.cluster.x-k8s.io -A. ${NO_LONGER}; ${byHand('one-of-its-management-cluster')}`,
    passing: true,
  });
}

/**
 * The cluster that creates the machines of others must be healthy while theirs are replaced. The opt-in and the expiry
 * of another cluster are claims of its owner, so they delay no longer than movement does. Undefined for a cluster that
 * manages no others.
 */
export function managementClusterLast(question: CheckQuestion): Verdict | undefined {
  const { observed, policy, now } = question;
  if (!observed.cluster.managesItself) return undefined;
  const others = observed.siblings.filter(({ optedIn }) => optedIn);
  const begin = (policy ?? DEFAULT_ROLLOUT_POLICY).begin.days * DAY_MS;
  // Past its floor no schedule begins it: waiting for it would only make this one late too.
  const isDue = (end: number): boolean => end - begin <= now && now <= end - FLOOR_DAYS * DAY_MS;
  const first = others.find(({ soonestEnd }) => soonestEnd !== undefined && isDue(soonestEnd));
  const unknown = others.find(({ soonestEnd }) => soonestEnd === undefined);
  const one = first ?? unknown;
  if (one === undefined) return passes('no other cluster of it is due');
  const found =
    one.soonestEnd === undefined
      ? 'the status of its Machines does not say when its certificates expire, so it may be due first'
      : `it is due first: its certificates expire in ${span(one.soonestEnd - now)}, and the management cluster comes last`;
  const object = `Cluster ${one.namespace}/${one.cluster}`;
  if (hasWaitedItsTurn(question)) return passes(`${found}; no longer waited for`, object);
  const look =
    one.soonestEnd === undefined
      ? `See why Cluster API does not know: kubectl -n ${word(one.namespace, 'NAMESPACE')} get kubeadmconfigs.bootstrap.cluster.x-k8s.io -o yaml, annotation machine.cluster.x-k8s.io/certificates-expiry`
      : 'See what delays it: certmarshal rollout plan; if it should not roll, remove its annotation certmarshal.dev/rollout-mode';
  return fails({ object, found, remedy: `${look}. ${NO_LONGER}; ${byHand('management-cluster-last')}`, passing: true });
}

function byHand(id: string): string {
  return `a person who has checked this begins with certmarshal rollout start --yes --accept ${id}`;
}
