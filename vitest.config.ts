import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Of the unit tests, which wait for nothing: both cores where there are two, of which Vitest takes one. */
const WORKERS = Math.max(2, availableParallelism() - 1);

export default defineConfig({
  test: {
    reporters: ['default', './test/summary-reporter.ts'],
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 60_000, maxWorkers: WORKERS } },
      { test: { name: 'fleet', include: ['test/fleet/**/*.test.ts'], testTimeout: 30_000 } },
      {
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'control-plane',
          include: ['test/control-plane/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 15 * 60_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'rollout',
          include: ['test/cluster-api/**/*.test.ts'],
          testTimeout: 5 * 60_000,
          hookTimeout: 15 * 60_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'rehearsal',
          include: ['test/rehearsal/**/*.test.ts'],
          testTimeout: 10 * 60_000,
          hookTimeout: 15 * 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
