import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Admin, connectAdmin } from '../control-plane/admin.ts';
import { StartError } from '../control-plane/processes.ts';
import type { TokenUser } from '../control-plane/start.ts';
import type { PolicyRule } from '../fleet/authorization.ts';
import { PATIENCE_MS, waitFor } from '../patience.ts';
import type { Started, Wanted } from './inside.ts';
import type { ClusterApiParts } from './parts.ts';
import { relayTo } from './relay.ts';

/** A running management cluster: kube-apiserver with the definitions, webhooks and managers of Cluster API. */
export interface ClusterApi {
  /** `https://127.0.0.1:<port>`, which leads to kube-apiserver in the namespace; TLS ends there. */
  readonly server: string;
  /** What a client has to trust. */
  readonly caPem: string;
  /** Token of `admin`, who is in `system:masters`. */
  readonly adminToken: string;
  /** A client of `admin`; closed by stop. */
  readonly admin: Admin;
  /** Process ids by name: `etcd`, `kube-apiserver`, `capi-core`, `capi-kubeadm-bootstrap`, `capi-kubeadm-control-plane`, `capi-development-provider`. */
  readonly pids: Readonly<Record<string, number>>;
  /** Directories with `<name>.log` of each process; gone after stop. */
  readonly directories: { readonly controlPlane: string; readonly managers: string };
  /** The bearer token of a user. @throws Error when the user was not defined at the start. */
  tokenFor(user: string): string;
  /** Gives a user these rights, in one namespace or everywhere, in addition to those it has; effective when it returns. */
  grant(user: string, rules: readonly PolicyRule[], namespace?: string): Promise<void>;
  /** Stops everything. Harmless when called again. */
  stop(): Promise<void>;
}

/** Options of {@link startClusterApi}. */
export interface ClusterApiOptions {
  /** Users besides `admin` and `certmarshal` (group `certmarshal`, no rights). @default [] */
  readonly users?: readonly TokenUser[];
}

/**
 * Starts the stack in a network namespace of its own and waits until its webhooks answer. If this process dies, however,
 * everything that was started ends with it.
 *
 * @param parts of {@link clusterApiParts}
 * @throws StartError with the last lines of what went wrong
 */
export async function startClusterApi(
  parts: ClusterApiParts | { readonly missing: string },
  options: ClusterApiOptions = {},
): Promise<ClusterApi> {
  if (!('inPrivateNetwork' in parts)) throw new Error(parts.missing);
  const wanted: Wanted = { parts, users: options.users ?? [] };
  const [command = '', ...args] = parts.inPrivateNetwork;
  const script = join(import.meta.dirname, 'inside.ts');
  const child = spawn(command, [...args, process.execPath, script, JSON.stringify(wanted)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C in the terminal must not end it before it has stopped what it started.
    detached: true,
    env: { PATH: process.env['PATH'] ?? '' },
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-8000);
  });
  child.stdin.on('error', () => {});
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      complaint += String(error);
      resolve();
    });
    child.once('close', () => resolve());
  });
  const started = await firstLine(child.stdout, ended);
  if (started === undefined) {
    child.stdin.end();
    await ended;
    throw new StartError(`the stack of Cluster API did not start:\n${complaint}`);
  }
  const { apiserverPort, caPem, tokens, relay, directories, pids }: Started = JSON.parse(started);

  const tokenFor = (user: string): string => {
    const token = tokens[user];
    if (token === undefined) throw new Error(`no such user: ${user} (define it in options.users)`);
    return token;
  };
  const door = await relayTo(relay, apiserverPort);
  const server = `https://127.0.0.1:${door.port}`;
  const adminToken = tokenFor('admin');
  const admin = connectAdmin({ server, caPem, adminToken });
  let grants = 0;

  return {
    server,
    caPem,
    adminToken,
    admin,
    pids,
    directories,
    tokenFor,
    async grant(user, rules, namespace) {
      tokenFor(user);
      grants += 1;
      await grantRights(admin, { user, rules, namespace, name: `grant-${grants}` });
    },
    async stop() {
      admin.close();
      door.close();
      child.stdin.end();
      await ended;
    },
  };
}

async function firstLine(output: NodeJS.ReadableStream, ended: Promise<void>): Promise<string | undefined> {
  const lines = createInterface({ input: output });
  let timer: NodeJS.Timeout | undefined;
  const line = await Promise.race([
    new Promise<string>((resolve) => lines.once('line', resolve)),
    ended.then(() => undefined),
    new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS, undefined);
    }),
  ]);
  clearTimeout(timer);
  lines.close();
  return line;
}

interface Grant {
  readonly user: string;
  readonly rules: readonly PolicyRule[];
  readonly namespace: string | undefined;
  readonly name: string;
}

async function grantRights(admin: Admin, { user, rules, namespace, name }: Grant): Promise<void> {
  const group = '/apis/rbac.authorization.k8s.io/v1';
  const [path, prefix] = namespace === undefined ? [group, 'Cluster'] : [`${group}/namespaces/${namespace}`, ''];
  const plural = `${prefix}Role`.toLowerCase();
  await admin.post(`${path}/${plural}s`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: `${prefix}Role`,
    metadata: { name },
    rules,
  });
  await admin.post(`${path}/${plural}bindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: `${prefix}RoleBinding`,
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: `${prefix}Role`, name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  });
  await untilEffective(admin, user, rules.at(-1), namespace);
}

/** The authorizer learns of rules a moment after they are written. */
async function untilEffective(
  admin: Admin,
  user: string,
  rule: PolicyRule | undefined,
  namespace?: string,
): Promise<void> {
  if (rule === undefined) return;
  const [resource = '', subresource] = (rule.resources[0] ?? '').split('/');
  const resourceAttributes = {
    group: rule.apiGroups[0],
    resource,
    verb: rule.verbs[0],
    subresource,
    namespace,
    name: rule.resourceNames === undefined ? undefined : rule.resourceNames[0],
  };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: { name: '' },
    spec: { user, resourceAttributes },
  };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const isAllowed = async (): Promise<boolean> =>
    (await admin.post<{ readonly status: { readonly allowed: boolean } }>(path, review)).status.allowed;
  await waitFor(`the new rights of ${user}`, isAllowed);
}
