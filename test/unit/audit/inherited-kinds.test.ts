import { describe, expect, it } from 'vitest';
import { readAssessment } from '../../../lambdas/audit/read-assessment.ts';
import { days, NOW } from './fixtures.ts';

/** What every object of JavaScript has, which is no word of an observation. */
const INHERITED = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'];

describe('an observation that is called as what every object has', () => {
  it.each(INHERITED.flatMap((word) => ['kind', 'source', 'what', 'basis'].map((field) => [field, word] as const)))(
    'is none: %s %s',
    (field, word) => {
      const line = `{"cluster":"berlin","observations":[{"where":"x:1","notAfter":"${days(1)}","${field}":"${word}"}]}`;
      const result = readAssessment(JSON.parse(line), () => NOW);
      expect(result).toMatchObject({ ok: false, problems: [expect.stringContaining(`observations[0].${field}`)] });
    },
  );

  it.each(INHERITED)('changes no other object: %s', (word) => {
    const line = `{"cluster":"berlin","${word}":{"polluted":1},"observations":[{"where":"x:1","notAfter":"${days(1)}","${word}":{"polluted":1}}]}`;
    readAssessment(JSON.parse(line), () => NOW);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});
