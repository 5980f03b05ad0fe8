import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Approved } from '../../../lambdas/cluster/stages/approval.ts';
import { outcomeOf } from '../../../lambdas/cluster/sweep-outcome.ts';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { roundTrip } from '../fleet/decode-outcome.ts';
import { reportOf, rowOf } from '../telemetry/reports.ts';

const TARGET: Target = {
  id: 'fleet/berlin',
  cluster: { name: 'berlin', provider: 'eks-anywhere' },
  access: { kind: 'cluster-api', namespace: 'eksa-system' },
  lane: 'default',
};
const times = { startedAt: Date.UTC(2026, 0, 1), finishedAt: Date.UTC(2026, 0, 1) + 12.4 };
const problem = { kind: 'k', object: 'o', message: 'm', remedy: 'r' };
/** Of approvals that had a client. */
const endOf = (more: Partial<Approved> = {}, problems: readonly Problem[] = []) => ({
  result: { report: reportOf({}), server: 'https://api.berlin.example', ...more },
  problems,
  failures: [],
});
/** Of approvals that had none. */
const unopened = (problems: readonly Problem[] = [problem]) => ({ problems, failures: [] });
const CREDENTIALS = { ...problem, kind: 'credentials' };

describe('outcomeOf', () => {
  it('tells the whole state of the cluster', () => {
    const report = reportOf({});
    expect(outcomeOf(TARGET, endOf({ report }), times)).toEqual({
      id: 'fleet/berlin',
      name: 'berlin',
      provider: 'eks-anywhere',
      startedAt: '2026-01-01T00:00:00.000Z',
      durationMs: 12,
      readable: true,
      complete: true,
      counts: report.counts,
      problems: [],
      problemCount: 0,
      server: 'api.berlin.example:443',
    });
  });

  it('knows nothing of a cluster that no client could be made for', () => {
    const outcome = outcomeOf(TARGET, unopened(), times);
    expect(outcome).toMatchObject({ readable: false, complete: false, problems: [problem], problemCount: 1 });
    expect(outcome).not.toHaveProperty('counts', expect.anything());
    expect(outcome).not.toHaveProperty('server', expect.anything());
  });

  it('tells of its decisions and of what became of the requests', () => {
    const counted = { to: times.startedAt, issued: 1, late: 0, notProvable: 0 };
    const report = reportOf({ rows: [rowOf({})], counted });
    const outcome = outcomeOf(TARGET, endOf({ report }), times);
    expect(outcome.counted).toEqual(counted);
    expect(outcome.verdicts).toMatchObject([{ csr: 'csr-1', at: '2026-01-01T00:00:00.000Z' }]);
    const quiet = outcomeOf(TARGET, endOf({ report: reportOf({}) }), times);
    expect(quiet).not.toHaveProperty('verdicts', expect.anything());
  });

  it('keeps the first problems and counts them all', () => {
    const problems = Array.from({ length: 1_000 }, (_, index) => ({ ...problem, object: `o${index}` }));
    const outcome = outcomeOf(TARGET, endOf({}, problems), times);
    expect(outcome).toMatchObject({ complete: false, problemCount: 1_000 });
    expect(outcome.problems).toEqual(problems.slice(0, 20));
  });

  const serverOf = (server: string, report = reportOf({})) =>
    outcomeOf(TARGET, endOf({ report, server }), times).server;

  it.each([
    ['https://[2001:db8::1]:6443/', '[2001:db8::1]:6443'],
    ['https://10.0.0.1', '10.0.0.1:443'],
    ['https://[::ffff:10.0.0.5]:6443', '10.0.0.5:6443'],
    ['https://API.Berlin.example.:6443', 'api.berlin.example:6443'],
    ['https://rancher.example/k8s/clusters/c-aaa/', 'rancher.example:443/k8s/clusters/c-aaa'],
  ])('of %s says %s', (server, expected) => {
    expect(serverOf(server)).toBe(expected);
  });

  it.each(['https://a!b.example.com', `https://${'a'.repeat(60)}.${`${'b'.repeat(60)}.`.repeat(5)}com`])(
    'leaves out what report would not take: %s',
    (server) => {
      expect(serverOf(server)).toBeUndefined();
    },
  );

  it('is in no outcome that report refuses, whatever the URL', () => {
    const urls = fc.webUrl({ validSchemes: ['https'] }).filter((url) => URL.canParse(url));
    fc.assert(
      fc.property(urls, (url) => {
        const outcome = outcomeOf(TARGET, endOf({ server: url }), times);
        expect(roundTrip({ ...outcome, id: 'berlin' })).toMatchObject({ ok: true });
      }),
      { seed: 42 },
    );
  });

  it('names no server that did not let us in: it is only what somebody wrote', () => {
    expect(serverOf('https://api.berlin.example', reportOf({ readable: false }))).toBeUndefined();
  });

  it.each<[string, Parameters<typeof outcomeOf>[1], true | undefined]>([
    ['certmarshal failed', { problems: [problem], failures: [{ stage: 'approval', error: 1 }] }, true],
    ['our own credentials are missing', unopened([CREDENTIALS]), true],
    ['they were when it was asked', endOf({ report: reportOf({ readable: false }) }, [CREDENTIALS]), true],
    ['a source of evidence had none', endOf({}, [CREDENTIALS]), undefined],
    ['no client could be made', unopened(), undefined],
    ['certmarshal failed later', { ...endOf(), failures: [{ stage: 'approval', error: 1 }] }, undefined],
  ])('tells whether nobody tried, where %s', (_, end, untried) => {
    expect(outcomeOf(TARGET, end, times).untried).toBe(untried);
  });

  it('tells that a list was cut', () => {
    expect(outcomeOf(TARGET, endOf({ workloadClustersCut: true }), times)).toMatchObject({ workloadClustersCut: true });
    expect(outcomeOf(TARGET, endOf(), times)).not.toHaveProperty('workloadClustersCut', expect.anything());
  });
});
