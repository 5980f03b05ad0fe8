import type { IndexedRollout } from '../contracts/fleet-index.ts';
import { printable } from '../printable.ts';
import { MAX_STORY, type Signal } from '../tables/signals.ts';
import { span } from '../words.ts';
import { commandFor, doctorCommand, type KnownCluster } from './known-cluster.ts';

/** Two steps: one failed read is no reason to ask a person, and a rollout is due for weeks. Milliseconds. */
const NEEDED_AFTER_MS = 30 * 60_000;
/** A rollout that is held, or was not begun before certificates expired: nothing continues automatically. Pure. */
export function rolloutHeld(known: KnownCluster, now: number): Signal | undefined {
  const rollout = known.indexed?.rollout;
  if (rollout === undefined || (rollout.state !== 'held' && rollout.state !== 'expired')) return undefined;
  const [reason] = rollout.reasons;
  const why = reason === undefined ? rollout.message : reasonText(reason);
  const story = rollout.state === 'held' ? `its rollout is held: ${why}` : `not rolled in time: ${rollout.message}`;
  return signalOf('RolloutsHeld', rollout, `${story}${unseen(known, rollout, now)}`, look('status', known));
}

/**
 * A rollout that is due and needs a person, either to fix its checks or to run it. Checks that pass with time do not
 * count. Pure.
 */
export function rolloutNeeded(known: KnownCluster, now: number): Signal | undefined {
  const rollout = known.indexed?.rollout;
  if (rollout === undefined || (rollout.state !== 'refused' && rollout.state !== 'assist')) return undefined;
  if (!(now - Date.parse(rollout.since) >= NEEDED_AFTER_MS)) return undefined;
  const [reason] = rollout.reasons;
  const why = reason === undefined ? '' : `: ${reasonText(reason)}`;
  const story = `${rollout.message}${why}${unseen(known, rollout, now)}`;
  return signalOf('RolloutsNeeded', rollout, story, look('plan', known));
}

/** A cluster with an entry of `recovery` in force: fires as long as that is so. Pure. */
export function recoveryOpen({ registered, indexed }: KnownCluster): Signal | undefined {
  const findings = indexed?.findings.filter(({ ofRecovery }) => ofRecovery) ?? [];
  const [first] = findings;
  if (first === undefined) return undefined;
  return {
    id: 'RecoveriesOpen',
    value: 1,
    story: printable(first.message, MAX_STORY),
    since: first.since,
    command: doctorCommand(registered.id),
  };
}

/**
 * Only a later step reports the end: a cluster that no policy selects any more gets steps until then. One audit may
 * have used the time of a step.
 */
function unseen({ auditEveryMinutes }: KnownCluster, { at }: IndexedRollout, now: number): string {
  const age = now - Date.parse(at);
  return age > 2 * auditEveryMinutes * 60_000 ? `; not checked for ${span(age)}` : '';
}

/** `certmarshal rollout` refuses EKS clusters. */
function look(verb: 'status' | 'plan', known: KnownCluster): string {
  const provider = known.registered.target?.cluster.provider ?? known.indexed?.provider;
  return commandFor(provider === 'eks' ? 'audit' : `rollout ${verb}`, known);
}

function reasonText({ id, object, message }: IndexedRollout['reasons'][number]): string {
  return `${object === undefined ? '' : `${object}: `}${message} (${id})`;
}

function signalOf(
  id: 'RolloutsHeld' | 'RolloutsNeeded',
  { since, soonestEnd }: IndexedRollout,
  story: string,
  command: string,
): Signal {
  return {
    id,
    value: 1,
    story: printable(story, MAX_STORY),
    since,
    due: soonestEnd,
    command,
  };
}
