import type { ApiCall, KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError, type KubernetesErrorDetails } from '../../../lambdas/kubernetes/errors.ts';
import { isJsonObject, type JsonObject } from '../../../lambdas/resources/fields.ts';

/** An object as it is stored. */
export type Stored = JsonObject & { readonly metadata: JsonObject };

/** What happens to a call instead of, or before, what it asks for. */
export type Interference = (call: ApiCall) => void;

/** An API server in memory: discovery, lists, single objects, creation, and merge patches with the conflicts and dry runs of Kubernetes. */
export interface ManagementCluster {
  readonly client: KubernetesClient;
  /** In their order, as `PATCH dryRun kubeadmcontrolplanes/berlin`. */
  readonly calls: readonly string[];
  /** Every call that was made, reads too. */
  readonly made: readonly ApiCall[];
  /** By path. */
  readonly objects: ReadonlyMap<string, Stored>;
  put(path: string, object: JsonObject): void;
  change(path: string, patch: JsonObject): void;
  remove(path: string): void;
  get(path: string): Stored;
  /** Before a call is carried out; may throw. */
  before: Interference | undefined;
  /** After it was carried out, and before it is answered; may throw. */
  after: Interference | undefined;
}

export const SERVER = 'https://management.test:6443';

export function managementCluster(groups: Readonly<Record<string, readonly string[]>>): ManagementCluster {
  const objects = new Map<string, Stored>();
  const calls: string[] = [];
  const made: ApiCall[] = [];
  let version = 100;
  const stats = { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 };
  const next = (): string => String((version += 1));

  const store = (path: string, object: JsonObject): Stored => {
    const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
    const name = path.slice(path.lastIndexOf('/') + 1);
    const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
    const stored = {
      ...object,
      metadata: {
        name,
        namespace,
        uid: `uid of ${name}`,
        generation: 1,
        ...metadata,
        resourceVersion: next(),
      },
    };
    objects.set(path, stored);
    return stored;
  };

  const patched = ({ path, body, query }: ApiCall): JsonObject => {
    const found = objects.get(path);
    if (found === undefined) throw failure('not-found', { status: 404 });
    const patch = isJsonObject(body) ? body : {};
    const metadata = isJsonObject(patch['metadata']) ? patch['metadata'] : {};
    if (metadata['uid'] !== undefined && metadata['uid'] !== found.metadata['uid'])
      throw failure('invalid', { status: 422 });
    if (metadata['resourceVersion'] !== undefined && metadata['resourceVersion'] !== found.metadata['resourceVersion'])
      throw failure('conflict', { status: 409, reason: 'Conflict' });
    const merged = mergeOf(found, patch);
    if (query?.['dryRun'] === 'All') return merged;
    return store(path, merged);
  };

  const carryOut = (call: ApiCall): JsonObject => {
    const { method, path } = call;
    const group = /^\/apis\/([^/]+)$/.exec(path)?.[1];
    if (group !== undefined) {
      const versions = groups[group];
      if (versions === undefined) throw failure('not-found', { status: 404 });
      return {
        versions: versions.map((name) => ({ groupVersion: `${group}/${name}`, version: name })),
        preferredVersion: { version: versions[0] },
      };
    }
    if (method === 'PATCH') return patched(call);
    if (method === 'POST') {
      const body = isJsonObject(call.body) ? call.body : {};
      const metadata = isJsonObject(body['metadata']) ? body['metadata'] : {};
      const at = `${path}/${String(metadata['name'])}`;
      if (objects.has(at)) throw failure('conflict', { status: 409, reason: 'AlreadyExists' });
      return store(at, body);
    }
    const found = objects.get(path);
    if (found !== undefined) return found;
    if (isCollection(path)) return { items: listed(objects, call), metadata: {} };
    throw failure('not-found', { status: 404 });
  };

  const isCollection = (path: string): boolean => {
    const [, group, asked = ''] = /^\/apis\/([^/]+)\/([^/]+)\//.exec(path) ?? [];
    if (group !== undefined && groups[group]?.includes(asked) !== true) return false;
    return /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?[^/]+$/.test(path);
  };

  const cluster: ManagementCluster = {
    calls,
    made,
    objects,
    before: undefined,
    after: undefined,
    put: (path, object) => void store(path, object),
    change: (path, patch) => void store(path, mergeOf(cluster.get(path), patch)),
    remove: (path) => void objects.delete(path),
    get(path) {
      const found = objects.get(path);
      if (found === undefined) throw new Error(`there is no ${path}`);
      return found;
    },
    client: {
      server: SERVER,
      stats,
      async request(call) {
        // As over a network: others have their turn.
        await Promise.resolve();
        made.push(call);
        stats.requests += 1;
        if (call.method !== 'GET') {
          stats.writes += 1;
          const dry = call.query?.['dryRun'] === undefined ? '' : ' dryRun';
          calls.push(
            `${call.method}${dry} ${call.path
              .split('/')
              .slice(call.method === 'POST' ? -1 : -2)
              .join('/')}`,
          );
        }
        cluster.before?.(call);
        const answer = structuredClone(carryOut(call));
        cluster.after?.(call);
        return answer;
      },
      close() {},
    },
  };
  return cluster;
}

export function failure(
  kind: KubernetesErrorDetails['kind'],
  details: Partial<KubernetesErrorDetails> = {},
): KubernetesError {
  return new KubernetesError({
    kind,
    object: 'a call',
    problem: `${kind} in this test`,
    remedy: 'Nothing.',
    ...details,
  });
}

/** RFC 7386. */
function mergeOf<T extends JsonObject>(target: T, patch: JsonObject): T {
  const merged: Record<string, unknown> = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    const old = merged[key];
    if (value === null) delete merged[key];
    else merged[key] = isJsonObject(value) ? mergeOf(isJsonObject(old) ? old : {}, value) : value;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a patch of a test keeps what there is
  return merged as T;
}

function listed(objects: ReadonlyMap<string, Stored>, { path, query }: ApiCall): readonly Stored[] {
  const plural = path.slice(path.lastIndexOf('/') + 1);
  const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
  const prefix = path.replace(/\/(?:namespaces\/[^/]+\/)?[^/]+$/, '/');
  return [...objects]
    .filter(([at, { metadata }]) => {
      const parts = at.split('/');
      const labels = isJsonObject(metadata['labels']) ? metadata['labels'] : {};
      const [, name] = /^metadata\.name=(.*)$/.exec(query?.['fieldSelector'] ?? '') ?? [];
      const [label, value] = query?.['labelSelector']?.split('=') ?? [];
      return (
        at.startsWith(prefix) &&
        parts.at(-2) === plural &&
        (namespace === undefined || metadata['namespace'] === namespace) &&
        (name === undefined || metadata['name'] === name) &&
        (label === undefined || (value === undefined ? label in labels : labels[label] === value))
      );
    })
    .map(([, object]) => object);
}
