import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { describe, expect, it } from 'vitest';
import { CLASS_SIGNALS, SIGNALS, type SignalId } from '../../lambdas/tables/signals.ts';
import { ALWAYS_ON, METRIC } from '../../lambdas/telemetry/metric-names.ts';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8');

/** Name, unit and meaning of each metric under a heading; the page names no unit that is Count. */
function metricsUnder(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [body = ''] = section.split('\n## ');
  return [...body.matchAll(/^\| `(\w+)`(?:, (\w+))? \| (.+) \|$/gm)].map(
    ([, name = '', unit = 'Count', meaning = '']) => [name, unit, meaning],
  );
}

/** Where each metric is published, and in which unit: by `addMetric`, or as an entry of what `count` takes. */
const published = readdirSync(join(ROOT, 'lambdas'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(join(ROOT, 'lambdas', file), 'utf8'))
  .flatMap((text) => [
    ...text.matchAll(/METRIC\.(?<key>\w+),\s*MetricUnit\.(?<unit>\w+)/g),
    ...text.matchAll(/\[METRIC\.(?<key>\w+)\]: /g),
  ])
  .map(({ groups }) => ({ key: groups?.['key'] ?? '', unit: groups?.['unit'] ?? 'Count' }));

describe('docs/metrics.md', () => {
  it('has every metric of a function once, and no other', () => {
    const names = metricsUnder('Functions').map(([name = '']) => name);
    expect(names.toSorted()).toEqual(Object.values(METRIC).toSorted());
  });

  it.each(Object.entries(METRIC))('says the unit of %s that the code publishes', (key, name) => {
    const units = new Set(published.filter((metric) => metric.key === key).map(({ unit }) => unit));
    const [, unit] = metricsUnder('Functions').find(([listed]) => listed === name) ?? [];
    expect([...units].map((one) => MetricUnit[one as keyof typeof MetricUnit])).toEqual([unit]);
  });

  it('has every signal as its table has it', () => {
    const expected = (Object.keys(SIGNALS) as SignalId[]).map((id) => {
      const { unit, meaning } = SIGNALS[id];
      return [id, unit, meaning.replace(/\.$/, '')];
    });
    expect(metricsUnder('Clusters')).toEqual(expected);
    expect(page).toContain(
      `${[...CLASS_SIGNALS].map((id) => `\`${id}\``).join(' and ')} have \`Cluster\` and \`Class\``,
    );
    const maxima = (Object.keys(SIGNALS) as SignalId[]).filter((id) => SIGNALS[id].fleet === 'maximum');
    expect(maxima).toEqual((Object.keys(SIGNALS) as SignalId[]).filter((id) => SIGNALS[id].unit !== 'Count'));
  });

  it('says of exactly the metrics that are always on that their 0 is published', () => {
    const [, always = ''] = /^- Always, also as 0: ([^.]+)\.$/m.exec(page) ?? [];
    expect([...always.matchAll(/`(\w+)`/g)].map(([, name = '']) => name).toSorted()).toEqual([...ALWAYS_ON].toSorted());
  });

  it('names no more of them than a small fleet can pay for', () => {
    expect(ALWAYS_ON.size).toBeLessThanOrEqual(15);
  });

  it('gives no metric the name of a signal: they would be one series', () => {
    const names = new Set<string>(Object.values(METRIC));
    expect(Object.keys(SIGNALS).filter((id) => names.has(id))).toEqual([]);
  });
});
