import { vi } from 'vitest';

/** Keeps what is written to stdout, where Powertools writes logs and metrics. */
export function captureStdout(): { text(): string; restore(): void } {
  let text = '';
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((piece) => {
      text += piece.toString();
      return true;
    }),
  );
  return {
    text: () => text,
    restore: () => {
      for (const spy of spies) spy.mockRestore();
    },
  };
}
