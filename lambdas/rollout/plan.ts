import type { RolloutMark, RolloutTrigger } from '../contracts/rollout-mark.ts';
import { printable } from '../printable.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import { DAY_MS } from '../time.ts';
import { counted, date, span } from '../words.ts';
import { renewedCertificates, rolloutSpan } from './checks/span.ts';
import { CAPI_CLUSTERS, CONTROL_PLANES } from './checks/verdict.ts';
import { type CheckQuestion, checksOf } from './checks.ts';
import { hasNeverBegun, isEtcdSettled, isOursYet, pauseOf, versionOf } from './etcd-order.ts';
import type { RolloutHistory } from './history.ts';
import { type HoldId, holdReason } from './hold-reasons.ts';
import type { ObservedControlPlane, ObservedMachine, ObservedRollout } from './observed.ts';
import { factsOf, isAllSeen, isInTheWay, isTooLate, planBegin, reasonsOf } from './plan-begin.ts';
import { type Going, goingOf, isDone, planHeld, planWatch } from './plan-watch.ts';
import { COOL_DOWN_DAYS, type RolloutPolicy, type Waiver } from './policy.ts';
import { seconds } from './rollout-mark.ts';
import type { RolloutAct, RolloutCheck, RolloutHold, RolloutStep } from './step.ts';
import { nameOf } from './watch.ts';

/**
 * The next step of the rollout of one cluster: nothing, a hold with all its reasons, a command for a person, or one
 * exact write. Pure: no I/O, no clock, and a value for every input.
 *
 * @param policy undefined if fleet.yaml has no entry for the cluster
 * @param now milliseconds since the epoch
 * @param waivers checks waived by name at the keyboard; ignored for a schedule
 */
export function planRollout(
  observed: ObservedRollout,
  policy: RolloutPolicy | undefined,
  history: RolloutHistory,
  now: number,
  trigger: RolloutTrigger = 'schedule',
  waivers: readonly Waiver[] = [],
): RolloutStep {
  const question: CheckQuestion = { observed, policy, history, trigger, now, waivers };
  const { controlPlane, capiCluster } = observed;
  if (controlPlane === undefined) return planWithout(question);
  if (controlPlane.deleting || capiCluster?.deleting) {
    return nothing(question, 'off', 'nothing is rolled: the cluster is being deleted');
  }
  const gone = planHeld(question, controlPlane) ?? planWatch(question, controlPlane);
  if (gone !== undefined) return gone;
  const checks = checksOf(question);
  return planForeign(question, controlPlane, checks) ?? planBegin(question, controlPlane, checks);
}

/**
 * EKS renews its control plane, and the approver serves kubelets. If rollouts are requested, the step says that there
 * are none.
 */
function planWithout(question: CheckQuestion): RolloutStep {
  const { unread, capiCluster, cluster } = question.observed;
  const isEks = capiCluster?.infrastructure?.startsWith('AWSManaged') === true;
  if (question.policy === undefined || (unread.length === 0 && (isEks || capiCluster?.deleting === true))) {
    return nothing(
      question,
      'off',
      'there is nothing to roll: Cluster API has no control plane for it, and nodes renew their certificates automatically',
    );
  }
  const looked =
    capiCluster === undefined
      ? `no Cluster of Cluster API has the name ${cluster.name}`
      : `no KubeadmControlPlane in the namespace ${capiCluster.namespace} has the label cluster.x-k8s.io/cluster-name=${cluster.name}`;
  if (unread.length > 0) return { ...unreadable(unread), ...factsOf(question) };
  return {
    kind: 'hold',
    state: 'refused',
    message: printable(`rollouts are wanted, but its control plane was not found: ${looked}`, 500),
    checks: [],
    reasons: [
      {
        id: 'control-plane-settled',
        message: printable(looked, 500),
        remedy: `See which ones exist: kubectl get ${CAPI_CLUSTERS},${CONTROL_PLANES} -A --show-labels; if it has none, rollouts.clusters of fleet.yaml must not match it`,
      },
    ],
    ...factsOf(question),
  };
}

/** Unknown whether there is a control plane, and a rollout of it. */
function unreadable(unread: ObservedRollout['unread']): RolloutHold {
  return {
    kind: 'hold',
    state: 'refused',
    message: `its control plane could not be read: ${counted(unread.length, 'problem')}`,
    checks: [],
    reasons: unread.map(({ object, message, remedy }) => ({ id: 'everything-read', object, message, remedy })),
  };
}

/** The longest wait for others while it is due. */
const FOREIGN_MS = DAY_MS;

/** Someone else rolls it. That must not hide expired certificates, too little time left, or no result for a day. */
function planForeign(
  question: CheckQuestion,
  controlPlane: ObservedControlPlane,
  checks: readonly RolloutCheck[],
): RolloutStep | undefined {
  const { observed, trigger, now } = question;
  const mark = goingOf(observed, now)?.mark;
  // The remains of an aborted rollout look the same; the checks say when it has settled.
  if (trigger === 'person' && mark?.abortedAt !== undefined) return undefined;
  const found = foreignRollout(controlPlane, observed.machines, now);
  if (found === undefined) return undefined;
  const facts = factsOf(question);
  const { soonestEnd } = facts;
  if (soonestEnd !== undefined && !(soonestEnd > now)) return undefined;
  const message = printable(`someone else rolls it: ${found}`, 500);
  const failing = checks.filter(isInTheWay);
  const isOptedOut = failing.some(({ id }) => id === 'opted-in-by-fleet' || id === 'opted-in-by-owner');
  const due = rolloutSpan(renewedCertificates(observed), observed, question.policy)?.from;
  // Unseen certificates may be due, or long too late.
  const dueSince = isAllSeen(question, controlPlane) ? due : undefined;
  const since = Math.max(dueSince ?? Number.NEGATIVE_INFINITY, foreignSince(controlPlane, observed.machines, now));
  if (trigger === 'person' || isOptedOut || !(isTooLate(checks) || now - since > FOREIGN_MS))
    return { ...nothing(question, 'foreign', message), checks };
  const mending = failing.filter(({ id, passing }) => !passing && id !== 'not-rolling-already');
  return {
    kind: 'hold',
    state: 'refused',
    message,
    checks,
    reasons: [
      {
        id: 'not-rolling-already',
        object: nameOf(controlPlane),
        message: printable(found, 500),
        remedy:
          'Ask who rolls it, and what it waits for; certmarshal begins nothing beside it, and there is no time left to wait for it',
      },
      ...reasonsOf(mending),
    ],
    ...facts,
  };
}

function nothing(question: CheckQuestion, state: RolloutState, message: string): RolloutStep {
  return { kind: 'nothing', state, message: printable(message, 500), checks: [], ...factsOf(question) };
}

/**
 * The write of `certmarshal rollout abort`, or why there is nothing to abort. Machines not replaced yet stay; replaced
 * ones are as good. It also removes a hold, because the person has checked. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function planAbort(observed: ObservedRollout, now: number): RolloutAct | RolloutHold {
  const { controlPlane, etcd, unread } = observed;
  const going = goingOf(observed, now);
  if (controlPlane === undefined)
    return unread.length > 0 ? unreadable(unread) : refusal(undefined, 'nothing-to-abort');
  const object = nameOf(controlPlane);
  if (going === undefined) {
    return refusal(undefined, controlPlane.mark === undefined ? 'nothing-to-abort' : 'unreadable-mark', object);
  }
  const { mark, since, progress } = going;
  if (mark.abortedAt !== undefined)
    return refusal(going, 'nothing-to-abort', object, `it was aborted already, ${mark.abortedAt}`);
  if (isDone(observed, going)) return refusal(going, 'nothing-to-abort', object, 'the rollout is done');
  if (controlPlane.etcd === 'external') {
    if (etcd === undefined)
      return refusal(going, 'abort-refused', object, 'its EtcdadmCluster cannot be read, and may be half replaced');
    const settled = isEtcdSettled(etcd, since) && etcd.mark !== 'unreadable';
    // If someone else took over a settled etcd, abort is the way out; otherwise the next step is ours.
    if (!hasNeverBegun(etcd, mark, since) && (!settled || isOursYet(etcd, mark))) {
      const message = settled
        ? 'etcd is new: the control plane has to follow'
        : `${progress.etcd?.replaced ?? 0} of ${counted(etcd.replicas, 'etcd machine')} replaced: nothing stops etcd halfway`;
      return refusal(going, 'abort-refused', `EtcdadmCluster ${etcd.namespace}/${etcd.name}`, message);
    }
  }
  const aborted: RolloutMark = { ...mark, abortedAt: seconds(now) };
  const write = {
    kind: 'abort',
    object: versionOf(controlPlane),
    mark: aborted,
    clearAfter: controlPlane.etcd === 'stacked' && controlPlane.rolloutAfter === since,
    unpause: controlPlane.paused === pauseOf(mark),
    unhold: controlPlane.hold !== undefined,
  } as const;
  const { wanted, replaced } = progress;
  const what = `the rollout that began ${span(now - since)} ago${write.unhold ? ', and removes the hold' : ''}`;
  const message = `aborts ${what}: ${replaced} of ${counted(wanted, 'control plane machine')} replaced, the others stay; neither the schedule nor a person begins another one for ${COOL_DOWN_DAYS} days`;
  return {
    kind: 'act',
    state: controlPlane.hold === undefined ? 'rolling' : 'held',
    message,
    checks: [],
    progress,
    mark: aborted,
    write,
  };
}

function refusal(going: Going | undefined, id: HoldId, object?: string, message?: string): RolloutHold {
  const reason = holdReason(id, object, message);
  return {
    kind: 'hold',
    state: going === undefined ? 'idle' : going.mark.abortedAt === undefined ? 'rolling' : 'aborted',
    message: reason.message,
    checks: [],
    reasons: [reason],
    ...(going && { mark: going.mark, progress: going.progress }),
  };
}

/**
 * What shows that someone else rolls the control plane, or is about to; undefined if nothing does. Pure; for a control
 * plane without a rollout of ours.
 *
 * @param now milliseconds since the epoch
 */
function foreignRollout(
  { rolloutAfter = Number.NEGATIVE_INFINITY, conditions, status, replicas }: ObservedControlPlane,
  machines: readonly ObservedMachine[],
  now: number,
): string | undefined {
  if (!(rolloutAfter <= now)) return `a rollout is planned for ${date(rolloutAfter)}`;
  if (conditions.RollingOut.status === 'True') {
    return `Cluster API rolls it: ${conditions.RollingOut.message || conditions.RollingOut.reason || 'no reason is given'}`;
  }
  const old = machines.filter(({ owned, createdAt }) => owned && createdAt < rolloutAfter);
  if (old.length > 0) {
    return `${old.length} of ${machines.length} machines are older than the rollout of ${date(rolloutAfter)}`;
  }
  if (status.upToDate !== undefined && status.upToDate < replicas) {
    return `${status.upToDate} of ${replicas} machines are up to date`;
  }
  return undefined;
}

/**
 * Since when, according to Cluster API, the request, or the last movement. Milliseconds since the epoch; since ever if
 * nothing says, or if it is planned for more than a day ahead.
 */
function foreignSince(
  { rolloutAfter, conditions: { RollingOut, ScalingUp, ScalingDown } }: ObservedControlPlane,
  machines: readonly ObservedMachine[],
  now: number,
): number {
  if (rolloutAfter !== undefined && !(rolloutAfter <= now))
    return rolloutAfter <= now + DAY_MS ? now : Number.NEGATIVE_INFINITY;
  const progressAt = RollingOut.status === 'True' ? RollingOut.since : rolloutAfter;
  if (progressAt !== undefined) return progressAt <= now ? progressAt : Number.NEGATIVE_INFINITY;
  return [...machines.map(({ createdAt }) => createdAt), RollingOut.since, ScalingUp.since, ScalingDown.since].reduce(
    (newest: number, moved) => (moved !== undefined && moved <= now ? Math.max(newest, moved) : newest),
    Number.NEGATIVE_INFINITY,
  );
}
