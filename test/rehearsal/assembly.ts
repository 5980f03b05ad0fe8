import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LeftOut, type Template, transform } from './transform.ts';

const TEMPLATE = '.template.json';

/** Names of the stacks of a cloud assembly, in the order of the alphabet. */
export async function stacksOf(assembly: string): Promise<readonly string[]> {
  const files = await readdir(assembly);
  return files
    .filter((file) => file.endsWith(TEMPLATE))
    .map((file) => file.slice(0, -TEMPLATE.length))
    .toSorted();
}

/** The template of one stack of a cloud assembly. */
export async function templateOf(assembly: string, stack: string): Promise<Template> {
  return JSON.parse(await readFile(join(assembly, `${stack}${TEMPLATE}`), 'utf8'));
}

/**
 * Copies a cloud assembly and transforms each of its templates. Everything else, the bundles above all, is what `cdk synth` made.
 *
 * @returns what was left out, by stack.
 */
export async function transformAssembly(
  from: string,
  to: string,
  supported: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly LeftOut[]>> {
  await cp(from, to, { recursive: true });
  const leftOutOf = new Map<string, readonly LeftOut[]>();
  for (const stack of await stacksOf(from)) {
    const { template, leftOut } = transform(await templateOf(from, stack), supported);
    await writeFile(join(to, `${stack}${TEMPLATE}`), JSON.stringify(template, undefined, 1));
    leftOutOf.set(stack, leftOut);
  }
  return leftOutOf;
}
