import { expect, it } from 'vitest';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { FleetConfigError, parseFleet } from '../../../lambdas/config/load-fleet.ts';

export function fleet(text: string, file = 'fleet.yaml'): Fleet {
  const parsed = parseFleet(text, file);
  if (!parsed.ok) throw new FleetConfigError(parsed.problems);
  return parsed.fleet;
}

/** Places and messages, without the name of the file. */
export function problemsOf(text: string): readonly string[] {
  const parsed = parseFleet(text, 'f');
  return parsed.ok ? [] : parsed.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

/** What no file may say, and the one problem that is reported. */
export function refuses(rows: readonly (readonly [what: string, text: string, problem: string])[]): void {
  it.each(rows)('refuses %s', (_, text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });
}

export function accepts(rows: readonly (readonly [what: string, text: string])[]): void {
  it.each(rows)('accepts %s', (_, text) => {
    expect(problemsOf(text)).toEqual([]);
  });
}
