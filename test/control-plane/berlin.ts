import { X509Certificate } from 'node:crypto';
import { stringify } from 'yaml';
import {
  capiCluster,
  controlPlaneMachine,
  eksAnywhereCluster,
  etcdadmCluster,
  etcdMachine,
  kubeadmControlPlane,
  workerMachine,
} from '../providers/objects.ts';
import { EVERYWHERE, PROVIDERS } from '../providers/table.ts';
import type { Admin, KubeObject } from './admin.ts';
import { kubeconfigYaml } from './kubeconfig.ts';
import { CONTROL_PLANE_MACHINES, type ControlPlaneOnMachines, ETCD_MACHINES } from './machines.ts';
import { createAuthority, type KeyedCertificate } from './pki.ts';

/** Name of the cluster that {@link describeCluster} describes, and the namespace of its objects of Cluster API. */
export const CLUSTER = 'berlin-prod';
export const NAMESPACE = 'eksa-system';

/** The machines of the workers, beside those of the control plane. */
export const WORKER_MACHINES = ['127.0.0.31', '127.0.0.32', '127.0.0.33', '127.0.0.34'] as const;

const DAY_MS = 86_400_000;
const CAPI = 'cluster.x-k8s.io';
const OF = { provider: PROVIDERS['vSphere, 0.26'], name: CLUSTER };

/** Name of the Machine at an address. */
export function machineAt(address: string): string {
  for (const [kind, addresses] of [
    ['cp', CONTROL_PLANE_MACHINES],
    ['etcd', ETCD_MACHINES],
    ['md-0', WORKER_MACHINES],
  ] as const) {
    const index = addresses.findIndex((each) => each === address);
    if (index !== -1) return `${CLUSTER}-${kind}-${index + 1}`;
  }
  throw new Error(`no machine has the address ${address}`);
}

/** Certificates that are in objects and nowhere else, PEM. */
export interface Berlin {
  readonly webhookAuthority: string;
  readonly oldWebhookAuthority: string;
  readonly apiServiceAuthority: string;
  readonly conversionAuthority: string;
  readonly web: KeyedCertificate;
  /** The client certificate in `<cluster>-kubeconfig`. */
  readonly kubeconfig: KeyedCertificate;
  /** What cert-manager says of its Certificate. */
  readonly certManagerNotAfter: string;
}

/**
 * Describes the cluster as EKS Anywhere with an etcd of its own does: its Cluster, KubeadmControlPlane, EtcdadmCluster and Machines, what they
 * say of certificates, its Secrets; and what an administrator put beside it: webhooks, an APIService, a CRD with conversion, cert-manager.
 */
export async function describeCluster(admin: Admin, controlPlane: ControlPlaneOnMachines): Promise<Berlin> {
  const [webhook, oldWebhook, apiService, conversion] = await Promise.all(
    ['webhook', 'old webhook', 'apiservice', 'conversion'].map((name, index) =>
      createAuthority(`${name} authority`, inDays(1000 + index)),
    ),
  );
  if (!webhook || !oldWebhook || !apiService || !conversion) throw new Error('four were asked for');
  const { cluster, etcd, frontProxy } = controlPlane.authorities;
  const [web, kubeconfig] = await Promise.all([
    webhook.certificate({
      commonName: 'web.example.com',
      usages: ['server'],
      dnsNames: ['web.example.com'],
      notAfter: inDays(89),
    }),
    cluster.certificate({
      commonName: 'kubernetes-admin',
      organizations: ['system:masters'],
      usages: ['client'],
      notAfter: inDays(364),
    }),
  ]);
  const certManagerNotAfter = `${inDays(88).toISOString().slice(0, 19)}Z`;

  const owners = eksAnywhereCluster(OF);
  const capi = capiCluster(OF, { etcd: 'external' });
  const plane = kubeadmControlPlane(OF, 'external');
  const etcdCluster = etcdadmCluster(OF, ETCD_MACHINES.map(born));
  await admin.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  await Promise.all([
    applyMachines(admin, controlPlane),
    withStatus(admin, `/apis/${CAPI}/v1beta2`, 'clusters', {
      ...capi,
      spec: {
        ...capi.spec,
        clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/16'] } },
        controlPlaneEndpoint: {
          host: new URL(controlPlane.server).hostname,
          port: Number(new URL(controlPlane.server).port),
        },
      },
      status: {
        phase: 'Provisioned',
        initialization: { controlPlaneInitialized: true, infrastructureProvisioned: true },
      },
    }),
    withStatus(admin, '/apis/controlplane.cluster.x-k8s.io/v1beta2', 'kubeadmcontrolplanes', {
      ...plane,
      spec: {
        ...plane.spec,
        replicas: CONTROL_PLANE_MACHINES.length,
        version: 'v1.37.2',
        rollout: { before: { certificatesExpiryDays: 30 } },
        kubeadmConfigSpec: {
          clusterConfiguration: {
            etcd: {
              external: {
                endpoints: ETCD_MACHINES.map((address) => `https://${address}:${controlPlane.ports.etcdClient}`),
                caFile: '/etc/kubernetes/pki/etcd/ca.crt',
                certFile: '/etc/kubernetes/pki/apiserver-etcd-client.crt',
                keyFile: '/etc/kubernetes/pki/apiserver-etcd-client.key',
              },
            },
          },
        },
      },
      status: { replicas: CONTROL_PLANE_MACHINES.length, readyReplicas: CONTROL_PLANE_MACHINES.length },
    }),
    withStatus(admin, '/apis/etcdcluster.cluster.x-k8s.io/v1beta1', 'etcdadmclusters', {
      ...etcdCluster,
      metadata: { ...etcdCluster.metadata, labels: { [`${CAPI}/cluster-name`]: CLUSTER } },
      spec: {
        ...etcdCluster.spec,
        infrastructureTemplate: {
          apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
          kind: 'VSphereMachineTemplate',
          name: `${CLUSTER}-etcd-1`,
        },
      },
      status: {
        ...etcdCluster.status,
        replicas: ETCD_MACHINES.length,
        ready: true,
        initialized: true,
        creationComplete: true,
      },
    }),
    withStatus(admin, '/apis/anywhere.eks.amazonaws.com/v1alpha1', 'clusters', {
      ...owners,
      spec: {
        ...owners.spec,
        kubernetesVersion: '1.37',
        controlPlaneConfiguration: { count: CONTROL_PLANE_MACHINES.length },
        externalEtcdConfiguration: { count: ETCD_MACHINES.length },
        managementCluster: { name: CLUSTER },
      },
      status: {
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }],
        clusterCertificateInfo: certificateInfo(controlPlane),
      },
    }),
    ...[
      ['ca', cluster],
      ['proxy', frontProxy],
      ['managed-etcd', etcd],
      ['apiserver-etcd-client', controlPlane.etcdClient],
    ].map(([name, pair]) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rows of two
      clusterSecret(admin, name as string, pairData(pair as KeyedCertificate)),
    ),
    clusterSecret(admin, 'etcd', { 'tls.crt': base64(etcd.certPem) }),
    clusterSecret(admin, 'kubeconfig', {
      value: base64(kubeconfigYaml(controlPlane.server, cluster.certPem, `${CLUSTER}-admin`, kubeconfig)),
    }),
    admin.post('/api/v1/namespaces/kube-public/configmaps', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'cluster-info', namespace: 'kube-public' },
      // As kubeadm writes it: nobody is in it.
      data: {
        kubeconfig: stringify({
          apiVersion: 'v1',
          kind: 'Config',
          clusters: [
            {
              name: '',
              cluster: { server: controlPlane.server, 'certificate-authority-data': base64(cluster.certPem) },
            },
          ],
          contexts: [],
          users: [],
          preferences: {},
          'current-context': '',
        }),
      },
    }),
    admin.post('/api/v1/namespaces/default/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name: 'web-tls', namespace: 'default' },
      data: pairData(web),
    }),
    withStatus(admin, '/apis/cert-manager.io/v1', 'certificates', {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      metadata: { name: 'web', namespace: 'default' },
      spec: { secretName: 'web-tls', issuerRef: { name: 'internal' }, dnsNames: ['web.example.com'] },
      status: {
        notBefore: `${new Date().toISOString().slice(0, 19)}Z`,
        notAfter: certManagerNotAfter,
        renewalTime: `${inDays(60).toISOString().slice(0, 19)}Z`,
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }],
      },
    }),
    setWebhookBundle(admin, webhook.certPem + oldWebhook.certPem),
    admin.post('/apis/apiregistration.k8s.io/v1/apiservices', {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.metrics.example.com' },
      spec: {
        group: 'metrics.example.com',
        version: 'v1beta1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        service: { name: 'metrics', namespace: 'default' },
        caBundle: base64(apiService.certPem),
      },
    }),
    admin.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', conversionDefinition(conversion.certPem)),
  ]);
  return {
    webhookAuthority: webhook.certPem,
    oldWebhookAuthority: oldWebhook.certPem,
    apiServiceAuthority: apiService.certPem,
    conversionAuthority: conversion.certPem,
    web,
    kubeconfig,
    certManagerNotAfter,
  };
}

/** The webhook is about nothing that exists: only its bundle matters. */
export async function setWebhookBundle(admin: Admin, pem: string): Promise<void> {
  await admin.apply(
    stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'policy' },
      webhooks: [
        {
          name: 'policy.example.com',
          clientConfig: { service: { name: 'policy', namespace: 'default' }, caBundle: base64(pem) },
          rules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothings'] }],
          failurePolicy: 'Ignore',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    }),
  );
}

/** Writes down anew what Cluster API and EKS Anywhere say of the certificates that the machines show. */
export async function refreshWhatIsWritten(admin: Admin, controlPlane: ControlPlaneOnMachines): Promise<void> {
  await Promise.all([
    ...CONTROL_PLANE_MACHINES.map((address) =>
      setCertificatesExpiry(admin, address, endOf(controlPlane.servingCertificate(`kube-apiserver ${address}`))),
    ),
    admin.patch(`/apis/anywhere.eks.amazonaws.com/v1alpha1/namespaces/default/clusters/${CLUSTER}/status`, {
      status: { clusterCertificateInfo: certificateInfo(controlPlane) },
    }),
  ]);
}

/** Source: EKS Anywhere, pkg/certificates/scanner.go. */
function certificateInfo(controlPlane: ControlPlaneOnMachines): readonly object[] {
  const info = (address: string, pem: string) => ({
    machine: machineAt(address),
    expiresInDays: wholeDays(endOf(pem)),
  });
  return [
    ...CONTROL_PLANE_MACHINES.map((address) =>
      info(address, controlPlane.servingCertificate(`kube-apiserver ${address}`)),
    ),
    ...ETCD_MACHINES.map((address) => info(address, controlPlane.servingCertificate(`etcd server ${address}`))),
  ];
}

/** What the control plane provider writes down of a machine's certificate: on its KubeadmConfig, and from there in the Machine's status. */
async function setCertificatesExpiry(admin: Admin, address: string, notAfter: string): Promise<void> {
  const name = machineAt(address);
  await admin.patch(`/apis/bootstrap.cluster.x-k8s.io/v1beta2/namespaces/${NAMESPACE}/kubeadmconfigs/${name}`, {
    metadata: { annotations: { 'machine.cluster.x-k8s.io/certificates-expiry': notAfter } },
  });
  await admin.patch(`/apis/${CAPI}/v1beta2/namespaces/${NAMESPACE}/machines/${name}/status`, {
    status: { certificatesExpiryDate: notAfter },
  });
}

/** The end of a certificate as Kubernetes writes it. */
export function endOf(pem: string): string {
  return `${new Date(new X509Certificate(pem).validTo).toISOString().slice(0, 19)}Z`;
}

const born = (address: string) => ({ name: machineAt(address), address });

async function applyMachines(admin: Admin, controlPlane: ControlPlaneOnMachines): Promise<void> {
  const create = async (made: ReturnType<typeof etcdMachine>, config: string) => {
    const { name, namespace, labels } = made.metadata;
    const configRef = { apiGroup: 'bootstrap.cluster.x-k8s.io', kind: config, name };
    const machine = await withStatus(admin, `/apis/${CAPI}/v1beta2`, 'machines', {
      ...made,
      // Those who own it are not there.
      metadata: { name, namespace, labels },
      spec: { ...made.spec, bootstrap: { configRef } },
    });
    if (config !== 'KubeadmConfig') return;
    const {
      apiVersion,
      metadata: { uid },
    } = machine;
    await admin.post(`/apis/bootstrap.cluster.x-k8s.io/v1beta2/namespaces/${NAMESPACE}/kubeadmconfigs`, {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmConfig',
      metadata: {
        name,
        namespace,
        labels,
        ownerReferences: [{ apiVersion, kind: 'Machine', name, uid, controller: true }],
      },
      spec: { format: 'cloud-config' },
    });
  };
  await Promise.all([
    ...CONTROL_PLANE_MACHINES.map(async (address) => {
      await create(controlPlaneMachine(OF, born(address)), 'KubeadmConfig');
      await setCertificatesExpiry(admin, address, endOf(controlPlane.servingCertificate(`kube-apiserver ${address}`)));
    }),
    ...ETCD_MACHINES.map((address) => create(etcdMachine(OF, born(address)), 'EtcdadmConfig')),
    ...WORKER_MACHINES.map((address) => create(workerMachine(OF, born(address)), 'KubeadmConfig')),
  ]);
}

/** Creates an object, then writes its status, as its controller does. */
async function withStatus(admin: Admin, root: string, plural: string, object: KubeObject): Promise<KubeObject> {
  const { status, ...rest } = object;
  const path = `${root}/namespaces/${object.metadata.namespace}/${plural}`;
  await admin.post(path, rest);
  return admin.patch(`${path}/${object.metadata.name}/status`, { status });
}

async function clusterSecret(admin: Admin, name: string, data: Readonly<Record<string, string>>): Promise<void> {
  const { type, labels } = EVERYWHERE.secret.value(CLUSTER);
  await admin.post(`/api/v1/namespaces/${NAMESPACE}/secrets`, {
    apiVersion: 'v1',
    kind: 'Secret',
    type,
    metadata: { name: `${CLUSTER}-${name}`, namespace: NAMESPACE, labels },
    data,
  });
}

function conversionDefinition(caPem: string): object {
  const schema = { openAPIV3Schema: { type: 'object' } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
      versions: [
        { name: 'v1', served: true, storage: true, schema },
        { name: 'v1beta1', served: true, storage: false, schema },
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { service: { name: 'widgets', namespace: 'default' }, caBundle: base64(caPem) },
        },
      },
    },
  };
}

function pairData({ certPem, keyPem }: KeyedCertificate): Readonly<Record<string, string>> {
  return { 'tls.crt': base64(certPem), 'tls.key': base64(keyPem) };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function wholeDays(notAfter: string): number {
  return Math.trunc((Date.parse(notAfter) - Date.now()) / DAY_MS);
}

function inDays(days: number): Date {
  return new Date(Date.now() + days * DAY_MS);
}
