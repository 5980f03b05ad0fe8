import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RolloutMark } from '../../../lambdas/contracts/rollout-mark.ts';
import { CHECK_IDS, type CheckId, type CheckQuestion, checksOf } from '../../../lambdas/rollout/checks.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import { WAIVERS } from '../../../lambdas/rollout/policy.ts';
import {
  CLUSTER_ID,
  controlPlane,
  controlPlaneConditions,
  DAY,
  days,
  eksAnywhere,
  etcd,
  etcdConditions,
  etcdMachine,
  HOUR,
  healthyExternal,
  healthyRollout,
  history,
  MINUTE,
  machine,
  NAMESPACE,
  NOW,
  policy,
  served,
} from './fixtures.ts';

function question(changes: Partial<CheckQuestion> = {}): CheckQuestion {
  return {
    observed: healthyRollout(),
    policy: policy(),
    history: history(),
    trigger: 'schedule',
    now: NOW,
    ...changes,
  };
}

/** The question with another observation. */
function seen(changes: Partial<ObservedRollout>): CheckQuestion {
  return question({ observed: healthyRollout(changes) });
}

function external(changes: Parameters<typeof etcd>[0]): CheckQuestion {
  return question({ observed: healthyExternal({ etcd: etcd(changes) }) });
}

function failing(asked: CheckQuestion): readonly CheckId[] {
  return checksOf(asked).flatMap(({ id, passed }) => (passed ? [] : [id]));
}

const machines = (...changed: readonly ReturnType<typeof machine>[]) => [
  ...changed,
  ...[1, 2, 3].slice(changed.length).map((number) => machine(number)),
];

const MIRROR = { where: 'Cluster default/berlin', notAfter: NOW + DAY };
const berlin = { id: CLUSTER_ID, name: 'berlin-prod', managesItself: false };
const management = { id: 'berlin-mgmt', name: 'berlin-prod', managesItself: true };
const sibling = { namespace: NAMESPACE, cluster: 'milan-prod', rolling: false, optedIn: true };
const lease = { uid: 'u', resourceVersion: '1' };
const alone = controlPlane({ replicas: 1, status: { replicas: 1, ready: 1, available: 1, upToDate: 1 } });
const mark: RolloutMark = { id: 'a', start: days(-200), reason: 'r', trigger: 'schedule' };
const past = { id: 'x', cluster: CLUSTER_ID, trigger: 'schedule', startedAt: NOW, endedAt: NOW } as const;
/** What the owners of other clusters can make of them. */
const NEIGHBOURS: Readonly<Record<string, Partial<ObservedRollout>>> = {
  'machines of another move': { siblings: [{ ...sibling, rolling: true }] },
  'others have more control planes than are read': { moreSiblings: true },
  'another says that it is due': { cluster: management, siblings: [{ ...sibling, soonestEnd: NOW + 20 * DAY }] },
  'another does not say when it is due': { cluster: management, siblings: [sibling] },
};
const undone = (ago: number) => ({ cluster: CLUSTER_ID, claimedAt: NOW - ago * DAY });
const FALSE = { status: 'False' } as const;
const TRUE = { status: 'True' } as const;

/** For each check at least one single thing that is not as it should be; and nothing else fails. */
const ONE_THING: Readonly<Record<CheckId, Readonly<Record<string, CheckQuestion>>>> = {
  'opted-in-by-fleet': { 'no entry': question({ policy: undefined }) },
  'opted-in-by-owner': {
    'no annotation': seen({ eksAnywhere: eksAnywhere({ mode: '' }) }),
    'neither object': seen({ eksAnywhere: undefinedMode() }),
    'one of them disagrees': seen({ controlPlane: controlPlane({ mode: 'off' }) }),
    'two have the name': seen({ eksAnywhere: eksAnywhere({ contested: ['default', 'tenant-x'] }) }),
    'two have the name, and one forbids': seen({
      eksAnywhere: eksAnywhere({ contested: ['default', 'tenant-x'], mode: 'off' }),
      controlPlane: controlPlane({ mode: 'auto' }),
    }),
  },
  'everything-read': {
    'a list that was refused': seen({
      unread: [{ kind: 'forbidden', object: 'list leases', message: 'may not', remedy: 'Grant it' }],
    }),
  },
  'not-expired': {
    'one machine ended': seen({ machines: machines(machine(1, { served: served({ notAfter: NOW }) })) }),
    'etcd ended': external({ machines: [1, 2, 3].map((n) => etcdMachine(n, n > 1 ? {} : { served: ended() })) }),
    'client certificate ended': external({
      clientCertificate: { notBefore: NOW - 366 * DAY, notAfter: NOW - DAY },
    }),
  },
  due: {
    'all end in 46 days': seen({
      machines: [1, 2, 3].map((n) =>
        machine(n, { served: served({ notAfter: NOW + 46 * DAY, fingerprint: `0${n}`.repeat(32) }) }),
      ),
    }),
    'a share that is less': question({ policy: policy({ begin: { days: 45, share: 0.1 } }) }),
  },
  'not-too-late': {
    'one ends in 9 days': seen({
      machines: machines(machine(1, { served: served({ notAfter: NOW + 9 * DAY }) })),
    }),
    'the floor is 7 days': question({
      policy: policy({ stop: { days: 1, share: 0.01 } }),
      observed: healthyRollout({ machines: machines(machine(1, { served: served({ notAfter: NOW + 7 * DAY - 1 }) })) }),
    }),
  },
  'maintenance-window': {
    'another day': question({
      policy: policy({ windows: [{ days: ['sun'], from: '02:00', until: '06:00', timeZone: 'Europe/Berlin' }] }),
    }),
    'no zone': question({
      policy: policy({ windows: [{ days: ['sat'], from: '02:00', until: '06:00', timeZone: 'Europe/Atlantis' }] }),
    }),
  },
  'cool-down': {
    'a person rolled it 6 days ago': question({
      history: history({
        rollouts: [{ ...past, trigger: 'person', startedAt: NOW - 7 * DAY - HOUR, endedAt: NOW - 6 * DAY }],
      }),
    }),
    'its mark says so': seen({
      controlPlane: controlPlane({ mark: { ...mark, trigger: 'person', start: days(-6) } }),
    }),
    'its etcd says so': external({ mark: { ...mark, trigger: 'person', start: days(-6) } }),
  },
  'loop-guard': {
    'the schedule rolled it 89 days ago': question({
      history: history({ rollouts: [{ ...past, startedAt: NOW - 89 * DAY, endedAt: NOW - 89 * DAY }] }),
    }),
    'its mark says so': seen({ controlPlane: controlPlane({ mark: { ...mark, start: days(-89) } }) }),
    'it never began': question({ history: history({ undone: [1, 2, 89].map(undone) }) }),
  },
  'fleet-budget': {
    unread: question({ history: history({ unread: 'the bucket is away' }) }),
    'another one rolls': question({
      history: history({
        rollouts: [{ id: 'x', cluster: 'oslo', trigger: 'schedule', startedAt: NOW - 2 * HOUR }],
      }),
    }),
    'the last start was 59 minutes ago': question({
      history: history({
        rollouts: [{ ...past, cluster: 'oslo', startedAt: NOW - 59 * MINUTE, endedAt: NOW - MINUTE }],
      }),
    }),
  },
  'one-of-its-management-cluster': {
    'a sibling rolls': seen({ siblings: [{ ...sibling, rolling: true, optedIn: false }] }),
    'there are more siblings than are read': seen({ moreSiblings: true }),
    'a Lease that was taken three days ago': seen({
      lease: { ...lease, holder: 'eksa-system/milan-prod a', acquiredAt: NOW - 72 * HOUR, renewedAt: NOW },
    }),
    'a Lease that is forgotten, and the machines of its holder move': seen({
      siblings: [{ ...sibling, rolling: true }],
      lease: { ...lease, holder: 'eksa-system/milan-prod a', acquiredAt: NOW - 72 * HOUR, renewedAt: NOW - 25 * HOUR },
    }),
    'the Lease is held': seen({ lease: { ...lease, holder: 'eksa-system/milan-prod a', renewedAt: NOW - 23 * HOUR } }),
    'a name that begins like ours': seen({
      lease: { ...lease, holder: 'eksa-system/berlin-prod-2 a', renewedAt: NOW },
    }),
  },
  'management-cluster-last': {
    'a sibling is due': seen({ cluster: management, siblings: [{ ...sibling, soonestEnd: NOW + 45 * DAY }] }),
    'nobody knows': seen({ cluster: management, siblings: [sibling] }),
  },
  'eks-anywhere-settled': {
    deleting: seen({ eksAnywhere: eksAnywhere({ deleting: true }) }),
    paused: seen({ eksAnywhere: eksAnywhere({ paused: true }) }),
    'not ready': seen({ eksAnywhere: eksAnywhere({ ready: FALSE }) }),
    'no Ready': seen({ eksAnywhere: eksAnywhere({ ready: { status: 'Missing' } }) }),
    'not observed': seen({ eksAnywhere: eksAnywhere({ observedGeneration: 6 }) }),
    'not reconciled': seen({ eksAnywhere: eksAnywhere({ reconciledGeneration: 6 }) }),
    failed: seen({ eksAnywhere: eksAnywhere({ failureMessage: 'no datastore' }) }),
    upgrade: seen({ eksAnywhere: eksAnywhere({ controlPlaneUpgrade: true }) }),
  },
  'cluster-not-paused': {
    paused: seen({ capiCluster: capi({ paused: true }) }),
    deleting: seen({ capiCluster: capi({ deleting: true }) }),
    'no Cluster': question({ observed: without('capiCluster') }),
  },
  'no-cluster-class': { topology: seen({ capiCluster: capi({ topology: true }) }) },
  'control-plane-not-paused': {
    'by somebody': seen({ controlPlane: controlPlane({ paused: '' }) }),
    'by certmarshal': seen({ controlPlane: controlPlane({ paused: 'certmarshal-rollout/a' }) }),
    'its value means nothing': seen({ controlPlane: controlPlane({ paused: 'false' }) }),
  },
  'control-plane-settled': {
    deleting: seen({ controlPlane: controlPlane({ deleting: true }) }),
    'not observed': seen({ controlPlane: controlPlane({ observedGeneration: 3 }) }),
    'not ready': seen({ controlPlane: controlPlane({ status: { replicas: 3, ready: 2, available: 3, upToDate: 3 } }) }),
    'no counts': seen({ controlPlane: controlPlane({ status: {} }) }),
    'scaling up': seen({ controlPlane: controlPlane({ conditions: controlPlaneConditions({ ScalingUp: TRUE }) }) }),
    'scaling down': seen({
      controlPlane: controlPlane({ conditions: controlPlaneConditions({ ScalingDown: { status: 'Unknown' } }) }),
    }),
    'Deleting is missing in v1beta2': seen({
      controlPlane: controlPlane({ conditions: controlPlaneConditions({ Deleting: { status: 'Missing' } }) }),
    }),
    'no control plane': question({ observed: without('controlPlane') }),
  },
  'control-plane-certificates': {
    False: seen({
      controlPlane: controlPlane({ conditions: controlPlaneConditions({ CertificatesAvailable: FALSE }) }),
    }),
  },
  'control-plane-healthy': {
    Unknown: seen({
      controlPlane: controlPlane({
        conditions: controlPlaneConditions({ ControlPlaneComponentsHealthy: { status: 'Unknown' } }),
      }),
    }),
  },
  'etcd-healthy': {
    Missing: seen({
      controlPlane: controlPlane({ conditions: controlPlaneConditions({ EtcdClusterHealthy: { status: 'Missing' } }) }),
    }),
  },
  'not-rolling-already': {
    RollingOut: seen({ controlPlane: controlPlane({ conditions: controlPlaneConditions({ RollingOut: TRUE }) }) }),
    'machines older than rollout.after': seen({ controlPlane: controlPlane({ rolloutAfter: NOW - DAY }) }),
    'a mark that nobody can read': seen({ controlPlane: controlPlane({ mark: 'unreadable' }) }),
  },
  'not-remediating': {
    Remediating: seen({ controlPlane: controlPlane({ conditions: controlPlaneConditions({ Remediating: TRUE }) }) }),
    annotation: seen({ controlPlane: controlPlane({ remediating: true }) }),
  },
  'rolling-update': {
    InPlace: seen({ controlPlane: controlPlane({ strategy: 'InPlace' }) }),
    'InPlace, which has no maxSurge': seen({ controlPlane: { ...unknownSurge(), strategy: 'InPlace' } }),
    'an in-place upgrade': seen({ controlPlane: controlPlane({ inPlaceUpgrade: true }) }),
  },
  'no-rollout-planned': { tomorrow: seen({ controlPlane: controlPlane({ rolloutAfter: NOW + DAY }) }) },
  'no-hold': {
    ours: seen({
      controlPlane: controlPlane({ hold: { id: 'a', at: days(-1), reason: 'stuck', message: 'nothing moved' } }),
    }),
    unreadable: seen({ controlPlane: controlPlane({ hold: 'unreadable' }) }),
  },
  'machines-settled': {
    'one too few': seen({ machines: [machine(1), machine(2)] }),
    'one too many': seen({ machines: machines(machine(4), machine(1), machine(2), machine(3)) }),
    deleting: seen({ machines: machines(machine(1, { deleting: true })) }),
    'without a Node': seen({ machines: machines(withoutNode(1)) }),
    'of nobody': seen({ machines: machines(machine(1, { owned: false })) }),
  },
  'machines-healthy': { one: seen({ machines: machines(machine(1, { unhealthy: ['EtcdMemberHealthy is False'] })) }) },
  'machine-hooks': {
    one: seen({ machines: machines(machine(1, { hooks: ['pre-drain.delete.hook.machine.cluster.x-k8s.io/backup'] })) }),
  },
  'health-checks': {
    'two of three': seen({ healthChecks: [{ namespace: NAMESPACE, name: 'kcp', expected: 3, healthy: 2 }] }),
    unknown: seen({ healthChecks: [{ namespace: NAMESPACE, name: 'kcp' }] }),
  },
  'single-replica': { one: seen({ controlPlane: alone, machines: [machine(1)] }) },
  surge: {
    'not accepted': question({
      policy: policy({ accepted: ['etcd-backup'] }),
      observed: healthyRollout({ controlPlane: controlPlane({ maxSurge: 0 }) }),
    }),
    'with one machine': question({
      policy: policy({ accepted: ['etcd-backup', 'no-surge', 'single-replica'] }),
      observed: healthyRollout({ controlPlane: { ...alone, maxSurge: 0 }, machines: [machine(1)] }),
    }),
    unknown: seen({ controlPlane: unknownSurge() }),
  },
  'spare-capacity': { 'nobody vouches': question({ policy: policy({ accepted: ['etcd-backup'] }) }) },
  'machine-template': {
    'not there': seen({
      controlPlane: controlPlane({
        template: { group: 'g', kind: 'T', namespace: 'n', name: 't' },
        templateFound: false,
      }),
    }),
  },
  'authority-outlives': {
    'ends in a year': seen({ authorities: [{ name: 'ca', notAfter: NOW + 365 * DAY }] }),
    'one of two': seen({
      authorities: [
        { name: 'ca', notAfter: NOW + 3000 * DAY },
        { name: 'etcd-ca', notAfter: NOW + 100 * DAY },
      ],
    }),
    'none seen': seen({ authorities: [] }),
  },
  'etcd-backup': { 'nobody vouches': question({ policy: policy({ accepted: ['spare-capacity'] }) }) },
  handshakes: {
    'nobody tried': seen({ machines: machines(machine(1, { served: { kind: 'none' } })) }),
    failed: seen({
      machines: machines(
        machine(1, { served: { kind: 'failed', problem: 'connection refused', remedy: 'Open port 6443' } }),
      ),
    }),
    'of etcd': external({
      machines: [1, 2, 3].map((n) => etcdMachine(n, n > 1 ? {} : { served: { kind: 'none' } })),
    }),
  },
  'machine-dependencies': {
    'a trust bundle ended': seen({ dependencies: [MIRROR, { where: 'the mirror', notAfter: NOW }] }),
    'vCenter shows another certificate': seen({
      dependencies: [{ where: 'vCenter', notAfter: NOW + DAY, problem: 'its certificate is not the one' }],
    }),
  },
  'kubelets-served': {
    'a certificate of the cluster': seen({ machines: machines(machine(1, { kubelet: served() })) }),
    'a kubelet that nobody saw': seen({ machines: machines(machine(1, { kubelet: { kind: 'none' } })) }),
    'a kubelet that waits for its certificate': seen({
      machines: machines(machine(1, { kubelet: { kind: 'failed', problem: 'TLS alert 80', remedy: 'Look.' } })),
      cluster: { ...berlin, approves: false },
    }),
  },
  'external-etcd-settled': {
    'no EtcdadmCluster': seen({ controlPlane: controlPlane({ etcd: 'external' }) }),
    deleting: external({ deleting: true }),
    paused: external({ paused: true }),
    'not ready': external({ ready: false }),
    'not observed': external({ observedGeneration: 1 }),
    'outdated machines': external({ conditions: etcdConditions({ EtcdClusterHasNoOutdatedMachines: FALSE }) }),
    unknown: external({ conditions: etcdConditions({ EtcdMachinesSpecUpToDate: { status: 'Unknown' } }) }),
    upgrading: external({ upgrading: true }),
    'not consumed': external({ upgradeComplete: true }),
    'a mark that nobody can read': external({ mark: 'unreadable' }),
    'one too few': external({ machines: [etcdMachine(1), etcdMachine(2)] }),
    'a machine that goes': external({ machines: [1, 2, 3].map((n) => etcdMachine(n, { deleting: n === 1 })) }),
    orphan: external({ machines: [1, 2, 3].map((n) => etcdMachine(n, { owned: n > 1 })) }),
    'not etcd-ready': external({ machines: [1, 2, 3].map((n) => etcdMachine(n, { etcdReady: n > 1 })) }),
    unhealthy: external({ machines: [1, 2, 3].map((n) => etcdMachine(n, n > 1 ? {} : { unhealthy: ['gone'] })) }),
  },
  'etcd-controller-restarted': {
    'older than the certificate': external({ controllerStartedAt: NOW - 326 * DAY }),
    'nobody knows': external(unknownController()),
    'no certificate, and older than a week': external(unknownClient(NOW - 8 * DAY)),
    'no certificate, and older than a machine': external({
      ...unknownClient(NOW - 2 * DAY),
      machines: [1, 2, 3].map((n) => etcdMachine(n, { createdAt: NOW - DAY })),
    }),
    'no certificate, and as old as a machine': external({
      ...unknownClient(NOW - DAY),
      machines: [1, 2, 3].map((n) => etcdMachine(n, { createdAt: NOW - DAY })),
    }),
  },
};

function undefinedMode() {
  const { mode: _none, ...rest } = eksAnywhere();
  return rest;
}
function ended() {
  return served({ notAfter: NOW - DAY });
}
function capi(changes: object) {
  return { namespace: NAMESPACE, name: 'berlin-prod', deleting: false, paused: false, topology: false, ...changes };
}
function without(key: 'capiCluster' | 'controlPlane'): ObservedRollout {
  const { [key]: _none, ...rest } = healthyRollout();
  return rest;
}
function withoutNode(number: number) {
  const { node: _none, ...rest } = machine(number);
  return rest;
}
function unknownSurge() {
  const { maxSurge: _none, ...rest } = controlPlane();
  return rest;
}
function unknownController() {
  return { ...etcd(), controllerStartedAt: undefined } as unknown as Partial<ReturnType<typeof etcd>>;
}
function unknownClient(controllerStartedAt: number) {
  return { ...etcd(), clientCertificate: undefined, controllerStartedAt } as unknown as Partial<
    ReturnType<typeof etcd>
  >;
}

const EVERY_THING = Object.entries(ONE_THING).flatMap(([id, things]) =>
  Object.entries(things).map(([thing, asked]) => [id as CheckId, thing, asked] as const),
);

describe('the checks before a rollout', () => {
  it.each<readonly [string, CheckQuestion]>([
    ['stacked etcd', question()],
    ['external etcd', question({ observed: healthyExternal() })],
    ['a management cluster', seen({ cluster: management })],
    [
      'kubelets of the cluster that a policy approves',
      seen({ machines: machines(machine(1, { kubelet: served() })), cluster: { ...berlin, approves: true } }),
    ],
    ['a mirror whose CA is valid', seen({ dependencies: [MIRROR] })],
    ['one machine, accepted', question(single())],
    ['no surge, accepted', question(noSurge())],
    ['no maintenance windows', question({ policy: policy({ windows: [] }) })],
    [
      'the annotation on the control plane',
      seen({ eksAnywhere: undefinedMode(), controlPlane: controlPlane({ mode: 'auto' }) }),
    ],
    [
      'the annotation on the control plane, while two Clusters of EKS Anywhere have the name',
      seen({
        eksAnywhere: eksAnywhere({ contested: ['default', 'tenant-x'] }),
        controlPlane: controlPlane({ mode: 'auto' }),
      }),
    ],
    ['a rollout of long ago', seen({ controlPlane: controlPlane({ mark, rolloutAfter: Date.parse(days(-400)) }) })],
    ['its own Lease', seen({ lease: { ...lease, holder: 'eksa-system/berlin-prod a', renewedAt: NOW } })],
    [
      'a Lease that is forgotten',
      seen({ lease: { ...lease, holder: 'eksa-system/oslo a', renewedAt: NOW - 25 * HOUR } }),
    ],
    [
      'a Lease that has no time',
      seen({ lease: { uid: lease.uid, resourceVersion: lease.resourceVersion, holder: 'eksa-system/oslo a' } }),
    ],
    [
      'a Lease that was taken in a time to come',
      seen({ lease: { ...lease, holder: 'eksa-system/oslo a', acquiredAt: NOW + HOUR, renewedAt: NOW } }),
    ],
    [
      'a Lease that gave no sign of life but one in a time to come',
      seen({ lease: { ...lease, holder: 'eksa-system/oslo a', acquiredAt: NOW - 25 * HOUR, renewedAt: NOW + DAY } }),
    ],
    [
      'a Lease that was taken longer ago than three days',
      seen({
        lease: { ...lease, holder: 'eksa-system/oslo a', acquiredAt: NOW - 72 * HOUR - 1, renewedAt: NOW },
      }),
    ],
    [
      'claims that never began, of long ago or of others',
      question({ history: history({ undone: [...[1, 2, 91].map(undone), { cluster: 'oslo', claimedAt: NOW }] }) }),
    ],
    [
      'another of the fleet that goes on for longer than its turn',
      question({
        history: history({
          rollouts: [{ id: 'x', cluster: 'oslo', trigger: 'schedule', startedAt: NOW - 6 * HOUR }],
        }),
      }),
    ],
    ...Object.entries(NEIGHBOURS).map(
      ([what, neighbours]) =>
        [
          `${what}, when it could have begun for six hours`,
          { ...seen(neighbours), policy: policy({ windows: opened(6 * HOUR) }) },
        ] as const,
    ),
    ['at the last moment', seen({ machines: machines(machine(1, { served: served({ notAfter: NOW + 10 * DAY }) })) })],
    ['two may roll at once', question({ history: history({ ...two() }) })],
    ['a controller that restarted yesterday', external(unknownClient(NOW - DAY))],
    [
      'a sibling that is too late itself',
      seen({ cluster: management, siblings: [{ ...sibling, soonestEnd: NOW + DAY }] }),
    ],
    ['a sibling nobody opted in', seen({ cluster: management, siblings: [{ ...sibling, optedIn: false }] })],
  ])('all pass with %s', (_, asked) => {
    expect(checksOf(asked).filter(({ passed }) => !passed)).toEqual([]);
  });

  it.each(EVERY_THING)('%s alone fails: %s', (id, _, asked) => {
    expect(failing(asked)).toEqual([id]);
    const check = checksOf(asked).find((one) => one.id === id);
    expect(check?.found).toMatch(/^\S.*\S$/s);
    expect(check?.remedy).toMatch(/^[A-Z].*[^.]$/s);
    expect(`${check?.found} ${check?.remedy}`).not.toMatch(/undefined|NaN|Invalid|\[object/);
  });

  it('has something that fails for every check', () => {
    expect(Object.values(ONE_THING).filter((things) => Object.keys(things).length === 0)).toEqual([]);
    expect(Object.keys(ONE_THING).toSorted()).toEqual(CHECK_IDS.toSorted());
  });

  it.each([
    [
      'the first machine alone has no name',
      [{ deleting: true }, { owned: false }, {}],
      'it is being deleted, berlin-prod-2: the control plane does not own it',
    ],
    [
      'each machine has its name beside what is wrong with all',
      [{ deleting: true }, { owned: false }],
      '2 of 3 machines seen, berlin-prod-1: it is being deleted, berlin-prod-2: the control plane does not own it',
    ],
  ])('names machines behind the one that is the object: %s', (_, changes, found) => {
    const asked = seen({ machines: changes.map((change, index) => machine(index + 1, change)) });
    const check = checksOf(asked).find(({ id }) => id === 'machines-settled');
    expect(check).toMatchObject({ object: `Machine ${NAMESPACE}/berlin-prod-1`, found });
  });

  it('tells when the last window that is open ends', () => {
    const windows = [
      { from: '2026-11-28T02:00:00Z', until: '2026-11-28T03:00:00Z' },
      { from: '2026-11-28T02:00:00Z', until: '2026-11-28T04:00:00Z' },
    ];
    const check = checksOf(question({ policy: policy({ windows }) })).find(({ id }) => id === 'maintenance-window');
    expect(check?.found).toBe('a maintenance window is open until 2026-11-28 04:00 UTC');
  });

  it('tells all that is wrong at once', () => {
    const asked = question({
      policy: policy({ accepted: [] }),
      observed: healthyRollout({ authorities: [], controlPlane: controlPlane({ paused: '' }) }),
    });
    expect(failing(asked)).toEqual(['control-plane-not-paused', 'spare-capacity', 'authority-outlives', 'etcd-backup']);
  });

  it('tells what passes by itself', () => {
    const passing = EVERY_THING.flatMap(([id, thing, asked]) =>
      checksOf(asked).some((check) => check.passing) ? [`${id}: ${thing}`] : [],
    );
    const never = ['fleet-budget: unread', 'loop-guard: it never began', 'maintenance-window: no zone'];
    const bySelf = new Set([
      'due',
      'maintenance-window',
      'cool-down',
      'loop-guard',
      'fleet-budget',
      'one-of-its-management-cluster',
      'management-cluster-last',
    ]);
    const expected = EVERY_THING.map(([id, thing]) => [id, `${id}: ${thing}`] as const)
      .filter(([id, name]) => bySelf.has(id) && !never.includes(name))
      .map(([, name]) => name);
    expect(passing).toEqual(expected);
  });

  it('lets a person answer for some, which fail all the same, and for no other', () => {
    const waived = new Set<string>();
    for (const [id, , asked] of EVERY_THING) {
      const check = checksOf({ ...asked, trigger: 'person' }).find((one) => one.id === id);
      expect(check?.passed).toBe(false);
      if (check?.waived) waived.add(id);
      expect(checksOf(asked).some((one) => one.waived)).toBe(false);
    }
    expect([...waived]).toEqual([
      'opted-in-by-fleet',
      'opted-in-by-owner',
      'due',
      'not-too-late',
      'maintenance-window',
      'loop-guard',
      'fleet-budget',
      'spare-capacity',
      'etcd-backup',
      'machine-dependencies',
      'kubelets-served',
    ]);
  });

  it.each(WAIVERS)('lets a person answer for %s, by name only, and never the schedule', (id) => {
    const things = EVERY_THING.filter(([of]) => of === id);
    expect(things.length).toBeGreaterThan(1);
    for (const [, , asked] of things)
      for (const trigger of ['person', 'schedule'] as const) {
        const check = checksOf({ ...asked, trigger, waivers: [id] }).find((one) => one.id === id);
        expect(check).toMatchObject({ passed: false });
        expect(check?.waived).toBe(trigger === 'person' ? true : undefined);
        expect(check?.remedy).toContain(`--accept ${id}`);
      }
  });

  it.each(Object.entries(NEIGHBOURS))('waits almost six hours of its own time while %s', (_, neighbours) => {
    const waits = { ...seen(neighbours), policy: policy({ windows: opened(6 * HOUR - 1) }) };
    expect(failing(waits)).toHaveLength(1);
  });

  it('tells a person without fleet.yaml what he answers for', () => {
    const asked = question({ policy: undefined, trigger: 'person' });
    expect(failing(asked)).toEqual(['opted-in-by-fleet', 'spare-capacity', 'etcd-backup']);
    expect(checksOf(asked).every(({ passed, waived }) => passed || waived)).toBe(true);
  });

  it('takes a certificate for ended in the moment in which it ends', () => {
    const asked = seen({ machines: machines(machine(1, { served: served({ notAfter: NOW }) })) });
    const found = new Map(checksOf(asked).map((check) => [check.id, check.found]));
    expect(found.get('due')).toBe('the first certificate expired less than a minute ago');
    expect(found.get('not-expired')).toContain('shows one that expired less than a minute ago');
  });

  it('takes an end that is no number for one that is over', () => {
    const asked = seen({ machines: machines(machine(1, { served: served({ notAfter: Number.NaN }) })) });
    expect(failing(asked)).toEqual(['not-expired', 'due']);
  });

  it('does not pass what nobody saw', () => {
    const nothing: ObservedRollout = {
      cluster: { id: 'a', name: 'a', managesItself: true },
      machines: [],
      healthChecks: [],
      siblings: [],
      authorities: [],
      unread: [],
    };
    expect(failing(question({ observed: nothing }))).toEqual([
      'opted-in-by-owner',
      'due',
      'not-too-late',
      'cluster-not-paused',
      'control-plane-settled',
      'authority-outlives',
      'handshakes',
    ]);
  });

  it('does not ask v1beta1 for conditions that it has not', () => {
    const conditions = controlPlaneConditions({
      RollingOut: { status: 'Missing' },
      Remediating: { status: 'Missing' },
    });
    expect(failing(seen({ controlPlane: controlPlane({ apiVersion: 'v1beta1', conditions }) }))).toEqual([]);
    expect(failing(seen({ controlPlane: controlPlane({ conditions }) }))).toEqual([
      'not-rolling-already',
      'not-remediating',
    ]);
  });

  it('writes no command that a name of a cluster has a say in', () => {
    const name = 'a; rm -rf /';
    const observed = healthyRollout({
      controlPlane: controlPlane({ name, namespace: '$(x)', paused: '', replicas: 2 }),
      eksAnywhere: eksAnywhere({ name, paused: true, mode: '`x`' }),
      machines: machines(machine(1, { name: '--all', unhealthy: ['x'] })),
    });
    const remedies = checksOf(question({ observed })).flatMap(({ remedy }) => remedy ?? []);
    expect(remedies.length).toBeGreaterThan(4);
    expect(remedies.join('\n')).not.toMatch(/rm -rf|\$\(|`|--all/);
  });

  it('never throws, and keeps its order, whatever is seen', () => {
    const time = fc.oneof(fc.integer({ min: 0, max: 4e12 }), fc.constantFrom(Number.NaN, Infinity, -1, 8.7e15));
    const asked = fc.record({
      now: fc.integer({ min: 0, max: 4e12 }),
      trigger: fc.constantFrom('schedule', 'person'),
      policy: fc.option(fc.constant(policy()), { nil: undefined }),
      history: fc.record({
        rollouts: fc.array(
          fc.record({
            id: fc.string(),
            cluster: fc.constantFrom(CLUSTER_ID, 'x'),
            trigger: fc.constantFrom('schedule', 'person'),
            startedAt: time,
          }),
        ),
        limits: fc.record({ atOnce: fc.integer({ min: 1, max: 3 }), pauseMs: time }),
      }),
      observed: fc
        .record({
          notAfter: time,
          createdAt: time,
          rolloutAfter: time,
          start: fc.string(),
          soonestEnd: time,
          managesItself: fc.boolean(),
        })
        .map((made) =>
          healthyExternal({
            cluster: { id: CLUSTER_ID, name: 'berlin-prod', managesItself: made.managesItself },
            machines: [machine(1, { createdAt: made.createdAt, served: served({ notAfter: made.notAfter }) })],
            controlPlane: controlPlane({ rolloutAfter: made.rolloutAfter, mark: { ...mark, start: made.start } }),
            siblings: [{ ...sibling, soonestEnd: made.soonestEnd }],
          }),
        ),
    });
    fc.assert(
      fc.property(asked, (given) => {
        const checks = checksOf(given);
        const order = checks.map(({ id }) => CHECK_IDS.indexOf(id));
        expect(order).toEqual(order.toSorted((a, b) => a - b));
        for (const { passed, found, remedy } of checks) {
          expect(found).not.toBe('');
          expect(remedy === undefined).toBe(passed);
        }
      }),
      { seed: 20_261_122, numRuns: 300 },
    );
  });
});

/** Windows that have been open for so long since the certificates were due. */
function opened(ms: number) {
  const at = (time: number) => new Date(time).toISOString();
  return [
    { from: at(NOW - 20 * DAY), until: at(NOW - 5 * DAY + HOUR) },
    { from: at(NOW - DAY), until: at(NOW - DAY + ms - 2 * HOUR) },
    { from: at(NOW - HOUR), until: at(NOW + HOUR) },
  ];
}
function single(): Partial<CheckQuestion> {
  return {
    policy: policy({ accepted: ['spare-capacity', 'etcd-backup', 'single-replica'] }),
    observed: healthyRollout({ controlPlane: alone, machines: [machine(1)] }),
  };
}
function noSurge(): Partial<CheckQuestion> {
  return {
    policy: policy({ accepted: ['etcd-backup', 'no-surge'] }),
    observed: healthyRollout({ controlPlane: controlPlane({ maxSurge: 0 }) }),
  };
}
function two() {
  return {
    limits: { atOnce: 2, pauseMs: HOUR },
    rollouts: [{ id: 'x', cluster: 'oslo', trigger: 'schedule', startedAt: NOW - 2 * HOUR } as const],
  };
}
