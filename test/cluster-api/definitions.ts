import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import type { Admin, KubeObject } from '../control-plane/admin.ts';
import { untilServed } from '../control-plane/published-crds.ts';
import type { ManagerSource } from './managers.ts';
import { PUBLISHED } from './parts.ts';

/** Where a manager's webhooks are, and what its certificate is to be checked with. */
export interface WebhookServer {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  readonly caPem: string;
}

interface Definition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

/**
 * The definitions that a manager's project publishes, with what its kustomization adds: the labels by which Cluster API
 * learns the versions of a provider's contract, and the conversion webhook where there is more than one version.
 */
export async function managerDefinitions(
  manager: ManagerSource,
  moduleDirectory: string,
  server: WebhookServer,
): Promise<readonly KubeObject[]> {
  const directory = join(moduleDirectory, manager.directory, 'config/crd/bases');
  const files = (await readdir(directory)).filter((name) => name.endsWith('.yaml'));
  return Promise.all(
    files.map(async (name) => {
      const definition: Definition = parse(await readFile(join(directory, name), 'utf8'));
      const { metadata, spec } = definition;
      const labels = {
        ...metadata.labels,
        'cluster.x-k8s.io/v1beta1': 'v1beta1',
        'cluster.x-k8s.io/v1beta2': 'v1beta2',
      };
      const conversion = {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: clientConfig(server, '/convert') },
      };
      const patched = spec.versions.length > 1 ? { ...spec, conversion } : spec;
      return { ...definition, metadata: { ...metadata, labels }, spec: patched };
    }),
  );
}

/** Those of etcdadm and EKS Anywhere, as they are. */
export async function publishedDefinitions(modules: Readonly<Record<string, string>>): Promise<readonly KubeObject[]> {
  const files = Object.entries(PUBLISHED).flatMap(([path, names]) =>
    names.map((name) => join(modules[path] ?? '', name)),
  );
  return Promise.all(files.map(async (file): Promise<KubeObject> => parse(await readFile(file, 'utf8'))));
}

/** The webhook configurations that a manager's project publishes, with its address instead of a service. */
export async function managerWebhooks(
  manager: ManagerSource,
  moduleDirectory: string,
  server: WebhookServer,
): Promise<readonly KubeObject[]> {
  const file = join(moduleDirectory, manager.directory, 'config/webhook/manifests.yaml');
  return parseAllDocuments(await readFile(file, 'utf8'))
    .map((document): WebhookConfiguration | null => document.toJS())
    .filter((configuration) => configuration !== null)
    .map((configuration) => ({
      ...configuration,
      // They are all called the same.
      metadata: { ...configuration.metadata, name: `${manager.name}-${configuration.metadata.name}` },
      webhooks: configuration.webhooks.map((webhook) => ({
        ...webhook,
        clientConfig: clientConfig(server, webhook.clientConfig.service.path),
      })),
    }));
}

interface WebhookConfiguration extends KubeObject {
  readonly webhooks: readonly { readonly clientConfig: { readonly service: { readonly path: string } } }[];
}

function clientConfig(
  { url, caPem }: WebhookServer,
  path: string,
): { readonly url: string; readonly caBundle: string } {
  return { url: `${url}${path}`, caBundle: Buffer.from(caPem).toString('base64') };
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/**
 * Creates definitions and waits until all of their versions are served.
 *
 * @throws Error when they never are
 */
export async function installDefinitions(admin: Admin, definitions: readonly KubeObject[]): Promise<void> {
  await untilServed(admin, await Promise.all(definitions.map((definition) => admin.post(DEFINITIONS, definition))));
}
