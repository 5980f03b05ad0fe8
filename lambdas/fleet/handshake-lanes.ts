import type { Fleet } from '../config/fleet.ts';

/** Names of the lanes from which machines are reached: those in a VPC that do not say no. Nothing outside of a VPC reaches machines. */
export function handshakeLanes({ lanes }: Pick<Fleet, 'lanes'>): readonly string[] {
  return lanes.filter(({ handshakes }) => handshakes !== false).map(({ name }) => name);
}
