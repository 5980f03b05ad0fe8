import type { RolloutMark } from '../contracts/rollout-mark.ts';
import type { HoldReason } from '../contracts/rollout-summary.ts';
import { HOLD_ANNOTATION } from '../resources/annotations.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import { DAY_MS } from '../time.ts';
import { counted, span, timeOf } from '../words.ts';
import { renewedCertificates, rolloutSpan } from './checks/span.ts';
import { CONTROL_PLANES, kubectl } from './checks/verdict.ts';
import { type CheckQuestion, checksOf } from './checks.ts';
import { etcdTurn, isEtcdDone, pauseOf, versionOf } from './etcd-order.ts';
import { holdReason } from './hold-reasons.ts';
import type { ObservedControlPlane, ObservedRollout } from './observed.ts';
import { factsOf, isAllSeen, isInTheWay, isTooLate, planBegin, reasonsOf } from './plan-begin.ts';
import { COOL_DOWN_DAYS, LOOP_GUARD_DAYS } from './policy.ts';
import { isVerified, progressOf, type RolloutProgress } from './progress.ts';
import { holdOf, startOfMark } from './rollout-mark.ts';
import { isSettled as isAtRest } from './settled.ts';
import type { RolloutHold, RolloutStep } from './step.ts';
import { CLOCK_TOLERANCE_MS } from './verification.ts';
import { holdReasons, nameOf } from './watch.ts';

/** Our rollout and its progress. */
export interface Going {
  readonly mark: RolloutMark;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly progress: RolloutProgress;
}

/** The mark of the control plane; undefined if missing, unreadable, or with impossible times. */
export function goingOf(observed: ObservedRollout, now: number): Going | undefined {
  const mark = observed.controlPlane?.mark;
  if (mark === undefined || mark === 'unreadable') return undefined;
  const since = startOfMark(mark);
  const latest = now + CLOCK_TOLERANCE_MS;
  if (since === undefined || !(since <= latest)) return undefined;
  if (mark.abortedAt !== undefined) {
    const abortedAt = timeOf(mark.abortedAt);
    if (abortedAt === undefined || !(abortedAt >= since && abortedAt <= latest)) return undefined;
  }
  return { mark, since, progress: progressOf(observed, since, now) };
}

/** Needs a person; nothing is written until then. Undefined if not held. */
export function planHeld(question: CheckQuestion, controlPlane: ObservedControlPlane): RolloutHold | undefined {
  const { observed, now } = question;
  const { hold, mark } = controlPlane;
  const object = nameOf(controlPlane);
  const going = goingOf(observed, now);
  const held = (message: string, ...reasons: readonly HoldReason[]): RolloutHold => ({
    kind: 'hold',
    state: 'held',
    message,
    checks: [],
    reasons,
    ...factsOf(question),
    ...(going && { mark: going.mark, progress: going.progress }),
  });
  if (hold === 'unreadable') return held('held, and the reason cannot be read', holdReason('unreadable-hold', object));
  if (hold !== undefined) {
    const since = timeOf(hold.at);
    return held(`held${since === undefined ? '' : ` for ${span(now - since)}`}: ${hold.message}`, {
      id: hold.reason,
      object,
      message: hold.message,
      remedy: `When its cause is gone: ${kubectl('annotate', CONTROL_PLANES, controlPlane, `${HOLD_ANNOTATION}-`)}`,
    });
  }
  if ((mark !== undefined && going === undefined) || observed.etcd?.mark === 'unreadable') {
    return held('held: which rollout runs cannot be read', holdReason('unreadable-mark', object));
  }
  return undefined;
}

/** The next step of our rollout; undefined if there is none, or it is long over. */
export function planWatch(question: CheckQuestion, controlPlane: ObservedControlPlane): RolloutStep | undefined {
  const { observed, trigger, now } = question;
  const going = goingOf(observed, now);
  if (going === undefined) return undefined;
  if (going.mark.abortedAt !== undefined) {
    return trigger === 'person' ? undefined : planAfterAbort(question, controlPlane, going);
  }
  if (isDone(observed, going)) return planAfterDone(question, controlPlane, going);
  if (isOver(question, going)) return undefined;
  return planGoing(question, controlPlane, going);
}

/** Every machine is new and serves a new certificate, and Cluster API has nothing left to do. */
export function isDone({ controlPlane, etcd }: ObservedRollout, { mark, since, progress }: Going): boolean {
  if (controlPlane === undefined || !isVerified(progress) || !isSettled(controlPlane)) return false;
  if (controlPlane.etcd === 'stacked') return true;
  const etcdDone =
    etcd !== undefined && isEtcdDone(etcd, since) && progress.etcd !== undefined && isVerified(progress.etcd);
  return etcdDone && controlPlane.paused !== pauseOf(mark);
}

/** Machines are created or deleted for any reason: an aborted rollout may not be settled yet. Pure. */
export function isMoving(observed: ObservedRollout): boolean {
  const { controlPlane, etcd } = observed;
  if (controlPlane === undefined) return false;
  if (!isAtRest(observed) || !isSettled(controlPlane)) return true;
  if (etcd === undefined) return false;
  const { upgrading, replicas, machines: members } = etcd;
  return (
    upgrading ||
    members.length !== replicas ||
    members.some(({ deleting, owned, etcdReady }) => deleting || !owned || etcdReady !== true)
  );
}

function isSettled({ status, replicas, generation, observedGeneration, conditions }: ObservedControlPlane): boolean {
  const over = [conditions.RollingOut, conditions.ScalingUp, conditions.ScalingDown].every(
    (condition) => condition.status === 'False' || condition.status === 'Missing',
  );
  const counts = status.replicas === replicas && (status.upToDate === undefined || status.upToDate === replicas);
  return over && counts && observedGeneration === generation;
}

/**
 * It was seen done, or was not held for a week: any movement now, with no machine left to replace, is something else.
 * Not if a machine serves an old certificate: that is not forgotten.
 */
function isOver({ observed, history, now }: CheckQuestion, { mark, since, progress }: Going): boolean {
  if (observed.controlPlane?.paused === pauseOf(mark)) return false;
  const machines = [...observed.machines, ...(observed.etcd?.machines ?? [])];
  if (machines.length === 0 || !machines.every(({ createdAt }) => createdAt >= since)) return false;
  const ended = history.rollouts.some(({ id, endedAt }) => id === mark.id && endedAt !== undefined);
  const isUnproven = [...progress.machines, ...(progress.etcd?.machines ?? [])].some(
    ({ state, served }) => state === 'replaced' && served.kind === 'certificate',
  );
  return ended || (now - since >= COOL_DOWN_DAYS * DAY_MS && !isUnproven);
}

function planGoing(question: CheckQuestion, controlPlane: ObservedControlPlane, going: Going): RolloutStep {
  const { observed, now } = question;
  const { mark, since, progress } = going;
  const planned = { checks: [], mark, progress, ...factsOf(question) };
  if (controlPlane.etcd === 'external') {
    const inTheWay = () => [
      ...(question.policy?.etcd === 'auto-experimental' ? [] : [holdReason('etcd-by-hand', nameOf(controlPlane))]),
      ...reasonsOf(checksOf(asIfNotBegun(question, controlPlane, going)).filter(isInTheWay)),
    ];
    const turn = etcdTurn({ observed, controlPlane, mark, since, now, progress, inTheWay });
    switch (turn.kind) {
      case 'write':
        return { kind: 'act', state: 'rolling', message: turn.message, write: turn.write, ...planned };
      case 'hold':
        return holdNow(question, controlPlane, going, turn.reasons);
      case 'wait': {
        const late = tooLate(question, controlPlane, going);
        return late.length > 0
          ? holdNow(question, controlPlane, going, late)
          : { kind: 'nothing', state: 'rolling', message: turn.message, ...planned };
      }
      case 'control-plane':
        break;
    }
  }
  const troubles = [
    ...takenOver(controlPlane, going),
    ...holdReasons(observed, going, now),
    ...tooLate(question, controlPlane, going),
  ];
  if (troubles.length > 0) return holdNow(question, controlPlane, going, troubles);
  const { wanted, replaced, verified, machines } = progress;
  const verifying = replaced === wanted && machines.length === wanted;
  const count = counted(wanted, 'control plane machine');
  return {
    kind: 'nothing',
    state: verifying ? 'verifying' : 'rolling',
    message: verifying
      ? `verifying: ${verified} of ${counted(wanted, 'machine')} ${verified === 1 ? 'shows' : 'show'} a new certificate`
      : `rolling: ${replaced} of ${count} replaced, for ${span(now - since)}`,
    ...planned,
  };
}

/** With external etcd `rollout.after` is never ours, because the order does not need it. */
function takenOver(controlPlane: ObservedControlPlane, { since, progress }: Going): readonly HoldReason[] {
  const { etcd, rolloutAfter } = controlPlane;
  if (etcd === 'external' || rolloutAfter === since) return [];
  const some = progress.machines.some(({ createdAt }) => !(createdAt >= since));
  return some || (rolloutAfter ?? 0) > since ? [holdReason('taken-over', nameOf(controlPlane))] : [];
}

/**
 * It began in time, but the time for the schedule to begin has passed with machines left. Reported only: a begun
 * rollout must finish.
 */
function tooLate(
  { observed, policy, now }: CheckQuestion,
  controlPlane: ObservedControlPlane,
  { since, progress }: Going,
): readonly HoldReason[] {
  const until = rolloutSpan(renewedCertificates(observed), observed, policy)?.until;
  const old = [...progress.machines, ...(progress.etcd?.machines ?? [])].filter(({ state }) => state === 'old').length;
  if (until === undefined || old === 0 || !(since <= until && until < now)) return [];
  const message = `${counted(old, 'machine')} not replaced yet for ${span(now - since)}, and too little time is left to fix what goes wrong`;
  return [holdReason('stuck', nameOf(controlPlane), message)];
}

/**
 * Everything is checked again before etcd is told to roll, except what its own start changed: with its Lease no one
 * else begins, and the actions of others no longer stop it. Waivers are not inherited: the person at the keyboard is
 * asked, they are never read from an annotation.
 */
function asIfNotBegun(question: CheckQuestion, controlPlane: ObservedControlPlane, { mark }: Going): CheckQuestion {
  const { observed, history } = question;
  const { paused: _pause, mark: _mark, ...before } = controlPlane;
  const { lease, ...others } = observed;
  const isOurs = lease?.holder?.endsWith(` ${mark.id}`) === true;
  const around = isOurs ? { siblings: [] } : lease && { lease };
  return {
    ...question,
    observed: { ...others, ...around, controlPlane: before },
    history: { ...history, rollouts: history.rollouts.filter(({ id }) => id !== mark.id) },
  };
}

function holdNow(
  question: CheckQuestion,
  controlPlane: ObservedControlPlane,
  { mark, progress }: Going,
  reasons: readonly HoldReason[],
): RolloutHold {
  return {
    ...heldFor(question, reasons),
    write: { kind: 'hold', object: versionOf(controlPlane), hold: holdOf(mark, reasons, question.now) },
    mark,
    progress,
  };
}

function heldFor(question: CheckQuestion, reasons: readonly HoldReason[]): RolloutHold {
  const [first] = reasons;
  return {
    kind: 'hold',
    state: 'held',
    message: `held: ${[first?.object, first?.message].filter(Boolean).join(': ')}${reasons.length > 1 ? `, and ${reasons.length - 1} more` : ''}`,
    checks: [],
    reasons,
    ...factsOf(question),
  };
}

function planAfterDone(question: CheckQuestion, controlPlane: ObservedControlPlane, going: Going): RolloutStep {
  const { trigger, now } = question;
  const { mark, since, progress } = going;
  const checks = checksOf(question);
  const next = planBegin(question, controlPlane, checks);
  if (trigger === 'person' || next.state === 'expired') return next;
  const { soonestEnd = now } = next;
  const due = checks.some(({ id, passed }) => id === 'due' && passed);
  if (due && now - since < LOOP_GUARD_DAYS * DAY_MS) {
    const message = `machines were replaced ${span(now - since)} ago, and their certificates expire in ${span(soonestEnd - now)}`;
    return holdNow(question, controlPlane, going, [holdReason('still-expiring', nameOf(controlPlane), message)]);
  }
  if (now - since >= COOL_DOWN_DAYS * DAY_MS) return { mark, ...next };
  return {
    kind: 'nothing',
    state: 'done',
    message: `done: ${counted(progress.wanted, 'control plane machine')} replaced, with new certificates, the first of which expires in ${span(soonestEnd - now)}${isAllSeen(question, controlPlane) ? ': nothing is due' : ''}`,
    checks,
    mark,
    progress,
    ...factsOf(question),
  };
}

function planAfterAbort(
  question: CheckQuestion,
  controlPlane: ObservedControlPlane,
  going: Going,
): RolloutStep | undefined {
  const { observed, now } = question;
  const { mark, since, progress } = going;
  const abortedAt = timeOf(mark.abortedAt) ?? since;
  if (now - abortedAt >= COOL_DOWN_DAYS * DAY_MS) return undefined;
  const checks = checksOf(question);
  const next = planBegin(question, controlPlane, checks);
  if (next.state === 'expired') return next;
  const moves = isMoving(observed);
  // The cool-down must not hide that there is no time to wait, or that the time is unknown.
  const isBlind = !moves && !isAllSeen(question, controlPlane);
  if ((isTooLate(checks) || isBlind) && next.kind !== 'nothing') return { ...next, mark, progress };
  const reasons = moves ? holdReasons(observed, going, now) : [];
  // No rollout of ours is in progress that the annotation would stop.
  if (reasons.length > 0) return { ...heldFor(question, reasons), mark, progress };
  const state: RolloutState = 'aborted';
  return {
    kind: 'nothing',
    state,
    message: `aborted ${span(now - abortedAt)} ago, with ${progress.replaced} of ${counted(progress.wanted, 'control plane machine')} replaced`,
    checks,
    mark,
    progress,
    ...factsOf(question),
  };
}
