import type { Command } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { loadFleet } from '../../fleet.ts';
import type { ProgramContext } from '../../register/context.ts';
import type { ReportSource } from './report.ts';

/** `certmarshal report`. */
export function registerReport(program: Command, context: ProgramContext): void {
  const name = `${context.program} report`;
  program
    .command('report')
    .description('Makes the report page of the fleet: one HTML file that needs nothing else.')
    .option('--bucket <name>', 'state bucket of a hub, read with the AWS credentials and Region of the environment')
    .option('--state <directory>', 'directory with registry.json and fleet-index.json, copies of its objects')
    .option('--snapshots <directory>', 'directory that certmarshal audit --snapshots wrote; no hub is needed')
    .option('--policy <file>', 'fleet.yaml, whose monitoring counts; default: the built-in one')
    .option(
      '--output <file>',
      'file of the page, named .html; - for standard output; json for the data of the page',
      'report.html',
    )
    .addHelpText(
      'after',
      `
Exactly one of --bucket, --state and --snapshots. Nothing is written but the page. docs/report.md describes it.

Examples:
  ${name} --bucket certmarshal-state --policy fleet.yaml
  ${name} --snapshots snapshots --output berlin.html
  ${name} --state state --output - > report.html
  ${name} --state state --output json | jq .counts
${context.exitHelp}`,
    )
    .action(async ({ policy, ...options }: ReportSource & { readonly policy?: string; readonly output: string }) => {
      const { monitoring } = await loadFleet(policy);
      const { reportCommand } = await import('./report.ts');
      const signal = context.interruption('nothing is written');
      context.setStatus(await reportCommand({ ...options, version: packageJson.version }, monitoring, signal));
    });
}
