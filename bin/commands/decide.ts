import { decideApproval } from '../../lambdas/approval/decide-approval.ts';
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
import { field, text } from '../../lambdas/resources/fields.ts';
import { readSigningRequest } from '../../lambdas/resources/signing-request.ts';
import { REASONS, type Reason } from '../../lambdas/tables/reasons.ts';
import { instant } from '../../lambdas/time.ts';
import { answerStandardInput, type InputIo } from '../answers.ts';
import { EXIT_HELP, type Register } from '../command.ts';
import { loadFleet } from '../fleet.ts';
import { PROCESS } from '../io.ts';

/** Names of objects have at most 253 characters. */
const MAX_ID_LENGTH = 256;

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

/**
 * Judges the records on standard input.
 *
 * @returns the exit status
 * @throws UsageError when standard input cannot be read at all
 */
export function decideCommand(policies: readonly ApprovalPolicy[], io: InputIo): Promise<number> {
  return answerStandardInput(io, 'decide', {
    named: (record) => ({ id: idOf(record) ?? null }),
    answer: (record) => decideRecord(record, policies, io.clock),
  });
}

function decideRecord(record: unknown, policies: readonly ApprovalPolicy[], clock: () => number): object | string {
  const id = idOf(record);
  if (id === undefined) return `id is neither a string of at most ${MAX_ID_LENGTH} characters nor a number up to 2^53`;

  const cluster = readCluster(record);
  if (typeof cluster === 'string') return cluster;
  const namespace = text(record, 'cluster', 'namespace') ?? DEFAULT_NAMESPACE;
  const nowText = field(record, 'now');
  const now = nowText === undefined ? clock() : instant(typeof nowText === 'string' ? nowText : undefined);
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
  if (!read.ok) {
    const reason: Reason = 'ObjectMalformed';
    const { verdict } = REASONS[reason];
    return { id, verdict, reason, message: read.problem, hostile: false, checks: [], names: [] };
  }
  const hybrid = readHybridNodes(cluster, new Set([read.csr.username.slice(NODE_PREFIX.length)]), readings);
  if (hybrid !== undefined) readings.push(hybrid);
  const request = { cluster, csr: read.csr, siblings: { pending: 1 } };
  return { id, ...decideApproval(request, indexEvidence(readings), policies, now) };
}

/** The answer repeats the id exactly, so nested values and numbers that JSON.parse rounds are invalid. */
function idOf(record: unknown): string | number | null | undefined {
  const id = field(record, 'id') ?? null;
  if (typeof id === 'string') return id.length <= MAX_ID_LENGTH ? id : undefined;
  if (typeof id === 'number') return Math.abs(id) <= Number.MAX_SAFE_INTEGER ? id : undefined;
  return id === null ? null : undefined;
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
