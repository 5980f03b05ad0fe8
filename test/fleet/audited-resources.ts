import type { KubeObject } from './kube-object.ts';
import type { Resource } from './resources.ts';

/** An object with fields beside spec and status. */
export interface AuditedObject extends KubeObject {
  /** Of a ConfigMap, in plain text; of a Secret, in base64. */
  readonly data?: Readonly<Record<string, string>>;
  /** Of a Secret. */
  readonly type?: string;
  /** Of a webhook configuration. */
  readonly webhooks?: readonly unknown[];
}

const onlyRead = (): never => {
  throw new Error('what an audit reads is not written through the API');
};

function onlyReadResource(
  group: string,
  plural: string,
  kind: string,
  { namespaced = false, custom = false, fields = [] as readonly string[], versions = ['v1'] as readonly string[] } = {},
): Resource<AuditedObject> {
  return {
    group,
    versions,
    plural,
    kind,
    namespaced,
    subresources: [],
    custom,
    fields: ['metadata.name', ...(namespaced ? ['metadata.namespace'] : []), ...fields],
    create: onlyRead,
    update: onlyRead,
  };
}

const CLUSTER_API = { namespaced: true, custom: true, versions: ['v1beta2', 'v1beta1'] } as const;

/** What an audit and the plan of a rollout read beside Nodes and requests. It can only be read: tests put it into the stores. */
export const AUDITED_RESOURCES = {
  configMaps: onlyReadResource('', 'configmaps', 'ConfigMap', { namespaced: true }),
  secrets: onlyReadResource('', 'secrets', 'Secret', { namespaced: true, fields: ['type'] }),
  validatingWebhookConfigurations: onlyReadResource(
    'admissionregistration.k8s.io',
    'validatingwebhookconfigurations',
    'ValidatingWebhookConfiguration',
  ),
  mutatingWebhookConfigurations: onlyReadResource(
    'admissionregistration.k8s.io',
    'mutatingwebhookconfigurations',
    'MutatingWebhookConfiguration',
  ),
  serviceCidrs: onlyReadResource('networking.k8s.io', 'servicecidrs', 'ServiceCIDR'),
  apiServices: onlyReadResource('apiregistration.k8s.io', 'apiservices', 'APIService'),
  customResourceDefinitions: onlyReadResource(
    'apiextensions.k8s.io',
    'customresourcedefinitions',
    'CustomResourceDefinition',
  ),
  certManagerCertificates: onlyReadResource('cert-manager.io', 'certificates', 'Certificate', {
    namespaced: true,
    custom: true,
  }),
  kubeadmControlPlanes: onlyReadResource(
    'controlplane.cluster.x-k8s.io',
    'kubeadmcontrolplanes',
    'KubeadmControlPlane',
    CLUSTER_API,
  ),
  kubeadmConfigs: onlyReadResource('bootstrap.cluster.x-k8s.io', 'kubeadmconfigs', 'KubeadmConfig', CLUSTER_API),
  machineHealthChecks: onlyReadResource('cluster.x-k8s.io', 'machinehealthchecks', 'MachineHealthCheck', CLUSTER_API),
  machineTemplates: onlyReadResource(
    'infrastructure.cluster.x-k8s.io',
    'nutanixmachinetemplates',
    'NutanixMachineTemplate',
    { ...CLUSTER_API, versions: ['v1beta1'] },
  ),
} as const;

export type AuditedKind = keyof typeof AUDITED_RESOURCES;
const CONTROL_PLANE_KINDS: readonly AuditedKind[] = [
  'kubeadmControlPlanes',
  'kubeadmConfigs',
  'machineHealthChecks',
  'machineTemplates',
];

/** Whether only a management cluster with providers for control planes has it. */
export function isOfControlPlanes(kind: AuditedKind): boolean {
  return CONTROL_PLANE_KINDS.includes(kind);
}

export const AUDITED_KINDS: readonly AuditedKind[] = [
  ...CONTROL_PLANE_KINDS,
  'configMaps',
  'secrets',
  'validatingWebhookConfigurations',
  'mutatingWebhookConfigurations',
  'apiServices',
  'customResourceDefinitions',
  'certManagerCertificates',
];
