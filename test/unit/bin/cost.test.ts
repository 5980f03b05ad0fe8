import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { billLines, billOf, costCommand } from '../../../bin/commands/cost.ts';
import { UsageError } from '../../../bin/exit-codes.ts';
import { draw } from '../../../bin/terminal/draw.ts';
import { PRICE_LIST } from '../../../lambdas/cost/prices.ts';
import { recordedIo } from './io.ts';
import { runCli } from './run-cli.ts';

describe('certmarshal cost', () => {
  it('tells the whole story in the first line, then every line of the bill, then what is not in it', async () => {
    const { status, stdout, stderr } = await runCli(['cost', '--clusters', '1000']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [first = '', second = ''] = stdout.split('\n');
    const { totalUsd, perClusterMonthUsd } = billOf(1_000, 0.02);
    expect(first).toBe(`1,000 clusters: $${totalUsd.toFixed(0)} a month, $${perClusterMonthUsd.toFixed(3)} a cluster`);
    expect(second).toContain('2 % of them not healthy');
    for (const text of ['Lambda', 'SQS', 'S3', 'CloudWatch Logs', 'EventBridge', 'KMS']) expect(stdout).toContain(text);
    for (const text of [PRICE_LIST.region, PRICE_LIST.asOf, 'NAT', 'audit logs', 'docs/cost.md'])
      expect(stdout).toContain(text);
  });

  it('prints the same as JSON', async () => {
    const { status, stdout } = await runCli(['cost', '--clusters', '40', '--unwell', '12.5%', '--output', 'json']);
    expect(status).toBe(0);
    expect(stdout.endsWith('}\n')).toBe(true);
    const { lines, perClusterMonthUsd, totalUsd } = billOf(40, 0.125);
    expect(JSON.parse(stdout)).toEqual({
      version: 1,
      clusters: 40,
      unwell: 0.125,
      perClusterMonthUsd,
      totalUsd,
      region: PRICE_LIST.region,
      pricesAsOf: PRICE_LIST.asOf,
      lines: lines.map((line) => ({ ...line })),
    });
  });

  it('tells what a flood of the URL of hints costs at most, of any size', async () => {
    const sums = await Promise.all(
      [[], ['--webhook', '0'], ['--webhook', '20'], ['--webhook', '10000'], ['--webhook', '999999999']].map(
        async (more): Promise<number> => {
          const { stdout } = await runCli(['cost', '--clusters', '10', '--output', 'json', ...more]);
          return JSON.parse(stdout).totalUsd;
        },
      ),
    );
    const [without = 0, quiet = 0, ...floods] = sums;
    expect(quiet - without).toBeCloseTo(1.25, 1);
    expect(new Set(floods).size).toBe(1);
    expect((floods[0] ?? 0) - quiet).toBeCloseTo(30.87, 1);
    const { stdout } = await runCli(['cost', '--clusters', '10', '--webhook', '10000']);
    expect(stdout).toContain('webhook, under the flood: invocations');
  });

  it.each(['-1', '1e4', 'many', '', '1.5', '1234567890'])('refuses %j calls of the webhook', (webhook) => {
    const command = () => costCommand({ clusters: '10', unwell: '2%', webhook, output: 'json' }, recordedIo());
    expect(command).toThrow('--webhook takes a whole number of calls a second');
  });

  it.each([
    ['0', '2%', '--clusters takes a whole number from 1 to 1,000,000, not "0".'],
    ['-5', '2%', '--clusters takes'],
    ['1e3', '2%', '--clusters takes'],
    ['1.5', '2%', '--clusters takes'],
    ['0x10', '2%', '--clusters takes'],
    ['', '2%', '--clusters takes'],
    ['1000001', '2%', '--clusters takes'],
    ['10', '2', '--unwell takes a share from 0% to 100%, like 2% or 0.5%, not "2".'],
    ['10', '101%', '--unwell takes'],
    ['10', '-1%', '--unwell takes'],
    ['10', '%', '--unwell takes'],
  ])('refuses %j clusters with %j unwell', (clusters, unwell, message) => {
    const command = () => costCommand({ clusters, unwell, output: 'json' }, recordedIo());
    expect(command).toThrow(UsageError);
    expect(command).toThrow(message);
  });

  it.each([
    [['--clusters', 'many'], '--clusters takes a whole number from 1 to 1,000,000, not "many".\n'],
    [[], 'Say how many clusters it watches, for example --clusters 40.\n'],
    [
      ['--cluster', '10'],
      "error: unknown option '--cluster'\n(Did you mean --clusters?)\nAdd --help for options and examples.\n",
    ],
  ])('refuses %j with one message', async (args, message) => {
    expect(await runCli(['cost', ...args])).toEqual({ status: 2, stdout: '', stderr: message });
  });

  it.each([1, 10, 100, 1_000, 10_000, 1_000_000])('lines up the figures of %i clusters', (clusters) => {
    const rows = draw(billLines(billOf(clusters, 0.02)), { width: 100 })
      .split('\n')
      .slice(3);
    const amounts = rows.slice(0, rows.indexOf('')).map((row) => row.search(/\.\d\d  /));
    expect(new Set(amounts).size).toBe(1);
  });

  it('speaks of one cluster, and leaves out lines under a cent', () => {
    const text = draw(billLines(billOf(1, 0)));
    expect(text).toMatch(/^1 cluster: \$\d+ a month/);
    expect(text).not.toContain(' 0.00 ');
    expect(text).toContain('1 dashboard\n');
    expect(text).toContain('1 key\n');
    expect(text).not.toMatch(/ 0 (?:GB|metrics)/);
  });

  it('is no wider than the terminal', () => {
    const lines = draw(billLines(billOf(1_000_000, 0.02)), { width: 45 }).split('\n');
    expect(lines.filter((line) => line.length > 45)).toEqual([]);
  });
});

describe('docs/cost.md', () => {
  const page = readFileSync(new URL('../../../docs/cost.md', import.meta.url), 'utf8');

  it.each([10, 100, 1_000, 10_000])('has the figures of %i clusters', (clusters) => {
    const { totalUsd, perClusterMonthUsd } = billOf(clusters, 0.02);
    expect(page).toContain(
      `| ${clusters.toLocaleString('en')} | $${Math.round(totalUsd).toLocaleString('en')} | $${perClusterMonthUsd.toFixed(3)} |`,
    );
  });

  it('has the sum of a flood', () => {
    const sum = (calls?: number) => billOf(1_000, 0.02, calls).totalUsd;
    const [quiet, flood] = [sum(0) - sum(), sum(10_000) - sum(0)];
    expect(page).toContain(`$${quiet.toFixed(2)} a month`);
    expect(page).toContain(`$${flood.toFixed(2)} a month, $${((flood / 730) * 24).toFixed(2)} a day`);
  });
});
