import type { Observation } from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';

/**
 * Whether an audit saw all that it needs, so that it may do without what was known before: every source was read, and every server of the control
 * plane answered. Nodes that are down are no reason: in a large cluster one always is.
 */
export function isWhole({ observations }: Pick<Snapshot, 'observations'>): boolean {
  return !observations.some(isMissed);
}

function isMissed(observation: Observation): boolean {
  if (observation.kind !== 'unread' || observation.usual === true) return false;
  const { where, what } = observation;
  return where === undefined || (what !== undefined && CERTIFICATE_CLASSES[what].layer === 'control plane');
}
