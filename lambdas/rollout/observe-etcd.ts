import type { V1Pod } from '@kubernetes/client-node';
import type { AddressRule } from '../allowed-addresses.ts';
import { etcdSelector } from '../kubernetes/cluster-api.ts';
import { readClusterApiCertificates } from '../kubernetes/cluster-api-secret.ts';
import { listKind } from '../kubernetes/list.ts';
import { readEtcdadmCluster } from '../resources/etcdadm-cluster.ts';
import { list, raw, text } from '../resources/fields.ts';
import { etcdClusterOf, isMachineOf } from '../resources/machine.ts';
import { timeAt } from '../resources/values.ts';
import { type Certificate, readable } from '../x509/certificate.ts';
import { decodeBundle } from '../x509/certificate-bundle.ts';
import type { RolloutTarget } from './observe.ts';
import type { ObservedEtcd, ObservedMachine } from './observed.ts';
import { ETCD_PORT, observedMachine } from './observed-machine.ts';
import type { Reader } from './reader.ts';
import { servedCertificates } from './served-certificates.ts';

/** Source: etcdadm-controller, config/default. */
const CONTROLLER_NAMESPACE = 'etcdadm-controller-system';
const CONTROLLER_CONTAINER = 'manager';
/** Of each kind. */
const MAX_OBJECTS = 500;

export interface EtcdPlace {
  readonly namespace: string;
  /** Managed by an EtcdadmCluster. Otherwise its user runs it, and nothing can be read here. */
  readonly managed: boolean;
  readonly addresses: AddressRule;
}

/** External etcd of a cluster; undefined if it is not managed by etcdadm, or cannot be read. */
export async function observeEtcd(
  { name, management, handshakes, readEtcdClientSecret }: RolloutTarget,
  { namespace, managed, addresses }: EtcdPlace,
  reader: Reader,
  signal: AbortSignal,
): Promise<ObservedEtcd | undefined> {
  const etcdCluster = `${name}-etcd`;
  const found: unknown[] = [];
  const pages = listKind(management, 'etcdadmclusters', { clusterName: name, namespace, signal });
  const look = (object: unknown): void => {
    if (text(object, 'metadata', 'name') === etcdCluster) found.push(object);
  };
  const end = await reader.each(pages, MAX_OBJECTS, look, ...(managed ? [] : (['not-found'] as const)));
  const [object] = found;
  if (object === undefined) {
    if (managed && end === 'whole') reader.unread.push(missing(namespace, etcdCluster));
    return undefined;
  }
  const owner = text(object, 'metadata', 'uid');
  const machines: ObservedMachine[] = [];
  const [clientCertificate, controllerStartedAt, authorities] = await Promise.all([
    readEtcdClientSecret === true ? clientCertificateOf() : undefined,
    startOfController(),
    readEtcdClientSecret === true ? authoritiesOf() : undefined,
    reader.each(etcdMachines(), MAX_OBJECTS, (candidate) => {
      if (!isMachineOf(candidate, name) || etcdClusterOf(candidate) !== etcdCluster) return;
      const machine = observedMachine(candidate, { owner, role: 'etcd' });
      if (machine === undefined) reader.unread.push(malformed(`Machine ${namespace} of ${etcdCluster}`));
      else machines.push(machine);
    }),
  ]);
  const served = await servedCertificates(machines, handshakes, {
    port: ETCD_PORT,
    proof: false,
    authorities,
    addresses,
    signal,
  });
  const etcd = readEtcdadmCluster(object);
  if (etcd === undefined) {
    reader.unread.push(malformed(`EtcdadmCluster ${namespace}/${etcdCluster}`));
    return undefined;
  }
  return {
    ...etcd,
    machines: served.machines,
    clientCertificate,
    controllerStartedAt,
  };

  /** Only these two times of the Secret are kept; its key is dropped at once. */
  async function clientCertificateOf(): Promise<ObservedEtcd['clientCertificate']> {
    const secret = { namespace, clusterName: name, secret: 'apiserver-etcd-client', signal } as const;
    const pem = await reader.one(async () => readClusterApiCertificates(management, secret));
    if (pem === undefined) return undefined;
    const [first] = decodeBundle(pem).certificates;
    if (first?.ok === true) return { notBefore: first.certificate.notBefore, notAfter: first.certificate.notAfter };
    reader.unread.push(malformed(`the certificate in Secret ${namespace}/${name}-apiserver-etcd-client`));
    return undefined;
  }

  /** Includes those that it no longer owns. */
  async function* etcdMachines(): AsyncGenerator<readonly unknown[]> {
    const labels = etcdSelector(etcdCluster, `list machines on ${management.server}`);
    yield* listKind(management, 'machines', { labels, namespace, signal });
  }

  /**
   * The CA of etcd, which etcdadm-controller stores without its key. Undefined if unreadable or missing: then its
   * machines must agree.
   *
   * Source: etcdadm-controller, controllers/certs.go.
   */
  async function authoritiesOf(): Promise<readonly Certificate[] | undefined> {
    const secret = { namespace, clusterName: name, secret: 'etcd', signal } as const;
    const pem = await reader.one(async () => readClusterApiCertificates(management, secret), 'forbidden', 'not-found');
    if (pem === undefined) return undefined;
    const read = readable(decodeBundle(pem).certificates);
    if (read.length === 0) reader.unread.push(malformed(`the certificate in Secret ${namespace}/${name}-etcd`));
    return read;
  }

  /** A Lambda without permission for Pods skips it, which is not a problem. */
  async function startOfController(): Promise<number | undefined> {
    let oldest: number | undefined;
    await reader.each(
      listKind(management, 'pods', { namespace: CONTROLLER_NAMESPACE, signal }),
      MAX_OBJECTS,
      (item) => {
        const manager = list(raw<V1Pod>(item), 'status', 'containerStatuses').find(
          (container) => text(container, 'name') === CONTROLLER_CONTAINER,
        );
        // Not the pod's start: its container may have restarted since.
        const started = timeAt(manager, 'state', 'running', 'startedAt');
        if (started !== undefined) oldest = Math.min(oldest ?? started, started);
      },
      'forbidden',
      'not-found',
    );
    return oldest;
  }
}

function missing(namespace: string, name: string) {
  return {
    kind: 'missing',
    object: `EtcdadmCluster ${namespace}/${name}`,
    message: 'the Cluster has managed external etcd, but there is no such object',
    remedy: 'Check spec.managedExternalEtcdRef of the Cluster: EKS Anywhere names its etcd after the cluster.',
  };
}

function malformed(object: string) {
  return {
    kind: 'malformed',
    object,
    message: 'it is not as its controller writes it',
    remedy: 'Check the object in the management cluster, and who wrote it last.',
  };
}
