import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import * as z from 'zod/mini';
import { readJson } from '../contracts/contract.ts';
import { field, isJsonObject, type JsonObject, text } from '../resources/fields.ts';
import type { Credentials, TokenSource } from './connection.ts';
import {
  Cluster,
  credentialsOf,
  type Entry,
  failure,
  type KubeconfigText,
  type LoadedKubeconfig,
  loaded,
  readSelected,
  selectContext,
  Text,
  User,
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

/**
 * Reads the `exec` of a user if it need not be run; undefined otherwise. Runs nothing.
 *
 * @param server URL of the API server that gets the token
 * @param caData its CA bundle as in the file, base64-encoded; undefined for none or a path
 */
export type ReadExec = (
  exec: JsonObject,
  server: string,
  caData: string | undefined,
) => { readonly token: TokenSource; readonly awsProfile: string | undefined } | undefined;

const Fields = z.object({
  cluster: z.extend(Cluster, { 'certificate-authority': Text }),
  user: z.extend(User, {
    'client-certificate': Text,
    'client-key': Text,
    tokenFile: Text,
    exec: z.nullish(
      z.object({
        apiVersion: Text,
        command: z.string(),
        args: z.nullish(z.array(z.string())),
        env: z.nullish(z.array(z.object({ name: z.string(), value: z.string() }))),
      }),
    ),
  }),
});
type Exec = NonNullable<z.output<typeof Fields>['user']['exec']>;

/** Source: client-go, pkg/apis/clientauthentication/v1/types.go. */
const ExecCredential = z.object({
  status: z.object({ token: Text, clientCertificateData: Text, clientKeyData: Text }),
});

/**
 * Loads a kubeconfig of the person at the keyboard. Only the selected context is checked and loaded. Inline data wins
 * over a file, a token file over a token, and all of them over `exec`, as in kubectl.
 *
 * Credentials from `exec` and token files expire: load again before a much later sweep.
 *
 * @param source relative paths of a mere text start in the working directory
 * @throws KubeconfigError
 */
export async function loadLocalKubeconfig(
  source: KubeconfigText,
  { context, allowExec = false, readExec, execTimeoutMs = 60_000 }: LocalKubeconfigOptions = {},
): Promise<LoadedKubeconfig> {
  const selected = selectContext(source, context);
  const { cluster, user } = readSelected(Fields, selected);
  const caPem = await dataOrFile(selected.cluster, cluster, 'certificate-authority');
  const own = credentialsOf(
    await dataOrFile(selected.user, user, 'client-certificate'),
    await dataOrFile(selected.user, user, 'client-key'),
    (await fileOf(selected.user, 'tokenFile', user.tokenFile)) ?? user.token,
  );
  // Source: client-go, plugin/pkg/client/auth/exec/exec.go, `UpdateTransportConfig`.
  if (own !== undefined || !user.exec) return loaded(selected, cluster, caPem, own);
  const exec = field(selected.user.content, 'exec');
  const caData = text(selected.cluster.content, 'certificate-authority-data');
  // The server must prove the name it is reached by.
  const mayRead = isJsonObject(exec) && cluster['tls-server-name'] === undefined;
  const read = mayRead ? readExec?.(exec, cluster.server, caData) : undefined;
  if (read !== undefined) {
    const { token, awsProfile } = read;
    return { ...loaded(selected, cluster, caPem, { kind: 'token', token }), awsProfile };
  }
  if (allowExec) return loaded(selected, cluster, caPem, await run(user.exec, selected.user, execTimeoutMs));
  throw failure(
    `${selected.user.where}.exec`,
    'it runs a command to get credentials, which is not allowed',
    'If you trust the file, pass --allow-exec. Without it, only the command that aws eks update-kubeconfig writes for an EKS endpoint is accepted, and it is not run.',
  );
}

/** PEM text. */
async function dataOrFile(entry: Entry, fields: JsonObject, name: string): Promise<string | undefined> {
  return text(fields, `${name}-data`) ?? fileOf(entry, name, text(fields, name));
}

async function fileOf({ where, directory }: Entry, name: string, path: string | undefined) {
  try {
    return path === undefined ? undefined : await readFile(resolve(directory, path), 'utf8');
  } catch (error) {
    throw failure(`${where}.${name}`, printable(String(error)), 'Fix the file, or its name in the kubeconfig.');
  }
}

/** Runs the command as client-go does. Its standard output is the credential, so no problem quotes it. */
async function run(
  { command, args, env, apiVersion }: Exec,
  { where, directory }: Entry,
  timeout: number,
): Promise<Credentials | undefined> {
  const problemOf = (problem: string) =>
    failure(`${where}.exec`, problem, 'Fix the command that the kubeconfig names.');
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } });
  const variables = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
  const options = {
    env: { ...process.env, ...variables, KUBERNETES_EXEC_INFO: info },
    timeout,
    killSignal: 'SIGKILL',
  } as const;
  const file = command.includes('/') ? resolve(directory, command) : command;
  const output = await new Promise<string>((done, fail) => {
    execFile(file, args ?? [], options, (error, stdout, stderr) => {
      if (error === null) done(stdout);
      else if (error.code === 'ENOENT') fail(problemOf(`there is no command ${printable(command)}`));
      else if (error.killed) fail(problemOf(`no credentials within ${timeout} ms`));
      else fail(problemOf(`the command failed (${printable(stderr) || error.code})`));
    });
  });
  const answer = readJson(ExecCredential, output, 1024 * 1024);
  if (!answer.ok) throw problemOf('the command did not write an ExecCredential');
  const { clientCertificateData, clientKeyData, token } = answer.value.status;
  return credentialsOf(clientCertificateData, clientKeyData, token);
}
