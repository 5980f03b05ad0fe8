import { expect, it, onTestFinished } from 'vitest';
import { type AgeWindow, everywhere } from '../../lambdas/approval/policy.ts';
import { journalLines } from '../support/journal-lines.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { startSimulatedAws } from './aws/simulated-aws.ts';
import { steppedClock } from './clock.ts';
import { startEksCluster } from './hub/clusters.ts';
import { startHub } from './hub/hub.ts';
import { HUB, JOURNAL_BUCKET } from './hub/places.ts';
import { fleetOf, MINUTE, START } from './hub/world.ts';

const HOURS = 6;

it('has a line of a CSR that is never proven when it may first be judged, and then each hour', async () => {
  const output = captureStdout();
  onTestFinished(() => output.restore());
  const clock = steppedClock(START);
  await using aws = await startSimulatedAws({ clock });
  const zurich = await startEksCluster({ aws, clock }, HUB, 'zurich');
  // A file allows 15 minutes: a kubelet waits no longer.
  const longer = ({ minSeconds }: AgeWindow): AgeWindow => ({ minSeconds, maxSeconds: 25 * 3_600 });
  const file = fleetOf('version: 1\ndiscovery: [{ accounts: [self] }]');
  const policies = file.policies.map(({ age, ...policy }) => ({
    ...policy,
    mode: everywhere('enforce'),
    age: { ...age, eks: longer(age.eks) },
  }));
  await using hub = startHub({ aws, clock, fleet: { ...file, policies }, audits: false });
  zurich.ask(9);
  for (let minute = 0; minute < HOURS * 60; minute += 1) {
    await hub.minute();
    await clock.advance(MINUTE);
  }
  await zurich.server.stop();

  const keys = aws.s3.keys(JOURNAL_BUCKET);
  expect(keys.length).toBeGreaterThanOrEqual(HOURS);
  expect(keys.length).toBeLessThanOrEqual(HOURS + 2);
  const lines = journalLines(aws, JOURNAL_BUCKET);
  expect(lines).toHaveLength(keys.length);
  expect(lines[0]).toMatchObject({ verdict: 'leave', outcome: 'none', hostile: false });
  const ages = lines.map(({ at }) => (Date.parse(at) - START) / MINUTE);
  expect(ages).toEqual([2, ...Array.from({ length: HOURS - 1 }, (_, hour) => 60 * (hour + 1))]);
});
