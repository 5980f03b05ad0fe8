import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { decideApproval, fault, unjudged } from '../../lambdas/approval/decide-approval.ts';
import { ownerFromInstance } from '../../lambdas/approval/evidence/ec2.ts';
import {
  indexEvidence,
  type Owner,
  type ReadableSource,
  type SourceReading,
} from '../../lambdas/approval/evidence/evidence.ts';
import { readHybridNodes } from '../../lambdas/approval/evidence/hybrid.ts';
import { ownerFromMachine } from '../../lambdas/approval/evidence/machine.ts';
import { ownerFromNode } from '../../lambdas/approval/evidence/node.ts';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import type { ClusterContext } from '../../lambdas/approval/request.ts';
import { NODE_PREFIX } from '../../lambdas/approval/rules/rules.ts';
import { DEFAULT_NAMESPACE, PROVIDERS } from '../../lambdas/identifiers.ts';
import { addressRanges } from '../../lambdas/names.ts';
import { printable } from '../../lambdas/printable.ts';
import { field, text } from '../../lambdas/resources/fields.ts';
import { readSigningRequest } from '../../lambdas/resources/signing-request.ts';
import { instant } from '../../lambdas/time.ts';
import { verdictDocument } from '../../lambdas/words/verdict-words.ts';
import { EXIT_HELP, type Register } from '../command.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { type Io, PROCESS } from '../io.ts';

export const register: Register = (command, { program: name, run }) => {
  command
    .option('--policy <file>', 'fleet.yaml with policies; default: the built-in policy')
    .addHelpText(
      'after',
      `
A line is {"id","cluster":{"name","provider"},"csr":CertificateSigningRequest,"nodes":[…],"machines":[…],
"ec2Instances":[…],"now":RFC3339}; a source that is absent was not read. An answer is
{"id","verdict":"approve|deny|leave|ignore","reason","message","checks":[…]}, in the order of the lines.

Examples:
  ${name} decide < recorded.ndjson
  ${name} decide --policy fleet.yaml < recorded.ndjson > verdicts.ndjson
${EXIT_HELP}`,
    )
    .action(
      run(async ({ policy }: { policy?: string }) =>
        decideCommand((await loadFleet(policy)).policies, { ...PROCESS, stdin: process.stdin }),
      ),
    );
};

/** Judges the records on standard input. @returns the exit status */
export async function decideCommand(
  policies: readonly ApprovalPolicy[],
  { stdin, stdout, clock }: Io & { readonly stdin: Readable },
): Promise<number> {
  // Lines end only at `\n` (ndjson.org): JSON may contain U+2028 unescaped.
  const lines = (await readAll(stdin)).split('\n').map((line, index) => ({ line, number: index + 1 }));
  const records = lines.filter(({ line }) => line.trim() !== '');
  if (records.length === 0)
    throw new UsageError('There is no record on standard input: certmarshal decide --help shows one.');
  let status: number = EXIT.done;
  for (const { line, number } of records) {
    const answer = answerTo(line, number, policies, clock);
    if ('error' in answer) status = EXIT.incomplete;
    if (!stdout.write(`${JSON.stringify(answer)}\n`)) await once(stdout, 'drain');
  }
  return status;
}

function answerTo(line: string, number: number, policies: readonly ApprovalPolicy[], clock: () => number): object {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch (error) {
    return { id: null, line: number, error: `line ${number} is not JSON: ${printable(String(error))}` };
  }
  const value = field(record, 'id') ?? null;
  // An object may be too deep to be written.
  const id = typeof value === 'object' ? null : value;
  const answer = decideRecord(record, policies, clock);
  return typeof answer === 'string' ? { id, line: number, error: `line ${number}: ${answer}` } : { id, ...answer };
}

function decideRecord(record: unknown, policies: readonly ApprovalPolicy[], clock: () => number): object | string {
  const cluster = readCluster(record);
  if (typeof cluster === 'string') return cluster;
  const namespace = text(record, 'cluster', 'namespace') ?? DEFAULT_NAMESPACE;
  const now = field(record, 'now') === undefined ? clock() : instant(text(record, 'now'));
  if (now === undefined) return 'now is not an RFC 3339 time, for example 2026-01-31T12:00:00Z';
  if (field(record, 'csr') === undefined) return 'csr is missing';
  const readings: SourceReading[] = [];
  for (const [key, source, ownerOf] of EVIDENCE_FIELDS) {
    const items = field(record, key);
    if (items === undefined || items === null) continue;
    if (!Array.isArray(items)) return `${key} is not a list`;
    const own = key === 'machines' ? items.filter((item) => text(item, 'metadata', 'namespace') === namespace) : items;
    const owners = own.map((item) => ownerOf(item, cluster.name)).filter((owner) => owner !== undefined);
    readings.push({ source, ok: true, lookedAt: own.length, owners });
  }

  const read = readSigningRequest(field(record, 'csr'));
  if (!read.ok) return verdictDocument(unjudged('ObjectMalformed', fault(read.problem)));
  const hybrid = readHybridNodes(cluster, new Set([read.csr.username.slice(NODE_PREFIX.length)]), readings);
  if (hybrid !== undefined) readings.push(hybrid);
  const request = { cluster, csr: read.csr, siblings: { pending: 1 } };
  return verdictDocument(decideApproval(request, indexEvidence(readings), policies, now));
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
  const networks = field(record, 'cluster', 'remoteNodeNetworks');
  if (networks !== undefined && !isCidrList(networks)) return 'cluster.remoteNodeNetworks is not a list of CIDRs';
  return {
    name,
    provider,
    endpoints: endpoint === undefined ? undefined : [endpoint],
    serviceCidrs: cidrs,
    remoteNodeNetworks: networks,
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
