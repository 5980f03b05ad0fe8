import { REASONS, type Reason } from '../approval/reasons.ts';
import type { VerdictKind } from '../approval/verdict.ts';
import type { SweepRow } from '../sweep/report.ts';
import type { VerdictLine } from './outcome.ts';
import { fields, list, mark, oneOf, optional, present, type Read, readable, text, time } from './shape.ts';
import { MAX_VERDICTS, VERDICT_LIMITS } from './verdict-lines.ts';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
const REASON_CODES = Object.keys(REASONS) as Reason[];
const VERDICTS = ['approve', 'deny', 'leave', 'ignore'] as const satisfies readonly VerdictKind[];
const OUTCOMES = [
  'none',
  'written',
  'observed',
  'overtaken',
  'unfinished',
  'failed',
  'unknown',
] as const satisfies readonly SweepRow['outcome'][];

/**
 * A line that cannot be read, as one of a newer version may be, is left out alone: each stands for itself.
 *
 * @throws ShapeError when it is no list, or too long a one
 */
export const readVerdicts: Read<readonly VerdictLine[]> = (value, path) =>
  list(readable(readVerdict), MAX_VERDICTS)(value, path).filter((line) => line !== undefined);

const readVerdict: Read<VerdictLine> = (value, path) => {
  const line = fields(value, path);
  // What is not visible is written out, with up to twice the characters.
  const part = (name: keyof typeof VERDICT_LIMITS) => text(2 * VERDICT_LIMITS[name] + 1)(line[name], `${path}.${name}`);
  return present({
    csr: part('csr'),
    uid: part('uid'),
    node: part('node'),
    verdict: oneOf(VERDICTS)(line['verdict'], `${path}.verdict`),
    reason: oneOf(REASON_CODES)(line['reason'], `${path}.reason`),
    message: part('message'),
    outcome: oneOf(OUTCOMES)(line['outcome'], `${path}.outcome`),
    at: time(line['at'], `${path}.at`),
    hostile: optional(mark)(line['hostile'], `${path}.hostile`),
  });
};
