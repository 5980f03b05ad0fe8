import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { decideApproval } from '../../lambdas/approval/decide.ts';
import { ownerFromInstance } from '../../lambdas/approval/ec2-evidence.ts';
import { indexEvidence, type Owner, type ReadableSource, type SourceReading } from '../../lambdas/approval/evidence.ts';
import { ownerFromMachine } from '../../lambdas/approval/machine-evidence.ts';
import { addressRanges } from '../../lambdas/approval/names.ts';
import { ownerFromNode } from '../../lambdas/approval/node-evidence.ts';
import { type ApprovalPolicy, PROVIDERS } from '../../lambdas/approval/policy.ts';
import { instant, readSigningRequest } from '../../lambdas/approval/read-request.ts';
import { REASONS, type Reason } from '../../lambdas/approval/reasons.ts';
import type { ClusterContext } from '../../lambdas/approval/request.ts';
import { field, text } from '../../lambdas/approval/wire.ts';
import { printable } from '../../lambdas/printable.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type Line, readLines } from '../lines.ts';
import { systemErrorWords } from '../system-error.ts';

/** Evidence is a few kB a node: room for thousands of nodes beside the request. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Names of objects have at most 253 characters. */
const MAX_ID_LENGTH = 256;

const EXPECTED = 'Give it a file or a pipe with one JSON object a line.';

/** The standard streams of a process. */
interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly fd?: number };
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/**
 * Judges the records on standard input.
 *
 * @returns the exit status
 * @throws UsageError when standard input cannot be read at all
 */
export async function decideCommand(
  { stdin, stdout, stderr }: Streams,
  policies: readonly ApprovalPolicy[],
): Promise<number> {
  // Node.js takes a directory for an empty stream.
  if (stdin.fd !== undefined && fstatSync(stdin.fd).isDirectory())
    throw new UsageError(`Standard input is a directory. ${EXPECTED}`);
  if (stdin.isTTY === true) stderr.write('Reading records from the keyboard, one JSON object a line; Ctrl-D ends.\n');
  const read = await decideLines(stdin, stdout, policies, Date.now);
  const { failure, lines, answers } = read;
  if (failure !== undefined) {
    const message = `Standard input cannot be read: ${systemErrorWords(failure)}.`;
    if (lines === 0) throw new UsageError(`${message} ${EXPECTED}`);
    stderr.write(`${message} The lines up to ${lines} are judged.\n`);
    return EXIT.incomplete;
  }
  if (answers === 0) stderr.write('no record on standard input; certmarshal decide --help shows what one looks like\n');
  return read.errors === 0 ? EXIT.done : EXIT.incomplete;
}

/** How far a stream of records was judged. */
interface Decided {
  readonly lines: number;
  readonly answers: number;
  /** Lines that could not be judged. */
  readonly errors: number;
  /** What ended the input before its end. */
  readonly failure?: unknown;
}

/**
 * Reads one JSON object a line and writes one verdict a line, in order, while reading. A line that cannot be judged gets a
 * line with `error`; the others are not affected.
 */
export async function decideLines(
  input: Readable,
  output: Writable,
  policies: readonly ApprovalPolicy[],
  now: () => number,
): Promise<Decided> {
  const count = { lines: 0, answers: 0, errors: 0 };
  // An error of the output is not one of the input.
  const write = async (answer: object) => {
    count.answers += 1;
    if ('error' in answer) count.errors += 1;
    if (!output.write(`${JSON.stringify(answer)}\n`)) await once(output, 'drain');
  };
  const lines = readLines(input, MAX_LINE_BYTES);
  for (;;) {
    let next: IteratorResult<Line>;
    try {
      next = await lines.next();
    } catch (failure) {
      return { ...count, failure };
    }
    if (next.done === true) return count;
    count.lines += 1;
    const line = next.value;
    if (!line.ok) await write(refusal(null, count.lines, `line ${count.lines} ${line.problem}`));
    else if (line.text.trim() !== '') await write(decideLine(line.text, count.lines, policies, now));
  }
}

type Id = string | number | null;

function refusal(id: Id, line: number, error: string): object {
  return { id, line, error };
}

function decideLine(line: string, number: number, policies: readonly ApprovalPolicy[], clock: () => number): object {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch (error) {
    const cause = error instanceof Error ? printable(error.message) : '';
    return refusal(null, number, `line ${number} is not JSON: ${cause}`);
  }
  const id = readId(field(record, 'id') ?? null);
  const fail = (problem: string) => refusal(id ?? null, number, `line ${number}: ${problem}`);
  if (id === undefined)
    return fail(`id is neither a string of at most ${MAX_ID_LENGTH} characters nor a number up to 2^53`);

  const cluster = readCluster(record);
  if (typeof cluster === 'string') return fail(cluster);
  const nowText = field(record, 'now');
  const now = nowText === undefined ? clock() : instant(typeof nowText === 'string' ? nowText : undefined);
  if (now === undefined) return fail('now is not an RFC 3339 time, for example 2026-01-31T12:00:00Z');
  if (field(record, 'csr') === undefined) return fail('csr is missing');

  const readings: SourceReading[] = [];
  for (const [key, source, ownerOf] of EVIDENCE_FIELDS) {
    const items = field(record, key);
    if (items === undefined || items === null) continue;
    if (!Array.isArray(items)) return fail(`${key} is not a list`);
    const owners = items.map((item) => ownerOf(item, cluster.name)).filter((owner) => owner !== undefined);
    readings.push({ source, ok: true, lookedAt: items.length, owners });
  }

  const read = readSigningRequest(field(record, 'csr'));
  if (!read.ok) {
    const reason: Reason = 'ObjectMalformed';
    return {
      id,
      verdict: REASONS[reason].verdict,
      reason,
      message: read.problem,
      hostile: false,
      checks: [],
      names: [],
    };
  }
  const request = { cluster, csr: read.csr, siblings: { pending: 1 } };
  return { id, ...decideApproval(request, indexEvidence(readings), policies, now) };
}

/** It is repeated in the answer, so it must come out as it went in: nothing nested, no number that JSON.parse has rounded. */
function readId(value: unknown): Id | undefined {
  if (typeof value === 'string') return value.length <= MAX_ID_LENGTH ? value : undefined;
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? value : undefined;
  return value === null ? null : undefined;
}

const EVIDENCE_FIELDS: readonly (readonly [
  key: string,
  source: ReadableSource,
  ownerOf: (item: unknown, clusterName: string) => Owner | undefined,
])[] = [
  ['machines', 'machine', ownerFromMachine],
  ['ec2Instances', 'ec2', ownerFromInstance],
  ['nodes', 'node', ownerFromNode],
];

function readCluster(record: unknown): ClusterContext | string {
  const name = text(record, 'cluster', 'name');
  if (name === undefined || name === '') return 'cluster.name is missing';
  const provider = PROVIDERS.find((known) => known === text(record, 'cluster', 'provider'));
  if (provider === undefined) return `cluster.provider must be one of ${PROVIDERS.join(', ')}`;
  const endpoint = text(record, 'cluster', 'endpoint');
  const cidrs = field(record, 'cluster', 'serviceCidrs');
  if (cidrs !== undefined && !isCidrList(cidrs)) return 'cluster.serviceCidrs is not a list of CIDRs';
  return {
    name,
    provider,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(cidrs === undefined ? {} : { serviceCidrs: cidrs }),
  };
}

function isCidrList(value: unknown): value is readonly string[] {
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) return false;
  try {
    addressRanges(value);
    return true;
  } catch {
    return false;
  }
}
