import { vi } from 'vitest';

// Waits between tries and between paced calls end at once, and their time has passed: a loop until then would spin.
const now = performance.now.bind(performance);
let skippedMs = 0;
performance.now = () => now() + skippedMs;

vi.mock('node:timers/promises', async (original) => ({
  ...(await original<object>()),
  setTimeout: async (ms = 0) => {
    skippedMs += ms;
  },
}));

// The SDK waits for a random share of its delay before each retry.
Math.random = () => 0;
