import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const FILE = resolve(import.meta.dirname, '../../../cdk.json');

/** What the CDK CLI gives every app of this project: its feature flags. */
export const { context: CDK_CONTEXT }: { readonly context: Readonly<Record<string, unknown>> } = JSON.parse(
  readFileSync(FILE, 'utf8'),
);
