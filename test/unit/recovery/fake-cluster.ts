import type { SweepTarget } from '../../../lambdas/approval/observe.ts';
import type { ApiCall, KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError, type KubernetesErrorKind } from '../../../lambdas/kubernetes/errors.ts';
import { isJsonObject, type JsonObject } from '../../../lambdas/resources/fields.ts';
import { BERLIN } from '../approval/fixtures.ts';
import { controlPlaneMachine } from './fixtures.ts';

export const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
export const NODE_LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

interface Stored {
  readonly metadata: JsonObject & { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly [field: string]: unknown;
}

/** A cluster that recovers, of which only what a recovery reads and writes exists. */
export interface FakeCluster {
  readonly csrs: Map<string, Stored>;
  readonly nodes: Map<string, JsonObject>;
  readonly nodeLeases: Map<string, JsonObject>;
  readonly machines: JsonObject[];
  /** Writes that were done, as `METHOD path`. */
  readonly writes: string[];
  /** Before every call: to fail it, to change something, or to let others go first. */
  before: (call: ApiCall) => void | Promise<void>;
  /** Names of requests that were approved. */
  approved(): readonly string[];
  addCsr(object: object): void;
  client(): KubernetesClient;
  target(changed?: Partial<SweepTarget>): SweepTarget;
}

export function apiError(kind: KubernetesErrorKind, status?: number): KubernetesError {
  return new KubernetesError({ kind, object: 'the call', problem: kind, remedy: 'Do something.', status });
}

export function fakeCluster(): FakeCluster {
  let version = 100;
  const next = () => {
    version += 1;
    return String(version);
  };
  const named = (found: JsonObject | undefined) => ({ items: found === undefined ? [] : [found] });
  const selected = ({ query }: ApiCall) => /^metadata\.name=(.+)$/.exec(query?.['fieldSelector'] ?? '')?.[1] ?? '';

  const approve = (name: string, body: JsonObject): JsonObject => {
    const old = cluster.csrs.get(name);
    if (old === undefined) throw apiError('not-found', 404);
    const { metadata, status } = body;
    if (!isJsonObject(metadata)) throw apiError('invalid', 422);
    if (metadata['uid'] !== old.metadata.uid || metadata['resourceVersion'] !== old.metadata.resourceVersion)
      throw apiError('conflict', 409);
    const written = { ...old, metadata: { ...old.metadata, resourceVersion: next() }, status };
    cluster.csrs.set(name, written);
    return written;
  };

  const serve = (call: ApiCall): JsonObject => {
    const { method, path } = call;
    const body = isJsonObject(call.body) ? call.body : {};
    switch (`${method} ${path}`) {
      case `GET ${CSRS}`:
        return { items: [...cluster.csrs.values()] };
      case 'GET /api/v1/nodes':
        return named(cluster.nodes.get(selected(call)));
      case `GET ${NODE_LEASES}`:
        return named(cluster.nodeLeases.get(selected(call)));
      case 'GET /apis/cluster.x-k8s.io':
        return { versions: [{ version: 'v1beta2' }] };
    }
    const namespace = /^\/apis\/cluster\.x-k8s\.io\/v1beta2\/(?:namespaces\/([^/]+)\/)?machines$/.exec(path);
    if (namespace !== null)
      return {
        items: cluster.machines.filter(({ metadata }) => [undefined, namespaceOf(metadata)].includes(namespace[1])),
      };
    const read = new RegExp(`^GET ${CSRS}/([^/]+)$`).exec(`${method} ${path}`)?.[1];
    if (read !== undefined) {
      const found = cluster.csrs.get(read);
      if (found === undefined) throw apiError('not-found', 404);
      return found;
    }
    const name = new RegExp(`^PUT ${CSRS}/([^/]+)/approval$`).exec(`${method} ${path}`)?.[1];
    if (name === undefined) throw new Error(`nobody serves ${method} ${path}`);
    return approve(name, body);
  };

  const cluster: FakeCluster = {
    csrs: new Map(),
    nodes: new Map(),
    nodeLeases: new Map(),
    machines: [],
    writes: [],
    before: () => {},
    approved: () =>
      [...cluster.csrs.values()].flatMap(({ metadata, status }) =>
        JSON.stringify(status).includes('CertMarshalRecovered') ? [metadata.name] : [],
      ),
    addCsr(object) {
      const stored: unknown = object;
      if (!isStored(stored)) throw new Error('no object');
      cluster.csrs.set(stored.metadata.name, stored);
    },
    client: () => ({
      server: 'https://berlin.example.com',
      stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
      async request(call) {
        await cluster.before(call);
        if (call.signal?.aborted) throw apiError('aborted');
        const answered = serve(call);
        if (call.method !== 'GET') cluster.writes.push(`${call.method} ${call.path}`);
        return answered;
      },
      close() {},
    }),
    target(changed = {}) {
      const client = cluster.client();
      return { cluster: BERLIN, workload: client, management: client, machinesNamespace: 'eksa-system', ...changed };
    },
  };
  for (const node of ['cp-1', 'cp-2', 'cp-3']) {
    cluster.nodes.set(node, {
      metadata: { name: node },
      status: { conditions: [{ type: 'Ready', status: 'Unknown' }] },
    });
    cluster.machines.push(controlPlaneMachine(node));
  }
  return cluster;
}

function namespaceOf(metadata: unknown): unknown {
  return isJsonObject(metadata) ? metadata['namespace'] : undefined;
}

function isStored(value: unknown): value is Stored {
  return isJsonObject(value) && isJsonObject(value['metadata']) && typeof value['metadata']['name'] === 'string';
}
