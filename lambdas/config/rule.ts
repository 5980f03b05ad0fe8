import { z } from 'zod';
import { printable } from '../printable.ts';
import type { Path } from './yaml-values.ts';

/** A broken rule about more than one value. */
export interface RuleProblem {
  readonly path: Path;
  readonly message: string;
}

/** The entries of every section as they are written, valid or not; a section that is no list has none. */
export interface Sections {
  readonly discovery: readonly unknown[];
  readonly managementClusters: readonly unknown[];
  readonly clusters: readonly unknown[];
  readonly lanes: readonly unknown[];
  readonly policies: readonly unknown[];
  /** Of `audit`. */
  readonly thresholds: readonly unknown[];
  /** Of `monitoring`. */
  readonly maintenance: readonly unknown[];
  /** The whole section; an empty one where there is none. */
  readonly monitoring: unknown;
  /** `rollouts.clusters`. */
  readonly rollouts: readonly unknown[];
  readonly recovery: readonly unknown[];
}

/** The entries of a section with the fields that a rule needs. A rule reads no others, so that a mistake elsewhere in an entry hides nothing. */
export function readable<T>(entries: readonly unknown[], schema: z.ZodType<T>): readonly { index: number; data: T }[] {
  return entries.flatMap((entry, index) => {
    const read = schema.safeParse(entry);
    return read.success ? [{ index, data: read.data }] : [];
  });
}

export function repeatedNames(
  section: keyof Omit<Sections, 'monitoring'>,
  entries: readonly unknown[],
  schema: z.ZodType<{ readonly name: string }>,
): readonly RuleProblem[] {
  const first = new Map<string, number>();
  return readable(entries, schema).flatMap(({ index, data: { name } }) => {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    const message = `"${name}" is the name of ${section}[${earlier}] too; give each its own name`;
    return [{ path: [section, index, 'name'], message }];
  });
}

/** What a list below `key` of an entry has twice, at its second place. */
export function repeatedEntries(
  section: keyof Omit<Sections, 'monitoring'>,
  entries: readonly unknown[],
  key: string,
): readonly RuleProblem[] {
  return readable(entries, z.object({ [key]: z.array(z.unknown()) })).flatMap(({ index, data }) => {
    const seen = new Set<unknown>();
    return (data[key] ?? []).flatMap((entry, at) => {
      if (typeof entry !== 'string' || !seen.has(entry)) {
        seen.add(entry);
        return [];
      }
      const message = `"${printable(entry, 100)}" is there twice; keep one of the two`;
      return [{ path: [section, index, key, at], message }];
    });
  });
}

/** The first three of many. */
export function few(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}
