import { expect, it } from 'vitest';
import { dueFor } from '../../../lambdas/rollout/turn.ts';
import { DAY, healthyRollout, history, NOW, policy } from './fixtures.ts';

it('a rollout is due from the first moment of its span on', () => {
  const lead = policy({ begin: { days: 45, share: 1 } });
  const at = (now: number) =>
    dueFor({ observed: healthyRollout(), policy: lead, history: history(), trigger: 'schedule', now, waivers: [] });
  const from = NOW + (40 - 45) * DAY;
  expect([at(from - 1), at(from), at(from + DAY)]).toEqual([undefined, 0, DAY]);
});
