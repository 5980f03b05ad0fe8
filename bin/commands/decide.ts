import { createInterface } from 'node:readline';
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
import { EXIT } from '../exit-codes.ts';

/**
 * Reads one JSON object a line and writes one verdict a line, in order, while reading. A line that cannot be judged gets a
 * line with `error`; the others are not affected.
 *
 * @returns the exit status
 */
export async function decideLines(
  input: Readable,
  output: Writable,
  policies: readonly ApprovalPolicy[],
  now: () => number,
): Promise<number> {
  let status: number = EXIT.done;
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (line.trim() === '') continue;
    const answer = decideLine(line, number, policies, now);
    if ('error' in answer) status = EXIT.incomplete;
    if (!output.write(`${JSON.stringify(answer)}\n`)) await new Promise((resolve) => output.once('drain', resolve));
  }
  return status;
}

function decideLine(line: string, number: number, policies: readonly ApprovalPolicy[], clock: () => number): object {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch (error) {
    const cause = error instanceof Error ? printable(error.message) : '';
    return { id: null, line: number, error: `line ${number} is not JSON: ${cause}` };
  }
  const id = field(record, 'id') ?? null;
  const fail = (problem: string) => ({ id, line: number, error: `line ${number}: ${problem}` });

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
    return { id, verdict: REASONS[reason].verdict, reason, message: read.problem, hostile: false, checks: [], names: [] };
  }
  const request = { cluster, csr: read.csr, siblings: { pending: 1 } };
  return { id, ...decideApproval(request, indexEvidence(readings), policies, now) };
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
