import { PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from '../../resources/annotations.ts';
import { ETCD_CONDITIONS } from '../../resources/etcdadm-cluster.ts';
import { shownCondition } from '../../resources/values.ts';
import { DAY_MS } from '../../time.ts';
import { counted, date } from '../../words.ts';
import type { CheckQuestion } from '../checks.ts';
import type { ObservedEtcd } from '../observed.ts';
import { ETCD_CLUSTERS, fails, kubectl, objectOf, passes, type Verdict, verdictOf } from './verdict.ts';

/** Undefined for stacked etcd. */
export function externalEtcdSettled({ observed: { controlPlane, etcd, cluster } }: CheckQuestion): Verdict | undefined {
  if (etcd === undefined) {
    if (controlPlane?.etcd !== 'external') return undefined;
    return fails({
      found: `etcd of ${cluster.name} is external, and there is no EtcdadmCluster of it`,
      remedy: `Where EKS Anywhere does not run etcd, renew it by hand; otherwise: kubectl get ${ETCD_CLUSTERS} -A`,
    });
  }
  return verdictOf(wrongWith(etcd), {
    object: objectOf('EtcdadmCluster', etcd),
    good: `all ${counted(etcd.replicas, 'etcd machine')} ready and owned`,
    remedy: `Wait until etcd is settled, and never delete one of its Machines: ${kubectl('describe', ETCD_CLUSTERS, etcd)}`,
  });
}

function wrongWith(etcd: ObservedEtcd): readonly string[] {
  const { generation, observedGeneration, replicas, machines, conditions } = etcd;
  return [
    ...(etcd.deleting ? ['it is being deleted'] : []),
    ...(etcd.paused ? [`it is paused (${PAUSED_ANNOTATION})`] : []),
    ...(etcd.ready ? [] : ['it is not ready']),
    ...(observedGeneration === generation
      ? []
      : [`generation ${generation} is not observed (${observedGeneration ?? 'none'})`]),
    // Annotations are missing before a first rollout.
    ...ETCD_CONDITIONS.flatMap((type) =>
      conditions[type].status === 'True' || conditions[type].status === 'Missing'
        ? []
        : [`${type} is ${shownCondition(conditions[type])}`],
    ),
    ...(etcd.upgrading ? ['it is being upgraded (etcdcluster.cluster.x-k8s.io/upgrading)'] : []),
    ...(etcd.upgradeComplete ? ['its upgrade is not settled (controlplane.cluster.x-k8s.io/upgrade-complete)'] : []),
    ...(etcd.mark === 'unreadable' ? [`${ROLLOUT_ANNOTATION} is not what certmarshal writes`] : []),
    ...(machines.length === replicas && replicas > 0
      ? []
      : [`${machines.length} of ${counted(replicas, 'machine')} seen`]),
    ...machines.flatMap(({ name, deleting, owned, etcdReady, unhealthy }) => [
      ...(deleting ? [`${name}: it is being deleted`] : []),
      ...(owned ? [] : [`${name}: it has no owner any more`]),
      ...(etcdReady === true ? [] : [`${name}: it is not etcd-ready`]),
      ...unhealthy.map((wrong) => `${name}: ${wrong}`),
    ]),
  ];
}

/** `certificateValidity` of etcdadm, pkg/certs/pkiutil. */
const CLIENT_VALIDITY_MS = 365 * DAY_MS;
/** If the certificate may not be read: a younger controller is trusted. */
const YOUNG_MS = 7 * DAY_MS;

/**
 * The etcdadm-controller caches the first client certificate until its process ends, and deletes machines that it
 * cannot reach. So it must be younger than the certificate; if that may not be read, young, and younger than the last
 * etcd machine, after which the certificate is issued again. Undefined for stacked etcd.
 *
 * Source: etcdadm-controller, `clusterToHttpClient` in controllers/healthcheck.go.
 */
export function etcdControllerRestarted({ observed: { etcd }, now }: CheckQuestion): Verdict | undefined {
  if (etcd === undefined) return undefined;
  const object = 'Deployment etcdadm-controller-system/etcdadm-controller-controller-manager';
  const restart =
    'kubectl -n etcdadm-controller-system rollout restart deployment etcdadm-controller-controller-manager';
  const { controllerStartedAt, clientCertificate, machines } = etcd;
  if (controllerStartedAt === undefined) {
    return fails({
      object,
      found: 'it is not known when it started, so its client certificate may be old',
      remedy: 'Let certmarshal list the pods of etcdadm-controller-system',
    });
  }
  // Its notBefore is that of its CA.
  const madeAt =
    clientCertificate === undefined
      ? Math.max(now - YOUNG_MS, ...machines.map(({ createdAt }) => createdAt))
      : Math.max(clientCertificate.notBefore, clientCertificate.notAfter - CLIENT_VALIDITY_MS);
  if (controllerStartedAt > madeAt) return passes(`it has run since ${date(controllerStartedAt)}`, object);
  return fails({
    object,
    found:
      clientCertificate === undefined
        ? `it has run since ${date(controllerStartedAt)}, and may have an older client certificate than the current one`
        : `it has run since ${date(controllerStartedAt)}, and has an older client certificate than that of ${date(madeAt)}`,
    remedy: `Restart it: ${restart}`,
  });
}
