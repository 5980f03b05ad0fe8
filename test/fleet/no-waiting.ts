import { vi } from 'vitest';

// Waits between tries and between paced calls.
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<object>()),
  setTimeout: async () => undefined,
}));
