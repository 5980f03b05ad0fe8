import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { read } from '../../../lambdas/contracts/contract.ts';
import { MAX_VERDICTS, VerdictLine } from '../../../lambdas/contracts/outcome.ts';
import { foldVerdicts, verdictLines } from '../../../lambdas/fleet/verdict-lines.ts';
import { rowOf } from '../telemetry/reports.ts';
import { at, DAY, MINUTE, NOW, verdictLine } from './values.ts';

describe('verdictLines', () => {
  it('has hostile ones first, then what was written, then the others', () => {
    const rows = [
      rowOf({ csr: 'left', verdict: 'leave', reason: 'EvidenceMissing', outcome: 'none' }),
      rowOf({ csr: 'observed', outcome: 'observed' }),
      rowOf({ csr: 'approved' }),
      rowOf({ csr: 'hostile', verdict: 'leave', reason: 'SanNotOwned', outcome: 'none', hostile: true }),
      rowOf({ csr: 'denied', verdict: 'deny', reason: 'SanNotOwned' }),
    ];
    expect(verdictLines(rows, at()).map(({ csr }) => csr)).toEqual([
      'hostile',
      'approved',
      'denied',
      'left',
      'observed',
    ]);
    expect(verdictLines(rows.slice(3, 4), at())).toEqual([
      {
        csr: 'hostile',
        uid: '00000000-0000-4000-8000-000000000001',
        node: 'worker-1',
        verdict: 'leave',
        reason: 'SanNotOwned',
        facts: { cause: 'proven', proofs: [] },
        outcome: 'none',
        at: at(),
        hostile: true,
      },
    ]);
  });

  it('shows the impersonation among a thousand approvals, and bounds every text', () => {
    const long = '\u202e'.repeat(5_000);
    const proof = { object: long, names: Array.from({ length: 100 }, () => long), count: 100 };
    const facts = { cause: 'proven', proofs: Array.from({ length: 100 }, () => proof) } as const;
    const rows = Array.from({ length: 1_000 }, (_, n) => rowOf({ uid: `${n}`, hostile: n === 999, facts }));
    const lines = verdictLines(rows, at());
    expect(lines).toHaveLength(MAX_VERDICTS);
    expect(lines[0]).toMatchObject({ uid: '999', hostile: true });
    for (const line of lines) {
      expect(read(VerdictLine, line)).toEqual({ ok: true, value: line });
      expect(JSON.stringify(line)).not.toMatch(/\p{Cf}/u);
    }
  });
});

/** The first half of all requests is of one node. */
const nodeOf = (uid: string) => (Number(uid) < 7 ? 'worker-1' : `worker-${Number(uid) % 3}`);

const anyLine = fc
  .record({
    uid: fc.nat({ max: 15 }).map(String),
    isHostile: fc.boolean(),
    // A time says everything of a line: two sweeps that began in the same millisecond are the same.
    minutes: fc.integer({ min: -8 * 24 * 60, max: 10 }),
  })
  .map(
    ({ uid, isHostile, minutes }): VerdictLine =>
      verdictLine({
        uid,
        node: nodeOf(uid),
        at: at(minutes * MINUTE),
        facts: { cause: 'newer', csr: `${minutes}` },
        hostile: isHostile ? true : undefined,
      }),
  );

describe('foldVerdicts', () => {
  it('keeps the newest line of a request', () => {
    const older = verdictLine({ at: at(-MINUTE) });
    const newer = verdictLine({ verdict: 'approve', reason: 'Proven', outcome: 'written' });
    expect(foldVerdicts([older], [newer], NOW)).toEqual([newer]);
    expect(foldVerdicts([newer], [older], NOW)).toEqual([newer]);
  });

  it('lets no later line hide that a request was hostile, nor that it was approved after all', () => {
    const hostile = verdictLine({ at: at(-MINUTE), hostile: true });
    const approved = verdictLine({ verdict: 'approve', reason: 'Proven', outcome: 'written' });
    expect(foldVerdicts([hostile], [approved], NOW)).toEqual([hostile, approved]);
  });

  it('forgets after seven days', () => {
    const line = verdictLine({ hostile: true });
    expect(foldVerdicts([line], [], NOW + 7 * DAY - 1)).toEqual([line]);
    expect(foldVerdicts([line], [], NOW + 7 * DAY)).toEqual([]);
  });

  it('shows every node before the second request of another', () => {
    const flood = Array.from({ length: 40 }, (_, n) =>
      verdictLine({ uid: `${n}`, node: 'flood', at: at(-n), hostile: true }),
    );
    const other = verdictLine({ uid: 'other', node: 'worker-2', at: at(-DAY), hostile: true });
    const told = foldVerdicts(foldVerdicts([], [other], NOW), flood, NOW);
    expect(told).toHaveLength(MAX_VERDICTS);
    expect(told).toContainEqual(other);
    // Whatever else happened, what was hostile comes first.
    const approved = verdictLine({ uid: 'approved', node: 'worker-3' });
    expect(foldVerdicts(told, [approved], NOW)).toEqual(told);
  });

  it('is the first twelve of all, in whatever order and how often they are told', () => {
    const deliveries = fc.array(anyLine, { maxLength: 60, size: 'max' }).chain((lines) =>
      fc.record({
        lines: fc.constant(lines),
        batches: fc.array(fc.subarray(lines), { maxLength: 4 }),
        shuffled: fc.shuffledSubarray(lines, { minLength: lines.length }),
        size: fc.integer({ min: 1, max: 7 }),
      }),
    );
    fc.assert(
      fc.property(deliveries, ({ lines, batches, shuffled, size }) => {
        const cut = Array.from({ length: Math.ceil(lines.length / size) }, (_, n) =>
          shuffled.slice(n * size, (n + 1) * size),
        );
        const told = [...batches, ...cut, ...batches].reduce<readonly VerdictLine[]>(
          (before, batch) => foldVerdicts(before, batch, NOW),
          [],
        );
        expect(told).toEqual(firstOf(lines));
      }),
      { seed: 21, numRuns: 200 },
    );
  });
});

function byTurns(lines: readonly VerdictLine[]): readonly VerdictLine[] {
  const ofNodes = [...Map.groupBy(lines, ({ node }) => node).values()];
  return lines.flatMap((_, turn) =>
    ofNodes.flatMap((same) => same[turn] ?? []).toSorted((a, b) => lines.indexOf(a) - lines.indexOf(b)),
  );
}

/** What is expected, said in another way. */
function firstOf(lines: readonly VerdictLine[]): readonly VerdictLine[] {
  const week = lines.filter((line) => Date.parse(line.at) > NOW - 7 * DAY);
  const newest = (hostile: boolean) => {
    const sorted = week
      .filter((line) => (line.hostile ?? false) === hostile)
      .toSorted((a, b) => b.at.localeCompare(a.at) || (a.uid < b.uid ? -1 : Number(a.uid > b.uid)));
    return sorted.filter(({ uid }, index) => sorted.findIndex((line) => line.uid === uid) === index);
  };
  const first = new Set([true, false].flatMap((hostile) => byTurns(newest(hostile))).slice(0, 12));
  return [...newest(true), ...newest(false)].filter((line) => first.has(line));
}
