import type { Reporter, TestModule } from 'vitest/node';

/** Closes a run with what was skipped and one line that people and machines read: `N passed, N failed, N skipped`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const skippedFiles: string[] = [];
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      const skipped = tests.filter((test) => test.result().state === 'skipped').length;
      counts.passed += tests.filter((test) => test.result().state === 'passed').length;
      counts.failed += tests.filter((test) => test.result().state === 'failed').length;
      counts.skipped += skipped;
      // A file that could not be loaded has no test to fail.
      if (module.state() === 'failed' && tests.length === 0) counts.failed += 1;
      if (skipped > 0) skippedFiles.push(`  ${module.relativeModuleId} (${skipped})`);
    }
    if (skippedFiles.length > 0)
      process.stdout.write(`\nSkipped; why stands above, under SKIPPED:\n${skippedFiles.join('\n')}\n`);
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
  }
}
