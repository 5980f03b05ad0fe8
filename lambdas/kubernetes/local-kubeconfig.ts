import type { RequestOptions } from 'node:https';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject, type JsonObject } from '../resources/fields.ts';
import type { Credentials, TokenSource } from './connection.ts';
import {
  bundleProblems,
  type Entry,
  FILE_LIMITS,
  KubeconfigError,
  type KubeconfigText,
  type LoadedKubeconfig,
  loaded,
  NEVER_IN_CLUSTER,
  NEVER_IN_USER,
  noCredentials,
  type RefusedField,
  refusedFields,
  type SelectedContext,
  selectContext,
  serverProblems,
  textOf,
} from './kubeconfig-document.ts';
import { printable } from './printable.ts';

export interface LocalKubeconfigOptions {
  /** @default the file's current-context */
  readonly context?: string;
  /** Whether the credential command of the file may run. @default false */
  readonly allowExec?: boolean;
  /** Reads an `exec` instead of running it. @default none is read */
  readonly readExec?: ReadExec;
  /** Timeout of that command, in milliseconds. @default 60 000 */
  readonly execTimeoutMs?: number;
}

/** The result of reading an `exec`. */
export interface ExecRead {
  readonly token: TokenSource;
  readonly awsProfile: string | undefined;
}

/**
 * Reads the `exec` of a user if it need not be run; undefined otherwise. Runs nothing.
 *
 * @param server URL of the API server that gets the token
 * @param caData its CA bundle as in the file, base64-encoded; undefined for none or a path
 */
export type ReadExec = (exec: JsonObject, server: string, caData: string | undefined) => ExecRead | undefined;

const EXEC_NOT_ALLOWED: RefusedField = {
  field: 'exec',
  problem: 'it runs a command to get credentials, which is not allowed',
  remedy:
    'If you trust the file, pass --allow-exec. Without it, only the command that aws eks update-kubeconfig writes for an EKS endpoint is accepted, and it is not run.',
};

/**
 * Loads a kubeconfig of the person at the keyboard. Only the selected context is checked and loaded; files and, if
 * allowed, `exec` are read through the KubeConfig of @kubernetes/client-node, which is loaded only then.
 *
 * Credentials from `exec` and token files expire: load again before a much later sweep.
 *
 * @param source relative paths of a mere text start in the working directory
 * @throws KubeconfigError
 */
export async function loadLocalKubeconfig(
  source: KubeconfigText,
  options: LocalKubeconfigOptions = {},
): Promise<LoadedKubeconfig> {
  const selected = selectContext(source, options.context, FILE_LIMITS);
  const { cluster, user } = selected;
  const read = readAlone(selected, options.readExec);
  const refused = options.allowExec || read !== undefined ? NEVER_IN_USER : [...NEVER_IN_USER, EXEC_NOT_ALLOWED];
  const problems = [
    ...refusedFields(cluster, NEVER_IN_CLUSTER),
    ...refusedFields(user, refused),
    ...serverProblems(cluster),
  ];
  if (problems.length > 0) throw new KubeconfigError(problems);

  const material = await readMaterial(checkedConfig(cluster, user, read === undefined), user, options);
  const caPem = material.ca === undefined ? undefined : pem(material.ca);
  if (caPem !== undefined) problems.push(...bundleProblems(caPem, cluster.where));
  const credentials = read === undefined ? credentialsOf(material) : { kind: 'token' as const, token: read.token };
  if (credentials === undefined) problems.push(noCredentials(user));
  if (problems.length > 0 || credentials === undefined) throw new KubeconfigError(problems);
  return { ...loaded(selected, caPem, credentials), ...(read && { awsProfile: read.awsProfile }) };
}

/** Only for a user with nothing but an `exec`, and a server that must prove the name it is reached by. */
function readAlone({ cluster, user }: SelectedContext, readExec: ReadExec | undefined): ExecRead | undefined {
  const { exec, ...others } = user.content;
  const isAlone =
    Object.values(others).every((value) => value === null) && textOf(cluster, 'tls-server-name') === undefined;
  return isAlone && isJsonObject(exec)
    ? readExec?.(exec, textOf(cluster, 'server') ?? '', textOf(cluster, 'certificate-authority-data'))
    : undefined;
}

/**
 * A kubeconfig of only the selected entries and the checked fields, so that a second parser cannot read anything else
 * from the text. Inline data wins over a file, and a token file over a token, as in kubectl; client-node alone does
 * otherwise.
 */
function checkedConfig(cluster: Entry, user: Entry, runsExec: boolean): JsonObject {
  const { directory } = user;
  const tokenFile = textOf(user, 'tokenFile');
  const exec = user.content['exec'];
  return {
    clusters: [
      {
        name: 'cluster',
        cluster: { server: textOf(cluster, 'server'), ...dataOrFile(cluster, 'certificate-authority') },
      },
    ],
    users: [
      {
        name: 'user',
        user: {
          ...dataOrFile(user, 'client-certificate'),
          ...dataOrFile(user, 'client-key'),
          ...(tokenFile === undefined
            ? { token: textOf(user, 'token') }
            : { 'token-file': resolve(directory, tokenFile) }),
          ...(runsExec && isJsonObject(exec) ? { exec: execOf(exec, directory) } : {}),
        },
      },
    ],
    contexts: [{ name: 'context', context: { cluster: 'cluster', user: 'user' } }],
    'current-context': 'context',
  };
}

function dataOrFile(entry: Entry, field: string): JsonObject {
  const data = textOf(entry, `${field}-data`);
  if (data !== undefined) return { [`${field}-data`]: data };
  const file = textOf(entry, field);
  return file === undefined ? {} : { [field]: resolve(entry.directory, file) };
}

/** What client-go adds and client-node does not: the protocol version of the plugin, and paths relative to the file. */
function execOf(exec: JsonObject, directory: string): JsonObject {
  const command = exec['command'];
  const info = { apiVersion: exec['apiVersion'], kind: 'ExecCredential', spec: { interactive: false } };
  return {
    ...exec,
    ...(typeof command === 'string' && command.includes('/') ? { command: resolve(directory, command) } : {}),
    env: [
      ...(Array.isArray(exec['env']) ? exec['env'] : []),
      { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) },
    ],
  };
}

async function readMaterial(
  config: JsonObject,
  user: Entry,
  { execTimeoutMs = 60_000 }: LocalKubeconfigOptions,
): Promise<RequestOptions> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const loader = new KubeConfig();
  const material: RequestOptions = {};
  const done = new AbortController();
  try {
    loader.loadFromString(JSON.stringify(config));
    const outOfTime = delay(execTimeoutMs, 'out of time' as const, { signal: done.signal, ref: false });
    const outcome = await Promise.race([loader.applyToHTTPSOptions(material), outOfTime]);
    if (outcome === 'out of time') throw new Error(`no credentials within ${execTimeoutMs} ms`);
    return material;
  } catch (error) {
    throw new KubeconfigError([
      { where: user.where, problem: causeOf(error), remedy: 'Fix the file or command that the kubeconfig names.' },
    ]);
  } finally {
    done.abort();
  }
}

/**
 * An unreadable file, or the standard error of the command. Its standard output is the credential, and the messages of
 * SyntaxError and TypeError quote it.
 */
function causeOf(error: unknown): string {
  if (error instanceof SyntaxError || error instanceof TypeError) {
    return 'the exec command did not write an ExecCredential';
  }
  // Node.js API, Errors, SystemError: `path` of a spawn is the command.
  if (
    error instanceof Error &&
    'path' in error &&
    'code' in error &&
    error.code === 'ENOENT' &&
    error.message.startsWith('spawn ')
  )
    return `there is no command ${printable(String(error.path))}`;
  const message = error instanceof Error ? printable(error.message) : '';
  return message === '' ? 'the credentials cannot be loaded' : `the credentials cannot be loaded (${message})`;
}

function credentialsOf({ cert, key, headers }: RequestOptions): Credentials | undefined {
  if (cert !== undefined && key !== undefined) {
    return { kind: 'certificate', certificatePem: pem(cert), keyPem: pem(key) };
  }
  const authorization = new Map(Object.entries(headers ?? {})).get('Authorization');
  const token = typeof authorization === 'string' ? authorization.replace(/^Bearer /, '').trim() : '';
  return token === '' ? undefined : { kind: 'token', token };
}

function pem(material: unknown): string {
  return String(material);
}
