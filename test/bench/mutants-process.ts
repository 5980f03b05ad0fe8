import { createVitest } from 'vitest/node';

/** A source file with another text, and the tests that are run on it. */
export interface Trial {
  /** Absolute, as are the tests; undefined leaves everything as it is. */
  readonly file?: string;
  readonly text?: string;
  readonly tests: readonly string[];
}

export interface TrialResult {
  /** The test file that failed first. */
  readonly failed?: string;
  readonly ms: number;
}

const root = new URL('../..', import.meta.url).pathname;
/** Of one test that has no limit of its own. */
const TEST_MS = 15_000;

let trial: Trial = { tests: [] };

// One Vitest for all trials. The file with the other text exists in its memory only.
const vitest = await createVitest(
  {
    config: false,
    root,
    include: ['test/unit/**/*.test.ts'],
    watch: false,
    isolate: true,
    maxWorkers: 1,
    bail: 1,
    testTimeout: TEST_MS,
    // It would answer for the plugin below.
    fsModuleCache: false,
    silent: true,
    reporters: [{}],
    sequence: {
      sequencer: class {
        shard = async <T>(files: T) => files;
        sort = async <T>(files: T) => files;
      },
    },
  },
  {
    plugins: [
      { name: 'mutant', enforce: 'pre', load: (id) => (id.split('?')[0] === trial.file ? trial.text : undefined) },
    ],
  },
);
await vitest.standalone();

process.on('message', (message: Trial) => {
  void run(message).then((result) => process.send?.(result));
});
process.once('disconnect', () => process.exit());
process.send?.('ready');

async function run(next: Trial): Promise<TrialResult> {
  const startedAt = performance.now();
  for (const file of [trial.file, next.file]) if (file !== undefined) vitest.invalidateFile(file);
  trial = next;
  // Else what failed in a trial before would count again.
  vitest.state.filesMap.clear();
  vitest.state.idMap.clear();
  const project = vitest.getRootProject();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(
    next.tests.map((test) => project.createSpecification(test)),
  );
  const failed = testModules.find(
    (module) => next.tests.includes(module.moduleId) && module.state() === 'failed',
  )?.moduleId;
  const problem = failed ?? (unhandledErrors.length > 0 ? next.tests[0] : undefined);
  return { ms: Math.round(performance.now() - startedAt), failed: problem };
}
