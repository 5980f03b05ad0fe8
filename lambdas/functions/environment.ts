import { readFileSync } from 'node:fs';
import type { HubIdentity } from '../fleet/sources.ts';

/**
 * A JSON file deployed beside the bundle. Synthesis validated its content, so it is not checked again.
 *
 * @param bundleUrl `import.meta.url` of the bundle
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the deployment decides what is in the file
export function readBesideBundle<T>(bundleUrl: string, fileName: string): T {
  const value: T = JSON.parse(readFileSync(new URL(fileName, bundleUrl), 'utf8'));
  return value;
}

/** @throws Error that names the missing variable */
export function requiredVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new Error(`The environment variable ${name} is not set: deploy the stack again.`);
  return value;
}

/** Where this function runs. */
export function hubIdentity(): HubIdentity {
  return {
    account: requiredVariable('HUB_ACCOUNT'),
    region: requiredVariable('AWS_REGION'),
    partition: requiredVariable('HUB_PARTITION'),
  };
}

/** The name of the sweep function of each lane. */
export function laneFunctions(): ReadonlyMap<string, string> {
  const names: Readonly<Record<string, string>> = JSON.parse(requiredVariable('LANE_FUNCTIONS'));
  return new Map(Object.entries(names));
}

/** Names of the lanes. */
export function lanes(): readonly string[] {
  return JSON.parse(requiredVariable('LANES'));
}
