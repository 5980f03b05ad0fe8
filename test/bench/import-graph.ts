import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseAst } from 'vitest/node';
import { childrenOf } from './mutations.ts';

export interface ImportGraph {
  /** Unit tests of functions that import a file, themselves or by way of others: that of its name first, then the nearest, of its room before others. */
  readonly testsOf: (file: string) => readonly string[];
  /** Changes when any of these files changes, or one that they import. */
  readonly hashOf: (files: readonly string[]) => string;
}

/** In a folder, but for those of programs and of stacks. */
const UNIT_TEST = /^test\/unit\/(?!bin|lib)[^/]+\/.*\.test\.ts$/;

/** Which source of the work tree imports which; files are named from its root. */
export function readImportGraph(root: string): ImportGraph {
  const files = globSync('{lambdas,lib,bin,test}/**/*.ts', { cwd: root });
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const imports = new Map([...texts].map(([file, text]) => [file, importsOf(root, file, text)]));
  const importers = new Map<string, string[]>();
  for (const [file, targets] of imports)
    for (const target of targets) importers.set(target, [...(importers.get(target) ?? []), file]);
  const hashes = new Map<string, string>();
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  return {
    testsOf: (file) => {
      const room = dirname(file).replace('lambdas', 'test/unit');
      const own = `${basename(file, '.ts')}.test.ts`;
      const rank = ([test, distance]: [string, number]) =>
        (basename(test) === own ? 0 : distance) + (test.startsWith(`${room}/`) ? 0 : 2);
      return [...reachable([file], importers)]
        .filter(([test]) => UNIT_TEST.test(test))
        .toSorted((a, b) => rank(a) - rank(b) || (a[0] < b[0] ? -1 : 1))
        .map(([test]) => test);
    },
    hashOf: (roots) => {
      const known = hashes.get(roots.join());
      if (known !== undefined) return known;
      const hash = createHash('sha256').update(lock);
      for (const file of [...reachable(roots, imports).keys()].toSorted())
        hash.update(`${file}\0${texts.get(file) ?? ''}\0`);
      const digest = hash.digest('hex').slice(0, 16);
      hashes.set(roots.join(), digest);
      return digest;
    },
  };
}

function reachable(from: readonly string[], edges: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const distances = new Map(from.map((file) => [file, 0]));
  for (const [file, distance] of distances)
    for (const next of edges.get(file) ?? []) if (!distances.has(next)) distances.set(next, distance + 1);
  return distances;
}

function importsOf(root: string, file: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ReturnType<typeof childrenOf>[number]) => {
    const source = node['source'] as { readonly value?: unknown } | null | undefined;
    const isType = node['importKind'] === 'type' || node['exportKind'] === 'type';
    if (typeof source?.value === 'string' && source.value.startsWith('.') && !isType) found.push(source.value);
    childrenOf(node).forEach(visit);
  };
  childrenOf(parseAst(text, { lang: 'ts' })).forEach(visit);
  return found.map((name) => join(dirname(file), name)).filter((name) => existsSync(join(root, name)));
}
