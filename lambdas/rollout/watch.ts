import type { HoldReason } from '../contracts/rollout-summary.ts';
import type { Condition } from '../resources/values.ts';
import { MINUTE_MS } from '../time.ts';
import { counted, span } from '../words.ts';
import { expiredCertificates } from './checks/timing.ts';
import { onPort } from './checks/verdict.ts';
import { holdReason } from './hold-reasons.ts';
import type { ObservedControlPlane, ObservedRollout } from './observed.ts';
import type { RolloutProgress } from './progress.ts';
import { CLOCK_TOLERANCE_MS } from './verification.ts';

/** A virtual machine takes 10 to 30 minutes, bare metal up to an hour. */
const STUCK_MS = 45 * MINUTE_MS;
const STUCK_ON_BARE_METAL_MS = 90 * MINUTE_MS;
/** Conditions are False for seconds whenever a machine is replaced. */
const UNHEALTHY_MS = 10 * MINUTE_MS;
/** Then it makes another CSR, with another key. Source: client-go, `certificateWaitTimeout`. */
const KUBELET_WAITS_MS = 15 * MINUTE_MS;
const UNVERIFIED_MS = 120 * MINUTE_MS;
/** Regardless of movement, one more machine is replaced within this time. */
export const STALLED_MS = 24 * 60 * MINUTE_MS;

/** Unseen for this long means stuck. */
export function stuckAfter({ eksAnywhere, capiCluster }: ObservedRollout): number {
  const bareMetal =
    eksAnywhere?.datacenter?.startsWith('Tinkerbell') || capiCluster?.infrastructure?.startsWith('Tinkerbell');
  return bareMetal ? STUCK_ON_BARE_METAL_MS : STUCK_MS;
}

/**
 * Time since the last lasting replacement of a machine, or since the rollout began: machines that are created again and
 * again, and changing conditions, are activity without progress. Pure.
 *
 * @param since when it began; milliseconds since the epoch, as is now
 */
export function lastReplacedFor(
  progress: Pick<RolloutProgress, 'machines'>,
  { since, now }: { readonly since: number; readonly now: number },
): number {
  const made = progress.machines.flatMap(({ state, createdAt }) =>
    (state === 'replaced' || state === 'verified') && createdAt <= now + CLOCK_TOLERANCE_MS ? [createdAt] : [],
  );
  return now - made.reduce((latest, createdAt) => Math.max(latest, createdAt), since);
}

/**
 * Why a person must check a control plane whose rollout is not done; empty if all is fine. Pure.
 *
 * @param going its start and progress
 * @param now milliseconds since the epoch
 */
export function holdReasons(
  observed: ObservedRollout,
  { since, progress }: { readonly since: number; readonly progress: RolloutProgress },
  now: number,
): readonly HoldReason[] {
  const { controlPlane, capiCluster } = observed;
  if (controlPlane === undefined) return [];
  const object = nameOf(controlPlane);
  const reasons: HoldReason[] = [...endedReasons(observed, now)];
  if (capiCluster?.paused) reasons.push(holdReason('paused', `Cluster ${capiCluster.namespace}/${capiCluster.name}`));
  if (controlPlane.paused !== undefined) reasons.push(holdReason('paused', object));
  if (controlPlane.remediating || controlPlane.conditions.Remediating.status === 'True') {
    reasons.push(holdReason('remediating', object));
  }
  for (const type of ['ControlPlaneComponentsHealthy', 'EtcdClusterHealthy'] as const) {
    const condition = controlPlane.conditions[type];
    // From the condition, or else from the last movement of a machine.
    if (condition.status === 'False' && now - (condition.since ?? progress.movedAt) > UNHEALTHY_MS) {
      reasons.push(holdReason('unhealthy', object, `${type} is False: ${wordsOf(condition)}`));
    }
  }
  const still = now - progress.movedAt;
  const etcdHealth = controlPlane.conditions.EtcdClusterHealthy;
  // A node that boots is Unknown too, on bare metal for an hour.
  const waiting = (observed.waitingRequests ?? []).filter(
    ({ createdAt }) => now - createdAt > UNHEALTHY_MS && now - createdAt <= KUBELET_WAITS_MS,
  );
  const isUnseen = controlPlane.etcd === 'stacked' && etcdHealth.status === 'Unknown';
  const { wanted, replaced, machines } = progress;
  const settled = wanted > 0 && replaced === wanted && machines.length === wanted;
  const all = [...machines, ...(progress.etcd?.machines ?? [])];
  const sinceReplaced = lastReplacedFor({ machines: all }, { since, now });
  const tooLong = sinceReplaced > STALLED_MS;
  if (isUnseen && (waiting.length > 0 || still > stuckAfter(observed))) {
    const requests = waiting.map(({ node, name }) => `CSR ${name} of node ${node} waits`);
    const words = [wordsOf(etcdHealth), ...requests.slice(0, 3)].join('; ');
    reasons.push(holdReason('etcd-unseen', object, `EtcdClusterHealthy is Unknown: ${words}`));
  } else if (observed.unread.length > 0) {
    if (still > stuckAfter(observed) || tooLong) {
      reasons.push(
        holdReason('unseen', observed.unread[0]?.object, `not read for ${span(still)}: ${observed.unread[0]?.message}`),
      );
    }
  } else if (!settled) {
    // A machine created when all are new belongs to something else that began later.
    const isStalled = tooLong && (replaced < wanted || !machines.some(({ state }) => state === 'new'));
    if (still > stuckAfter(observed) || isStalled) {
      reasons.push(
        holdReason(
          'stuck',
          object,
          isStalled
            ? `${replaced} of ${counted(wanted, 'machine')} replaced, and none for ${span(sinceReplaced)}`
            : `${replaced} of ${counted(wanted, 'machine')} replaced, and nothing moved for ${span(still)}`,
        ),
      );
    }
  } else if (still > UNVERIFIED_MS || tooLong) {
    const [first] = all.filter(({ state }) => state !== 'verified');
    reasons.push(
      first === undefined
        ? holdReason('not-verified', object, 'its machines are new, but it does not settle')
        : holdReason('not-verified', `Machine ${first.name}`, 'it is new, but no new certificate was seen on it'),
    );
  }
  return reasons;
}

/** After an expiry nothing is automatic any more: Cluster API itself may not reach the cluster. */
export function endedReasons(observed: ObservedRollout, now: number): readonly HoldReason[] {
  return expiredCertificates(observed, now).map(({ object, port, notAfter }) => ({
    id: 'not-expired',
    object,
    message: `its certificate${onPort(port)} expired ${span(now - notAfter)} ago`,
    remedy: 'Recover the cluster by hand: `certmarshal runbook recovery`',
  }));
}

function wordsOf({ message, reason }: Condition): string {
  return message || reason || 'no reason is given';
}

export function nameOf({ namespace, name }: Pick<ObservedControlPlane, 'namespace' | 'name'>): string {
  return `KubeadmControlPlane ${namespace}/${name}`;
}
