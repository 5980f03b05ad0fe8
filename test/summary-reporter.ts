import type { Reporter, TestModule, Vitest } from 'vitest/node';
import type { Skipped } from './control-plane/real.ts';

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Closes a run: why tests were skipped, a table of projects, and one line that people and machines read, `N passed, N failed, N skipped`. */
export default class SummaryReporter implements Reporter {
  #projects: readonly string[] = [];

  onInit(vitest: Pick<Vitest, 'projects'>): void {
    this.#projects = vitest.projects.map(({ name }) => name);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const { passed, failed, skipped } = sum(modules);
    const last = `${passed} passed, ${failed + unhandledErrors.length} failed, ${skipped} skipped`;
    process.stdout.write(`\n${[...skippedOf(modules), ...this.#tableOf(modules), last].join('\n')}\n`);
  }

  #tableOf(modules: readonly TestModule[]): string[] {
    const rows = this.#projects.flatMap((name) => {
      const own = modules.filter(({ project }) => project.name === name);
      const { passed, failed, skipped } = sum(own);
      const seconds = own.reduce((total, module) => total + module.diagnostic().duration, 0) / 1000;
      return own.length > 0 ? [[name, own.length, passed, failed, skipped, seconds.toFixed(1)]] : [];
    });
    const table = [['project', 'files', 'passed', 'failed', 'skipped', 'seconds'], ...rows].map((row) =>
      row.map(String),
    );
    const width = (column: number): number => Math.max(...table.map((row) => row[column]?.length ?? 0));
    const line = ([name = '', ...figures]: readonly string[]): string =>
      [name.padEnd(width(0)), ...figures.map((figure, index) => figure.padStart(width(index + 1)))].join('  ');
    return rows.length > 0 ? [...table.map(line), ''] : [];
  }
}

/** Each reason once, with the files that it concerns. */
function skippedOf(modules: readonly TestModule[]): string[] {
  const files = new Map<string, string[]>();
  for (const module of modules) {
    const { skipped } = count(module);
    if (skipped === 0) continue;
    const known: readonly Skipped[] = module.meta().skipped ?? [
      { suite: '', reason: 'a condition in the file, a filter, or a hook that failed' },
    ];
    for (const [reason, suites] of Map.groupBy(known, (each) => each.reason)) {
      const names = suites.map(({ suite }) => suite).filter(Boolean);
      const line = [`  ${module.relativeModuleId} (${skipped})`, ...(names.length > 0 ? [names.join(', ')] : [])].join(
        ': ',
      );
      files.set(reason, [...(files.get(reason) ?? []), line]);
    }
  }
  return [...files].flatMap(([reason, lines]) => [`SKIPPED: ${reason}`, ...lines.toSorted(), '']);
}

function count(module: TestModule): Counts {
  const tests = [...module.children.allTests()];
  const inState = (state: string): number => tests.filter((test) => test.result().state === state).length;
  // A file that could not be loaded, or whose hook failed, may have no test that failed.
  const failed = inState('failed') || Number(module.state() === 'failed');
  return { passed: inState('passed'), failed, skipped: inState('skipped') };
}

function sum(modules: readonly TestModule[]): Counts {
  const counts = modules.map(count);
  const total = (key: keyof Counts): number => counts.reduce((all, each) => all + each[key], 0);
  return { passed: total('passed'), failed: total('failed'), skipped: total('skipped') };
}
