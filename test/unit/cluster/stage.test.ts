import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { KubeconfigSecretError } from '../../../lambdas/aws/kubeconfig-secret.ts';
import { runStage } from '../../../lambdas/cluster/minute.ts';
import type { Known, Minute, Stage, StageContext, StageName } from '../../../lambdas/cluster/stage.ts';
import { charged, createProcessorBudget } from '../../../lambdas/processor-time.ts';
import { PARIS, TROUBLE } from '../fleet/values.ts';
import { entry } from '../journal/values.ts';
import { contextOf } from './stage-context.ts';

const open = {} as NonNullable<Known['open']>;

const minuteOf = (leftMs: number, more: Partial<Minute> = {}): Minute => ({
  ...contextOf(PARIS, { due: true, open: undefined }),
  endsAt: performance.now() + leftMs,
  budget: createProcessorBudget(),
  ...more,
});

/** What a stage was given; undefined where it did not run. */
async function given(name: StageName, minute: Minute, known: Known): Promise<StageContext<true> | undefined> {
  let seen: StageContext<true> | undefined;
  const stage: Stage<true, never> = async (context) => {
    seen = context;
    return { problems: [] };
  };
  expect(await runStage(name, true, stage, minute, known)).toEqual({ problems: [], failures: [] });
  return seen;
}

describe('runStage', () => {
  it.each<[StageName, number, Known, 'with clients' | 'without' | 'not']>([
    ['audit', 2_100, { open }, 'with clients'],
    ['audit', 1_900, { open }, 'not'],
    ['audit', 1_900, { open, trouble: TROUBLE }, 'without'],
    ['audit', 9_000, { trouble: TROUBLE }, 'without'],
    ['audit', 9_000, { open, trouble: TROUBLE }, 'with clients'],
    ['rollout', 5_100, { open }, 'with clients'],
    ['rollout', 4_900, { open }, 'not'],
    ['rollout', 9_000, {}, 'not'],
  ])('begins %s with %i ms left, and what is known: %o, %s', async (name, leftMs, known, how) => {
    const seen = await given(name, minuteOf(leftMs), known);
    expect(seen === undefined ? 'not' : seen.open === undefined ? 'without' : 'with clients').toBe(how);
  });

  it.each<[StageName, boolean]>([
    ['audit', false],
    ['rollout', false],
  ])('leaves the clients to nobody when the function has to end: %s', async (name, begins) => {
    const seen = await given(name, minuteOf(9_000, { last: AbortSignal.abort() }), { open, trouble: TROUBLE });
    expect(seen !== undefined).toBe(begins);
    expect(seen?.open).toBeUndefined();
  });

  it('lets what needs no cluster go on when the processor time is spent', async () => {
    let cpuMs = 0;
    const budget = createProcessorBudget({ cpuMs: () => (cpuMs += 6_000) });
    await budget.run(async () => charged(() => undefined));
    const seen = await given('audit', minuteOf(9_000, { budget }), { open });
    expect(seen).toMatchObject({ open: undefined, trouble: { kind: 'timeout', object: 'cluster paris' } });
    expect(seen?.signal.aborted).toBe(false);
  });

  it('ends a stage with its time, and one that began late not before it could write', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timers.mockRestore());
    const timeOf = async (name: StageName, leftMs: number): Promise<number> => {
      await given(name, minuteOf(leftMs), { open, trouble: TROUBLE });
      return Math.round((timers.mock.calls.at(-1)?.[1] ?? NaN) / 100) * 100;
    };
    expect(await timeOf('rollout', 9_000)).toBe(9_000);
    expect(await timeOf('audit', 9_000)).toBe(8_000);
    expect(await timeOf('audit', 0)).toBe(1_000);
  });

  it('does nothing where no order asks, or this program has no such stage', async () => {
    const stage = vi.fn<Stage<true, never>>();
    expect(await runStage('audit', undefined, stage, minuteOf(9_000), { open })).toEqual({
      problems: [],
      failures: [],
    });
    expect(stage).not.toHaveBeenCalled();
    expect(await runStage('audit', true, undefined, minuteOf(9_000), { open })).toEqual({ problems: [], failures: [] });
  });

  it.each<[StageName, string, RegExp]>([
    ['approval', 'cluster paris', /with the line "approval failed" of the log\.$/],
    ['audit', 'audit of cluster paris', /"audit failed" of the log\. Approvals continue\.$/],
    [
      'rollout',
      'rollout of cluster paris',
      /"rollout failed" of the log\. Approvals continue; Cluster API shows whether/,
    ],
  ])('makes a problem of what %s throws, and quotes nothing of it', async (name, object, remedy) => {
    const error = new TypeError('SENTINEL');
    const ended = await runStage(name, true, async () => Promise.reject(error), minuteOf(9_000), { open });
    const message = 'certmarshal itself failed (TypeError)';
    expect(ended.problems).toEqual([{ kind: 'bug', object, message, remedy: expect.stringMatching(remedy) }]);
    expect(ended.failures).toEqual([{ stage: name, error }]);
  });

  it('says what is wrong with a secret that cannot be asked for', async () => {
    const error = new KubeconfigSecretError('unavailable', 'arn', 'no answer');
    const ended = await runStage('approval', true, async () => Promise.reject(error), minuteOf(9_000));
    expect(ended).toMatchObject({
      problems: [{ kind: 'secret', object: 'secret arn', message: 'no answer' }],
      failures: [{ stage: 'approval', error }],
    });
  });

  it('tells notices first, then a bug, then the rest, and keeps what was decided before the bug', async () => {
    const [notice, problem] = ['notice', 'problem'].map((object) => ({ ...TROUBLE, object }));
    const decisions = [entry(1)];
    const stage: Stage<true, string> = async () => ({
      result: 'done',
      notices: notice && [notice],
      problems: problem ? [problem] : [],
      bug: { error: 'oh' },
      decisions,
    });
    expect(await runStage('rollout', true, stage, minuteOf(9_000), { open })).toMatchObject({
      result: 'done',
      problems: [notice, { kind: 'bug' }, problem],
      failures: [{ stage: 'rollout', error: 'oh' }],
      decisions,
    });
  });
});
