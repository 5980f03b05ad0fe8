import { describe, expect, it } from 'vitest';
import { optedInByOwner } from '../../lambdas/rollout/checks/agreement.ts';
import { observeRollout } from '../../lambdas/rollout/observe.ts';
import { planRollout } from '../../lambdas/rollout/plan.ts';
import { history, NAME, NOW, policy, rawEksAnywhere } from '../unit/rollout/fixtures.ts';
import { healthyWorld } from '../unit/rollout/world.ts';
import { EVERYWHERE, ROWS } from './table.ts';

const LATER = '2026-11-01T00:00:00Z';
const NONE = 'no annotation certmarshal.dev/rollout-mode';
const OFF = 'certmarshal.dev/rollout-mode is "off", not "auto"';
const CONTESTED =
  ": Clusters of EKS Anywhere in default, tenant-x have the name, and fleet.yaml does not say which one is the owner's";

describe.each(ROWS)('on $row', ({ provider }) => {
  /** The Clusters of EKS Anywhere of this name, the first of which was made first. */
  const observed = async (count: number, mode: string | undefined) => {
    const { management, paths, target } = healthyWorld('v1beta2', provider);
    management.remove(paths.eksAnywhere);
    const annotations = mode === undefined ? {} : { 'certmarshal.dev/rollout-mode': mode };
    for (const [namespace, creationTimestamp] of [
      ['default', '2024-09-01T00:00:00Z'],
      ['tenant-x', LATER],
    ].slice(0, count) as [string, string][])
      management.put(paths.eksAnywhere.replace('/default/', `/${namespace}/`), {
        ...rawEksAnywhere(provider),
        metadata: { namespace, name: NAME, generation: 7, creationTimestamp, annotations },
      });
    return observeRollout(target, new AbortController().signal);
  };

  it.each([
    [0, 'auto', NONE],
    [1, 'auto', true],
    [1, 'off', OFF],
    [1, undefined, NONE],
    [2, 'auto', `${NONE} that counts${CONTESTED}`],
    [2, 'off', OFF + CONTESTED],
    [2, undefined, `${NONE} that counts${CONTESTED}`],
  ] as const)('%i of its name, which say %s', async (count, mode, expected) => {
    const seen = await observed(count, mode);
    const verdict = optedInByOwner({
      observed: seen,
      policy: undefined,
      history: history(),
      trigger: 'schedule',
      now: NOW,
    });
    expect(seen.unread).toEqual([]);
    expect(verdict.passed ? true : verdict.found).toBe(expected);
  });

  it('what is paused is not rolled', async () => {
    const { management, paths, target } = healthyWorld('v1beta2', provider);
    management.change(paths.eksAnywhere, { metadata: { annotations: EVERYWHERE.paused.value } });
    const step = planRollout(await observeRollout(target, new AbortController().signal), policy(), history(), NOW);
    expect(step).toMatchObject({ kind: 'hold' });
    expect(step.checks.flatMap(({ id, passed }) => (passed ? [] : [id]))).toContain('eks-anywhere-settled');
  });

  it('what its owner forbids is not done', async () => {
    const step = planRollout(await observed(1, 'off'), policy(), history(), NOW);
    expect(step).not.toMatchObject({ kind: 'act' });
    expect(step.checks.filter(({ passed }) => !passed).map(({ id }) => id)).toContain('opted-in-by-owner');
  });
});
