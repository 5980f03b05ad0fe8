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

/** All three machines show certificates that end in so many milliseconds. */
function ending(ms: number): CheckQuestion {
  const of = (n: number) => served({ notAfter: NOW + ms, fingerprint: `0${n}`.repeat(32) });
  return seen({ machines: [1, 2, 3].map((n) => machine(n, { served: of(n) })) });
}

function first(changes: Parameters<typeof machine>[1]): CheckQuestion {
  return seen({ machines: machines(machine(1, changes)) });
}

function rolled(...rollouts: ReturnType<typeof history>['rollouts']): CheckQuestion {
  return question({ history: history({ rollouts }) });
}

function conditioned(changes: Parameters<typeof controlPlaneConditions>[0]): CheckQuestion {
  return seen({ controlPlane: controlPlane({ conditions: controlPlaneConditions(changes) }) });
}

function held(changes: Partial<ObservedRollout['lease']>, more: Partial<ObservedRollout> = {}): CheckQuestion {
  return seen({ lease: { uid: 'u', resourceVersion: '1', holder: 'eksa-system/milan-prod a', ...changes }, ...more });
}

function failing(asked: CheckQuestion): readonly CheckId[] {
  return checksOf(asked).flatMap(({ id, passed }) => (passed ? [] : [id]));
}

const machines = (...changed: readonly ReturnType<typeof machine>[]) => [
  ...changed,
  ...[1, 2, 3].slice(changed.length).map((number) => machine(number)),
];

const etcds = (changes: Parameters<typeof etcdMachine>[1]) => [etcdMachine(1, changes), etcdMachine(2), etcdMachine(3)];

const MIRROR = { where: 'Cluster default/berlin', notAfter: NOW + DAY };
const berlin = { id: CLUSTER_ID, name: 'berlin-prod', managesItself: false };
const management = { id: 'berlin-mgmt', name: 'berlin-prod', managesItself: true };
const sibling = { namespace: NAMESPACE, cluster: 'milan-prod', rolling: false, optedIn: true };
const alone = controlPlane({ replicas: 1, status: { replicas: 1, ready: 1, available: 1, upToDate: 1 } });
const mark: RolloutMark = { id: 'a', start: days(-200), reason: 'r', trigger: 'schedule' };
const past = { id: 'x', cluster: CLUSTER_ID, trigger: 'schedule', startedAt: NOW, endedAt: NOW } as const;
/** What the owners of other clusters can make of them. */
const NEIGHBOURS: Readonly<Record<string, Partial<ObservedRollout>>> = {
  'machines of another move': { siblings: [{ ...sibling, rolling: true }] },
  'others have more control planes than are read': { moreSiblings: true },
  'another says that it is due': { cluster: management, siblings: [{ ...sibling, soonestEnd: NOW + 7 * DAY }] },
  'another does not say when it is due': { cluster: management, siblings: [sibling] },
};
const undone = (ago: number) => ({ cluster: CLUSTER_ID, claimedAt: NOW - ago * DAY });
const FALSE = { status: 'False' } as const;
const TRUE = { status: 'True' } as const;
const MISSING = { status: 'Missing' } as const;
const unknownEtcd = { conditions: controlPlaneConditions({ EtcdClusterHealthy: MISSING }) };

/** For each check at least one single thing that is not as it should be; and nothing else fails. */
const ONE_THING: Readonly<Record<CheckId, Readonly<Record<string, CheckQuestion>>>> = {
  'opted-in-by-fleet': { 'no entry': question({ policy: undefined }) },
  'opted-in-by-owner': {
    'no annotation': seen({ eksAnywhere: eksAnywhere({ mode: '' }) }),
    'neither object': seen({ eksAnywhere: eksAnywhere({ mode: undefined }) }),
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
    'one machine ended': first({ served: served({ notAfter: NOW }) }),
    'etcd ended': external({ machines: etcds({ served: ended() }) }),
    'client certificate ended': external({
      clientCertificate: { notBefore: NOW - 366 * DAY, notAfter: NOW },
    }),
    'its API server showed one that ended': seen({ apiServer: { url: 'https://berlin', notBefore: 0, notAfter: NOW } }),
    'all ended': ending(-DAY),
    'etcd ended before the API server': first({ served: ended(), etcdPorts: [{ port: 2379, served: ended(2) }] }),
  },
  due: {
    'all end in 46 days': ending(46 * DAY),
    'a share that is less': question({ policy: policy({ begin: { days: 45, share: 0.1 } }) }),
  },
  'not-too-late': {
    'that of its API server ends in 9 days': seen({
      apiServer: { url: 'https://berlin', notBefore: 0, notAfter: NOW + 9 * DAY },
    }),
    'the client certificate of etcd ends in 9 days': external({
      clientCertificate: { notBefore: NOW - 300 * DAY, notAfter: NOW + 9 * DAY },
    }),
    'one ends in 9 days': first({ served: served({ notAfter: NOW + 9 * DAY }) }),
    'the floor is 7 days': question({
      policy: policy({ stop: { days: 1, share: 0.01 } }),
      observed: healthyRollout({ machines: machines(machine(1, { served: served({ notAfter: NOW + 7 * DAY - 1 }) })) }),
    }),
  },
  'maintenance-window': {
    'another day': question({
      policy: policy({ windows: [{ days: ['sun'], from: '02:00', until: '06:00', timeZone: 'Europe/Berlin' }] }),
    }),
    'one opens later than the other': question({
      policy: policy({ windows: [9, 2].map((hours) => ({ from: days(hours / 24), until: days(1) })) }),
    }),
    'no zone': question({
      policy: policy({ windows: [{ days: ['sat'], from: '02:00', until: '06:00', timeZone: 'Europe/Atlantis' }] }),
    }),
  },
  'cool-down': {
    'a person rolled it 6 days ago': question({
      history: history({
        rollouts: [20 * DAY, 7 * DAY + HOUR].map((ago) => ({
          ...past,
          trigger: 'person',
          startedAt: NOW - ago,
          endedAt: NOW - ago + DAY,
        })),
      }),
    }),
    'its mark says so': seen({
      controlPlane: controlPlane({ mark: { ...mark, trigger: 'person', start: days(-8), abortedAt: days(-6) } }),
    }),
    'its etcd says so': external({ mark: { ...mark, trigger: 'person', start: days(-6) } }),
  },
  'loop-guard': {
    'the schedule rolled it 89 days ago': rolled({ ...past, startedAt: NOW - 89 * DAY, endedAt: NOW - 89 * DAY }),
    'its mark says so': seen({ controlPlane: controlPlane({ mark: { ...mark, start: days(-89) } }) }),
    'it never began': question({ history: history({ undone: [1, 2, 89].map(undone) }) }),
  },
  'fleet-budget': {
    unread: question({ history: history({ unread: 'the bucket is away' }) }),
    'another one rolls': rolled({ id: 'x', cluster: 'oslo', trigger: 'schedule', startedAt: NOW - 2 * HOUR }),
    'the last start was 59 minutes ago': rolled({
      ...past,
      cluster: 'oslo',
      startedAt: NOW - 59 * MINUTE,
      endedAt: NOW - MINUTE,
    }),
  },
  'one-of-its-management-cluster': {
    'a sibling rolls': seen({ siblings: [{ ...sibling, rolling: true, optedIn: false }] }),
    'there are more siblings than are read': seen({ moreSiblings: true }),
    'a Lease that was taken three days ago': held({ acquiredAt: NOW - 72 * HOUR, renewedAt: NOW }),
    'a forgotten Lease, and its holder rolls': held(
      { acquiredAt: NOW - 72 * HOUR, renewedAt: NOW - 25 * HOUR },
      { siblings: [sibling, { ...sibling, rolling: true }] },
    ),
    'the Lease is held': held({ renewedAt: NOW - 24 * HOUR }),
    'a name that begins like ours': held({ holder: 'eksa-system/berlin-prod-2 a', renewedAt: NOW }),
  },
  'management-cluster-last': {
    'a sibling is due': seen({ cluster: management, siblings: [{ ...sibling, soonestEnd: NOW + 45 * DAY }] }),
    'nobody knows': seen({ cluster: management, siblings: [sibling] }),
  },
  'eks-anywhere-settled': {
    deleting: seen({ eksAnywhere: eksAnywhere({ deleting: true }) }),
    paused: seen({ eksAnywhere: eksAnywhere({ paused: true }) }),
    'not ready': seen({ eksAnywhere: eksAnywhere({ ready: FALSE }) }),
    'no Ready': seen({ eksAnywhere: eksAnywhere({ ready: MISSING }) }),
    'not observed': seen({ eksAnywhere: eksAnywhere({ observedGeneration: 6 }) }),
    'not reconciled': seen({ eksAnywhere: eksAnywhere({ reconciledGeneration: 6 }) }),
    failed: seen({ eksAnywhere: eksAnywhere({ failureMessage: 'no datastore' }) }),
    upgrade: seen({ eksAnywhere: eksAnywhere({ controlPlaneUpgrade: true }) }),
  },
  'cluster-not-paused': {
    paused: seen({ capiCluster: capi({ paused: true }) }),
    deleting: seen({ capiCluster: capi({ deleting: true }) }),
    'no Cluster': seen({ capiCluster: undefined }),
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
    'scaling up': conditioned({ ScalingUp: TRUE }),
    'scaling down': conditioned({ ScalingDown: { status: 'Unknown' } }),
    'Deleting is missing in v1beta2': conditioned({ Deleting: MISSING }),
    'no control plane': seen({ controlPlane: undefined }),
  },
  'control-plane-certificates': { False: conditioned({ CertificatesAvailable: FALSE }) },
  'control-plane-healthy': { Unknown: conditioned({ ControlPlaneComponentsHealthy: { status: 'Unknown' } }) },
  'etcd-healthy': { Missing: conditioned({ EtcdClusterHealthy: MISSING }) },
  'not-rolling-already': {
    RollingOut: conditioned({ RollingOut: TRUE }),
    'machines older than rollout.after': seen({ controlPlane: controlPlane({ rolloutAfter: NOW }) }),
    'a mark that nobody can read': seen({ controlPlane: controlPlane({ mark: 'unreadable' }) }),
  },
  'not-remediating': {
    Remediating: conditioned({ Remediating: TRUE }),
    annotation: seen({ controlPlane: controlPlane({ remediating: true }) }),
  },
  'rolling-update': {
    InPlace: seen({ controlPlane: controlPlane({ strategy: 'InPlace' }) }),
    'InPlace, which has no maxSurge': seen({
      controlPlane: controlPlane({ maxSurge: undefined, strategy: 'InPlace' }),
    }),
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
    deleting: first({ deleting: true, served: { kind: 'none' } }),
    'without a Node': first({ node: undefined }),
    'of nobody': first({ owned: false }),
  },
  'machines-healthy': {
    one: seen({ machines: machines(machine(1), machine(2, { unhealthy: ['EtcdMemberHealthy is False'] })) }),
  },
  'machine-hooks': {
    one: first({ hooks: ['pre-drain.delete.hook.machine.cluster.x-k8s.io/backup'] }),
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
    unknown: seen({ controlPlane: controlPlane({ maxSurge: undefined }) }),
  },
  'spare-capacity': {
    'nobody vouches': question({ policy: policy({ accepted: ['etcd-backup'] }) }),
    'of bare metal': question({
      policy: policy({ accepted: ['etcd-backup'] }),
      observed: healthyRollout({ capiCluster: capi({ infrastructure: 'TinkerbellCluster' }) }),
    }),
  },
  'machine-template': {
    'none named': seen({ controlPlane: controlPlane({ template: undefined }) }),
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
    'nobody tried': first({ served: { kind: 'none' } }),
    failed: first({ served: { kind: 'failed', problem: 'connection refused', remedy: 'Open port 6443' } }),
    'some of several': seen({
      machines: machines(
        machine(1, { etcdPorts: [{ port: 2380, served: { kind: 'none' } }] }),
        machine(2, { served: { kind: 'none' }, etcdPorts: [{ port: 2379, served: { kind: 'none' } }] }),
      ),
    }),
    'of etcd': external({
      machines: etcds({ served: { kind: 'none' } }),
    }),
  },
  'machine-dependencies': {
    'a trust bundle ended': seen({ dependencies: [MIRROR, { where: 'the mirror', notAfter: NOW }] }),
    'seven ended': seen({ dependencies: [1, 2, 3, 4, 5, 6, 7].map((n) => ({ where: `m${n}`, notAfter: 0 })) }),
    'vCenter shows another certificate': seen({
      dependencies: [{ where: 'vCenter', notAfter: NOW + DAY, problem: 'its certificate is not the one' }],
    }),
  },
  'kubelets-served': {
    'a certificate of the cluster': first({ kubelet: served() }),
    'a kubelet that nobody saw': first({ kubelet: { kind: 'none' } }),
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
    'a machine that goes': external({ machines: etcds({ deleting: true }) }),
    orphan: external({ machines: etcds({ owned: false }) }),
    'not etcd-ready': external({ machines: etcds({ etcdReady: false }) }),
    unhealthy: external({ machines: etcds({ unhealthy: ['gone'] }) }),
  },
  'etcd-controller-restarted': {
    'older than the certificate': external({ controllerStartedAt: NOW - 326 * DAY }),
    'nobody knows': external({ controllerStartedAt: undefined }),
    'no certificate, and older than a week': external({
      clientCertificate: undefined,
      controllerStartedAt: NOW - 8 * DAY,
    }),
    'no certificate, and older than a machine': external({
      clientCertificate: undefined,
      controllerStartedAt: NOW - 2 * DAY,
      machines: etcds({ createdAt: NOW - DAY }),
    }),
    'no certificate, and as old as a machine': external({
      clientCertificate: undefined,
      controllerStartedAt: NOW - DAY,
      machines: etcds({ createdAt: NOW - DAY }),
    }),
  },
};

function ended(ago = 1) {
  return served({ notAfter: NOW - ago * DAY });
}
function capi(changes: object) {
  return { namespace: NAMESPACE, name: 'berlin-prod', deleting: false, paused: false, topology: false, ...changes };
}

const EVERY_THING = Object.entries(ONE_THING).flatMap(([id, things]) =>
  Object.entries(things).map(([thing, asked]) => [id as CheckId, thing, asked] as const),
);

describe('the checks before a rollout', () => {
  it.each<readonly [string, CheckQuestion]>([
    ['stacked etcd', question()],
    [
      'external etcd, of which the control plane tells nothing',
      question({
        observed: healthyExternal({
          controlPlane: { ...controlPlane({ etcd: 'external' }), ...unknownEtcd },
        }),
      }),
    ],
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
      seen({ eksAnywhere: eksAnywhere({ mode: undefined }), controlPlane: controlPlane({ mode: 'auto' }) }),
    ],
    [
      'the annotation on the control plane, while two Clusters of EKS Anywhere have the name',
      seen({
        eksAnywhere: eksAnywhere({ contested: ['default', 'tenant-x'] }),
        controlPlane: controlPlane({ mode: 'auto' }),
      }),
    ],
    ['a rollout of long ago', seen({ controlPlane: controlPlane({ mark, rolloutAfter: Date.parse(days(-325)) }) })],
    ['its own Lease', held({ holder: 'eksa-system/berlin-prod a', renewedAt: NOW })],
    ['a Lease that is forgotten', held({ renewedAt: NOW - 25 * HOUR })],
    ['a Lease that has no time', held({})],
    ['a Lease that was taken in a time to come', held({ acquiredAt: NOW + HOUR, renewedAt: NOW })],
    [
      'a Lease that gave no sign of life but one in a time to come',
      held({ acquiredAt: NOW - 25 * HOUR, renewedAt: NOW + DAY }),
    ],
    ['a Lease that was taken longer ago than three days', held({ acquiredAt: NOW - 72 * HOUR - 1, renewedAt: NOW })],
    ['certificates that are due since now', ending(45 * DAY)],
    [
      'rollouts after which it waited long enough',
      question({
        history: history({
          rollouts: [
            { ...past, startedAt: NOW - 90 * DAY, endedAt: NOW - 90 * DAY },
            { ...past, trigger: 'person', startedAt: NOW - 7 * DAY, endedAt: NOW - 7 * DAY },
            { ...past, cluster: 'oslo', startedAt: NOW - HOUR, endedAt: NOW - MINUTE },
          ],
        }),
      }),
    ],
    ['one machine of etcd', external({ replicas: 1, machines: [etcdMachine(1)] })],
    [
      'claims that never began, of long ago or of others',
      question({ history: history({ undone: [...[1, 2, 90].map(undone), { cluster: 'oslo', claimedAt: NOW }] }) }),
    ],
    [
      'another of the fleet that goes on for longer than its turn',
      rolled({ id: 'x', cluster: 'oslo', trigger: 'schedule', startedAt: NOW - 6 * HOUR }),
    ],
    ...Object.entries(NEIGHBOURS).map(
      ([what, neighbours]) =>
        [
          `${what}, when it could have begun for six hours`,
          { ...seen(neighbours), policy: policy({ windows: opened(6 * HOUR) }) },
        ] as const,
    ),
    ['at the last moment', first({ served: served({ notAfter: NOW + 10 * DAY }) })],
    ['two may roll at once', question({ history: history({ ...two() }) })],
    [
      'a controller that restarted yesterday',
      external({ clientCertificate: undefined, controllerStartedAt: NOW - DAY }),
    ],
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

  it.each<readonly [CheckId, string | CheckQuestion, readonly string[]]>([
    ['opted-in-by-owner', 'no annotation', ['kubectl -n default annotate clusters.anywhere']],
    ['opted-in-by-owner', 'one of them disagrees', ['is "off"', 'annotate kubeadmcontrolplanes']],
    ['opted-in-by-owner', 'two have the name', ['that counts: Clusters', 'and deploy; until then the owner']],
    ['opted-in-by-owner', 'two have the name, and one forbids', ['and deploy.']],
    ['everything-read', 'a list that was refused', ['list leases: may not; Grant it.']],
    [
      'not-expired',
      'etcd ended before the API server',
      [': berlin-prod-1 shows one on port 2379 that expired 2 days ago; '],
    ],
    ['due', 'all end in 46 days', ['expires in 46 days, it is due in 24 hours']],
    ['maintenance-window', 'one opens later than the other', ['the next opens in 2 hours']],
    ['one-of-its-management-cluster', 'a sibling rolls', ['1 other cluster of', 'Wait until it is settled']],
    ['one-of-its-management-cluster', 'there are more siblings than are read', ['Find out who creates']],
    ['one-of-its-management-cluster', 'a forgotten Lease, and its holder rolls', ['another rollout holds it']],
    ['management-cluster-last', 'a sibling is due', ['it is due first', 'See what delays it']],
    ['management-cluster-last', 'nobody knows', ['does not say when', 'See why Cluster API']],
    ['eks-anywhere-settled', 'deleting', ['Let EKS Anywhere finish']],
    ['eks-anywhere-settled', 'paused', ['paused-.']],
    ['control-plane-not-paused', 'by somebody', ['(cluster.x-k8s.io/paused)', 'Ask who']],
    ['control-plane-not-paused', 'its value means nothing', ['/paused = "false")', 'Ask who']],
    ['control-plane-not-paused', 'by certmarshal', ['certmarshal rollout abort']],
    ['control-plane-settled', seen({ controlPlane: controlPlane({ replicas: 0 }) }), [': it asks for no machines']],
    ['not-rolling-already', 'RollingOut', ['Let it finish']],
    ['not-rolling-already', 'a mark that nobody can read', ['Ask who wrote it']],
    ['no-hold', 'ours', ['nothing moved']],
    [
      'machines-settled',
      seen({ machines: machines(machine(1, { deleting: true }), machine(2, { owned: false })) }),
      ['Machine eksa-system/berlin-prod-1: it is being deleted, berlin-prod-2: the control plane does not own it'],
    ],
    [
      'machines-settled',
      seen({ machines: [machine(1, { deleting: true }), machine(2)] }),
      ['1: 2 of 3 machines seen, berlin-prod-1: it is being deleted'],
    ],
    ['machines-healthy', 'one', ['berlin-prod-2: EtcdMember', 'kubectl -n eksa-system describe', 'berlin-prod-2.']],
    [
      'health-checks',
      'two of three',
      ['eksa-system/kcp: 2 of 3 healthy', 'describe machinehealthchecks.cluster.x-k8s.io kcp.'],
    ],
    ['surge', 'unknown', ['its maxSurge is not known', 'upgradeRolloutStrategy']],
    [
      'surge',
      seen({ eksAnywhere: undefined, controlPlane: controlPlane({ maxSurge: undefined }) }),
      ['edit kubeadmcontrolplanes'],
    ],
    ['spare-capacity', 'nobody vouches', ['Check that there are resources']],
    ['spare-capacity', 'of bare metal', ['hardware.tinkerbell.org']],
    ['machine-template', 'none named', ['it names no template']],
    ['machine-template', 'not there', ['there is no T t']],
    ['authority-outlives', 'ends in a year', ['ca: ca expires', 'cannot rotate a CA']],
    ['authority-outlives', 'none seen', ['was not seen', 'Give certmarshal the kubeconfig']],
    ['handshakes', 'nobody tried', [': it was not tried', 'a route to port 6443']],
    ['handshakes', 'some of several', ['eksa-system/berlin-prod-2: it was not tried, berlin-prod-2: port 2379: it']],
    ['kubelets-served', 'a certificate of the cluster', ['its kubelet serves a certificate of the cluster']],
    ['machine-dependencies', 'seven ended', ['m5: its last certificate expired at 1970-01-01 00:00 UTC and 2 more']],
    ['external-etcd-settled', external({ replicas: 0, machines: [] }), ['0 of 0 machines']],
    ['etcd-controller-restarted', 'older than the certificate', ['an older client certificate than that of']],
    ['etcd-controller-restarted', 'no certificate, and older than a week', ['may have an older client certificate']],
  ])('tells of %s, %o: what, where, and what to do', (id, thing, words) => {
    const asked = typeof thing === 'string' ? ONE_THING[id][thing] : thing;
    const check = asked && checksOf(asked).find((one) => one.id === id);
    for (const part of words) expect(`${check?.object}: ${check?.found}; ${check?.remedy}.`).toContain(part);
  });

  it('has something that fails for every check', () => {
    expect(Object.values(ONE_THING).filter((things) => Object.keys(things).length === 0)).toEqual([]);
    expect(Object.keys(ONE_THING).toSorted()).toEqual(CHECK_IDS.toSorted());
  });

  it('tells when the last window that is open ends', () => {
    const windows = [
      { from: '2026-11-28T02:00:00Z', until: '2026-11-28T03:00:00Z' },
      { from: '2026-11-28T02:00:00Z', until: '2026-11-28T04:00:00Z' },
    ];
    const check = checksOf(question({ policy: policy({ windows }) })).find(({ id }) => id === 'maintenance-window');
    expect(check?.found).toBe('a maintenance window is open until 2026-11-28 04:00 UTC');
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
    const asked = { ...seen({ moreSiblings: true }), policy: undefined, trigger: 'person' } as const;
    expect(failing(asked)).toEqual(['opted-in-by-fleet', 'spare-capacity', 'etcd-backup']);
    expect(checksOf(asked).every(({ passed, waived }) => passed || waived)).toBe(true);
  });

  it('takes a certificate for ended in the moment in which it ends', () => {
    const asked = first({ served: served({ notAfter: NOW }) });
    const found = new Map(checksOf(asked).map((check) => [check.id, check.found]));
    expect(found.get('due')).toBe('the first certificate expired less than a minute ago');
    expect(found.get('not-expired')).toContain('shows one that expired less than a minute ago');
  });

  it('takes an end that is no number for one that is over', () => {
    const asked = first({ served: served({ notAfter: Number.NaN }) });
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
    expect(checksOf(question({ observed: nothing }))).toHaveLength(19);
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
      RollingOut: MISSING,
      Remediating: MISSING,
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
