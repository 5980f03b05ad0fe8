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
  { namespaced = false, custom = false, fields = [] as readonly string[] } = {},
): Resource<AuditedObject> {
  return {
    group,
    versions: ['v1'],
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

/** What an audit reads beside Nodes and requests. It can only be read: tests put it into the stores. */
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
} as const;

export type AuditedKind = keyof typeof AUDITED_RESOURCES;
export const AUDITED_KINDS: readonly AuditedKind[] = [
  'configMaps',
  'secrets',
  'validatingWebhookConfigurations',
  'mutatingWebhookConfigurations',
  'apiServices',
  'customResourceDefinitions',
  'certManagerCertificates',
];
