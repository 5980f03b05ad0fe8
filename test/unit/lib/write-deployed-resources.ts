import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { App } from 'aws-cdk-lib/core';
import type { parseFleet } from '../../../lambdas/config/load-fleet.ts';
import type { fleetStacks } from '../../../lib/app-stacks.ts';
import { CDK_CONTEXT } from './cdk-context.ts';
import { EVERYTHING_DEPLOYED, lastingResources } from './lasting-resources.ts';

// git worktree add ../deployed COMMIT && ln -s $PWD/node_modules ../deployed/node_modules
// node test/unit/lib/write-deployed-resources.ts ../deployed
// Writes what that version deploys, by its own code: what each later version must keep.

const checkout = resolve(process.argv[2] ?? '.');
const config: { parseFleet: typeof parseFleet } = await import(join(checkout, 'lambdas/config/load-fleet.ts'));
const stacks: { fleetStacks: typeof fleetStacks } = await import(join(checkout, 'lib/app-stacks.ts'));

function deployed(text: string): Readonly<Record<string, string>> {
  const parsed = config.parseFleet(text, 'fleet.yaml');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const app = new App({ context: { ...CDK_CONTEXT, 'aws:cdk:bundling-stacks': [] } });
  return lastingResources(stacks.fleetStacks(app, parsed.fleet));
}

const resources = {
  'fleet.yaml': deployed(await readFile(join(checkout, 'fleet.yaml'), 'utf8')),
  everything: deployed(EVERYTHING_DEPLOYED),
};
await writeFile(new URL('deployed-resources.json', import.meta.url), `${JSON.stringify(resources, undefined, 2)}\n`);
