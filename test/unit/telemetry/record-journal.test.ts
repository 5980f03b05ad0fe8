import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../../lambdas/telemetry/logger.ts';
import { createMetrics } from '../../../lambdas/telemetry/metrics.ts';
import { recordJournal } from '../../../lambdas/telemetry/record-journal.ts';
import { entry } from '../journal/values.ts';
import { captureStdout } from './capture-stdout.ts';
import { emfRecords } from './emf.ts';

describe('recordJournal', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeEach(() => {
    output = captureStdout();
  });
  afterEach(() => output.restore());

  function record(journaled: Parameters<typeof recordJournal>[0]) {
    const metrics = createMetrics('sweep');
    recordJournal(journaled, { logger: createLogger('sweep'), metrics }, 'berlin');
    metrics.publishStoredMetrics();
    const [emf] = emfRecords(output.text());
    const logged = output
      .text()
      .trimEnd()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter((line) => line['message'] !== undefined);
    return { metrics: emf?.metrics, logged };
  }

  it('counts the lines, and that none is missing', () => {
    expect(record({ lines: 3, unwritten: [], leftOut: 0 })).toEqual({
      metrics: { JournalLines: [3], JournalUnwritten: [0] },
      logged: [],
    });
  });

  it('says how many requests were left out', () => {
    expect(record({ lines: 3, unwritten: [], leftOut: 7 }).logged).toMatchObject([{ level: 'WARN', leftOut: 7 }]);
  });

  it('logs each line whole that was not written, two hundred of them', () => {
    const problem = { kind: 'journal', object: 'journal of cluster berlin', message: 'no', remedy: 'Let it.' };
    const unwritten = Array.from({ length: 300 }, (_, index) => entry(index));
    const { metrics, logged } = record({ lines: 0, unwritten, leftOut: 0, problem });
    expect(metrics).toEqual({ JournalLines: [0], JournalUnwritten: [1] });
    expect(logged[0]).toMatchObject({ level: 'ERROR', cluster: 'berlin', lines: 300, problem });
    expect(logged).toHaveLength(201);
    expect(logged[1]?.['line']).toEqual(entry(0));
  });
});
