import { expect, it } from 'vitest';
import { MINUTE, NOW, PARIS, swept } from '../unit/fleet/values.ts';
import { startReportStory } from './alarms/report-story.ts';

const COUNT = 500;
const targets = Array.from({ length: COUNT }, (_, n) => {
  const id = `c${String(n).padStart(3, '0')}`;
  return { ...PARIS, id, cluster: { ...PARIS.cluster, name: id } };
});

/** How many do not answer, from a minute of the story on. */
const AWAY: readonly (readonly [minute: number, count: number])[] = [
  [0, 1],
  [5, COUNT],
  [30, 100],
  [60, 0],
];
const awayIn = (minute: number): number => AWAY.findLast(([from]) => minute >= from)?.[1] ?? 0;

it('opens and closes one incident for one cluster, and one for 499 more', async () => {
  using story = startReportStory({ targets });
  const outcomes = (minute: number) =>
    targets.map(({ id }, n) => {
      const readable = n >= awayIn(minute);
      const startedAt = new Date(story.now).toISOString();
      return swept({ id, name: id, server: `${id}.example.com:6443`, startedAt, readable, complete: readable });
    });
  // All are well before.
  for (let minute = -20; minute < 80; minute += 1) {
    const tick = NOW + minute * MINUTE;
    story.now = tick;
    await story.write(tick, outcomes(minute));
    await story.report(tick);
    story.now = tick + MINUTE;
    await story.judge();
    if (minute < 0) story.people.forget();
    expect([minute, story.people.unheard(story.simulator)]).toEqual([minute, []]);
    const open = story.people.open();
    // The alarm fires after ten minutes, and a second value.
    const bad = targets.slice(0, awayIn(minute)).filter((_, n) => minute > (n === 0 ? 11 : 16));
    const keys = bad.map(({ id }) => [`ClusterUnreadable ${id}`, 'ClusterUnreadable *']);
    expect([minute, keys.filter((either) => !either.some((key) => open.has(key)))]).toEqual([minute, []]);
  }
  const minuteOf = (at: number): number => (at - NOW) / MINUTE;
  const keys = story.people.messages
    .filter(({ topic, key }) => topic === 'pager' && key.startsWith('ClusterUnreadable'))
    .map(({ at, state, key }) => `${minuteOf(at)} ${state} ${key}`);
  expect(keys).toEqual([
    '11 opened ClusterUnreadable c000',
    // It is one of the group now.
    '16 closed ClusterUnreadable c000',
    '16 opened ClusterUnreadable *',
    '62 closed ClusterUnreadable *',
  ]);
  const lines = story.people.messages.filter(({ topic }) => topic === 'critical').map(({ line }) => line);
  expect(lines.filter((line) => line.includes('500 clusters'))).toEqual([
    expect.stringMatching(/^\[grouped\] c000: not over, but one of 500 clusters in one incident since /),
    expect.stringMatching(/^\[critical\] 500 clusters, since .*: certmarshal cannot read/),
  ]);
});
