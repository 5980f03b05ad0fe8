import type { V1APIGroup } from '@kubernetes/client-node';
import { type JsonObject, raw, text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { namespacePath } from './namespace-path.ts';

/** The template of machines, from `infrastructureRef` of a KubeadmControlPlane. */
export interface InfrastructureTemplate {
  /** The version is the one that the server prefers: since v1beta2 a reference has none. */
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Templates of the current and former providers of EKS Anywhere: `certmarshal rbac` grants reading them. */
export const MACHINE_TEMPLATES: readonly string[] = [
  'awssnowmachinetemplates',
  'cloudstackmachinetemplates',
  'dockermachinetemplates',
  'nutanixmachinetemplates',
  'tinkerbellmachinetemplates',
  'vspheremachinetemplates',
];

const GROUP = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)+$/;
const VERSION = /^v[0-9][a-z0-9]{0,30}$/;
/** Adding `s` gives the resource name in every provider: Cluster API derives the name of the definition this way. */
const KIND = /^[A-Z][A-Za-z0-9]{0,60}Template$/;

/**
 * Whether the template of the machines exists.
 *
 * @throws KubernetesError; `forbidden` if it may not be read, `invalid` for an impossible name
 */
export async function hasInfrastructureTemplate(
  client: KubernetesClient,
  { group, kind, namespace, name, signal }: InfrastructureTemplate & { readonly signal: AbortSignal },
): Promise<boolean> {
  const object = `get the template of control plane machines on ${client.server}`;
  const strange = (problem: string): KubernetesError =>
    new KubernetesError({
      kind: 'invalid',
      object,
      problem,
      remedy: 'Check infrastructureRef of the KubeadmControlPlane: it must name a template of its provider.',
    });
  if (!GROUP.test(group) || !KIND.test(kind)) throw strange('no provider of Cluster API can have such a template');
  const parent = namespacePath(namespace, object);
  try {
    const served = preferredVersion(
      await client.request({ method: 'GET', path: `/apis/${group}`, right: 'discovery', signal }),
    );
    if (!VERSION.test(served)) throw strange(`no version in which ${group} is served has a valid name`);
    const template = `${kind.toLowerCase()}s`;
    const path = `/apis/${group}/${served}/${parent}/${template}/${encodeURIComponent(name)}`;
    await client.request({ method: 'GET', path, right: { template, group, namespace }, signal });
    return true;
  } catch (error) {
    if (error instanceof KubernetesError && error.kind === 'not-found') return false;
    throw error;
  }
}

/** Empty when it names none. Source: `APIGroup` of meta/v1. */
function preferredVersion(group: JsonObject): string {
  return text(raw<V1APIGroup>(group), 'preferredVersion', 'version') ?? '';
}
