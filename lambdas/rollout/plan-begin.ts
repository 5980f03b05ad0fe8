import type { HoldReason } from '../contracts/rollout-summary.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import { endOfWindow, nextOpening } from '../window/window.ts';
import { counted, date, span } from '../words.ts';
import { unseenServers } from './checks/machines.ts';
import { renewedCertificates, rolloutSpan } from './checks/span.ts';
import type { CheckQuestion } from './checks.ts';
import { versionOf } from './etcd-order.ts';
import { holdReason } from './hold-reasons.ts';
import type { ObservedControlPlane, ObservedMachine } from './observed.ts';
import type { RolloutPolicy } from './policy.ts';
import { markOf, startOf } from './rollout-mark.ts';
import type { RolloutCheck, RolloutStep } from './step.ts';
import { dueFor, hasWaitedItsTurn, WAITED_MS } from './turn.ts';
import { nameOf } from './watch.ts';

/** Common to every step. */
export function factsOf({ observed, policy, now }: CheckQuestion) {
  const seen = rolloutSpan(renewedCertificates(observed), observed, policy);
  const nextWindow = policy && nextWindowOf(policy, now);
  return {
    soonestEnd: seen?.soonestEnd,
    span: seen === undefined || policy === undefined ? undefined : { from: seen.from, until: seen.until },
    nextWindow,
  };
}

export function isInTheWay({ passed, waived }: RolloutCheck): boolean {
  return !passed && !waived;
}

/** Due, and too late for the schedule: must be reported, whatever else is in progress. */
export function isTooLate(checks: readonly RolloutCheck[]): boolean {
  const has = (id: RolloutCheck['id'], passes: boolean) =>
    checks.some((check) => check.id === id && check.passed === passes);
  return has('due', true) && has('not-too-late', false);
}

/** Never empty if a check failed. */
export function reasonsOf(checks: readonly RolloutCheck[]): readonly HoldReason[] {
  return checks.map(({ id, object, found: message, remedy = `See the runbook ${id}`, passing }) => ({
    id,
    object,
    message,
    remedy,
    passing,
  }));
}

/**
 * Whether a rollout begins now; for a cluster that is not rolling and not held. Pure.
 *
 * @param checks all of them
 */
export function planBegin(
  question: CheckQuestion,
  controlPlane: ObservedControlPlane,
  checks: readonly RolloutCheck[],
): RolloutStep {
  const { observed, policy, trigger, now } = question;
  const facts = factsOf(question);
  const { soonestEnd } = facts;
  const inTheWay = checks.filter(isInTheWay);
  const fails = (id: RolloutCheck['id']) => inTheWay.find((check) => check.id === id);
  const nothing = (state: RolloutState, message: string): RolloutStep => ({
    kind: 'nothing',
    state,
    message,
    checks,
    ...facts,
  });
  const hold = (state: RolloutState, message: string, ...reasons: readonly HoldReason[]): RolloutStep => ({
    kind: 'hold',
    state,
    message,
    checks,
    reasons,
    ...facts,
  });
  const left = endsIn(soonestEnd, now);

  const optedOut = fails('opted-in-by-fleet') ?? fails('opted-in-by-owner');
  if (optedOut !== undefined)
    return nothing('off', `would not roll, not opted in: ${optedOut.found}${left && `; ${left}`}`);

  if (soonestEnd !== undefined && !(soonestEnd > now)) {
    const expired = fails('not-expired');
    return hold(
      'expired',
      `certificates expired ${span(now - soonestEnd)} ago: nothing is rolled automatically any more`,
      ...(expired === undefined ? [] : reasonsOf([expired])),
      ...reasonsOf(inTheWay.filter((check) => check !== expired && !check.passing)),
      ...(inTheWay.length === 0 ? [EXPIRED] : []),
    );
  }

  const mending = inTheWay.filter(({ passing }) => !passing);
  const due = fails('due');
  if (due !== undefined && soonestEnd !== undefined) {
    if (isAllSeen(question, controlPlane))
      return nothing('idle', idleMessage(soonestEnd, facts.span?.from ?? now, now));
    const unseen = checks.filter(({ warning }) => warning);
    const message = `it is not known when it is due, because not every certificate was seen; of those that were, the first expires in ${span(soonestEnd - now)}`;
    const blind = mending.filter(({ id }) => SEEING.has(id));
    const rest = mending.filter((check) => !blind.includes(check));
    return hold('refused', message, ...reasonsOf([...blind, ...unseen, ...rest]));
  }

  const machines = counted(controlPlane.replicas, 'control plane machine');
  const early = soonestEnd === undefined ? '' : `, ${span(soonestEnd - now)} before their certificates expire`;
  const would = `would roll ${machines}${early}`;

  if (controlPlane.etcd === 'external' && (policy?.etcd !== 'auto-experimental' || observed.etcd === undefined)) {
    const { name } = observed.cluster;
    const file = /^[a-z0-9][a-z0-9.-]{0,62}$/.test(name) ? `${name}-certificates.yaml` : 'certificates.yaml';
    return {
      kind: 'ask',
      state: 'assist',
      message: `a person renews it${left && `, ${left}`}: etcd has machines of its own`,
      checks,
      command: `KUBECONFIG=MANAGEMENT eksctl anywhere renew certificates -f ${file}`,
      reasons: [holdReason('etcd-by-hand', nameOf(controlPlane)), ...reasonsOf(mending)],
      ...facts,
    };
  }

  if (mending.length > 0) {
    const count = inTheWay.length;
    const message = `a rollout of ${machines} is refused${early}: ${count} of ${counted(checks.length, 'check')} ${count === 1 ? 'fails' : 'fail'}`;
    return hold('refused', message, ...reasonsOf(mending), ...reasonsOf(inTheWay.filter(({ passing }) => passing)));
  }
  const [passing] = inTheWay;
  const kept = keptWaiting(question, inTheWay);
  if (kept.length > 0)
    return hold('refused', `${would}. It has waited for others too long: ${kept[0]?.found}`, ...reasonsOf(kept));
  if (passing !== undefined) return nothing('waiting', `${would}. Not yet: ${passing.found}`);

  const start = startOf(now);
  const soon = tooEarly(question, start);
  if (soon !== undefined) return nothing('waiting', `${would}. Not yet: ${soon}`);

  const mark = markOf(observed.cluster.id, start, `certificates expire ${date(soonestEnd ?? now)}`, trigger);
  const object = versionOf(controlPlane);
  return controlPlane.etcd === 'external'
    ? {
        kind: 'act',
        state: 'ready',
        message: `${would}, and etcd first: pauses the control plane before that`,
        checks,
        mark,
        write: { kind: 'pause-control-plane', object, mark },
        ...facts,
      }
    : {
        kind: 'act',
        state: 'ready',
        message: would,
        checks,
        mark,
        write: { kind: 'roll-control-plane', object, mark },
        ...facts,
      };
}

/**
 * Temporary failures also stop a cluster that could have begun long ago. A maintenance window alone is no delay: its
 * own fleet wants it.
 */
function keptWaiting(question: CheckQuestion, inTheWay: readonly RolloutCheck[]): readonly RolloutCheck[] {
  const kept = inTheWay.filter(({ id }) => id !== 'maintenance-window');
  return (dueFor(question) ?? 0) > WAITED_MS && hasWaitedItsTurn(question) ? kept : [];
}

const EXPIRED: HoldReason = {
  id: 'not-expired',
  message: 'a certificate that a rollout would renew has expired',
  remedy: 'Recover the cluster by hand: `certmarshal runbook recovery`',
};

/** If these fail, the observations may be incomplete. */
const SEEING: ReadonlySet<string> = new Set([
  'everything-read',
  'handshakes',
  'control-plane-settled',
  'machines-settled',
  'external-etcd-settled',
]);

/** Not due only if every certificate was seen: an unseen one may expire first. */
export function isAllSeen({ observed }: CheckQuestion, { replicas, etcd: kind }: ObservedControlPlane): boolean {
  const { machines, etcd, unread } = observed;
  return (
    unread.length === 0 &&
    unseenServers(observed).length === 0 &&
    areThere(machines, replicas) &&
    (kind === 'stacked' || (etcd !== undefined && areThere(etcd.machines, etcd.replicas)))
  );
}

function areThere(machines: readonly ObservedMachine[], wanted: number): boolean {
  return wanted > 0 && machines.filter(({ deleting }) => !deleting).length >= wanted;
}

/** Empty if no expiry was seen. */
function endsIn(soonestEnd: number | undefined, now: number): string {
  if (soonestEnd === undefined) return '';
  return soonestEnd > now
    ? `its certificates expire in ${span(soonestEnd - now)}`
    : `its certificates expired ${span(now - soonestEnd)} ago`;
}

function idleMessage(soonestEnd: number, from: number, now: number): string {
  return `nothing is due: ${endsIn(soonestEnd, now)}, a rollout may begin in ${span(from - now)}`;
}

/**
 * Cluster API replaces the machines older than the start: it must be later than all of them, so that every one is
 * replaced and none counts as new.
 */
function tooEarly({ observed }: CheckQuestion, start: number): string | undefined {
  const young = [...observed.machines, ...(observed.etcd?.machines ?? [])].find(
    ({ createdAt }) => !(createdAt < start),
  );
  return young && `Machine ${young.name} was made just now, or the clocks differ`;
}

/**
 * When a maintenance window opens next; undefined if one is open, there are none, or none opens again. Pure.
 *
 * @param now milliseconds since the epoch, as is the result
 */
function nextWindowOf({ windows }: Pick<RolloutPolicy, 'windows'>, now: number): number | undefined {
  if (windows.some((window) => endOfWindow(window, now) !== undefined)) return undefined;
  const opens = windows.flatMap((window) => nextOpening(window, now) ?? []);
  return opens.length === 0 ? undefined : Math.min(...opens);
}
