import { DEFAULT_AUDIT } from '../../lambdas/config/fleet.ts';
import { type Bill, type BillLine, bill } from '../../lambdas/cost/bill.ts';
import { PRICE_LIST } from '../../lambdas/cost/prices.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { ALARMS } from '../../lambdas/tables/alarms.ts';
import { ALWAYS_ON } from '../../lambdas/telemetry/metric-names.ts';
import { EXIT_HELP, type Register, withOutput } from '../command.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type Io, PROCESS, print, printJson } from '../io.ts';
import { hang, type Lines, table } from '../terminal/draw.ts';
import { strong } from '../terminal/paint.ts';

/** More than any account can hold. */
const MAX_CLUSTERS = 1_000_000;

/** On a narrower terminal the quantity is in the column of its description. Columns. */
const NARROW = 80;

const NOT_IN_IT =
  'Not included: data transfer and the NAT gateways of lanes in a VPC, audit logs of EKS and hints made of them, a KMS key and secrets of your own, e-mail and SMS, taxes.';

export interface CostOptions {
  readonly clusters?: string;
  readonly unwell: string;
  readonly webhook?: string;
  readonly output: 'table' | 'json';
}

export const register: Register = (command, { program: name, run }) => {
  // The command itself requires it: commander reports a missing required option before a misspelt one.
  withOutput(
    command
      .option('--clusters <number>', 'number of clusters')
      .option('--unwell <share>', 'share of them that is not healthy all month', '2%')
      .option(
        '--webhook <calls>',
        'with hub.webhook: calls of its URL per second, all month; 0: only those of kubelets, 10000: a flood',
      ),
  )
    .addHelpText(
      'after',
      `
Calls no service: the bill has list prices and the sizes that are deployed. docs/cost.md says how each quantity is found.

Examples:
  ${name} cost --clusters 40
  ${name} cost --clusters 1000 --unwell 5%
  ${name} cost --clusters 1000 --webhook 10000
  ${name} cost --clusters 1000 --output json
${EXIT_HELP}`,
    )
    .action(run((options: CostOptions) => costCommand(options, PROCESS)));
};

/**
 * Prints what a month costs.
 *
 * @returns the exit status
 * @throws UsageError
 */
export function costCommand({ clusters, unwell, webhook, output }: CostOptions, io: Io): number {
  const made = billOf(clustersOf(clusters), shareOf(unwell), webhook === undefined ? undefined : callsOf(webhook));
  if (output === 'json') printJson(io, jsonOf(made));
  else print(io, billLines(made));
  return EXIT.done;
}

/** The bill of a fleet with default settings. */
export function billOf(clusters: number, unwell: number, webhook?: number): Bill {
  return bill(
    { clusters, unwell, webhook },
    {
      sizes: HUB_SIZES,
      alarms: ALARMS,
      fleetMetrics: ALWAYS_ON.size,
      auditEveryMinutes: DEFAULT_AUDIT.everyMinutes,
    },
  );
}

function clustersOf(text: string | undefined): number {
  if (text === undefined) throw new UsageError('Say how many clusters it watches, for example --clusters 40.');
  const clusters = Number(text);
  if (!/^\d{1,7}$/.test(text) || clusters < 1 || clusters > MAX_CLUSTERS)
    throw new UsageError(
      `--clusters takes a whole number from 1 to ${count(MAX_CLUSTERS)}, not ${JSON.stringify(text)}.`,
    );
  return clusters;
}

function shareOf(text: string): number {
  const [, digits] = /^(\d{1,3}(?:\.\d{1,6})?) ?%$/.exec(text) ?? [];
  const share = Number(digits) / 100;
  if (digits === undefined || share > 1)
    throw new UsageError(`--unwell takes a share from 0% to 100%, like 2% or 0.5%, not ${JSON.stringify(text)}.`);
  return share;
}

function callsOf(text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new UsageError(`--webhook takes a whole number of calls a second, not ${JSON.stringify(text)}.`);
  return Number(text);
}

function jsonOf({ clusters, unwell, webhook, perClusterMonthUsd, totalUsd, lines }: Bill): object {
  return {
    version: 1,
    clusters,
    unwell,
    webhook,
    perClusterMonthUsd,
    totalUsd,
    region: PRICE_LIST.region,
    pricesAsOf: PRICE_LIST.asOf,
    lines,
  };
}

/** The bill for people. */
export function billLines({ clusters, unwell, perClusterMonthUsd, totalUsd, lines }: Bill): Lines {
  const services = [...Map.groupBy(lines, ({ service }) => service)];
  const notes = [
    `List prices of ${PRICE_LIST.region}, ${PRICE_LIST.asOf}, without free tiers. A month has 730 hours. Lines under a cent are in the sums only.`,
    NOT_IN_IT,
    'How each quantity is found, what was measured and what is assumed: docs/cost.md.',
  ];
  return [
    hang(
      '',
      `${count(clusters)} ${clusters === 1 ? 'cluster' : 'clusters'}: $${dollars(totalUsd)} a month, $${small(perClusterMonthUsd)} a cluster`,
      strong,
    ),
    hang(
      '',
      `${percent(unwell)} of them not healthy all month, every cluster swept each minute and audited every ${DEFAULT_AUDIT.everyMinutes} minutes`,
    ),
    '',
    (width) => {
      const isNarrow = width !== undefined && width < NARROW;
      return table(services.flatMap(([service, ofService]) => rowsOf(service, ofService, isNarrow)));
    },
    '',
    notes.map((note) => hang('', note)),
  ];
}

function rowsOf(service: string, lines: readonly BillLine[], isNarrow: boolean): string[][] {
  const sum = lines.reduce((total, { usd }) => total + usd, 0);
  const shown = lines.filter(({ usd }) => usd >= 0.005);
  if (shown.length === 0) return [];
  return [
    [strong(amount(sum)), strong(service), ...(isNarrow ? [] : [''])],
    ...shown.map(({ what, quantity, unit, usd }) =>
      isNarrow
        ? [amount(usd), `· ${what}, ${quantified(quantity, unit)}`]
        : [amount(usd), `  ${what}`, quantified(quantity, unit)],
    ),
  ];
}

/** Wide enough for the largest amount of the largest fleet. */
function amount(usd: number): string {
  return usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 }).padStart(10);
}

function dollars(usd: number): string {
  return usd.toLocaleString('en', { maximumFractionDigits: usd < 10 ? 2 : 0 });
}

function small(usd: number): string {
  const digits = usd < 1 ? 3 : 2;
  return usd.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function count(quantity: number): string {
  // A quantity that costs something must not show as 0.
  if (quantity < 1) return quantity.toLocaleString('en', { maximumSignificantDigits: 1 });
  return quantity.toLocaleString('en', { maximumFractionDigits: quantity < 100 ? 1 : 0 });
}

/** Units are plurals or abbreviations without a plural: `metrics analysed`, `GB-months`, `GB-s`. */
function quantified(quantity: number, unit: string): string {
  return `${count(quantity)} ${quantity === 1 ? unit.replace(/(?<=[a-z])s\b/, '') : unit}`;
}

function percent(share: number): string {
  return `${(share * 100).toLocaleString('en', { maximumFractionDigits: 2 })} %`;
}
