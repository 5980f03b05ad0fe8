import type { RolloutMark } from '../contracts/rollout-mark.ts';
import type { HoldReason } from '../contracts/rollout-summary.ts';
import { MINUTE_MS } from '../time.ts';
import { counted, span } from '../words.ts';
import { holdReason } from './hold-reasons.ts';
import type { ObservedControlPlane, ObservedEtcd, ObservedRollout } from './observed.ts';
import type { RolloutProgress } from './progress.ts';
import type { RolloutWrite } from './step.ts';
import { madeSince } from './verification.ts';
import { endedReasons, lastReplacedFor, nameOf, STALLED_MS, stuckAfter } from './watch.ts';

/** Time for a new etcd member to start and join. */
const MEMBER_MS = 30 * MINUTE_MS;
/** Between the pause and the start of etcd everything is checked again: temporary failures have this long to pass. */
const BEGIN_MS = 10 * MINUTE_MS;

/** The next step of a rollout of external etcd and its control plane. */
export type EtcdTurn =
  | { readonly kind: 'write'; readonly write: RolloutWrite; readonly message: string }
  | { readonly kind: 'hold'; readonly reasons: readonly HoldReason[] }
  | { readonly kind: 'wait'; readonly message: string }
  /** Etcd is new; the control plane is left, which rolls because its etcd has other addresses. */
  | { readonly kind: 'control-plane' };

export interface EtcdQuestion {
  readonly observed: ObservedRollout;
  readonly controlPlane: ObservedControlPlane;
  readonly mark: RolloutMark;
  /** Of the mark. Milliseconds since the epoch, as all times here. */
  readonly since: number;
  readonly now: number;
  readonly progress: RolloutProgress;
  /** The checks that would stop it from beginning now. */
  readonly inTheWay: () => readonly HoldReason[];
}

/** The value of our pause: only we remove it, and we remove no other. */
export function pauseOf({ id }: RolloutMark): string {
  return `certmarshal-rollout/${id}`;
}

/** A no-op command that gives the machines of etcd another configuration. */
export function nonceOf({ id }: RolloutMark): string {
  return `true # certmarshal rollout ${id}`;
}

/**
 * Etcd first, then the control plane: the end of an etcd rollout makes a new client certificate and new addresses, for
 * which the control plane rolls anyway. We pause the control plane meanwhile, so that the two never overlap.
 *
 * 1. paused and marked, with one write → 2. etcd is told to roll, with one write → 3. it rolls → 4. our pause is
 * removed, with one write → 5. the control plane rolls.
 *
 * The step is derived from the objects alone, so an interrupted run continues there. Pure.
 */
export function etcdTurn(question: EtcdQuestion): EtcdTurn {
  const { observed, controlPlane, mark, since, now } = question;
  const { etcd } = observed;
  const ended = endedReasons(observed, now);
  if (ended.length > 0) return hold(...ended);
  if (etcd === undefined) {
    const trouble = holdReason(
      'etcd-failed',
      nameOf(controlPlane),
      'its EtcdadmCluster does not exist, or cannot be read',
    );
    return observed.unread.length > 0 && now - since < BEGIN_MS ? unreadYet : hold(trouble);
  }
  const object = `EtcdadmCluster ${etcd.namespace}/${etcd.name}`;
  const paused = controlPlane.paused === pauseOf(mark);
  if (controlPlane.paused !== undefined && !paused) return hold(holdReason('paused', nameOf(controlPlane)));
  if (etcd.deleting) return hold(holdReason('etcd-failed', object, 'it is being deleted'));
  if (!hasBegun(etcd, mark))
    return paused ? begin(question, etcd) : hold(holdReason('etcd-pause-lost', nameOf(controlPlane)));
  if (!etcd.postEtcdadmCommands.includes(nonceOf(mark))) return hold(holdReason('etcd-taken-over', object));
  const troubles = etcdReasons(question, etcd);
  if (!isEtcdSettled(etcd, since)) {
    // A new member may be unavailable for a moment, also while the control plane rolls.
    if (!paused && isEtcdRolling(etcd, since)) troubles.push(holdReason('etcd-pause-lost', nameOf(controlPlane)));
    const rolling = `rolling: ${replacedOf(question)}; the control plane is paused until the last one is`;
    return troubles.length > 0 ? hold(...troubles) : { kind: 'wait', message: rolling };
  }
  if (!paused) return { kind: 'control-plane' };
  if (troubles.length > 0) return hold(...troubles);
  if (etcd.clientCertificate !== undefined && !madeSince(etcd.clientCertificate, { since, now })) {
    return stuckFor(question) === undefined
      ? { kind: 'wait', message: 'etcd is new; waiting for its client certificate' }
      : hold(holdReason('etcd-client-old', object));
  }
  return {
    kind: 'write',
    write: { kind: 'unpause-control-plane', object: versionOf(controlPlane), mark },
    message: `etcd is new: ${counted(etcd.replicas, 'machine')}; would remove the pause, so that the control plane rolls`,
  };
}

const hold = (...reasons: readonly HoldReason[]): EtcdTurn => ({ kind: 'hold', reasons });

const unreadYet: EtcdTurn = { kind: 'wait', message: 'waiting until everything can be read' };

/** Our mark means that etcd was told to roll: both are one write. */
function hasBegun({ mark }: ObservedEtcd, { id }: RolloutMark): boolean {
  return typeof mark === 'object' && mark.id === id;
}

/**
 * As many new machines as wanted, all ready, and the controller has nothing left to do for them. Old ones that it no
 * longer owns may still exist: they are deleted when the control plane is new.
 */
export function isEtcdSettled(etcd: ObservedEtcd, since: number): boolean {
  const owned = etcd.machines.filter((machine) => machine.owned);
  return (
    etcd.ready &&
    etcd.observedGeneration === etcd.generation &&
    !etcd.upgrading &&
    etcd.conditions.EtcdMachinesSpecUpToDate.status !== 'False' &&
    owned.length === etcd.replicas &&
    owned.every(({ createdAt, deleting, etcdReady }) => createdAt >= since && !deleting && etcdReady === true)
  );
}

/**
 * Nothing shows that it was told to roll, or rolls for any reason. If its mark is missing or another's, its
 * configuration, its controller and its machines decide. Unreadable data proves nothing.
 */
export function hasNeverBegun(etcd: ObservedEtcd, mark: RolloutMark, since: number): boolean {
  return (
    etcd.mark !== 'unreadable' &&
    !hasBegun(etcd, mark) &&
    !etcd.postEtcdadmCommands.includes(nonceOf(mark)) &&
    !etcd.upgrading &&
    etcd.observedGeneration === etcd.generation &&
    etcd.conditions.EtcdMachinesSpecUpToDate.status !== 'False' &&
    etcd.machines.every(({ owned, deleting, createdAt }) => owned && !deleting && createdAt < since)
  );
}

/** It was told, and that was not changed: the rest follows automatically. */
export function isOursYet(etcd: ObservedEtcd, mark: RolloutMark): boolean {
  return hasBegun(etcd, mark) && etcd.postEtcdadmCommands.includes(nonceOf(mark));
}

function isEtcdRolling(etcd: ObservedEtcd, since: number): boolean {
  return (
    etcd.upgrading ||
    etcd.observedGeneration !== etcd.generation ||
    etcd.machines.some(({ owned, createdAt }) => owned && !(createdAt >= since))
  );
}

/** The replaced members are gone, and the controller has seen that the control plane is new. */
export function isEtcdDone(etcd: ObservedEtcd, since: number): boolean {
  return (
    isEtcdSettled(etcd, since) &&
    !etcd.upgradeComplete &&
    etcd.conditions.EtcdClusterHasNoOutdatedMachines.status === 'True' &&
    etcd.machines.length === etcd.replicas
  );
}

function begin({ mark, since, now, inTheWay }: EtcdQuestion, etcd: ObservedEtcd): EtcdTurn {
  const reasons = inTheWay();
  if (reasons.length > 0) {
    const [first] = reasons;
    if (now - since <= BEGIN_MS) {
      return { kind: 'wait', message: `the control plane is paused, and etcd does not begin yet: ${first?.message}` };
    }
    return {
      kind: 'hold',
      reasons: [
        holdReason(
          'etcd-not-begun',
          `EtcdadmCluster ${etcd.namespace}/${etcd.name}`,
          `for ${span(now - since)}: ${first?.message}${mark.trigger === 'person' ? '; a person began it, so only answers on the command line count: `certmarshal rollout start --yes`' : ''}`,
        ),
        ...reasons,
      ],
    };
  }
  const { namespace, name, uid, resourceVersion } = etcd;
  return {
    kind: 'write',
    write: {
      kind: 'roll-etcd',
      object: { namespace, name, uid, resourceVersion },
      mark,
      postEtcdadmCommands: [...etcd.postEtcdadmCommands.filter((command) => !isNonce(command)), nonceOf(mark)],
    },
    message: `would roll ${counted(etcd.replicas, 'etcd machine')}; the control plane is paused for it`,
  };
}

/** From this rollout or an earlier one: they do not pile up. */
function isNonce(command: string): boolean {
  return command.startsWith('true # certmarshal rollout ');
}

function etcdReasons(question: EtcdQuestion, etcd: ObservedEtcd): HoldReason[] {
  const { since, now } = question;
  const object = `EtcdadmCluster ${etcd.namespace}/${etcd.name}`;
  const reasons: HoldReason[] = [];
  if (etcd.paused) reasons.push(holdReason('paused', object));
  const upToDate = etcd.conditions.EtcdMachinesSpecUpToDate;
  if (upToDate.reason === 'MaxNumberOfEtcdMachinesReached') {
    reasons.push(holdReason('etcd-cap-reached', object, upToDate.message || undefined));
  }
  for (const { name, createdAt, owned, deleting, etcdReady, unhealthy } of etcd.machines) {
    // Members to be removed are no longer maintained.
    if (!owned && createdAt >= since && !deleting) reasons.push(holdReason('etcd-orphans', `Machine ${name}`));
    if (owned && (unhealthy.length > 0 || etcdReady !== true) && now - createdAt > MEMBER_MS) {
      reasons.push(holdReason('etcd-unhealthy', `Machine ${name}`, unhealthy[0] ?? 'etcd on it is not ready'));
    }
  }
  const stuck = stuckFor(question);
  if (stuck !== undefined && !isEtcdSettled(etcd, since)) reasons.push(holdReason('stuck', object, stuck));
  return reasons;
}

/** How far it is and since when, if no machine was replaced for too long, or nothing moved. */
function stuckFor(question: EtcdQuestion): string | undefined {
  const { observed, progress, since, now } = question;
  const { machines, movedAt } = progress.etcd ?? progress;
  const replacedFor = lastReplacedFor({ machines }, { since, now });
  if (replacedFor > STALLED_MS) return `${replacedOf(question)}, and none for ${span(replacedFor)}`;
  const still = now - movedAt;
  return still > stuckAfter(observed) ? `${replacedOf(question)}, and nothing moved for ${span(still)}` : undefined;
}

function replacedOf({ progress }: EtcdQuestion): string {
  const { replaced, wanted } = progress.etcd ?? progress;
  return `${replaced} of ${counted(wanted, 'etcd machine')} replaced`;
}

/** Its identity in a write. */
export function versionOf({ apiVersion, namespace, name, uid, resourceVersion }: ObservedControlPlane) {
  return { apiVersion, namespace, name, uid, resourceVersion };
}
