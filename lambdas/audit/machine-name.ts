import type { MemberObservation } from '../contracts/observation.ts';
import { printable } from '../printable.ts';
import { text } from '../resources/fields.ts';

const LONGEST_NAME = 253;

/** `eksa-system/berlin-x7k2` of any object in a namespace; undefined when it has no name. */
export function namespacedName(object: unknown): string | undefined {
  const name = text(object, 'metadata', 'name');
  const namespace = text(object, 'metadata', 'namespace');
  if (name === undefined || name === '' || namespace === undefined) return undefined;
  return `${printable(namespace, LONGEST_NAME)}/${printable(name, LONGEST_NAME)}`;
}

/** How observations of its certificates call a member: by its Node, else by its name without kind and namespace. */
export function memberName({ node, name }: Pick<MemberObservation, 'node' | 'name'>): string {
  return node ?? name.slice(Math.max(name.lastIndexOf(' '), name.lastIndexOf('/')) + 1);
}

/** Members that are Machines, by `eksa-system/berlin-x7k2`. */
export function machineMembers(members: readonly MemberObservation[]): ReadonlyMap<string, MemberObservation> {
  return new Map(
    members.flatMap((member) => (member.name.startsWith('Machine ') ? [[member.name.slice(8), member] as const] : [])),
  );
}
