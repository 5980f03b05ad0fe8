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

type Refused = readonly [text: string, problem: string];

/** What no file may say, and the one problem that is reported. */
export function refuses(rows: readonly Refused[]): void {
  refusesIn((text) => text, '', rows);
}

/**
 * @param fileOf what is around each text
 * @param within what is before the key of each problem
 */
export function refusesIn(fileOf: (text: string) => string, within: string, rows: readonly Refused[]): void {
  it.each(rows)('refuses %j', (text, problem) => {
    expect(problemsOf(fileOf(text))).toEqual([problem.replace(/(?<=^\d+:\d+: )/, within)]);
  });
}

export function accepts(rows: readonly (readonly [what: string, text: string])[]): void {
  it.each(rows)('accepts %s', (_, text) => {
    expect(problemsOf(text)).toEqual([]);
  });
}
