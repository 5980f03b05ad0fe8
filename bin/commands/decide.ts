import type { Readable, Writable } from 'node:stream';
import { decideApproval } from '../../lambdas/approval/decide-approval.ts';
import { ownerFromInstance } from '../../lambdas/approval/evidence/ec2.ts';
import {
  indexEvidence,
  type Owner,
  type ReadableSource,
  type SourceReading,
} from '../../lambdas/approval/evidence/evidence.ts';
import { ownerFromMachine } from '../../lambdas/approval/evidence/machine.ts';
import { ownerFromNode } from '../../lambdas/approval/evidence/node.ts';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import type { ClusterContext } from '../../lambdas/approval/request.ts';
import { DEFAULT_NAMESPACE, PROVIDERS } from '../../lambdas/identifiers.ts';
import { addressRanges } from '../../lambdas/names.ts';
import { printable } from '../../lambdas/printable.ts';
import { field, text } from '../../lambdas/resources/fields.ts';
import { readSigningRequest } from '../../lambdas/resources/signing-request.ts';
import { REASONS, type Reason } from '../../lambdas/tables/reasons.ts';
import { instant } from '../../lambdas/time.ts';
import { type Answered, type Answering, answerLines, answerStandardInput, type Streams } from '../answers.ts';

/** Names of objects have at most 253 characters. */
const MAX_ID_LENGTH = 256;

/**
 * Judges the records on standard input.
 *
 * @returns the exit status
 * @throws UsageError when standard input cannot be read at all
 */
export function decideCommand(streams: Streams, policies: readonly ApprovalPolicy[]): Promise<number> {
  return answerStandardInput(streams, 'decide', answering(policies, Date.now));
}

/**
 * Reads one JSON object a line and writes one verdict a line, in order, while reading. A line that cannot be judged gets a
 * line with `error`; the others are not affected.
 */
export function decideLines(
  input: Readable,
  output: Writable,
  policies: readonly ApprovalPolicy[],
  now: () => number,
): Promise<Answered> {
  return answerLines(input, output, answering(policies, now));
}

function answering(policies: readonly ApprovalPolicy[], now: () => number): Answering {
  return {
    answer: (line, number) => decideLine(line, number, policies, now),
    refuse: (number, error) => refusal(null, number, error),
  };
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
  const namespace = text(record, 'cluster', 'namespace') ?? DEFAULT_NAMESPACE;
  const nowText = field(record, 'now');
  const now = nowText === undefined ? clock() : instant(typeof nowText === 'string' ? nowText : undefined);
  if (now === undefined) return fail('now is not an RFC 3339 time, for example 2026-01-31T12:00:00Z');
  if (field(record, 'csr') === undefined) return fail('csr is missing');

  const readings: SourceReading[] = [];
  for (const [key, source, ownerOf] of EVIDENCE_FIELDS) {
    const items = field(record, key);
    if (items === undefined || items === null) continue;
    if (!Array.isArray(items)) return fail(`${key} is not a list`);
    const own = key === 'machines' ? items.filter((item) => text(item, 'metadata', 'namespace') === namespace) : items;
    const owners = own.map((item) => ownerOf(item, cluster.name)).filter((owner) => owner !== undefined);
    readings.push({ source, ok: true, lookedAt: own.length, owners });
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
    endpoints: endpoint === undefined ? undefined : [endpoint],
    serviceCidrs: cidrs,
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
