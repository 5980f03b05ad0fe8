import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AlarmEvent } from '../../../lambdas/contracts/event.ts';
import { type NotificationState, parseNotificationState } from '../../../lambdas/contracts/notification-state.ts';
import { incidentKey } from '../../../lambdas/notify/incident.ts';
import { markNotified, NOBODY, NOTHING_NOTIFIED } from '../../../lambdas/notify/notification-state.ts';
import { planLook, planNotifications } from '../../../lambdas/notify/plan.ts';
import { MINUTE, NOW } from '../fleet/values.ts';
import { cluster, ETCD, fleet, message } from './values.ts';

const IDS = ['a', 'b', 'c', 'd'];
const NAMED = { alarm: 'CertificateCritical' } as const;

/** What happens to a fleet, and what CloudWatch says of it: late, twice, or not at all. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('fleet' as const), unwell: fc.subarray(IDS) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('message' as const),
      state: fc.constantFrom('ALARM', 'OK', 'INSUFFICIENT_DATA'),
      age: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
      blind: fc.boolean(),
      twice: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('look' as const), blind: fc.boolean() }) },
);
const steps = fc.array(step, { maxLength: 40 });

const nameOf = ({ cluster: id }: AlarmEvent): string => id ?? NOBODY;
const fleetOf = (unwell: readonly string[]) =>
  fleet(...IDS.map((id) => cluster(id, unwell.includes(id) ? [ETCD] : [])));

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What is wrong with what somebody who reads everything was told. */
function wrongIn(all: readonly Step[]): readonly string[] {
  const wrong: string[] = [];
  let told: NotificationState = NOTHING_NOTIFIED;
  let unwell: readonly string[] = [];
  let now = NOW;
  const open = new Set<string>();
  /** What is open and was healthy since it opened: it may open again, and its end need not have been told. */
  const healthySince = new Set<string>();
  const read = (events: readonly AlarmEvent[]): void => {
    // A topic of SNS keeps no order: of two events the service might take the first for the last.
    if (new Set(events.map(incidentKey)).size < events.length) wrong.push('two events of one incident at once');
    for (const event of events) {
      const name = nameOf(event);
      const isOpening = event.state === 'opened';
      // Where nobody can be named each change of the alarm is told.
      if (name !== NOBODY && open.has(name) === isOpening && !(isOpening && healthySince.has(name)))
        wrong.push(`${name} ${event.state} twice`);
      healthySince.delete(name);
      if (isOpening && !unwell.includes(name) && name !== NOBODY) wrong.push(`${name} opened wrongly`);
      if (isOpening) open.add(name);
      else open.delete(name);
    }
  };
  const look = (health: ReturnType<typeof fleetOf> | undefined): void => {
    const plan = planLook({ told, health, settings: {}, now });
    read(plan.messages.flatMap(({ events }) => events));
    told = markNotified(told, plan.change);
  };
  for (const one of all) {
    now += 11 * MINUTE;
    if (one.kind === 'fleet') {
      ({ unwell } = one);
      for (const id of open) if (!unwell.includes(id)) healthySince.add(id);
      continue;
    }
    const health = one.blind ? undefined : fleetOf(unwell);
    if (one.kind === 'look') {
      look(health);
      continue;
    }
    const changedAt = one.age === undefined ? undefined : new Date(now - one.age * MINUTE).toISOString();
    const said = message('CertificateCritical', one.state, changedAt === undefined ? {} : { changedAt });
    const plan = planNotifications({ named: NAMED, message: said, told, health, settings: {}, now });
    read(plan.messages.flatMap(({ events }) => events));
    told = markNotified(told, plan.change);
    if (plan.again !== undefined && !(one.blind && plan.messages.length === 0)) wrong.push('not used');
    const again = planNotifications({ named: NAMED, message: said, told, health, settings: {}, now: now + 1 });
    if (again.messages.length > 0) wrong.push(`${one.state} told twice`);
    if (one.state === 'ALARM' && !one.blind && unwell.some((id) => !open.has(id))) wrong.push('a cluster not told');
    // What somebody who read everything takes for open is what is remembered.
    const remembered = Object.keys(told.open.CertificateCritical ?? {});
    if (new Set([...remembered, ...open]).size !== remembered.length || remembered.length !== open.size)
      wrong.push('remembered otherwise');
  }
  for (let turn = 0; turn < 3; turn += 1) {
    now += 11 * MINUTE;
    look(fleetOf(unwell));
  }
  for (const id of open) if (id !== NOBODY && !unwell.includes(id)) wrong.push(`${id} still open`);
  const parsed = parseNotificationState(JSON.parse(JSON.stringify(told)), now);
  if (JSON.stringify(parsed) !== JSON.stringify(told)) wrong.push('not read back');
  return wrong;
}

describe('what people are told, whatever CloudWatch says when', () => {
  it('is every cluster that rings, once for each opening, and its end once', () => {
    fc.assert(
      fc.property(steps, (all) => {
        expect(wrongIn(all)).toEqual([]);
      }),
      { seed: 23, numRuns: 400 },
    );
  });

  it('is never nothing for an alarm that is new', () => {
    fc.assert(
      fc.property(fc.subarray(IDS), fc.boolean(), (unwell, blind) => {
        const { messages } = planNotifications({
          named: NAMED,
          message: message('CertificateCritical', 'ALARM'),
          told: NOTHING_NOTIFIED,
          health: blind ? undefined : fleetOf(unwell),
          settings: {},
          now: NOW,
        });
        expect(messages).toHaveLength(1);
      }),
      { seed: 29 },
    );
  });
});
