import { describe, expect, it } from 'vitest';
import type { RolloutMark } from '../../../lambdas/contracts/rollout-mark.ts';
import type { HoldReason } from '../../../lambdas/contracts/rollout-summary.ts';
import { type EtcdQuestion, etcdTurn, nonceOf, pauseOf } from '../../../lambdas/rollout/etcd-order.ts';
import type {
  ObservedControlPlane,
  ObservedEtcd,
  ObservedMachine,
  ObservedRollout,
} from '../../../lambdas/rollout/observed.ts';
import { progressOf } from '../../../lambdas/rollout/progress.ts';
import { markOf } from '../../../lambdas/rollout/rollout-mark.ts';
import {
  CLUSTER_ID,
  controlPlane,
  DAY,
  etcd,
  etcdConditions,
  etcdMachine,
  HOUR,
  healthyExternal,
  MINUTE,
  NOW,
  served,
} from './fixtures.ts';

const SINCE = NOW - 40 * MINUTE;
const MARK: RolloutMark = markOf(CLUSTER_ID, SINCE, 'certificates end soon', 'schedule');
const NONCE = nonceOf(MARK);

/** A machine of etcd that the rollout made. */
function fresh(number: number, changes: Partial<ObservedMachine> = {}): ObservedMachine {
  const createdAt = NOW - (12 - number) * MINUTE;
  return etcdMachine(number, {
    createdAt,
    served: served({ notAfter: createdAt + 365 * DAY, fingerprint: `d${number}`.repeat(32) }),
    ...changes,
  });
}

const NEW = [fresh(4, { createdAt: SINCE }), fresh(5), fresh(6)];
const OLD = [1, 2, 3].map((number) => etcdMachine(number));
const GIVEN_UP = OLD.map((machine) => ({ ...machine, owned: false }));
const OLD_CLIENT = { notBefore: 0, notAfter: NOW + 40 * DAY };
const NEW_CLIENT = { notBefore: NOW - 800 * DAY, notAfter: NOW - MINUTE + 365 * DAY };

/** It was told to roll. */
const told = (changes: Partial<ObservedEtcd> = {}) =>
  etcd({ mark: MARK, postEtcdadmCommands: ['echo mine', NONCE], generation: 3, observedGeneration: 3, ...changes });
const settled = (changes: Partial<ObservedEtcd> = {}) =>
  told({ machines: [...GIVEN_UP, ...NEW], clientCertificate: NEW_CLIENT, ...changes });

interface Case {
  readonly etcd?: ObservedEtcd | undefined;
  readonly paused?: string | undefined;
  readonly inTheWay?: readonly HoldReason[];
  readonly now?: number;
  readonly unread?: ObservedRollout['unread'];
}

/** Old machines, of which only a condition changes. */
function changing(ms: number): Case {
  const conditions = etcdConditions({ EtcdMachinesSpecUpToDate: { status: 'False', since: SINCE + ms } });
  return { etcd: told({ upgrading: true, machines: OLD, conditions }), now: SINCE + ms };
}

function turn({ etcd: one, inTheWay = [], now = NOW, unread = [], ...rest }: Case) {
  const paused = 'paused' in rest ? rest.paused : pauseOf(MARK);
  const plane: ObservedControlPlane = controlPlane({ etcd: 'external', mark: MARK, paused });
  const { etcd: _, ...without } = healthyExternal({ controlPlane: plane, unread });
  const observed = one === undefined ? without : { ...without, etcd: one };
  const question: EtcdQuestion = {
    observed,
    controlPlane: plane,
    mark: MARK,
    since: SINCE,
    now,
    progress: progressOf(observed, SINCE, now),
    inTheWay: () => inTheWay,
  };
  return etcdTurn(question);
}

const held = (result: ReturnType<typeof turn>) =>
  result.kind === 'hold' ? result.reasons.map(({ id }) => id) : result;
const REASON: HoldReason = { id: 'maintenance-window', message: 'no window is open', remedy: 'wait' };

describe('the order of external etcd', () => {
  it('tells etcd to roll with one write, when the control plane is paused by us', () => {
    const mine = etcd({ postEtcdadmCommands: ['echo mine', 'true # certmarshal rollout 20251201-0000000000'] });
    const result = turn({ etcd: mine });
    expect(result).toEqual({
      kind: 'write',
      write: {
        kind: 'roll-etcd',
        object: { namespace: mine.namespace, name: mine.name, uid: mine.uid, resourceVersion: mine.resourceVersion },
        mark: MARK,
        postEtcdadmCommands: ['echo mine', NONCE],
      },
      message: 'would roll 3 etcd machines; the control plane is paused for it',
    });
  });

  it('checks everything again before, and waits for what passes', () => {
    expect(turn({ etcd: etcd(), inTheWay: [REASON], now: SINCE + 10 * MINUTE }).kind).toBe('wait');
    expect(held(turn({ etcd: etcd(), inTheWay: [REASON], now: SINCE + 10 * MINUTE + 1 }))).toEqual([
      'etcd-not-begun',
      'maintenance-window',
    ]);
  });

  it('waits for etcd that cannot be read for less than ten minutes, and not for etcd that is gone', () => {
    const unread = [{ kind: 'timeout', object: 'EtcdadmCluster', message: 'no answer', remedy: 'wait' }];
    const after = (ms: number, what: Case) => held(turn({ etcd: undefined, now: SINCE + ms, ...what }));
    expect(after(10 * MINUTE - 1, { unread })).toMatchObject({ kind: 'wait' });
    expect(after(10 * MINUTE, { unread })).toEqual(['etcd-failed']);
    expect(after(MINUTE, {})).toEqual(['etcd-failed']);
  });

  it.each<[string, Case]>([
    ['the controller has not seen it', { etcd: told({ generation: 4, machines: OLD }) }],
    ['it is upgrading', { etcd: told({ upgrading: true, ready: false, machines: [...OLD, fresh(4)] }) }],
    ['the last member joins', { etcd: settled({ ready: false }) }],
    [
      'a member is not ready yet',
      { etcd: settled({ machines: [...NEW.slice(1), fresh(4, { etcdReady: false, createdAt: NOW - 30 * MINUTE })] }) },
    ],
    [
      'the controller has work left',
      { etcd: settled({ conditions: etcdConditions({ EtcdMachinesSpecUpToDate: { status: 'False' } }) }) },
    ],
    ['the certificate of the client is old', { etcd: settled({ clientCertificate: OLD_CLIENT }) }],
    [
      'a member is away for a moment while the control plane rolls',
      { etcd: settled({ ready: false }), paused: undefined },
    ],
    ['nothing moves for 45 minutes', { etcd: told({ machines: OLD }), now: SINCE + 45 * MINUTE }],
    ['conditions change for a day, and no machine is replaced', changing(24 * HOUR)],
  ])('waits while %s', (_, one) => {
    expect(turn(one).kind).toBe('wait');
  });

  it.each<[string, ObservedEtcd]>([
    ['with a new certificate of the client', settled()],
    ['where the certificate of the client may not be read', settled({ clientCertificate: undefined })],
  ])('removes its pause when etcd is settled, %s', (_, one) => {
    const result = turn({ etcd: one });
    expect(result).toMatchObject({ kind: 'write', write: { kind: 'unpause-control-plane', mark: MARK } });
  });

  it('leaves the rest to the control plane', () => {
    expect(turn({ etcd: settled(), paused: undefined })).toEqual({ kind: 'control-plane' });
  });

  it.each<[string, Case, readonly string[]]>([
    ['etcd is gone', { etcd: undefined }, ['etcd-failed']],
    ['etcd is being deleted', { etcd: told({ deleting: true }) }, ['etcd-failed']],
    ['somebody else paused the control plane', { etcd: told(), paused: 'me' }, ['paused']],
    ['an earlier rollout paused it', { etcd: told(), paused: 'certmarshal-rollout/20251201-0000000000' }, ['paused']],
    ['our pause is gone before etcd begins', { etcd: etcd(), paused: undefined }, ['etcd-pause-lost']],
    [
      'our pause is gone while it rolls',
      { etcd: settled({ upgrading: true }), paused: undefined },
      ['etcd-pause-lost'],
    ],
    [
      'our pause is gone and old ones are left',
      { etcd: told({ machines: [...OLD, ...NEW] }), paused: undefined },
      ['etcd-pause-lost'],
    ],
    ['our command is gone', { etcd: settled({ postEtcdadmCommands: [] }) }, ['etcd-taken-over']],
    ['etcd is paused', { etcd: told({ paused: true }) }, ['paused']],
    [
      'there are as many machines as there may be',
      {
        etcd: told({
          conditions: etcdConditions({
            EtcdMachinesSpecUpToDate: { status: 'False', reason: 'MaxNumberOfEtcdMachinesReached' },
          }),
        }),
      },
      ['etcd-cap-reached'],
    ],
    [
      'a new one has no owner',
      { etcd: settled({ machines: [...NEW, fresh(7, { owned: false, createdAt: SINCE })] }) },
      ['etcd-orphans'],
    ],
    [
      'a machine is unhealthy',
      { etcd: told({ machines: [...OLD.slice(1), etcdMachine(1, { unhealthy: ['no disk'] })] }) },
      ['etcd-unhealthy'],
    ],
    ['nothing moves', { etcd: told({ machines: OLD }), now: SINCE + 45 * MINUTE + 1 }, ['stuck']],
    ['conditions change for over a day, and no machine is replaced', changing(24 * HOUR + 1), ['stuck']],
    [
      'conditions change for a day, and the certificate of the client stays old',
      {
        etcd: settled({
          clientCertificate: OLD_CLIENT,
          conditions: etcdConditions({ EtcdCertificatesAvailable: { status: 'True', since: SINCE + 26 * HOUR } }),
        }),
        now: SINCE + 26 * HOUR,
      },
      ['etcd-client-old'],
    ],
    [
      'the certificate of the client stays old',
      { etcd: settled({ clientCertificate: OLD_CLIENT }), now: NOW + HOUR },
      ['etcd-client-old'],
    ],
    [
      'a certificate ended',
      { etcd: settled({ machines: [etcdMachine(1, { served: served({ notAfter: NOW }) }), ...NEW] }) },
      ['not-expired'],
    ],
  ])('holds when %s', (_, one, reasons) => {
    expect(held(turn(one))).toEqual(reasons);
  });

  it.each<[string, Partial<ObservedMachine>, string]>([
    ['what is wrong with it', { unhealthy: ['no disk'] }, 'no disk'],
    ['that it is not ready', { etcdReady: false }, 'etcd on it is not ready'],
  ])('says of a machine %s', (_, changes, message) => {
    const machines = [...OLD.slice(1), etcdMachine(1, changes)];
    expect(turn({ etcd: told({ machines }) })).toMatchObject({
      kind: 'hold',
      reasons: [{ id: 'etcd-unhealthy', object: 'Machine berlin-prod-etcd-1', message }],
    });
  });

  it('never rolls etcd unless the control plane is paused by it', () => {
    for (const paused of [undefined, '', 'true', 'certmarshal-rollout/20251201-0000000000']) {
      for (const one of [etcd(), told(), settled()]) {
        const result = turn({ etcd: one, paused });
        expect(result.kind === 'write' ? result.write.kind : undefined).not.toBe('roll-etcd');
      }
    }
  });
});
