import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { PATIENCE_MS } from './test/patience.ts';

// Most programs that tests start are the command line from its source: Node.js compiles each module once for all of them.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compile');

// With `npx vitest` the command line would call itself `npx certmarshal` in tests too.
process.env['npm_lifecycle_event'] = 'test';

// The CDK validates each template anew, for seconds; `npm run synth` and cfn-lint do that, in test/rehearsal/templates.test.ts.
process.env['CDK_VALIDATION'] ??= 'false';

// No test dials the metadata service of EC2.
process.env['AWS_EC2_METADATA_DISABLED'] ??= 'true';

/** Two more than there are cores: what waits for controllers and schedules runs beside what computes. */
const WORKERS = availableParallelism() + 2;

/** Those that replace a module for themselves or count the calls of all there are: in a process without the modules of others. */
const ALONE = globSync('test/unit/**/*.test.ts').filter((file) =>
  /\bvi\.mock\(|function-calls/.test(readFileSync(file, 'utf8')),
);

/** In this order: the two that wait longest, rollout and rehearsal, each beside others that compute. */
const PROJECTS = [
  { name: 'rollout', include: ['test/cluster-api/**/*.test.ts'] },
  { name: 'control-plane', include: ['test/control-plane/**/*.test.ts'] },
  { name: 'rehearsal', include: ['test/rehearsal/**/*.test.ts'] },
  { name: 'browser', include: ['test/browser/**/*.test.ts'] },
  { name: 'fleet', include: ['test/fleet/**/*.test.ts'], setupFiles: 'test/fleet/no-waiting.ts', isolate: false },
  { name: 'unit-alone', include: ALONE },
  { name: 'unit', include: ['test/{unit,providers}/**/*.test.ts'], exclude: ALONE, isolate: false },
];

const rankOf = ({ project }: TestSpecification): number => PROJECTS.findIndex(({ name }) => name === project.name);

/** Always in the same order, so that a failure comes again. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => rankOf(one) - rankOf(other) || (one.moduleId < other.moduleId ? -1 : 1));
  }
}

export default defineConfig({
  test: {
    reporters: ['default', './test/summary-reporter.ts'],
    globalSetup: './test/scratch.ts',
    maxWorkers: WORKERS,
    // Simulated fleets make much that lives for a moment: collected less often, it costs a tenth less.
    execArgv: ['--max-semi-space-size=64'],
    // A wait inside them ends first, and says what for. A hook may build what it starts.
    testTimeout: 2 * PATIENCE_MS,
    hookTimeout: 4 * PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS } },
    sequence: { sequencer: WaitingFirst },
    projects: PROJECTS.map((test) => ({ extends: true, test })),
  },
});
