import type { Decision } from '../../../lambdas/approval/decide.ts';
import { decideApproval } from '../../../lambdas/approval/decide-approval.ts';
import { indexEvidence, type SourceReading } from '../../../lambdas/approval/evidence/evidence.ts';
import { ownerFromMachine } from '../../../lambdas/approval/evidence/machine.ts';
import { pass } from '../../../lambdas/approval/rules/rules.ts';
import type { Verdict } from '../../../lambdas/approval/verdict.ts';
import { type RecoveryContext, recoveryPolicy } from '../../../lambdas/recovery/policy.ts';
import { DEFAULT_BOOTSTRAP_GROUPS, type Recovery } from '../../../lambdas/recovery/recovery.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { controlPlaneMachine as madeControlPlaneMachine, workerMachine } from '../../providers/objects.ts';
import { PROVIDERS } from '../../providers/table.ts';
import { BERLIN, CLIENT_SIGNER, type CsrFields, csrObject, NOW, signingRequest } from '../approval/fixtures.ts';

export { NOW } from '../approval/fixtures.ts';

export const BOOTSTRAPPER = 'system:bootstrap:abcdef';
export const BOOTSTRAPPER_GROUPS = ['system:bootstrappers', 'system:authenticated', ...DEFAULT_BOOTSTRAP_GROUPS];
export const NODE_GROUPS = ['system:nodes', 'system:authenticated'];

export function recoveryOf(changed: Partial<Recovery> = {}): Recovery {
  return {
    nodes: ['cp-1', 'cp-2'],
    until: new Date(NOW + 20 * 60_000).toISOString(),
    by: 'fleet.yaml',
    bootstrapGroups: DEFAULT_BOOTSTRAP_GROUPS,
    ...changed,
  };
}

export interface ClientCsrFields extends CsrFields {
  readonly extra?: unknown;
}

/** What a kubelet with a bootstrap token sends for `cp-1`, as an API server returns it. */
export function clientCsr({ extra, ...fields }: ClientCsrFields = {}) {
  const node = fields.node ?? 'cp-1';
  const object = csrObject({
    node,
    username: BOOTSTRAPPER,
    groups: BOOTSTRAPPER_GROUPS,
    usages: ['digital signature', 'client auth'],
    signerName: CLIENT_SIGNER,
    ...fields,
    request: { commonName: `system:node:${node}`, sans: [], ...fields.request },
  });
  return extra === undefined ? object : { ...object, spec: { ...object.spec, extra } };
}

/** A Machine of the cluster, of the control plane unless said otherwise. */
export function controlPlaneMachine(node: string, { worker = false, deleting = false, name = `berlin-${node}` } = {}) {
  const of = { provider: PROVIDERS['bare metal, 0.26'], name: BERLIN.name };
  const made = (worker ? workerMachine : madeControlPlaneMachine)(of, { name, address: '' });
  return {
    ...made,
    metadata: { ...made.metadata, ...(deleting ? { deletionTimestamp: new Date(NOW).toISOString() } : {}) },
    // Whoever listed the hardware chose its name.
    status: { ...made.status, nodeRef: { name: node } },
  };
}

export const ASLEEP = pass('not Ready, no Lease');

/** All that the requests of one cluster are judged by. */
export interface World extends RecoveryContext {
  readonly readings: readonly SourceReading[];
}

export function readingsOf(...machines: readonly unknown[]): World['readings'] {
  const owners = machines.flatMap((item) => ownerFromMachine(item, BERLIN.name) ?? []);
  return [{ source: 'machine', ok: true, lookedAt: machines.length, owners }];
}

export function worldOf(changed: Partial<World> = {}): World {
  return {
    recovery: recoveryOf(),
    readings: readingsOf(controlPlaneMachine('cp-1'), controlPlaneMachine('cp-2'), controlPlaneMachine('cp-3')),
    liveness: new Map([
      ['cp-1', ASLEEP],
      ['cp-2', ASLEEP],
      ['cp-3', ASLEEP],
    ]),
    approved: new Map(),
    ...changed,
  };
}

/** The verdict of the engine, by the policy of a recovery. */
export function judge(csr: SigningRequest, world: World = worldOf(), now: number = NOW): Verdict {
  return decisionOn(csr, world, now).verdict;
}

export function decisionOn(csr: SigningRequest, { readings, ...context }: World = worldOf(), now = NOW): Decision {
  const request = { cluster: BERLIN, csr, siblings: { pending: 1 } };
  const verdict = decideApproval(request, indexEvidence(readings), [recoveryPolicy(context)], now);
  return { csr, subject: undefined, request, verdict };
}

/** What a kubelet sends, with changes, as it is read. */
export function asked(fields: ClientCsrFields = {}): SigningRequest {
  return signingRequest(clientCsr(fields));
}
