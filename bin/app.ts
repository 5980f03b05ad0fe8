import { readFileSync } from 'node:fs';
import { Annotations, App, Validations } from 'aws-cdk-lib/core';
import { AwsSolutionsChecks } from 'cdk-nag';
import { modeWords } from '../lambdas/approval/policy.ts';
import { FleetConfigError, type ParsedFleet, parseFleet } from '../lambdas/config/load-fleet.ts';
import { formatProblems } from '../lambdas/config/problems.ts';
import { fleetStacks } from '../lib/app-stacks.ts';
import { deployProblems, deployWarnings, namedClusters } from '../lib/deploy-checks.ts';
import { EXIT, UsageError } from './exit-codes.ts';

const DEFAULT_FILE = 'fleet.yaml';

try {
  const app = new App();
  const file = String(app.node.tryGetContext('fleet') ?? DEFAULT_FILE);
  const { fleet, located } = readFleet(file);
  const { hub, spokes } = fleetStacks(app, fleet);
  for (const warning of located(deployWarnings(fleet, Date.now())))
    Annotations.of(hub).addWarningV2('certmarshal:fleet', formatProblems([warning]));
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  app.synth();
  const accounts = new Set(fleet.discovery.flatMap((entry) => entry.accounts)).size;
  const regions = new Set(fleet.discovery.flatMap((entry) => entry.regions)).size;
  const policies = fleet.policies.map((policy) => `${policy.name} (${modeWords(policy)})`).join(', ');
  process.stderr.write(
    `${file}: ${count(namedClusters(fleet).length, 'cluster')} named; EKS discovery in ${count(accounts, 'account')}, ${count(regions, 'Region')}; ${count(fleet.lanes.length + 1, 'lane')}; ` +
      `${count(spokes.length, 'spoke')}; policies: ${policies}. Templates are in ${app.outdir}.\n`,
  );
} catch (error) {
  if (!(error instanceof UsageError || error instanceof FleetConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = EXIT.usage;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function readFleet(file: string): Extract<ParsedFleet, { ok: true }> {
  const parsed = parseFleet(readText(file), file);
  const problems = parsed.ok ? parsed.located(deployProblems(parsed.fleet, Date.now())) : parsed.problems;
  if (!parsed.ok || problems.length > 0) throw new FleetConfigError(problems);
  return parsed;
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
