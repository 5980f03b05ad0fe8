import { type Document, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { isJsonObject, type JsonObject } from '../resources/fields.ts';
import { yamlFault } from '../yaml-fault.ts';
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

/** Most problems that are listed. */
const MAX_PROBLEMS = 20;

/** An unusable kubeconfig, with the first 20 problems and the number of others. Quotes names only, no values. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
  readonly problems: readonly KubeconfigProblem[];

  constructor(all: readonly KubeconfigProblem[]) {
    const more = all.length - MAX_PROBLEMS;
    const problems = all.slice(0, MAX_PROBLEMS);
    if (more > 0)
      problems.push({ where: 'kubeconfig', problem: `and ${more} more problems`, remedy: 'Fix the others first.' });
    super(problems.map(({ where, problem, remedy }) => `${where}: ${problem}. ${remedy}`).join('\n'));
    this.problems = problems;
  }
}

/** The position of an entry in a kubeconfig, its name and its content. */
export interface Entry {
  readonly where: string;
  readonly name: string;
  readonly content: JsonObject;
  /** Base of its relative paths. */
  readonly directory: string;
}

export interface KubeconfigFile {
  readonly text: string;
  /** Base of its relative paths: the directory of the file. */
  readonly directory: string;
  /** Its path, a prefix of problems; absent for a single file. */
  readonly name?: string | undefined;
}

/** A context, its cluster, and the list that contains it. */
export interface SelectedCluster {
  readonly context: Entry;
  readonly cluster: Entry;
  readonly clusters: readonly Entry[];
}

/** The same with the user. */
export interface SelectedContext extends SelectedCluster {
  readonly user: Entry;
  readonly users: readonly Entry[];
}

/** Builds a connection once everything was checked. */
export function loaded(
  { context, cluster }: SelectedCluster,
  caPem: string | undefined,
  credentials: Credentials,
): LoadedKubeconfig {
  const tlsServerName = textOf(cluster, 'tls-server-name');
  return {
    context: context.name,
    cluster: cluster.name,
    server: textOf(cluster, 'server') ?? '',
    caPem,
    tlsServerName,
    credentials,
  };
}

/** Bounds of parsed text. */
export interface TextLimits {
  /** Characters. */
  readonly length: number;
  /**
   * Characters with a possible meaning in YAML: all but letters, digits, and those of base64 and names; line ends
   * count.
   */
  readonly marks: number;
  /** The slowest of them: brackets, anchors, tags, directives, explicit keys, escapes. */
  readonly slowMarks: number;
}

/**
 * For a file of the person at the keyboard: 1,000 clusters with CA, client certificate and key have 5.4 million
 * characters, parsed in a quarter of a second.
 */
export const FILE_LIMITS: TextLimits = { length: 8 * 1024 * 1024, marks: Infinity, slowMarks: Infinity };

/**
 * Parsing blocks the thread: up to 0.05 ms a mark, and quadratic in the slow ones. A kubeconfig of one cluster with two
 * CA certificates and a client certificate has 20,000 characters; with base64 in lines of 64 it has 400 marks, and as
 * JSON 20 brackets.
 */
export const SECRET_LIMITS: TextLimits = { length: 64 * 1024, marks: 800, slowMarks: 100 };

/**
 * Parses a kubeconfig and follows one context to its cluster and user. Loads and runs nothing.
 *
 * @param source a text, or files merged as client-go does: of entries with the same name the first counts as a whole,
 * and of current-context the first that names one. Source: client-go, tools/clientcmd/loader.go,
 * `ClientConfigLoadingRules.Load`
 * @param wanted name of the context. @default current-context
 * @throws KubeconfigError
 */
export function selectContext(source: KubeconfigText, wanted: string | undefined, limits: TextLimits): SelectedContext {
  const { current, contexts, clusters, users } = readKubeconfig(source, limits, ['contexts', 'clusters', 'users']);
  const problems: KubeconfigProblem[] = [];
  const context = contextOf(current, contexts, wanted);
  const cluster = follow(context, 'cluster', clusters, problems);
  const user = follow(context, 'user', users, problems);
  if (cluster === undefined || user === undefined) throw new KubeconfigError(problems);
  return { context, cluster, user, clusters, users };
}

/** The same for a caller with credentials of its own: the users of the kubeconfig are ignored. */
export function selectCluster(source: KubeconfigText, wanted: string | undefined, limits: TextLimits): SelectedCluster {
  const { current, contexts, clusters } = readKubeconfig(source, limits, ['contexts', 'clusters']);
  const problems: KubeconfigProblem[] = [];
  const context = contextOf(current, contexts, wanted);
  const cluster = follow(context, 'cluster', clusters, problems);
  if (cluster === undefined) throw new KubeconfigError(problems);
  return { context, cluster, clusters };
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
export function listContexts(source: KubeconfigText, limits: TextLimits): readonly ListedContext[] {
  const { current, contexts, clusters } = readKubeconfig(source, limits, ['contexts', 'clusters']);
  const listed = contexts.map((context) => {
    const cluster = clusters.find(({ name }) => name === textOf(context, 'cluster'));
    return {
      context: context.name,
      cluster: cluster?.name,
      server: cluster && textOf(cluster, 'server'),
      serverName: cluster && textOf(cluster, 'tls-server-name'),
    };
  });
  return [
    ...listed.filter(({ context }) => context === current),
    ...listed.filter(({ context }) => context !== current),
  ];
}

/** The text of a kubeconfig without file references, or its files. */
export type KubeconfigText = string | readonly KubeconfigFile[];

/** The lists of a kubeconfig, each with the field of its entries besides the name. */
const LISTS = { contexts: 'context', clusters: 'cluster', users: 'user' } as const;
type ListName = keyof typeof LISTS;

/** @param lists the required ones; others are ignored */
function readKubeconfig(
  source: KubeconfigText,
  limits: TextLimits,
  lists: readonly ListName[],
): Readonly<Record<ListName, readonly Entry[]>> & { readonly current: string } {
  const files = typeof source === 'string' ? [{ text: source, directory: '.' }] : source;
  const parsed = files.map((file) => ({ ...file, document: parsedFile(file, limits) }));
  const problems: KubeconfigProblem[] = [];
  const found: Record<ListName, readonly Entry[]> = { contexts: [], clusters: [], users: [] };
  for (const list of lists) {
    const all = parsed.flatMap(({ document, ...file }) => entries(document, list, file, problems));
    const first = new Map(all.toReversed().map((entry) => [entry.name, entry]));
    found[list] = all.filter((entry) => first.get(entry.name) === entry);
  }
  const missing = lists.filter((list) => parsed.every(({ document }) => isMissing(document[list])));
  if (missing.length > 0)
    problems.push({
      where: 'kubeconfig',
      problem: `it has no ${missing.join(', no ')}`,
      remedy: 'Give a complete one: kubectl config view --raw --flatten --minify.',
    });
  if (problems.length > 0) throw new KubeconfigError(problems);
  const named = parsed.flatMap(({ document: { 'current-context': name } }) => (typeof name === 'string' ? name : []));
  return { ...found, current: named.find((name) => name !== '') ?? '' };
}

/** An empty file of several adds nothing, as in kubectl. */
function parsedFile({ text, name }: KubeconfigFile, limits: TextLimits): JsonObject {
  if (name === undefined) return parse(text, limits);
  if (text.trim() === '') return {};
  try {
    return parse(text, limits);
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new KubeconfigError(error.problems.map((problem) => ({ ...problem, where: `${name}: ${problem.where}` })));
  }
}

function isMissing(list: unknown): boolean {
  return !Array.isArray(list) || list.length === 0;
}

function contextOf(current: string, contexts: readonly Entry[], wanted: string | undefined): Entry {
  const name = wanted ?? current;
  if (name === '') {
    throw single('current-context', 'no context is selected', `Name one of: ${namesOf(contexts)}.`);
  }
  const context = contexts.find((entry) => entry.name === name);
  if (context === undefined) {
    throw single('contexts', `there is no context "${printable(name)}"`, `Name one of: ${namesOf(contexts)}.`);
  }
  return context;
}

function follow(
  context: Entry,
  field: 'cluster' | 'user',
  list: readonly Entry[],
  problems: KubeconfigProblem[],
): Entry | undefined {
  const target = textOf(context, field);
  const found = list.find((entry) => entry.name === target);
  if (found === undefined) {
    problems.push({
      where: `${context.where}.${field}`,
      problem: target === undefined ? `the context names no ${field}` : `there is no ${field} "${printable(target)}"`,
      remedy: `Name one of: ${namesOf(list)}.`,
    });
  }
  return found;
}

function parse(source: string, limits: TextLimits): JsonObject {
  if (source.length > limits.length) {
    throw single('kubeconfig', `it is longer than ${limits.length} characters`, ONE_CLUSTER);
  }
  if (hasMore(MARK, source, limits.marks)) {
    throw single('kubeconfig', `it has more than ${limits.marks} lines, quotes and other marks`, ONE_CLUSTER);
  }
  if (hasMore(SLOW_MARK, source, limits.slowMarks)) {
    throw single('kubeconfig', `it has more than ${limits.slowMarks} brackets, anchors, tags or escapes`, ONE_CLUSTER);
  }
  if (source.trim() === '') {
    throw single('kubeconfig', 'it is empty', 'Write it again: kubectl config view --raw --flatten --minify.');
  }
  let file: unknown;
  let problem: string | undefined;
  try {
    const lineCounter = new LineCounter();
    // Messages with an excerpt would print tokens; checking for duplicate keys takes quadratic time.
    const document = parseDocument(source, { lineCounter, prettyErrors: false, uniqueKeys: false, logLevel: 'silent' });
    const [fault] = document.errors;
    if (fault === undefined) {
      problem = hasComplexKey(document) ? 'a key in it is not text' : undefined;
      if (problem === undefined) file = document.toJS({ maxAliasCount: 0 });
    } else {
      const { offset, words = 'something is where YAML does not expect it' } = yamlFault(fault, document, source);
      problem = `not valid YAML, line ${Math.max(1, lineCounter.linePos(offset).line)}: ${words}`;
    }
  } catch (error) {
    problem = error instanceof ReferenceError ? 'it has aliases, which are not accepted' : 'it cannot be read';
  }
  if (problem !== undefined) {
    throw single('kubeconfig', problem, 'Fix it, or write it again: kubectl config view --raw --flatten --minify.');
  }
  if (!isJsonObject(file)) {
    throw single('kubeconfig', 'not a kubeconfig', 'It needs the lists clusters, users and contexts.');
  }
  return file;
}

const ONE_CLUSTER = 'Give a kubeconfig of one cluster: kubectl config view --raw --flatten --minify.';

const MARK = /[^\w+/=.~@ -]|-(?=\s)/g;
const SLOW_MARK = /[[{&*!%?\\|>]/g;

function hasMore(mark: RegExp, source: string, most: number): boolean {
  let count = 0;
  for (const _ of source.matchAll(mark)) {
    count += 1;
    if (count > most) return true;
  }
  return false;
}

/** Conversion writes such a key as text at every level above it: a few dozen levels take forever. */
function hasComplexKey(document: Document): boolean {
  let found = false;
  visit(document, {
    Pair(_, { key }) {
      if (key === null || isScalar(key)) return undefined;
      found = true;
      return visit.BREAK;
    },
  });
  return found;
}

function entries(
  document: JsonObject,
  list: ListName,
  { name: file, directory }: Pick<KubeconfigFile, 'name' | 'directory'>,
  problems: KubeconfigProblem[],
): readonly Entry[] {
  const values = document[list];
  const field = LISTS[list];
  const found: Entry[] = [];
  if (!Array.isArray(values)) return found;
  const names = new Set<string>();
  for (const [index, value] of values.entries()) {
    const where = `${file === undefined ? '' : `${file}: `}${list}[${index}]`;
    const name: unknown = isJsonObject(value) ? value['name'] : undefined;
    const content: unknown = isJsonObject(value) ? value[field] : undefined;
    if (typeof name !== 'string' || name === '' || !isJsonObject(content)) {
      problems.push({ where, problem: `it has no name or no ${field}`, remedy: 'Complete or remove the entry.' });
    } else if (names.has(name)) {
      problems.push({ where, problem: 'its name is used twice', remedy: 'Rename or remove one of the two.' });
    } else {
      names.add(name);
      found.push({ where: `${where}.${field}`, name, content, directory });
    }
  }
  return found;
}

/** A forbidden field, why, and what to do instead. */
export interface RefusedField {
  readonly field: string;
  readonly problem: string;
  readonly remedy: string;
}

export const NEVER_IN_CLUSTER: readonly RefusedField[] = [
  {
    field: 'insecure-skip-tls-verify',
    problem: 'TLS must be verified',
    remedy: 'Remove it and give certificate-authority-data.',
  },
  { field: 'proxy-url', problem: 'proxies are not used', remedy: 'Remove it and give certmarshal a direct route.' },
];

const OTHER_IDENTITY = {
  problem: 'impersonation is not supported',
  remedy: 'Give the user its own credentials; certmarshal rbac prints the rights it needs.',
};
const BASIC = {
  problem: 'Kubernetes has not accepted passwords since 1.19',
  remedy: 'Use a token or a client certificate.',
};

export const NEVER_IN_USER: readonly RefusedField[] = [
  {
    field: 'auth-provider',
    problem: 'auth providers are not supported, as in kubectl since 1.26',
    remedy: 'Use a token, a client certificate, or exec where that is allowed.',
  },
  { field: 'username', ...BASIC },
  { field: 'password', ...BASIC },
  { field: 'as', ...OTHER_IDENTITY },
  { field: 'as-uid', ...OTHER_IDENTITY },
  { field: 'as-groups', ...OTHER_IDENTITY },
  { field: 'as-user-extra', ...OTHER_IDENTITY },
];

/** One problem for each of these fields that is set. False, null and empty values count as unset. */
export function refusedFields({ where, content }: Entry, refused: readonly RefusedField[]): KubeconfigProblem[] {
  return refused
    .filter(({ field }) => saysSomething(content[field]))
    .map(({ field, problem, remedy }) => ({ where: `${where}.${field}`, problem, remedy }));
}

function saysSomething(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}

export function serverProblems(cluster: Entry): KubeconfigProblem[] {
  const url = parseServerUrl(textOf(cluster, 'server') ?? '');
  const name = textOf(cluster, 'tls-server-name');
  return [
    ...(typeof url === 'string'
      ? [{ where: `${cluster.where}.server`, problem: `it ${url}`, remedy: 'Give the https:// URL of the API server.' }]
      : []),
    ...(name === undefined || isServerName(name)
      ? []
      : [
          {
            where: `${cluster.where}.tls-server-name`,
            problem: 'it is neither a DNS name nor an IP address',
            remedy: 'Give a name that the serving certificate has, or remove it.',
          },
        ]),
  ];
}

export function bundleProblems(caPem: string, where: string): KubeconfigProblem[] {
  try {
    parseCaBundle(caPem);
    return [];
  } catch (error) {
    const problem = error instanceof RangeError ? error.message : 'it cannot be read';
    return [{ where, problem, remedy: "Give the cluster's CA certificates as PEM." }];
  }
}

export function noCredentials(user: Entry): KubeconfigProblem {
  return {
    where: user.where,
    problem: `the user "${printable(user.name)}" has no credentials`,
    remedy: 'It needs a token, or a client certificate with its key.',
  };
}

/** A field with non-empty text. */
export function textOf(entry: Entry, field: string): string | undefined {
  const value = entry.content[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function single(where: string, problem: string, remedy: string): KubeconfigError {
  return new KubeconfigError([{ where, problem, remedy }]);
}

function namesOf(list: readonly Entry[]): string {
  return printable(list.map(({ name }) => name).join(', '));
}
