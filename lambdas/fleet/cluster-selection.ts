import { matchesGlob } from '../approval/selection.ts';
import type { ClusterSelection } from '../config/fleet.ts';

export interface Selection {
  readonly include: ClusterSelection;
  readonly exclude: ClusterSelection;
}

/**
 * Whether a cluster with this name can be selected, whatever its tags. Checked before describing it, which saves a call
 * for each other cluster.
 */
export function nameMayBeWanted({ include, exclude }: Selection, name: string): boolean {
  if (!hasName(include, name)) return false;
  return isEmpty(exclude) || exclude.tags !== undefined || !hasName(exclude, name);
}

/** Whether a cluster is included and not excluded. */
export function isWanted(
  { include, exclude }: Selection,
  name: string,
  tags: Readonly<Record<string, string>>,
): boolean {
  if (!isSelected(include, name, tags)) return false;
  return isEmpty(exclude) || !isSelected(exclude, name, tags);
}

function isSelected(selection: ClusterSelection, name: string, tags: Readonly<Record<string, string>>): boolean {
  const wanted = Object.entries(selection.tags ?? {});
  return hasName(selection, name) && wanted.every(([key, value]) => Object.hasOwn(tags, key) && tags[key] === value);
}

function hasName({ names }: ClusterSelection, name: string): boolean {
  return names === undefined || names.some((glob) => matchesGlob(glob, name));
}

/** An empty selection includes everything and excludes nothing. */
function isEmpty({ names, tags }: ClusterSelection): boolean {
  return names === undefined && tags === undefined;
}
