import { expect, it } from 'vitest';
import { type Journaled, joinJournaled } from '../../../lambdas/journal/sweep-journal.ts';
import { entry } from './values.ts';

const PROBLEM = { kind: 'journal', object: 'journal of cluster berlin', message: 'denied', remedy: 'Nothing.' };
const WRITTEN: Journaled = { lines: 2, unwritten: [], leftOut: 1 };
const FAILED: Journaled = { lines: 0, unwritten: [entry(1)], leftOut: 3, problem: PROBLEM };

it.each([
  ['first', FAILED, WRITTEN],
  ['second', WRITTEN, FAILED],
])('a journal of two parts says what is wrong with its %s part, and has the numbers of both', (_, first, second) =>
  expect(joinJournaled(first, second)).toEqual({ lines: 2, unwritten: [entry(1)], leftOut: 4, problem: PROBLEM }),
);

it('a journal of two parts that were written has no problem', () =>
  expect(joinJournaled(WRITTEN, WRITTEN)).toEqual({ lines: 4, unwritten: [], leftOut: 2 }));
