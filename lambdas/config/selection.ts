import { z } from 'zod';
import { matchesGlob } from '../approval/selection.ts';
import { clusterGlob, list } from './values.ts';

/** Clusters by name; where `names` is missing, all. */
export const NameSelection = z.strictObject({
  names: list(clusterGlob)
    .exactOptional()
    .meta({ description: 'Any of these names. * stands for any characters.', examples: [['*-prod']] }),
});

/** An empty selection selects every cluster; an empty `exclude` excludes none. */
export function noneByDefault<S extends z.output<typeof NameSelection>>(said: S): S {
  return Object.keys(said).length === 0 ? { ...said, names: [] } : said;
}

export const LEFT_OUT = 'is excluded by the names of include or exclude, so it is never swept; change these';

interface Selecting {
  at: (key: 'include' | 'exclude') => {
    pick: (key: 'names') => { readonly names?: readonly string[] | undefined } | undefined;
  };
}

/** Whether the names of `include` and `exclude` reject a name; false while one of these is invalid. */
export function leftOutOf(selecting: Selecting): (name: string) => boolean {
  const include = selecting.at('include').pick('names');
  const exclude = selecting.at('exclude').pick('names');
  if (include === undefined || exclude === undefined) return () => false;
  return (name) => !isNamed(name, include.names ?? ['*']) || isNamed(name, exclude.names ?? []);
}

function isNamed(name: string, globs: readonly string[]): boolean {
  return globs.some((glob) => matchesGlob(glob, name));
}
