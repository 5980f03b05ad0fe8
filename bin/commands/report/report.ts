import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type FleetHealth, fleetHealth, type Monitoring } from '../../../lambdas/health/fleet-health.ts';
import { type Basis, TITLES } from '../../../lambdas/page/known.ts';
import { type PageOptions as Page, renderPage } from '../../../lambdas/page/page.ts';
import { printable } from '../../../lambdas/printable.ts';
import { counted } from '../../../lambdas/words.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { requireBucketName, requireRegion } from '../../aws-region.ts';
import { EXIT_HELP, type Register } from '../../command.ts';
import { awsErrorWords } from '../../doctor/at-the-keyboard.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { loadFleet } from '../../fleet.ts';
import { type Io, PROCESS, print, printJson } from '../../io.ts';
import { systemErrorWords } from '../../system-error.ts';
import { repeatedFlags } from '../../target.ts';
import { hang } from '../../terminal/draw.ts';
import { joined } from '../../terminal/words.ts';
import { replaceTextFile } from '../../text-file.ts';
import { bucketReader, directoryReader, type FleetState, isAbsent, readState, STATE_PROBLEM } from './sources.ts';

/** Source of the fleet's state: exactly one is set. */
export interface ReportSource {
  readonly bucket?: string;
  readonly state?: string;
}

export interface PageOptions extends Pick<Page, 'program' | 'typed' | 'again' | 'other'> {
  /** A file, `-` for the page on standard output, or `json` for its data. */
  readonly output: string;
  readonly version: string;
  /** What the page is made of. @default hub */
  readonly basis?: Basis;
}

export type ReportOptions = ReportSource & Omit<PageOptions, 'basis'>;

export const register: Register = (command, { program: name, interruption, run }) => {
  command
    .option('--bucket <name>', 'state bucket of a hub; uses the AWS credentials and Region of the environment')
    .option('--state <directory>', 'directory with copies of its registry.json.gz and fleet-index.json.gz')
    .option('--policy <file>', 'fleet.yaml with monitoring; default: the built-in values')
    .option(
      '-o, --output <file>',
      'file of the page, named .html; - for standard output; json for the data of the page',
      'report.html',
    )
    .addHelpText(
      'after',
      `
Give --bucket or --state. Only the page is written. docs/report.md describes it.

Examples:
  ${name} report --bucket certmarshal-state --policy fleet.yaml
  ${name} report --state state --output - > report.html
  ${name} report --state state --output json | jq .counts
${EXIT_HELP}`,
    )
    .action(
      run(async (options: ReportSource & { readonly output: string; readonly policy?: string }) => {
        const { monitoring } = await loadFleet(options.policy);
        const again = againCommand(options, name);
        const given = { ...options, version: packageJson.version, program: name, again };
        return reportCommand(given, monitoring, interruption('nothing is written'), PROCESS);
      }),
    );
};

/**
 * The command that prints all data of a page.
 *
 * @param program the command that starts this program
 */
function againCommand(
  { bucket, state, policy }: ReportSource & { readonly policy?: string | undefined },
  program: string,
): string {
  const source = repeatedFlags([
    ['--bucket', bucket],
    ['--state', state],
    ['--policy', policy],
  ]);
  return `${program} report${source} --output json`;
}

/**
 * Makes the report page of a fleet, and prints its summary.
 *
 * @returns the exit status: `incomplete` if part of the state could not be read, or the page could not be written
 * @throws UsageError
 */
export async function reportCommand(
  options: ReportOptions,
  monitoring: Monitoring,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const now = io.clock();
  await checkedOutput(options.output);
  const state = await stateOf(options, now, signal);
  if (typeof state === 'string') {
    io.stderr.write(`${state}\n`);
    return EXIT.incomplete;
  }
  return writeReport(state, options, monitoring, io);
}

/**
 * Makes the page of a state.
 *
 * @returns the exit status, as {@link reportCommand}
 */
export async function writeReport(
  state: FleetState,
  { output, basis = 'hub', ...given }: PageOptions,
  monitoring: Monitoring,
  io: Io,
): Promise<number> {
  const { stdout, stderr } = io;
  const health = healthOf(state, basis, monitoring, io.clock());
  const unread = state.unread ?? [];
  // Problems of a hub's discovery are on the page; they are not failures of the report.
  const problems = health.problems.filter(({ kind }) => kind === STATE_PROBLEM);
  const failed = (): number => {
    for (const { object, message, remedy } of problems) stderr.write(`${object}: ${message}. ${remedy}\n`);
    return problems.length > 0 ? EXIT.incomplete : EXIT.done;
  };
  if (output === 'json') {
    printJson(io, health);
    return failed();
  }
  const { runbooks } = monitoring;
  const page = renderPage(health, { ...given, unread, basis, runbooks });
  const told = (name: string, isReplaced = false) =>
    hang('', `${story(name, health, basis, page)}${isReplaced ? '; it replaces the earlier page' : ''}`);
  if (output === '-') {
    stdout.write(page);
    print({ ...io, stdout: stderr }, told('report'));
    return failed();
  }
  if (unread.length > 0 && (await checkedOutput(output)) === 'a report') {
    failed();
    stderr.write(`${printable(output)} was not changed: an older report says more than one without the state.\n`);
    return EXIT.incomplete;
  }
  const isReplaced = existsSync(output);
  try {
    replaceTextFile(output, page);
  } catch (error) {
    stderr.write(
      `${printable(output)} cannot be written: ${systemErrorWords(error)}. What was there is unchanged; name a file elsewhere.\n`,
    );
    return EXIT.incomplete;
  }
  print(io, told(printable(output), isReplaced));
  return failed();
}

/** Expected interval of audits by hand; an audit is too old after twice that. Minutes. */
const BY_HAND_EVERY = 12 * 60;

function healthOf(state: FleetState, basis: Basis, monitoring: Monitoring, now: number): FleetHealth {
  const auditEveryMinutes = Math.max(monitoring.auditEveryMinutes, basis === 'audits' ? BY_HAND_EVERY : 0);
  // A sweep shows hostile requests even where their alarm is off.
  const alarms = basis === 'sweep' ? {} : monitoring.alarms;
  const health = fleetHealth(state.registry, state.index, { ...monitoring, alarms, auditEveryMinutes }, now);
  return { ...health, problems: [...state.problems, ...health.problems] };
}

/** Ids of the clusters in the order in which they need a person, which is that of the page. */
export function idsByUrgency(state: FleetState, basis: Basis, monitoring: Monitoring, now: number): readonly string[] {
  return healthOf(state, basis, monitoring, now).clusters.map(({ id }) => id);
}

const PAGE_NAME = /[^/\\]\.html?$/i;
/** Enough of a file to recognize a report by its title. Bytes. */
const HEAD_BYTES = 2_000;

/**
 * Checks that the page may be written to this file, before anything is read.
 *
 * @returns what the file is now
 * @throws UsageError if the name is not that of a page, the existing file is not a report, or its directory is not
 * writable
 */
export async function checkedOutput(output: string, option = '--output'): Promise<'a report' | 'nothing'> {
  if (output === '-' || output === 'json') return 'nothing';
  if (!PAGE_NAME.test(output))
    throw new UsageError(
      `${option} takes a file that ends in .html${option === '--output' ? ', - for the page on standard output, or json for its data' : ''}; got ${output === '' ? 'nothing' : printable(output)}.`,
    );
  const directory = dirname(output);
  try {
    await tryFile(directory);
  } catch (error) {
    throw new UsageError(
      `${option} ${printable(output)}: no file can be written in ${directory === '.' ? 'this directory' : printable(directory)}: ${systemErrorWords(error)}. Name a file in another directory.`,
      { cause: error },
    );
  }
  const head = await headOf(output, option);
  if (head === '') return 'nothing';
  const isReport = Object.values(TITLES).some((title) => head.includes(`<title>${title} · certmarshal</title>`));
  if (!head.startsWith('<!doctype html>') || !isReport)
    throw new UsageError(`${printable(output)} exists and is not a report of certmarshal: it is not overwritten.`);
  return 'a report';
}

/** Writes and removes a file in a directory: permissions alone do not show whether that works. */
async function tryFile(directory: string): Promise<void> {
  const file = join(directory, `.${randomUUID()}.tmp`);
  try {
    await (await open(file, 'wx', 0o600)).close();
  } finally {
    await rm(file, { force: true });
  }
}

/** Empty if the file does not exist. @throws UsageError */
async function headOf(output: string, option: string): Promise<string> {
  try {
    await using file = await open(output, 'r');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (isAbsent(error)) return '';
    throw new UsageError(
      `${option} ${printable(output)} cannot be replaced: ${systemErrorWords(error)}. Name another file.`,
      { cause: error },
    );
  }
}

/** A returned string says why the state could not be read. */
async function stateOf(source: ReportOptions, now: number, signal: AbortSignal): Promise<FleetState | string> {
  const { bucket, state, program = 'certmarshal' } = source;
  if ((bucket === undefined) === (state === undefined))
    throw new UsageError(
      `${program} audit --all-contexts reads the clusters of your kubeconfig and writes a page of them. This command makes a page of the state of certmarshal in AWS: name --bucket NAME, or --state DIRECTORY with a copy of it.`,
    );
  if (state !== undefined) return readState(directoryReader(state), state, now);
  const [{ S3Client }, { createJsonObjects }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('../../../lambdas/aws/json-objects.ts'),
  ]);
  const name = requireBucketName(bucket ?? '');
  const client = new S3Client();
  await requireRegion(client);
  try {
    const objects = createJsonObjects({ client, bucket: name });
    return await readState(bucketReader(objects, signal), `s3://${name}`, now);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return awsErrorWords(error);
  }
}

/** `report.html: 214 clusters, 2 critical, 3 warnings, 180 kB`. */
function story(name: string, { clusters, counts }: FleetHealth, basis: Basis, page: string): string {
  // A sweep reads no certificates, so without an audit a cluster is not new.
  const unknown = basis === 'sweep' ? clusters.filter(({ readable }) => !readable).length : counts.new;
  return joined([
    `${name}: ${counted(clusters.length - counts.gone, 'cluster')}`,
    `${counts.critical} critical`,
    counted(counts.warning + counts.noted, 'warning'),
    unknown > 0 && `${unknown} ${basis === 'hub' ? 'new' : 'not read'}`,
    counts.maintenance > 0 && `${counts.maintenance} in maintenance`,
    counts.gone > 0 && `${counts.gone} gone`,
    `${Math.ceil(Buffer.byteLength(page) / 1000)} kB`,
  ]);
}
