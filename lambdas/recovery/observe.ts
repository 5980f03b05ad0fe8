import type { ClusterContext } from '../approval/request.ts';
import type { InstanceQuery } from '../aws/ec2-instances.ts';
import { AwsError } from '../aws/errors.ts';
import type { Problem } from '../contracts/problem.ts';
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { listSigningRequests } from '../kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { listKind } from '../kubernetes/list.ts';
import { listMachines } from '../kubernetes/machines.ts';
import { printable } from '../printable.ts';
import { eachInTurns, inTurns } from '../processor-time.ts';
import { type ApprovalSubject, approvalSubjectOf } from '../resources/approval-subject.ts';
import { text } from '../resources/fields.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import { instant } from '../time.ts';
import { type ControlPlaneReading, type Voucher, voucherFromInstance, voucherFromMachine } from './control-plane.ts';
import { nodeOfRequest, recoveryGate } from './decide.ts';
import { type Liveness, livenessOf, NODE_LEASE_NAMESPACE } from './liveness.ts';
import type { RecoveryReason } from './reasons.ts';
import { KUBELET_CLIENT_SIGNER, type RecoveryRequest, readRecoveryRequest } from './request.ts';

/** One cluster and open connections to it. */
export interface RecoveryTarget {
  /** In the fleet: what a window names. */
  readonly clusterId: string;
  readonly cluster: ClusterContext;
  readonly workload: KubernetesClient;
  /** Where the cluster's Machines are. */
  readonly management?: KubernetesClient;
  /** Of its Cluster object there: Machines of other namespaces then prove nothing. @default all namespaces */
  readonly machinesNamespace: string;
  /** Of the cluster, where it is known: EC2 instances of another VPC prove nothing. */
  readonly vpcId?: string;
  /** DescribeInstances, page by page; absent when the cluster's account is not read. */
  readonly listInstances?: (query: InstanceQuery, signal: AbortSignal) => AsyncIterable<readonly unknown[]>;
}

/** A request that nobody has decided. */
export interface OpenRecovery {
  readonly request: RecoveryRequest;
  /** Absent when the object cannot be written back as it was; then it is not approved. */
  readonly subject: ApprovalSubject | undefined;
}

export interface OpenRecoveries {
  /** Approvals of recoveries since the window opened, of which the request is still there, by node. */
  readonly given: ReadonlyMap<string, number>;
  readonly open: readonly OpenRecovery[];
  readonly ignored: ReadonlyMap<RecoveryReason, number>;
  readonly problems: readonly Problem[];
}

/** Nine nodes ask for a few; these are those of everybody who may ask. 16 MiB with what they ask for. */
const MAX_OPEN = 1_000;
/** A kubelet's takes 500 bytes. */
const MAX_REQUEST_BYTES = 16 * 1024;
const SHOWN_UNREADABLE = 20;

/** The reason on the conditions that are written; `kubectl get csr NAME -o yaml` shows it. */
export const RECOVERED_CONDITION = 'CertMarshalRecovered';

/**
 * The open requests for client certificates of kubelets, and what was given of late. What cannot be read is a problem, and not approved.
 *
 * @param openedAt of the window
 *
 * @throws KubernetesError when they cannot be listed
 */
export async function listRecoveries(
  { workload, clusterId }: RecoveryTarget,
  openedAt: string,
  signal: AbortSignal,
): Promise<OpenRecoveries> {
  const open: OpenRecovery[] = [];
  const given = new Map<string, number>();
  const ignored = new Map<RecoveryReason, number>();
  const problems: Problem[] = [];
  const unread = (name: string | undefined, message: string): void => {
    if (problems.length >= SHOWN_UNREADABLE) return;
    const object = `certificatesigningrequest ${printable(name ?? 'without a name', 100)}`;
    problems.push({ kind: 'unreadable', object, message, remedy: 'Read it with kubectl get csr NAME -o yaml.' });
  };
  let refused = 0;
  const look = (item: unknown): void => {
    const read = readRecoveryRequest(item);
    if (!read.ok) {
      unread(read.name, read.problem);
      return;
    }
    const { csr } = read.request;
    const gate = recoveryGate(csr);
    if (gate?.reason === 'AlreadyApproved' && isRecovered(csr, openedAt)) {
      const node = nodeOfRequest(csr);
      if (node !== undefined) given.set(node, (given.get(node) ?? 0) + 1);
    }
    if (gate !== undefined) ignored.set(gate.reason, (ignored.get(gate.reason) ?? 0) + 1);
    else if ((csr.request?.length ?? 0) > MAX_REQUEST_BYTES)
      unread(csr.name, 'spec.request is no kubelet’s: too large');
    else if (open.length >= MAX_OPEN) refused += 1;
    else open.push({ request: read.request, subject: approvalSubjectOf(item) });
  };
  for await (const page of listSigningRequests(workload, { signerName: KUBELET_CLIENT_SIGNER, signal }))
    await eachInTurns(page, look);
  if (refused > 0)
    problems.push({
      kind: 'too-large',
      object: `open requests of ${printable(clusterId, 150)}`,
      message: `there are ${refused} more than the ${MAX_OPEN} that are judged`,
      remedy: 'Find out who makes so many, and delete them.',
    });
  return { given, open, ignored, problems };
}

/** Approved by a recovery since then. The API server dates every condition; one without a date counts. Kubernetes removes approved requests an hour later. */
function isRecovered({ conditions }: SigningRequest, openedAt: string): boolean {
  const since = instant(openedAt) ?? 0;
  return conditions.some(
    ({ type, reason, updated }) =>
      type === 'Approved' && reason === RECOVERED_CONDITION && (instant(updated) ?? since) >= since,
  );
}

/** What Machines and EC2 instances say of the nodes of a window. A source that cannot be read is part of the result. */
export async function readControlPlane(
  target: RecoveryTarget,
  { nodes }: RecoveryWindow,
  signal: AbortSignal,
): Promise<readonly ControlPlaneReading[]> {
  const { cluster, management, machinesNamespace, vpcId, listInstances } = target;
  const readings: Promise<ControlPlaneReading>[] = [];
  if (management !== undefined)
    readings.push(
      readVouchers(
        'machine',
        listMachines(management, { clusterName: cluster.name, namespace: machinesNamespace, signal }),
        nodes,
        (item) => voucherFromMachine(item, cluster.name),
      ),
    );
  if (listInstances !== undefined)
    readings.push(
      readVouchers('ec2', listInstances({ nodes, vpcId }, signal), nodes, (item) =>
        voucherFromInstance(item, cluster.name, vpcId),
      ),
    );
  return Promise.all(readings);
}

async function readVouchers(
  source: Voucher['source'],
  pages: AsyncIterable<readonly unknown[]>,
  wanted: readonly string[],
  voucherOf: (item: unknown) => Voucher | undefined,
): Promise<ControlPlaneReading> {
  const vouchers = new Map<string, Voucher>();
  try {
    for await (const page of pages)
      for await (const voucher of inTurns(page, voucherOf)) {
        if (voucher === undefined) continue;
        // An object that was listed twice counts once, and goes when it went at either time.
        const going = voucher.going || vouchers.get(voucher.object)?.going === true;
        if (voucher.nodes.some((node) => wanted.includes(node))) vouchers.set(voucher.object, { ...voucher, going });
      }
  } catch (error) {
    if (!(error instanceof KubernetesError) && !(error instanceof AwsError)) throw error;
    return { source, ok: false, problem: `${error.object}: ${error.problem}`, remedy: error.remedy };
  }
  return { source, ok: true, vouchers: [...vouchers.values()] };
}

/** Node and Lease of each node of a window. What cannot be read is part of the result. */
export async function readLiveness(
  { workload }: RecoveryTarget,
  { nodes }: RecoveryWindow,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Liveness>> {
  const named = async (kind: 'nodes' | 'leases', name: string, namespace?: string): Promise<unknown> => {
    for await (const page of listKind(workload, kind, { name, namespace, signal })) {
      // Whatever a server makes of the selector.
      const found = page.find((item) => text(item, 'metadata', 'name') === name);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const entries = nodes.map(async (node): Promise<[string, Liveness]> => {
    try {
      const [object, lease] = await Promise.all([named('nodes', node), named('leases', node, NODE_LEASE_NAMESPACE)]);
      return [node, livenessOf(object, lease)];
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      return [node, { kind: 'unreadable', problem: error.message }];
    }
  });
  return new Map(await Promise.all(entries));
}
