import type { MemberObservation } from '../contracts/observation.ts';

/**
 * The name of a member in observations of its certificates: its Node, otherwise its name without kind and namespace.
 */
export function memberName({ node, name }: Pick<MemberObservation, 'node' | 'name'>): string {
  return node ?? name.slice(Math.max(name.lastIndexOf(' '), name.lastIndexOf('/')) + 1);
}

/** Members that are Machines, by `eksa-system/berlin-x7k2`. */
export function machineMembers(members: readonly MemberObservation[]): ReadonlyMap<string, MemberObservation> {
  return new Map(
    members.flatMap((member) => (member.name.startsWith('Machine ') ? [[member.name.slice(8), member] as const] : [])),
  );
}
