import { load, YAMLException } from 'js-yaml';
import * as z from 'zod/mini';
import { field, text } from '../resources/fields.ts';
import { parseCaBundle } from './ca-bundle.ts';
import { type Connection, type Credentials, isServerName, parseServerUrl } from './connection.ts';
import { printable } from './printable.ts';

/** A connection with its names in the kubeconfig. The user decides which addresses are allowed. */
export interface LoadedKubeconfig extends Omit<Connection, 'addresses'> {
  readonly context: string;
  readonly cluster: string;
  /** The AWS profile of an `exec` that was read instead of run. */
  readonly awsProfile?: string | undefined;
}

export interface KubeconfigProblem {
  /** Path of the field, for example `users[0].user.exec`. */
  readonly where: string;
  readonly problem: string;
  readonly remedy: string;
}

/** An unusable kubeconfig. Quotes names only, no values. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
  readonly problems: readonly KubeconfigProblem[];

  constructor(...problems: readonly KubeconfigProblem[]) {
    super(problems.map(({ where, problem, remedy }) => `${where}: ${problem}. ${remedy}`).join('\n'));
    this.problems = problems;
  }
}

export interface KubeconfigFile {
  readonly text: string;
  /** Base of its relative paths: the directory of the file. */
  readonly directory: string;
  /** Its path, a prefix of problems. */
  readonly name: string;
}

/** The text in a Secret, or the files of the person at the keyboard. */
export type KubeconfigText = string | readonly KubeconfigFile[];

/** An entry of one of the lists; its content is not checked. */
export interface Entry {
  readonly where: string;
  readonly name: string;
  readonly content: unknown;
  /** Base of its relative paths. */
  readonly directory: string;
}

/** A context, its cluster and its user. */
export type SelectedContext = Readonly<Record<'context' | 'cluster' | 'user', Entry>>;

/** Characters in a Secret. A kubeconfig of one cluster, with two CA certificates and a client certificate, has 20,000. */
const MAX_SECRET_LENGTH = 64 * 1024;
/** Most problems that are listed at once. */
const MAX_PROBLEMS = 20;
const WRITE_AGAIN = 'Write it again: kubectl config view --raw --flatten --minify.';

/** The message of an issue: the problem, and the remedy in a line of its own. */
const message = (problem: string, remedy: string) => `${problem}\n${remedy}`;

/** Text, absent if it is empty or null. */
const textThat = (isValid: (text: string) => boolean = () => true, problem = '', remedy = '') =>
  z.pipe(
    z.transform((value: unknown) => (value === null || value === '' ? undefined : value)),
    z.optional(z.string().check(z.refine(isValid, message(problem, remedy)))),
  );
export const Text = textThat();

const PemData = z.pipe(
  textThat(
    (data) => /^[A-Za-z0-9+/]+={0,2}$/.test(data.replaceAll(/\s/g, '')),
    'it is not base64',
    'Write the PEM text in base64.',
  ),
  z.transform((data: string | undefined) => data && Buffer.from(data, 'base64').toString('latin1')),
);

/** A field that must not be set. */
export const never = (problem: string, remedy: string) =>
  z.optional(z.unknown().check(z.refine((value) => !value, message(problem, remedy))));

const NO_SERVER = message(
  'it is not an https:// URL, or has a user name, a query or a fragment',
  'Give the https:// URL of the API server.',
);

// Source of the fields: client-go, tools/clientcmd/api/v1/types.go.
export const Cluster = z.object({
  server: z.string(NO_SERVER).check(z.refine((server) => typeof parseServerUrl(server) !== 'string', NO_SERVER)),
  'certificate-authority-data': PemData,
  'tls-server-name': textThat(
    isServerName,
    'it is neither a DNS name nor an IP address',
    'Give a name that the serving certificate has, or remove it.',
  ),
  'insecure-skip-tls-verify': never('TLS must be verified', 'Remove it and give certificate-authority-data.'),
  'proxy-url': never('proxies are not used', 'Remove it and give certmarshal a direct route.'),
});

const NO_PASSWORD = never('Kubernetes has not accepted passwords since 1.19', 'Use a token or a client certificate.');
const NO_IMPERSONATION = never(
  'impersonation is not supported',
  'Give the user its own credentials; certmarshal rbac prints the rights it needs.',
);
export const User = z.object({
  token: Text,
  'client-certificate-data': PemData,
  'client-key-data': PemData,
  'auth-provider': never(
    'auth providers are not supported, as in kubectl since 1.26',
    'Use a token, a client certificate, or exec where that is allowed.',
  ),
  username: NO_PASSWORD,
  password: NO_PASSWORD,
  as: NO_IMPERSONATION,
  'as-uid': NO_IMPERSONATION,
  'as-groups': NO_IMPERSONATION,
  'as-user-extra': NO_IMPERSONATION,
});

const Name = z.string().check(z.minLength(1, message('it is empty', 'Complete or remove the entry.')));
const Kubeconfig = z.object({
  contexts: z.nullish(z.array(z.object({ name: Name, context: z.unknown() }))),
  clusters: z.nullish(z.array(z.object({ name: Name, cluster: z.unknown() }))),
  users: z.nullish(z.array(z.object({ name: Name, user: z.unknown() }))),
  'current-context': Text,
});

/**
 * Parses a kubeconfig and follows one context to its cluster and user. Loads and runs nothing.
 *
 * @param wanted name of the context. @default current-context
 * @returns for an unknown user, one without fields
 * @throws KubeconfigError
 */
export function selectContext(source: KubeconfigText, wanted?: string): SelectedContext {
  const { current, contexts, clusters, users } = readLists(source);
  const context = entryOf(contexts, 'context', wanted ?? current, 'contexts');
  const cluster = entryOf(clusters, 'cluster', text(context.content, 'cluster'), `${context.where}.cluster`);
  const name = text(context.content, 'user') ?? '';
  const user = users.find((entry) => entry.name === name);
  return { context, cluster, user: user ?? { ...context, where: `${context.where}.user`, name, content: {} } };
}

/** A context and its cluster; the cluster's fields are undefined if the context leads to none. */
export interface ListedContext {
  readonly context: string;
  readonly cluster: string | undefined;
  /** As written in the kubeconfig: may be an invalid URL. */
  readonly server: string | undefined;
  /** SNI name by which a proxy tells clusters with one URL apart. */
  readonly serverName?: string | undefined;
}

/** Every context, the current one first. @throws KubeconfigError */
export function listContexts(source: KubeconfigText): readonly ListedContext[] {
  const { current, contexts, clusters } = readLists(source);
  if (contexts.length === 0) entryOf(contexts, 'context', current, 'contexts');
  return contexts
    .filter((context) => contexts.find(({ name }) => name === context.name) === context)
    .toSorted((a, b) => Number(b.name === current) - Number(a.name === current))
    .map((context) => {
      const cluster = clusters.find(({ name }) => name === text(context.content, 'cluster'));
      return {
        context: context.name,
        cluster: cluster?.name,
        server: text(cluster?.content, 'server'),
        serverName: text(cluster?.content, 'tls-server-name'),
      };
    });
}

/** Reads cluster and user by their contract. @throws KubeconfigError */
export function readSelected<S extends z.ZodMiniType>(schema: S, { cluster, user }: SelectedContext): z.output<S> {
  const contents = { cluster: cluster.content, user: user.content };
  return valid(schema, contents, ([of, ...path]) => (of === 'user' ? user : cluster).where + dotted(path));
}

/** Builds a connection of checked fields. @throws KubeconfigError without a readable CA bundle or credentials */
export function loaded(
  { context, cluster, user }: SelectedContext,
  { server, 'tls-server-name': tlsServerName }: z.output<typeof Cluster>,
  caPem: string | undefined,
  credentials: Credentials | undefined,
): LoadedKubeconfig {
  try {
    if (caPem !== undefined) parseCaBundle(caPem);
  } catch (error) {
    const problem = error instanceof RangeError ? error.message : 'it cannot be read';
    throw failure(`${cluster.where}.certificate-authority`, problem, "Give the cluster's CA certificates as PEM.");
  }
  if (credentials !== undefined)
    return { context: context.name, cluster: cluster.name, server, caPem, tlsServerName, credentials };
  throw failure(
    user.where,
    `the user "${printable(user.name)}" has no credentials`,
    'It needs a token, or a client certificate with its key.',
  );
}

/** A client certificate wins over a token, as at the API server when both are sent. */
export function credentialsOf(
  certificatePem: string | undefined,
  keyPem: string | undefined,
  token: string | undefined,
): Credentials | undefined {
  if (certificatePem !== undefined && keyPem !== undefined) return { kind: 'certificate', certificatePem, keyPem };
  return token === undefined || token.trim() === '' ? undefined : { kind: 'token', token: token.trim() };
}

/**
 * Merges files as client-go does: of entries with the same name the first counts as a whole, and of current-context the
 * first that names one. Source: client-go, tools/clientcmd/loader.go, `ClientConfigLoadingRules.Load`
 */
function readLists(source: KubeconfigText) {
  const isSecret = typeof source === 'string';
  if (isSecret && source.length > MAX_SECRET_LENGTH)
    throw failure('kubeconfig', `it is longer than ${MAX_SECRET_LENGTH} characters`, WRITE_AGAIN);
  const files = isSecret ? [{ text: source, directory: '.', name: '' }] : source;
  const documents = files
    // An empty file of several adds nothing, as in kubectl.
    .filter((file) => files.length === 1 || file.text.trim() !== '')
    .map((file) => {
      const prefix = file.name === '' ? '' : `${file.name}: `;
      return { prefix, directory: file.directory, document: parse(file.text, prefix) };
    });
  const entries = (list: 'contexts' | 'clusters' | 'users', kind: string): readonly Entry[] =>
    documents.flatMap(({ prefix, directory, document }) =>
      (document[list] ?? []).map((entry, index) => {
        const where = `${prefix}${list}[${index}].${kind}`;
        return { where, name: entry.name, content: field(entry, kind) ?? {}, directory };
      }),
    );
  return {
    current: documents.map(({ document }) => document['current-context']).find((name) => name !== undefined),
    contexts: entries('contexts', 'context'),
    clusters: entries('clusters', 'cluster'),
    users: entries('users', 'user'),
  };
}

/**
 * js-yaml, unlike `yaml`, parses 64 KiB of anything in less than a second: there, thousands of syntax errors take
 * seconds, and deep nesting can end the process in the compiler of regular expressions.
 */
function parse(yaml: string, prefix: string): z.output<typeof Kubeconfig> {
  if (yaml.trim() === '') throw failure(`${prefix}kubeconfig`, 'it is empty', WRITE_AGAIN);
  let document: unknown;
  try {
    document = load(yaml, { maxAliases: 0 });
  } catch (error) {
    // Reason and message can quote the text.
    const line = error instanceof YAMLException && error.mark ? `, line ${error.mark.line + 1}` : '';
    throw failure(`${prefix}kubeconfig`, `not valid YAML without aliases${line}`, WRITE_AGAIN);
  }
  return valid(Kubeconfig, document, (path) => `${prefix}${dotted(path).slice(1) || 'kubeconfig'}`);
}

function valid<S extends z.ZodMiniType>(
  schema: S,
  value: unknown,
  whereOf: (path: readonly PropertyKey[]) => string,
): z.output<S> {
  const { success, data, error } = schema.safeParse(value, {
    error: (issue) => (issue.code === 'invalid_type' ? `it is not of the type ${issue.expected}` : 'it is not valid'),
  });
  if (success) return data;
  const problems = error.issues.slice(0, MAX_PROBLEMS).map((issue) => {
    const [problem = '', remedy = WRITE_AGAIN] = issue.message.split('\n');
    return { where: whereOf(issue.path), problem, remedy };
  });
  throw new KubeconfigError(...problems);
}

function dotted(path: readonly PropertyKey[]): string {
  return path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
}

function entryOf(list: readonly Entry[], kind: string, name: string | undefined, where: string): Entry {
  const entry = list.find((one) => one.name === name);
  if (entry !== undefined) return entry;
  throw failure(
    where,
    name === undefined ? `no ${kind} is named` : `there is no ${kind} "${printable(name)}"`,
    list.length === 0 ? WRITE_AGAIN : `Name one of: ${printable(list.map((one) => one.name).join(', '))}.`,
  );
}

export function failure(where: string, problem: string, remedy: string): KubeconfigError {
  return new KubeconfigError({ where, problem, remedy });
}
