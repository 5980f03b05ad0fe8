import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Finding, IndexedCluster, IndexedRollout } from '../../../lambdas/contracts/fleet-index.ts';
import { fleetHealth, type Monitoring } from '../../../lambdas/health/fleet-health.ts';
import { ROLLOUT_STATES, type RolloutState } from '../../../lambdas/tables/rollout-states.ts';
import { at, auditSummary, DAY, index, indexed, MINUTE, NOW, PARIS, registered, registry } from '../fleet/values.ts';

const MONITORING: Monitoring = { alarms: {}, maintenance: [], auditEveryMinutes: 15 };
const CALM = { counts: { critical: 0, warning: 0, info: 0 }, findings: [], findingCount: 0, ends: [] };
const STUCK = {
  id: 'stuck',
  object: 'Machine eksa-system/paris-cp-1',
  message: 'no machine was made for 50 minutes',
  remedy: 'Look at it.',
};

function rollout(state: RolloutState, changed: Partial<IndexedRollout> = {}): IndexedRollout {
  return {
    state,
    message: 'a rollout of 3 control plane machines is refused: 1 of 20 checks fails',
    at: at(-MINUTE),
    since: at(-DAY),
    reasons: [],
    reasonCount: 0,
    ...changed,
  };
}

function healthOf(known: Partial<IndexedCluster>, monitoring: Partial<Monitoring> = {}, away: object = {}) {
  const cluster = indexed('paris', { audit: auditSummary(CALM), ...known });
  const found = registered('paris', { foundAt: at(-DAY), target: PARIS, ...away });
  return fleetHealth(registry(found), index(cluster), { ...MONITORING, ...monitoring }, NOW);
}
const signalsOf = (...args: Parameters<typeof healthOf>) => healthOf(...args).clusters[0]?.signals ?? [];
const idsOf = (...args: Parameters<typeof healthOf>) => signalsOf(...args).map(({ id }) => id);
const finding = (kind: string): Finding => ({
  kind,
  object: 'cluster paris',
  message: `${kind} it is`,
  remedy: 'Mend it.',
  ofRecovery: kind.startsWith('recovery') ? true : undefined,
  since: at(-DAY),
});

describe('the rollout of a cluster', () => {
  it.each<[RolloutState, readonly string[]]>([
    ['off', []],
    ['idle', []],
    ['waiting', []],
    ['ready', []],
    ['rolling', []],
    ['verifying', []],
    ['done', []],
    ['aborted', []],
    ['foreign', []],
    ['refused', ['RolloutsNeeded']],
    ['assist', ['RolloutsNeeded']],
    ['held', ['RolloutsHeld']],
    ['expired', ['RolloutsHeld']],
  ])('%s needs somebody: %s', (state, expected) => {
    expect(idsOf({ rollout: rollout(state) })).toEqual(expected);
  });

  it('tells the first reason of a hold, when it bites, and the command that shows it', () => {
    const soonestEnd = at(12 * DAY);
    expect(signalsOf({ rollout: rollout('held', { reasons: [STUCK], soonestEnd }) })).toEqual([
      {
        id: 'RolloutsHeld',
        value: 1,
        story: 'its rollout is held: Machine eksa-system/paris-cp-1: no machine was made for 50 minutes (stuck)',
        since: at(-DAY),
        due: soonestEnd,
        command: expect.stringMatching(/^certmarshal rollout status --kubeconfig KUBECONFIG .*--cluster \S+/),
      },
    ]);
  });

  it('names no command that EKS clusters do not have', () => {
    const eks = { target: { ...PARIS, cluster: { name: 'paris', provider: 'eks' } } };
    const unentered = { target: undefined };
    for (const state of ['held', 'refused'] as const) {
      const commands = [
        ...signalsOf({ rollout: rollout(state) }, {}, eks),
        ...signalsOf({ rollout: rollout(state), provider: 'eks' }, {}, unentered).filter(({ id }) =>
          id.startsWith('R'),
        ),
      ].map(({ command }) => command);
      expect(commands).toHaveLength(2);
      for (const command of commands) expect(command).toMatch(/^certmarshal audit /);
    }
  });

  it('tells that certificates ended before anybody began it', () => {
    const [signal] = signalsOf({ rollout: rollout('expired', { message: 'certificates ended' }) });
    expect(signal?.story).toBe('not rolled in time: certificates ended');
  });

  it('tells what is needed with the check that fails first', () => {
    const [signal] = signalsOf({ rollout: rollout('refused', { reasons: [STUCK] }) });
    expect(signal?.story).toBe(
      'a rollout of 3 control plane machines is refused: 1 of 20 checks fails: Machine eksa-system/paris-cp-1: no machine was made for 50 minutes (stuck)',
    );
    expect(signal?.command).toMatch(/^certmarshal rollout plan /);
    expect(signal).not.toHaveProperty('due', expect.anything());
  });

  it.each([
    [29, []],
    [30, ['RolloutsNeeded']],
  ])('asks for nobody before it is due for half an hour: %i minutes', (minutes, expected) => {
    expect(idsOf({ rollout: rollout('refused', { since: at(-minutes * MINUTE) }) })).toEqual(expected);
  });

  it('rings at once when it is held', () => {
    expect(idsOf({ rollout: rollout('held', { since: at(0) }) })).toEqual(['RolloutsHeld']);
  });

  it('is critical when held, a warning when needed, also in maintenance', () => {
    const window = { clusters: ['paris'], when: { from: at(-MINUTE), until: at(DAY) } };
    const maintenance: Monitoring['maintenance'] = [window];
    const held = healthOf({ rollout: rollout('held') }, { maintenance });
    expect(held.clusters).toMatchObject([{ state: 'critical', rollout: { state: 'held' } }]);
    expect(held.totals.RolloutsHeld).toBe(1);
    const needed = healthOf({ rollout: rollout('assist') }, { maintenance });
    expect(needed.clusters[0]?.state).toBe('warning');
  });

  it.each([
    ['refused', 'RolloutsNeeded'],
    ['assist', 'RolloutsNeeded'],
    ['held', 'RolloutsHeld'],
    ['expired', 'RolloutsHeld'],
  ] as const)('is not forgotten when it is %s and no one looks any more: that is told', (state, expected) => {
    const old = rollout(state, { at: at(-2 * DAY), since: at(-3 * DAY) });
    expect(signalsOf({ rollout: old })).toMatchObject([
      { id: expected, story: expect.stringMatching(/; not checked for 2 days$/) },
    ]);
    expect(idsOf({ rollout: old, readable: false, complete: false })).toContain(expected);
    expect(idsOf({ rollout: old }, {}, { missingSince: at(-MINUTE) })).toEqual([]);
    const fresh = rollout(state, { at: at(-30 * MINUTE) });
    expect(signalsOf({ rollout: fresh })[0]?.story).not.toContain('not checked');
  });

  it('rings no more when the cluster is gone', () => {
    expect(idsOf({ rollout: rollout('held') }, {}, { missingSince: at(-MINUTE) })).toEqual([]);
  });

  it('lets nobody write to a terminal or a shell, and says what fits on a phone', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ROLLOUT_STATES), fc.string({ unit: 'binary', maxLength: 900 }), (state, text) => {
        const reasons = [{ id: 'stuck', object: text, message: text, remedy: text }];
        for (const { story, command } of signalsOf({ rollout: rollout(state, { message: text, reasons }) })) {
          expect(story.length).toBeLessThanOrEqual(601);
          // oxlint-disable-next-line no-control-regex -- that is what must not be there
          expect(`${story}${command}`).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
        }
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});

describe('a recovery that is open', () => {
  it('is told as long as it is', () => {
    const known = { complete: false, findings: [finding('recovery-connection')], findingCount: 1 };
    const health = healthOf(known);
    expect(health.clusters[0]?.signals).toEqual([
      {
        id: 'RecoveriesOpen',
        value: 1,
        story: 'recovery-connection it is',
        since: at(-DAY),
        command: 'certmarshal doctor --fleet fleet.yaml --cluster paris',
      },
    ]);
    expect(health.clusters[0]?.state).toBe('warning');
    expect(health.clusters[0]?.state).toBe('warning');
  });

  it.each([
    ['recovery-connection', []],
    ['rollout-ledger', []],
    ['held-back', []],
    ['forbidden', ['IncompleteFor']],
  ])('a sweep with the finding %s is in nobody’s way, or is: %s', (kind, expected) => {
    const known = { complete: false, completeAt: at(-DAY), findings: [finding(kind)], findingCount: 1 };
    expect(idsOf(known).filter((id) => id === 'IncompleteFor')).toEqual(expected);
  });

  it('hides no failure beside it', () => {
    const findings = [finding('recovery-connection'), finding('forbidden')];
    const known = { complete: false, completeAt: at(-DAY), findings, findingCount: 2 };
    expect(signalsOf(known).find(({ id }) => id === 'IncompleteFor')?.story).toContain('forbidden it is');
  });
});
