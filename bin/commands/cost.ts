import { DEFAULT_AUDIT } from '../../lambdas/config/fleet.ts';
import { type Bill, type BillLine, bill } from '../../lambdas/cost/bill.ts';
import { PRICE_LIST } from '../../lambdas/cost/prices.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { ALARMS } from '../../lambdas/tables/alarms.ts';
import { SIGNALS } from '../../lambdas/tables/signals.ts';
import { METRIC, SOMETIMES } from '../../lambdas/telemetry/metric-names.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type Style, styleFor } from '../terminal/style.ts';
import { table } from '../terminal/table.ts';
import { terminalWidth, wrap } from '../terminal/wrap.ts';

/** More than any account has room for. */
const MOST_CLUSTERS = 1_000_000;

/** Columns, below which a quantity stands behind what it is of. */
const NARROW = 80;

const NOT_IN_IT =
  'Not in it: data transfer and the NAT gateways of lanes in a VPC, audit logs of EKS and hints made of them, a KMS key and secrets of your own, e-mail and SMS, taxes.';

export interface CostOptions {
  readonly clusters?: string;
  readonly unwell: string;
  readonly output: 'table' | 'json';
}

/**
 * Prints what a month costs.
 *
 * @returns the exit status
 * @throws UsageError
 */
export function costCommand(options: CostOptions): number {
  const made = billOf(clustersOf(options.clusters), shareOf(options.unwell));
  const text =
    options.output === 'json'
      ? JSON.stringify(jsonOf(made))
      : renderBill(made, styleFor(process.stdout, process.env), terminalWidth(process.stdout));
  process.stdout.write(`${text}\n`);
  return EXIT.done;
}

/** Of a fleet that says nothing about it. */
export function billOf(clusters: number, unwell: number): Bill {
  return bill(
    { clusters, unwell },
    {
      sizes: HUB_SIZES,
      alarms: ALARMS,
      fleetMetrics:
        Object.values(METRIC).filter((name) => !SOMETIMES.has(name)).length +
        Object.values(SIGNALS).filter((signal) => !('sometimes' in signal)).length,
      auditEveryMinutes: DEFAULT_AUDIT.everyMinutes,
    },
  );
}

function clustersOf(text: string | undefined): number {
  if (text === undefined) throw new UsageError('Say how many clusters it watches, for example --clusters 40.');
  const clusters = Number(text);
  if (!/^\d{1,7}$/.test(text) || clusters < 1 || clusters > MOST_CLUSTERS)
    throw new UsageError(
      `--clusters takes a whole number from 1 to ${count(MOST_CLUSTERS)}, not ${JSON.stringify(text)}.`,
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

function jsonOf({ clusters, unwell, perClusterMonthUsd, totalUsd, lines }: Bill): object {
  return {
    version: 1,
    clusters,
    unwell,
    perClusterMonthUsd,
    totalUsd,
    region: PRICE_LIST.region,
    pricesAsOf: PRICE_LIST.asOf,
    lines,
  };
}

/** The bill for people. */
export function renderBill(made: Bill, style: Style, width: number | undefined): string {
  const { clusters, unwell, perClusterMonthUsd, totalUsd, lines } = made;
  const services = [...Map.groupBy(lines, ({ service }) => service)];
  const notes = [
    `List prices of ${PRICE_LIST.region}, ${PRICE_LIST.asOf}, without free tiers. A month has 730 hours. Lines under a cent are in the sums only.`,
    NOT_IN_IT,
    'How each quantity is found, what was measured and what is assumed: docs/cost.md.',
  ];
  const isNarrow = width !== undefined && width < NARROW;
  const wrapped = (text: string) => (width === undefined ? [text] : wrap(text, width));
  return [
    ...wrapped(
      `${count(clusters)} ${clusters === 1 ? 'cluster' : 'clusters'}: $${dollars(totalUsd)} a month, $${small(perClusterMonthUsd)} a cluster`,
    ).map(style.strong),
    ...wrapped(
      `${percent(unwell)} of them not well all month, every cluster swept each minute and audited every ${DEFAULT_AUDIT.everyMinutes} minutes`,
    ),
    '',
    ...table(
      services.flatMap(([service, ofService]) => rowsOf(service, ofService, style, isNarrow)),
      { width },
    ),
    '',
    ...notes.flatMap(wrapped),
  ].join('\n');
}

function rowsOf(service: string, lines: readonly BillLine[], style: Style, isNarrow: boolean): string[][] {
  const sum = lines.reduce((total, { usd }) => total + usd, 0);
  const shown = lines.filter(({ usd }) => usd >= 0.005);
  if (isNarrow)
    return [
      [style.strong(amount(sum)), style.strong(service)],
      ...shown.map(({ what, quantity, unit, usd }) => [amount(usd), `· ${what}, ${quantified(quantity, unit)}`]),
    ];
  return [
    [style.strong(amount(sum)), style.strong(service), ''],
    ...shown.map(({ what, quantity, unit, usd }) => [amount(usd), `  ${what}`, quantified(quantity, unit)]),
  ];
}

/** Wide enough for the dearest line of the largest fleet. */
function amount(usd: number): string {
  return usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 }).padStart(10);
}

function dollars(usd: number): string {
  return usd.toLocaleString('en', { maximumFractionDigits: usd < 10 ? 2 : 0 });
}

function small(usd: number): string {
  return usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: usd < 1 ? 3 : 2 });
}

function count(quantity: number): string {
  // What costs something is not 0.
  if (quantity < 1) return quantity.toLocaleString('en', { maximumSignificantDigits: 1 });
  return quantity.toLocaleString('en', { maximumFractionDigits: quantity < 100 ? 1 : 0 });
}

/** Its units are plurals, or abbreviations that have none: `metrics analysed`, `GB-months`, `GB-s`. */
function quantified(quantity: number, unit: string): string {
  return `${count(quantity)} ${quantity === 1 ? unit.replace(/(?<=[a-z])s\b/, '') : unit}`;
}

function percent(share: number): string {
  return `${(share * 100).toLocaleString('en', { maximumFractionDigits: 2 })} %`;
}
