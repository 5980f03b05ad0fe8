import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LeftOut, type Template, transform } from './transform.ts';

export interface AssembledStack {
  readonly name: string;
  /** Twelve digits; undefined when the credentials of the deployment decide. */
  readonly account: string | undefined;
}

interface Manifest {
  readonly artifacts: Readonly<Record<string, { readonly type: string; readonly environment?: string }>>;
}

/** The stacks of a cloud assembly, in the order of the alphabet: the hub comes before the spokes, which name its roles. */
export async function stacksOf(assembly: string): Promise<readonly AssembledStack[]> {
  const { artifacts }: Manifest = JSON.parse(await readFile(join(assembly, 'manifest.json'), 'utf8'));
  return Object.entries(artifacts)
    .filter(([, { type }]) => type === 'aws:cloudformation:stack')
    .map(([name, { environment }]) => ({ name, account: /^aws:\/\/(\d{12})\//.exec(environment ?? '')?.[1] }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Path of the template of one stack of a cloud assembly. */
export function templateFile(assembly: string, stack: string): string {
  return join(assembly, `${stack}.template.json`);
}

/** The template of one stack of a cloud assembly. */
export async function templateOf(assembly: string, stack: string): Promise<Template> {
  return JSON.parse(await readFile(templateFile(assembly, stack), 'utf8'));
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
  for (const { name: stack } of await stacksOf(from)) {
    const { template, leftOut } = transform(await templateOf(from, stack), supported);
    await writeFile(templateFile(to, stack), JSON.stringify(template, undefined, 1));
    leftOutOf.set(stack, leftOut);
  }
  return leftOutOf;
}
