import { readFileSync } from 'node:fs';
import { Annotations, App, Validations } from 'aws-cdk-lib/core';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { Fleet } from '../lambdas/config/fleet.ts';
import { FleetConfigError, parseFleet } from '../lambdas/config/load-fleet.ts';
import { HubStack } from '../lib/hub-stack.ts';
import { TooManySecretsError } from '../lib/kubeconfig-access.ts';
import { EXIT, UsageError } from './exit-codes.ts';

/** `cdk deploy -c fleet=FILE` */
const DEFAULT_FILE = 'fleet.yaml';

try {
  const app = new App();
  const file = String(app.node.tryGetContext('fleet') ?? DEFAULT_FILE);
  const fleet = readFleet(file);
  const hub = new HubStack(app, 'CertMarshal', { fleet });
  if (fleet.clusters.length === 0)
    Annotations.of(hub).addWarningV2('certmarshal:no-clusters', `${file} lists no clusters: nothing will be swept.`);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  app.synth();
  const policies = fleet.policies.map(({ name, mode }) => `${name} (${mode})`).join(', ');
  process.stderr.write(
    `${file}: ${fleet.clusters.length} clusters; policies: ${policies}. Templates are in ${app.outdir}.\n`,
  );
} catch (error) {
  const ofTheUser =
    error instanceof UsageError || error instanceof FleetConfigError || error instanceof TooManySecretsError;
  if (!ofTheUser) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = EXIT.usage;
}

function readFleet(file: string): Fleet {
  const parsed = parseFleet(readText(file), file);
  if (!parsed.ok) throw new FleetConfigError(parsed.problems);
  return parsed.fleet;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(
      `The fleet cannot be read from ${file}. Write it, or name another file: cdk synth -c fleet=FILE`,
      { cause: error },
    );
  }
}
