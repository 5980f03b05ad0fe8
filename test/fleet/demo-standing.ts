import type { SweepReport } from '../../lambdas/approval/report.ts';
import type { Standing } from './demo-screen.ts';

/** How a cluster stands after its latest sweep; unknown before the first one. */
export function standingAfter(
  report: SweepReport | undefined,
  counts: Pick<Standing, 'cluster' | 'served' | 'nodes'>,
): Standing {
  if (report === undefined) return { ...counts, mood: 'plain', note: 'not checked yet' };
  if (!report.readable)
    return { ...counts, mood: 'bad', note: 'not readable: the certificate of its API server has expired' };
  const refused = report.rows.find(({ hostile }) => hostile);
  if (refused !== undefined) return { ...counts, mood: 'bad', note: `${refused.node} asks for what it does not own` };
  const waiting = counts.nodes - counts.served;
  if (waiting > 0)
    return {
      ...counts,
      mood: 'warn',
      note: `${waiting === 1 ? '1 node waits' : `${waiting} nodes wait`} for a certificate`,
    };
  return { ...counts, mood: 'good', note: 'every node serves with a certificate' };
}
