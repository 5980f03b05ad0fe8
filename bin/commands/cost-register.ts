import { type Command, Option } from 'commander';
import type { ProgramContext } from '../register/context.ts';
import type { CostOptions } from './cost.ts';

export function registerCost(program: Command, { program: name, exitHelp, setStatus }: ProgramContext): void {
  // Required by the command itself: a required option would be missed before a misspelt one is seen.
  program
    .command('cost')
    .description('Prints what a month of certmarshal costs in AWS, by line, for a number of clusters.')
    .option('--clusters <number>', 'how many clusters it watches')
    .option('--unwell <share>', 'how many of them are not well, all month long', '2%')
    .addOption(
      new Option('--output <format>', 'table for people, json for programs')
        .choices(['table', 'json'])
        .default('table'),
    )
    .addHelpText(
      'after',
      `
Asks nobody: list prices, and the sizes that are deployed. docs/cost.md says how each quantity is found.

Examples:
  ${name} cost --clusters 40
  ${name} cost --clusters 1000 --unwell 5%
  ${name} cost --clusters 1000 --output json
${exitHelp}`,
    )
    .action(async (options: CostOptions) => {
      const { costCommand } = await import('./cost.ts');
      setStatus(costCommand(options));
    });
}
