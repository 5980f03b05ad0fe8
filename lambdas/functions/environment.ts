import { readFileSync } from 'node:fs';

/**
 * The content of a JSON file that was deployed beside the bundle. Synthesis validated it before it wrote it; nothing is checked again here.
 *
 * @param bundleUrl `import.meta.url` of the bundle
 */
export function readBesideBundle<T>(bundleUrl: string, fileName: string): T {
  return JSON.parse(readFileSync(new URL(fileName, bundleUrl), 'utf8'));
}

/** @throws Error that names the variable when the function was deployed without it */
export function requiredVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new Error(`The environment variable ${name} is not set: deploy the stack again.`);
  return value;
}
