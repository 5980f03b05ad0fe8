import { describe, expect, it } from 'vitest';
import type { RolloutStep } from '../../lambdas/rollout/step.ts';
import { startStory } from './alarms/story.ts';
import { twoClusters, twoClustersFile } from './alarms/story-clusters.ts';

const IDLE: RolloutStep = { kind: 'nothing', state: 'idle', message: 'nothing is due', checks: [] };
const REASON = {
  id: 'stuck',
  object: 'Machine eksa-system/berlin-cp-2',
  message: 'no machine was made or removed for 50 minutes',
  remedy: 'Look at it.',
};
const ROLLING: RolloutStep = { kind: 'nothing', state: 'rolling', message: '1 of 3 machines replaced', checks: [] };
const HELD: RolloutStep = { kind: 'hold', state: 'held', message: 'held', checks: [], reasons: [REASON] };
const REFUSED: RolloutStep = {
  kind: 'hold',
  state: 'refused',
  message: 'a rollout of 3 control plane machines is refused: 1 of 38 checks fails',
  checks: [],
  reasons: [{ ...REASON, id: 'etcd-backup', message: 'no backup is vouched for' }],
};

const OPTED_IN = "rollouts: { clusters: [{ clusters: ['berlin'] }] }";

/** A hub whose looks at the rollout of berlin see what the story says. */
async function startRollout(first: RolloutStep) {
  const seen = { step: first };
  const story = await startStory({
    clusters: twoClusters,
    fleetFile: (clusters) => twoClustersFile(clusters, { more: OPTED_IN }),
    stepRollout: async (_target, { clock }) => ({
      observed: { cluster: { id: 'berlin', name: 'berlin' } } as never,
      step: seen.step,
      problems: [],
      at: new Date(clock()).toISOString(),
    }),
  });
  return { seen, story };
}

describe('a rollout', () => {
  it('that is held rings within minutes, until somebody resumes it', async () => {
    const { seen, story } = await startRollout(ROLLING);
    await using _ = story;
    // It goes on: looked at every minute.
    await story.minutes(6);
    story.begin();
    expect(story.hub.index()?.clusters['berlin']?.rollout?.state).toBe('rolling');
    seen.step = HELD;
    await story.minutes(6);
    expect(Object.keys(story.rang()).toSorted()).toEqual(['critical', 'rollout-held']);
    expect(story.rang()['rollout-held']).toBeLessThanOrEqual(3);
    expect(story.told()).toEqual([
      expect.stringMatching(
        /^\d \[critical\] berlin: its rollout is held: Machine eksa-system\/berlin-cp-2: no machine was made or removed for 50 minutes \(stuck\)\.$/,
      ),
    ]);
    seen.step = ROLLING;
    await story.until(() => story.isOver(), 40);
    expect(story.incidents().map((line) => line.replace(/^\d+ /, ''))).toEqual([
      'opened RolloutHeld berlin',
      'closed RolloutHeld berlin',
    ]);
  });

  it('that a person has to make possible rings after half an hour, as a warning, and not while nothing is due', async () => {
    const { seen, story } = await startRollout(IDLE);
    await using _ = story;
    await story.minutes(6);
    story.begin();
    seen.step = REFUSED;
    await story.minutes(29);
    expect(story.rang()).toEqual({});
    await story.minutes(12);
    expect(Object.keys(story.rang()).toSorted()).toEqual(['rollout-needed', 'warning']);
    expect(story.told()).toEqual([
      expect.stringContaining(
        '[warning] berlin: a rollout of 3 control plane machines is refused: 1 of 38 checks fails: Machine eksa-system/berlin-cp-2: no backup is vouched for (etcd-backup)',
      ),
    ]);
    expect(story.incidents()).toEqual(['32 opened RolloutNeeded berlin']);
  });
});
