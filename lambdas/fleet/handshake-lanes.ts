import type { Fleet } from '../config/fleet.ts';

/**
 * Names of the lanes that reach machines: those in a VPC, unless switched off. Machines are unreachable from outside a
 * VPC.
 */
export function handshakeLanes({ lanes }: Pick<Fleet, 'lanes'>): readonly string[] {
  return lanes.filter(({ handshakes }) => handshakes !== false).map(({ name }) => name);
}
