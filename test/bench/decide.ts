import { decideApproval } from '../../lambdas/approval/decide-approval.ts';
import { indexEvidence } from '../../lambdas/approval/evidence/evidence.ts';
import { ownerFromMachine } from '../../lambdas/approval/evidence/machine.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { readSigningRequest } from '../../lambdas/resources/signing-request.ts';
import { csrOf, machineOf, requestOf } from './fixtures.ts';
import { type Figure, figure } from './statistics.ts';

const RUNS = 7;
const DECISIONS = 5_000;

/** Decisions per second on this thread: JSON object in, verdict out, every request distinct, self-signature verified. */
export async function benchDecide(): Promise<Figure[]> {
  const figures: Figure[] = [];
  const rates = new Map<number, number>();
  for (const machines of [100, 5_000, 10_000]) {
    const values = run(machines);
    const name = `decide, ${machines.toLocaleString('en')} Machines`;
    rates.set(machines, figure(name, '1/s', values).median);
    figures.push(
      figure(name, '1/s', values, machines === 5_000 ? { text: '≥ 5,000', met: (rate) => rate >= 5_000 } : undefined),
    );
  }
  const ratio = (rates.get(100) ?? 0) / (rates.get(10_000) ?? 1);
  figures.push(
    figure('cost per decision, 10,000 : 100 Machines', '×', [ratio], {
      text: 'flat (≤ 1.15)',
      met: (value) => value <= 1.15,
    }),
  );
  return figures;
}

function run(machines: number): number[] {
  const owners = Array.from({ length: machines }, (_, index) => ownerFromMachine(machineOf(index), 'bench')).filter(
    (owner) => owner !== undefined,
  );
  const evidence = indexEvidence([{ source: 'machine', ok: true, lookedAt: machines, owners }]);
  const now = Date.parse('2026-01-01T00:01:00Z');
  const objects = Array.from({ length: DECISIONS }, (_, index) =>
    csrOf(index % machines, requestOf(index % machines), '2026-01-01T00:00:00Z'),
  );
  const cluster = { name: 'bench', provider: 'eks-anywhere' } as const;
  const once = () => {
    const startedAt = process.hrtime.bigint();
    for (const object of objects) {
      const read = readSigningRequest(object);
      if (!read.ok) throw new Error(read.problem);
      const verdict = decideApproval(
        { cluster, csr: read.csr, siblings: { pending: 1 } },
        evidence,
        [DEFAULT_POLICY],
        now,
      );
      if (verdict.verdict !== 'approve') throw new Error(`${read.csr.name}: ${verdict.reason}`);
    }
    return DECISIONS / (Number(process.hrtime.bigint() - startedAt) / 1e9);
  };
  once();
  return Array.from({ length: RUNS }, once);
}
