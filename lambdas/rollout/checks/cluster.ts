import { PAUSED_ANNOTATION } from '../../resources/annotations.ts';
import { shownCondition } from '../../resources/values.ts';
import type { CheckQuestion } from '../checks.ts';
import { CAPI_CLUSTERS, EKS_ANYWHERE_CLUSTERS, fails, kubectl, objectOf, type Verdict, verdictOf } from './verdict.ts';

/** Undefined if EKS Anywhere does not know the cluster. */
export function eksAnywhereSettled({ observed: { eksAnywhere } }: CheckQuestion): Verdict | undefined {
  if (eksAnywhere === undefined) return undefined;
  const { generation, observedGeneration, reconciledGeneration, ready, failureMessage } = eksAnywhere;
  const wrong = [
    ...(eksAnywhere.deleting ? ['it is being deleted'] : []),
    ...(eksAnywhere.paused ? ['it is paused (anywhere.eks.amazonaws.com/paused)'] : []),
    ...(ready.status === 'True' ? [] : [`Ready is ${shownCondition(ready)}`]),
    ...(observedGeneration === generation
      ? []
      : [`generation ${generation} is not observed (${observedGeneration ?? 'none'})`]),
    ...(reconciledGeneration === generation
      ? []
      : [`generation ${generation} is not reconciled (${reconciledGeneration ?? 'none'})`]),
    ...(failureMessage === undefined ? [] : [`it says: ${failureMessage}`]),
    ...(eksAnywhere.controlPlaneUpgrade ? ['there is a ControlPlaneUpgrade for it'] : []),
  ];
  return verdictOf(wrong, {
    object: objectOf('Cluster', eksAnywhere),
    good: 'EKS Anywhere has finished reconciling it',
    remedy: eksAnywhere.paused
      ? `Ask who paused it, and why; then: ${kubectl('annotate', EKS_ANYWHERE_CLUSTERS, eksAnywhere, 'anywhere.eks.amazonaws.com/paused-')}`
      : `Let EKS Anywhere finish: ${kubectl('describe', EKS_ANYWHERE_CLUSTERS, eksAnywhere)}`,
  });
}

export function clusterNotPaused({ observed: { capiCluster, cluster } }: CheckQuestion): Verdict {
  if (capiCluster === undefined) {
    return fails({
      found: `there is no Cluster of Cluster API with the name ${cluster.name}`,
      remedy: `Give the cluster the name of its Cluster object: kubectl get ${CAPI_CLUSTERS} -A`,
    });
  }
  const wrong = [
    ...(capiCluster.deleting ? ['it is being deleted'] : []),
    ...(capiCluster.paused ? [`it is paused (spec.paused or ${PAUSED_ANNOTATION})`] : []),
  ];
  return verdictOf(wrong, {
    object: objectOf('Cluster', capiCluster),
    good: 'it is not paused',
    remedy: `Ask who paused it, and why: ${kubectl('get', CAPI_CLUSTERS, capiCluster, '-o yaml')}`,
  });
}

export function noClusterClass({ observed: { capiCluster } }: CheckQuestion): Verdict | undefined {
  if (capiCluster === undefined) return undefined;
  return verdictOf(capiCluster.topology ? ['it is made from a ClusterClass, which owns its control plane'] : [], {
    object: objectOf('Cluster', capiCluster),
    good: 'it is not made from a ClusterClass',
    remedy: `With Cluster API 1.13 or later, roll it by its own topology: ${kubectl('edit', CAPI_CLUSTERS, capiCluster)}, and set spec.topology.controlPlane.rollout.after to now`,
  });
}
