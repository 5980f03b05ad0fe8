import { afterEach, describe, expect, it, vi } from 'vitest';
import type { TestModule } from 'vitest/node';
import type { Skipped } from '../control-plane/real.ts';
import SummaryReporter from '../summary-reporter.ts';

interface Fake {
  readonly project: string;
  readonly file: string;
  readonly tests: readonly string[];
  readonly skipped?: readonly Skipped[];
  readonly state?: string;
}

function moduleOf({ project, file, tests, skipped, state = 'passed' }: Fake): TestModule {
  const fake = {
    project: { name: project },
    relativeModuleId: file,
    children: { allTests: () => tests.map((result) => ({ result: () => ({ state: result }) })) },
    meta: () => ({ skipped }),
    state: () => state,
    diagnostic: () => ({ duration: 1250 }),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the reporter reads of it
  return fake as unknown as TestModule;
}

describe('the summary of a run', () => {
  afterEach(() => void vi.restoreAllMocks());

  function summaryOf(fakes: readonly Fake[], unhandled: readonly unknown[] = []): string {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const reporter = new SummaryReporter();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the reporter reads of it
    reporter.onInit({ projects: [{ name: 'rollout' }, { name: 'browser' }, { name: 'unit' }] } as never);
    reporter.onTestRunEnd(fakes.map(moduleOf), unhandled);
    return write.mock.calls.map(([text]) => text).join('');
  }

  it('ends with each reason once and what it skipped, the projects in their order, and the counts', () => {
    const reason = 'there is no "go" on the PATH; install Go 1.26 or newer';
    const skipped = (suite: string) => ({ suite, reason });
    const summary = summaryOf([
      { project: 'unit', file: 'unit.test.ts', tests: [...Array.from({ length: 12 }, () => 'passed'), 'skipped'] },
      { project: 'rollout', file: 'b.test.ts', tests: ['skipped'], skipped: [skipped('one'), skipped('two')] },
      { project: 'rollout', file: 'a.test.ts', tests: ['skipped', 'skipped'], skipped: [skipped('three')] },
    ]);
    expect(summary).toBe(`
SKIPPED: a condition in the file, a filter, or a hook that failed
  unit.test.ts (1)

SKIPPED: there is no "go" on the PATH; install Go 1.26 or newer
  a.test.ts (2): three
  b.test.ts (1): one, two

project  files  passed  failed  skipped  seconds
rollout      2       0       0        3      2.5
unit         1      12       0        1      1.3

12 passed, 0 failed, 4 skipped
`);
  });

  it('counts a file that does not load, a hook that fails, and an error outside of tests', () => {
    const summary = summaryOf(
      [
        { project: 'unit', file: 'load.test.ts', tests: [], state: 'failed' },
        { project: 'unit', file: 'hook.test.ts', tests: ['passed', 'skipped'], state: 'failed' },
        { project: 'unit', file: 'test.test.ts', tests: ['failed', 'failed'], state: 'failed' },
      ],
      [new Error('outside')],
    );
    expect(summary).toContain('unit         3       1       4        1      3.8\n');
    expect(summary).toMatch(/\n1 passed, 5 failed, 1 skipped\n$/);
  });

  it('has no table without files', () => {
    expect(summaryOf([])).toBe('\n0 passed, 0 failed, 0 skipped\n');
  });
});
