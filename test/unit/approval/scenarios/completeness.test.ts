import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { EXCLUSIONS } from './exclusions.ts';

it('has one file of rows for each peer', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.ts'));
  expect(files.toSorted()).toEqual(
    ['ap', 'ax', 'cma', 'completeness', 'gke', 'pf', 'rs', 'tal', 'th', 'upstream'].map((peer) => `${peer}.test.ts`),
  );
});

it('excludes only scenarios that exist, each with a reason', () => {
  const last: Record<string, number> = { PF: 19, AX: 26, CM: 75, GK: 51, UP: 45, TA: 29, TH: 41, RS: 6, AP: 32 };
  const unknown = Object.keys(EXCLUSIONS).filter((id) => {
    const [, prefix = '', number = ''] = /^([A-Z]+)(\d+)$/.exec(id) ?? [];
    return !(Number(number) >= 1 && Number(number) <= (last[prefix] ?? 0));
  });
  expect(unknown).toEqual([]);
  expect(Object.values(EXCLUSIONS).filter((why) => why.length < 20)).toEqual([]);
});
