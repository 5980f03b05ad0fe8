import { Agent, request } from 'node:https';
import { parseAllDocuments } from 'yaml';
import type { ControlPlane } from './start.ts';

/** Any object of the Kubernetes API, as JSON. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** The metadata that tests look at. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Whom to impersonate. */
export interface Impersonation {
  readonly user: string;
  /** @default none; the server adds `system:authenticated` */
  readonly groups?: readonly string[];
}

/** How a patch is to be read. */
export type PatchType = 'merge' | 'json' | 'strategic-merge' | 'apply';

/** A small client for tests, with one keep-alive connection pool. Paths start with `/api` or `/apis`. */
export interface Admin {
  get<T = KubeObject>(path: string): Promise<T>;
  post<T = KubeObject>(path: string, body: unknown): Promise<T>;
  put<T = KubeObject>(path: string, body: unknown): Promise<T>;
  /** @param type @default 'merge' */
  patch<T = KubeObject>(path: string, body: unknown, type?: PatchType): Promise<T>;
  delete<T = KubeObject>(path: string): Promise<T>;
  /** Creates or changes every object of a YAML text (server-side apply, forced). Objects in a namespace must name it. */
  apply(yaml: string): Promise<KubeObject[]>;
  /** The same client, acting as somebody else. Shares the connections. */
  as(who: Impersonation): Admin;
  /** Closes the connections. */
  close(): void;
}

/** Thrown for every answer that is not 2xx. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly status: number;
  /** The `reason` of the Status object, for example `Forbidden` or `Conflict`. */
  readonly reason: string | undefined;

  constructor(call: string, status: number, body: string) {
    let parsed: { message?: string; reason?: string } = {};
    try {
      parsed = JSON.parse(body);
    } catch {
      // Not a Status object: the text itself has to do.
    }
    super(`${call}: ${status} ${parsed.message ?? body.slice(0, 500)}`);
    this.status = status;
    this.reason = parsed.reason;
  }
}

/**
 * A client of a test control plane.
 *
 * @param token who it is. @default the administrator
 */
export function connectAdmin(
  controlPlane: Pick<ControlPlane, 'server' | 'caPem' | 'adminToken'>,
  token: string = controlPlane.adminToken,
): Admin {
  const { server, caPem: ca } = controlPlane;
  // More than any test has in flight, so that requests never queue here.
  const agent = new Agent({ keepAlive: true, ca, maxSockets: 128 });
  return clientOf({ server, agent, headers: { authorization: `Bearer ${token}` } });
}

interface Connection {
  readonly server: string;
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

function clientOf(connection: Connection): Admin {
  const call = async <T>(method: string, path: string, body?: unknown, contentType?: string): Promise<T> =>
    send(connection, method, path, body, contentType);
  const resourceOf = resourceFinder((path) => call('GET', path));

  return {
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    put: (path, body) => call('PUT', path, body),
    patch: (path, body, type = 'merge') => call('PATCH', path, body, patchContentType(type)),
    delete: (path) => call('DELETE', path),
    async apply(yaml) {
      const applied: KubeObject[] = [];
      for (const document of parseAllDocuments(yaml)) {
        if (document.errors[0]) throw document.errors[0];
        const object: KubeObject | null = document.toJS();
        // A file may begin or end with a separator.
        if (object === null) continue;
        const path = `${await resourceOf(object)}/${object.metadata.name}?fieldManager=certmarshal-test&force=true`;
        applied.push(await call('PATCH', path, object, patchContentType('apply')));
      }
      return applied;
    },
    as: ({ user, groups = [] }) =>
      clientOf({
        ...connection,
        headers: { ...connection.headers, 'impersonate-user': user, 'impersonate-group': [...groups] },
      }),
    close: () => connection.agent.destroy(),
  };
}

function patchContentType(type: PatchType): string {
  return type === 'apply' ? 'application/apply-patch+yaml' : `application/${type}-patch+json`;
}

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Finds the collection path of an object by asking the server, which alone knows plurals and scopes. */
function resourceFinder(
  get: (path: string) => Promise<{ readonly resources: readonly ApiResource[] }>,
): (object: KubeObject) => Promise<string> {
  const known = new Map<string, string>();
  return async ({ apiVersion, kind, metadata: { namespace } }) => {
    const key = `${apiVersion}/${kind}/${namespace ?? ''}`;
    const cached = known.get(key);
    if (cached !== undefined) return cached;
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const { resources } = await get(root);
    const resource = resources.find((entry) => entry.kind === kind && !entry.name.includes('/'));
    if (resource === undefined) throw new Error(`the server has no ${kind} in ${apiVersion}`);
    if (resource.namespaced && namespace === undefined) throw new Error(`${kind} without metadata.namespace`);
    const path = resource.namespaced ? `${root}/namespaces/${namespace}/${resource.name}` : `${root}/${resource.name}`;
    known.set(key, path);
    return path;
  };
}

async function send(
  { server, agent, headers }: Connection,
  method: string,
  path: string,
  body?: unknown,
  contentType = 'application/json',
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of whatever shape the caller knows it has
): Promise<any> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(`${server}${path}`, {
      method,
      agent,
      timeout: 30_000,
      headers: {
        ...headers,
        accept: 'application/json',
        ...(payload === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(payload) }),
      },
    });
    sent
      .once('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const status = response.statusCode ?? 0;
          if (status < 200 || status > 299) reject(new ApiError(`${method} ${path}`, status, text));
          else resolve(text === '' ? undefined : JSON.parse(text));
        });
      })
      .once('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer for 30 s`)))
      .once('error', reject)
      .end(payload);
  });
}
