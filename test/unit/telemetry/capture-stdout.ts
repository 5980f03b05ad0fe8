import { afterEach, beforeEach, vi } from 'vitest';
import { type EmfRecord, emfRecords } from './emf.ts';

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

export interface Written {
  text(): string;
  /** Embedded metrics. */
  records(): readonly EmfRecord[];
  /** Of the log. */
  lines(): Record<string, unknown>[];
}

/** What each test of a suite writes to stdout. */
export function writtenByEachTest(): Written {
  let output: ReturnType<typeof captureStdout>;
  beforeEach(() => {
    output = captureStdout();
  });
  afterEach(() => output.restore());
  const text = () => output.text();
  return {
    text,
    records: () => emfRecords(text()),
    lines: () =>
      text()
        .split('\n')
        .filter((line) => line.startsWith('{"level"'))
        .map((line) => JSON.parse(line)),
  };
}
