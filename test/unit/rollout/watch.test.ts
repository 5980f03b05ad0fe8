import { expect, it } from 'vitest';
import { isVerified, progressOf } from '../../../lambdas/rollout/progress.ts';
import { holdReasons, lastReplacedFor } from '../../../lambdas/rollout/watch.ts';
import { controlPlane, DAY, HOUR, healthyRollout, MINUTE, machine, NOW, served } from './fixtures.ts';

it('a control plane that is to have no machine is stuck, and does not wait for new certificates', () => {
  const observed = healthyRollout({ machines: [], controlPlane: controlPlane({ replicas: 0 }) });
  const since = NOW - DAY;
  const progress = progressOf(observed, since, NOW);
  const message = '0 of 0 machines replaced, and nothing moved for 24 hours';
  expect(holdReasons(observed, { since, progress }, NOW)).toMatchObject([{ id: 'stuck', message }]);
  expect(isVerified(progress)).toBe(false);
});

it('one machine that is new and shows an old certificate is not verified, and one that is not there is no trouble', () => {
  const since = NOW - 3 * HOUR;
  const one = machine(1, { createdAt: since, served: served() });
  const observed = healthyRollout({
    machines: [one],
    controlPlane: controlPlane({ replicas: 1, status: { replicas: 1 } }),
  });
  const going = { since, progress: progressOf(observed, since, NOW) };
  expect(holdReasons(observed, going, NOW).map(({ id }) => id)).toEqual(['not-verified']);
  const { controlPlane: _, ...without } = observed;
  expect(holdReasons(without, going, NOW)).toEqual([]);
  expect(progressOf(without, since, NOW).wanted).toBe(0);
  const machines = [10, 11].map((minutes) => ({
    name: 'a',
    state: 'replaced' as const,
    served: one.served,
    unhealthy: [],
    createdAt: NOW + minutes * MINUTE,
  }));
  expect(lastReplacedFor({ machines }, { since, now: NOW })).toBe(-10 * MINUTE);
});
