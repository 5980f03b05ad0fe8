import type { Observation } from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';

/**
 * Whether an audit is complete without the previous snapshot: every source was read, and every control plane server
 * answered. Nodes that are down do not matter: a large cluster always has one.
 */
export function isWhole({ observations }: Pick<Snapshot, 'observations'>): boolean {
  return !observations.some(isMissed);
}

function isMissed(observation: Observation): boolean {
  if (observation.kind !== 'unread' || observation.usual === true) return false;
  const { where, what } = observation;
  return where === undefined || (what !== undefined && CERTIFICATE_CLASSES[what].layer === 'control plane');
}
