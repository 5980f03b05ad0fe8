import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatHoldMark, formatRolloutMark } from '../../../lambdas/contracts/rollout-mark.ts';
import { readCluster } from '../../../lambdas/resources/cluster.ts';
import { readCertificateScan, readEksAnywhere } from '../../../lambdas/resources/eks-anywhere.ts';
import { readEtcdadmCluster } from '../../../lambdas/resources/etcdadm-cluster.ts';
import { readControlPlane, rolloutBeforeDays } from '../../../lambdas/resources/kubeadm-control-plane.ts';
import { readLease } from '../../../lambdas/resources/lease.ts';
import { etcdClusterOf, isMachineOf, roleOfMachine } from '../../../lambdas/resources/machine.ts';
import { readMachineHealthCheck } from '../../../lambdas/resources/machine-health-check.ts';
import { readNode, readNodeLabels } from '../../../lambdas/resources/node.ts';
import { observedMachine } from '../../../lambdas/rollout/observed-machine.ts';
import { seenControlPlane, siblingMachine, siblingOf } from '../../../lambdas/rollout/siblings.ts';
import {
  CONTROL_PLANE_UID,
  controlPlane,
  DAY,
  days,
  ETCD_UID,
  eksAnywhere,
  etcd,
  etcdMachine,
  healthyRollout,
  machine,
  NAME,
  NOW,
  rawCapiCluster,
  rawControlPlane,
  rawEksAnywhere,
  rawEtcd,
  rawEtcdMachine,
  rawHealthCheck,
  rawLease,
  rawMachine,
} from '../rollout/fixtures.ts';

type Fields = Record<string, unknown>;

/** A deep copy in which the field at the path is another one; undefined takes it away. */
function set(object: Fields, path: string, value: unknown): Fields {
  const copy = structuredClone(object);
  const keys = path.split('>');
  let at: Fields = copy;
  for (const key of keys.slice(0, -1)) at = (at[key] ??= {}) as Fields;
  const last = keys.at(-1) ?? '';
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

/** What a condition says, without why. */
function bare(read: ReturnType<typeof readControlPlane>) {
  if (read === undefined) return undefined;
  const conditions = Object.fromEntries(Object.entries(read.conditions).map(([type, { status }]) => [type, status]));
  return { ...read, conditions };
}

const { templateFound: _found, ...MODEL } = controlPlane();
const AS_MODEL = bare(MODEL);
const ANNOTATIONS = 'metadata>annotations';
const CONFIGURATION = 'spec>kubeadmConfigSpec>clusterConfiguration';
const internal = (address: string) => ({ type: 'InternalIP', address });
const DRAIN = 'pre-drain.delete.hook.machine.cluster.x-k8s.io';
const TERMINATE = 'pre-terminate.delete.hook.machine.cluster.x-k8s.io';

describe('a KubeadmControlPlane', () => {
  it.each([
    ['v1beta2', rawControlPlane(), 'v1beta2'],
    ['v1beta1', rawControlPlane('v1beta1'), 'v1beta1'],
  ] as const)('reads the same in %s', (_, raw, apiVersion) => {
    const read = readControlPlane(raw, apiVersion);
    expect(bare(read)).toEqual({ ...AS_MODEL, apiVersion });
    expect(read?.conditions.RollingOut.since).toBe(NOW - 30 * DAY);
  });

  it('reads v1beta1 of before Cluster API 1.9 but for what that does not say', () => {
    const read = readControlPlane(rawControlPlane('v1beta1', true), 'v1beta1');
    const conditions = { ...AS_MODEL?.conditions, Remediating: 'Missing' };
    expect(bare(read)).toEqual({ ...AS_MODEL, apiVersion: 'v1beta1', conditions });
  });

  it.each([
    ['MachinesSpecUpToDate', 'RollingUpdateInProgress', { RollingOut: 'True' }],
    ['Resized', 'ScalingUp', { ScalingUp: 'True', ScalingDown: 'False' }],
    ['Resized', 'ScalingDown', { ScalingUp: 'False', ScalingDown: 'True' }],
    ['Resized', '', { ScalingUp: 'True', ScalingDown: 'True' }],
  ])('tells v1beta1 %s False (%s) by the names of v1beta2', (type, reason, expected) => {
    const raw = set(rawControlPlane('v1beta1', true), 'status>conditions', [{ type, status: 'False', reason }]);
    const read = bare(readControlPlane(raw, 'v1beta1'));
    expect(read?.conditions).toMatchObject(expected);
    expect(read?.conditions['CertificatesAvailable']).toBe('Missing');
  });

  it.each([
    ['v1beta2', 'spec>rollout>after', 'spec>rollout>before>certificatesExpiryDays'],
    ['v1beta1', 'spec>rolloutAfter', 'spec>rolloutBefore>certificatesExpiryDays'],
  ] as const)('knows when %s is to be rolled', (version, after, before) => {
    const raw = set(set(rawControlPlane(version), after, days(-1)), before, 30);
    expect(readControlPlane(raw, version)).toMatchObject({ rolloutAfter: NOW - DAY });
    expect(rolloutBeforeDays(raw)).toBe(30);
    for (const never of [undefined, null, 0, -1, 0.5, '30', 2 ** 31])
      expect(rolloutBeforeDays(set(raw, before, never))).toBeUndefined();
    const broken = readControlPlane(set(raw, after, 'soon'), version);
    expect(broken?.rolloutAfter).toBe(Number.MAX_SAFE_INTEGER);
    expect(readControlPlane(set(raw, after, null), version)).not.toHaveProperty('rolloutAfter', expect.anything());
  });

  it('reads its annotations', () => {
    const mark = { id: 'a', start: days(-1), reason: 'r', trigger: 'person' } as const;
    const hold = { id: 'a', at: days(0), reason: 'stuck', message: 'm' };
    const raw = set(rawControlPlane(), ANNOTATIONS, {
      'certmarshal.dev/rollout': formatRolloutMark(mark),
      'certmarshal.dev/rollout-hold': formatHoldMark(hold),
      'certmarshal.dev/rollout-mode': 'auto',
      'cluster.x-k8s.io/paused': 'false',
      'controlplane.cluster.x-k8s.io/remediation-in-progress': '{}',
      'controlplane.clusters.x-k8s.io/in-place-upgrade-needed': '',
    });
    expect(readControlPlane(raw, 'v1beta2')).toMatchObject({
      mark,
      hold,
      mode: 'auto',
      paused: 'false',
      remediating: true,
      inPlaceUpgrade: true,
    });
    const other = set(rawControlPlane(), ANNOTATIONS, {
      'certmarshal.dev/rollout': '{}',
      'certmarshal.dev/rollout-hold': 7,
      'cluster.x-k8s.io/paused': '',
    });
    expect(readControlPlane(other, 'v1beta2')).toMatchObject({ mark: 'unreadable', hold: 'unreadable', paused: '' });
  });

  it.each([
    ['external etcd', `${CONFIGURATION}>etcd`, { external: {} }, { etcd: 'external' }],
    ['no etcd at all', 'spec>kubeadmConfigSpec', undefined, { etcd: 'stacked' }],
    ['maxSurge as a text', 'spec>rollout>strategy>rollingUpdate>maxSurge', '0', { maxSurge: 0 }],
    ['InPlace', 'spec>rollout>strategy', { type: 'InPlace' }, { strategy: 'InPlace' }],
    ['another validity', `${CONFIGURATION}>certificateValidityPeriodDays`, 100, { certificateValidityDays: 100 }],
    ['no replicas', 'spec>replicas', undefined, { replicas: 0 }],
    ['replicas that are no number', 'spec>replicas', '3', { replicas: 0 }],
    ['a generation that is none', 'metadata>generation', -4, { generation: 0 }],
    ['being deleted', 'metadata>deletionTimestamp', days(0), { deleting: true }],
    ['no template', 'spec>machineTemplate', undefined, { replicas: 3 }],
  ])('reads %s', (_, path, value, expected) => {
    expect(readControlPlane(set(rawControlPlane(), path, value), 'v1beta2')).toMatchObject(expected);
  });

  it('has no strategy where none is given', () => {
    const read = readControlPlane(set(rawControlPlane(), 'spec>rollout', undefined), 'v1beta2');
    expect(read).not.toHaveProperty('strategy', expect.anything());
    expect(read).not.toHaveProperty('maxSurge', expect.anything());
  });

  it('counts unavailable replicas of v1beta1', () => {
    const raw = set(rawControlPlane('v1beta1'), 'status>unavailableReplicas', 1);
    expect(readControlPlane(raw, 'v1beta1')?.status).toEqual({ replicas: 3, ready: 3, available: 2, upToDate: 3 });
    for (const value of ['one', 0.5]) {
      const broken = set(rawControlPlane('v1beta1'), 'status>unavailableReplicas', value);
      expect(readControlPlane(broken, 'v1beta1')?.status).not.toHaveProperty('available', expect.anything());
    }
  });

  it('names its template', () => {
    const expected = {
      group: 'infrastructure.cluster.x-k8s.io',
      kind: 'VSphereMachineTemplate',
      namespace: 'eksa-system',
      name: 'berlin-prod-control-plane-1',
    };
    expect(readControlPlane(rawControlPlane(), 'v1beta2')?.template).toEqual(expected);
    expect(readControlPlane(rawControlPlane('v1beta1'), 'v1beta1')?.template).toEqual(expected);
    const without = set(rawControlPlane(), 'spec>machineTemplate', undefined);
    expect(readControlPlane(without, 'v1beta2')?.template).toBeUndefined();
  });

  it.each(['metadata>uid', 'metadata>resourceVersion', 'metadata>name', 'metadata>namespace'])(
    'is none without %s',
    (path) => {
      expect(readControlPlane(set(rawControlPlane(), path, undefined), 'v1beta2')).toBeUndefined();
    },
  );
});

describe('a Machine', () => {
  const reading = { owner: CONTROL_PLANE_UID, role: 'stacked' } as const;
  const none = { kind: 'none' } as const;
  const ports = (...all: readonly number[]) => all.map((port) => ({ port, served: none }));
  const model = machine(1, { served: none, etcdPorts: ports(2379, 2380), kubelet: none, etcdReady: false });

  const isControlPlaneMachine = (object: unknown) =>
    isMachineOf(object, NAME) && roleOfMachine(object) === 'control-plane';

  it.each(['v1beta2', 'v1beta1'] as const)('reads the same in %s', (version) => {
    expect(observedMachine(rawMachine(1, version), reading)).toEqual(model);
    expect(isControlPlaneMachine(rawMachine(1, version))).toBe(true);
  });

  it('of etcd has no Node, and needs none', () => {
    const read = observedMachine(rawEtcdMachine(1), { owner: ETCD_UID, role: 'etcd' });
    expect(read).toEqual(etcdMachine(1, { served: none, etcdPorts: ports(2380) }));
    expect(etcdClusterOf(rawEtcdMachine(1))).toBe('berlin-prod-etcd');
    expect(isControlPlaneMachine(rawEtcdMachine(1))).toBe(false);
    const waiting = set(rawEtcdMachine(1), 'status>phase', 'Provisioning');
    expect(observedMachine(waiting, { owner: ETCD_UID, role: 'etcd' })?.unhealthy).toEqual([
      'its phase is Provisioning',
    ]);
  });

  it.each([
    ['another cluster in its label', 'metadata>labels>cluster.x-k8s.io/cluster-name', 'milan-prod'],
    ['another cluster in its spec', 'spec>clusterName', 'milan-prod'],
    ['a worker', 'metadata>labels>cluster.x-k8s.io/control-plane', undefined],
  ])('is not of the control plane: %s', (_, path, value) => {
    expect(isControlPlaneMachine(set(rawMachine(1), path, value))).toBe(false);
  });

  it.each([
    ['another owner', 'metadata>ownerReferences', [{ uid: 'x', controller: true }], { owned: false }],
    ['an owner that does not control it', 'metadata>ownerReferences', [{ uid: CONTROL_PLANE_UID }], { owned: false }],
    ['no owner', 'metadata>ownerReferences', undefined, { owned: false }],
    ['being deleted', 'metadata>deletionTimestamp', days(0), { deleting: true }],
    ['its phase', 'status>phase', 'Deleting', { deleting: true }],
    [
      'hooks',
      ANNOTATIONS,
      { [`${DRAIN}/backup`]: '', [TERMINATE]: '', [`${TERMINATE}/kcp-cleanup`]: '', [`${DRAIN}x`]: '' },
      { hooks: [`${DRAIN}/backup`, TERMINATE] },
    ],
    [
      'a condition that is not True',
      'status>conditions>11',
      { type: 'EtcdMemberHealthy', status: 'False', reason: 'Gone', message: 'no leader' },
      { unhealthy: ['EtcdPodHealthy is Missing', 'EtcdMemberHealthy is False, Gone: no leader'] },
    ],
    ['a failure', 'status>failureReason', 'CreateError', { unhealthy: ['it failed: CreateError'] }],
    [
      'addresses',
      'status>addresses',
      [{ type: 'ExternalIP', address: '203.0.113.7' }, ...['no address', '10.0.1.31', '10.0.1.10'].map(internal)],
      { addresses: ['10.0.1.31', '203.0.113.7'] },
    ],
    [
      'its one address beside that of the control plane',
      'status>addresses',
      ['10.0.1.10', '10.0.1.31'].map(internal),
      { addresses: ['10.0.1.31'] },
    ],
    [
      'the address of the control plane where it has no other',
      'status>addresses',
      [internal('10.0.1.10')],
      { addresses: ['10.0.1.10'] },
    ],
  ])('reads %s', (_, path, value, expected) => {
    const raw = set(rawMachine(1), path, value);
    expect(observedMachine(raw, { ...reading, endpoint: '10.0.1.10' })).toMatchObject(expected);
  });

  it('with external etcd needs nothing of etcd', () => {
    const raw = set(rawMachine(1), 'status>conditions', []);
    expect(observedMachine(raw, { ...reading, role: 'control-plane' })?.unhealthy).toEqual([
      'NodeHealthy is Missing',
      'APIServerPodHealthy is Missing',
      'ControllerManagerPodHealthy is Missing',
      'SchedulerPodHealthy is Missing',
    ]);
  });

  it('is none without a time of creation', () => {
    expect(observedMachine(set(rawMachine(1), 'metadata>creationTimestamp', 'x'), reading)).toBeUndefined();
  });
});

describe('objects around a control plane', () => {
  it('reads a Cluster of Cluster API', () => {
    const whole = {
      ...healthyRollout().capiCluster,
      managedEtcd: false,
      apiServerPort: undefined,
      serviceCidrs: ['10.96.0.0/12'],
    };
    expect(readCluster(rawCapiCluster())).toEqual(whole);
    expect(readCluster(rawCapiCluster('v1beta1'))).toEqual(whole);
    const paused = { paused: true };
    expect(readCluster(set(rawCapiCluster(), 'spec>paused', true))).toMatchObject(paused);
    expect(readCluster(set(rawCapiCluster(), 'spec>paused', false))).toMatchObject({ paused: false });
    const annotated = set(rawCapiCluster(), ANNOTATIONS, { 'cluster.x-k8s.io/paused': 'false' });
    expect(readCluster(annotated)).toMatchObject(paused);
    const topology = set(rawCapiCluster(), 'spec>topology', { classRef: { name: 'c' } });
    expect(readCluster(topology)).toMatchObject({ topology: true });
  });

  it('reads a Cluster of EKS Anywhere', () => {
    const { controlPlaneUpgrade: _upgrade, ...expected } = eksAnywhere();
    expect(readEksAnywhere(rawEksAnywhere())).toEqual(expected);
    const paused = (value: string) =>
      readEksAnywhere(set(rawEksAnywhere(), ANNOTATIONS, { 'anywhere.eks.amazonaws.com/paused': value }));
    expect(paused('true')).toMatchObject({ paused: true });
    expect(paused('false')).toMatchObject({ paused: false });
    const failed = set(rawEksAnywhere(), 'status', { failureMessage: 'bad\u{1b}[2J' });
    expect(readEksAnywhere(failed)).toMatchObject({
      failureMessage: String.raw`bad\u{1b}[2J`,
      ready: { status: 'Missing' },
    });
  });

  it('reads an EtcdadmCluster, and its commands exactly', () => {
    const { clientCertificate: _client, controllerStartedAt: _started, machines: _machines, ...expected } = etcd();
    const read = readEtcdadmCluster(rawEtcd());
    expect(read).toEqual({
      ...expected,
      conditions: expect.objectContaining({ EtcdMachinesSpecUpToDate: { status: 'True', since: NOW - 30 * DAY } }),
    });
    const commands = ['echo \u{200b}', ''];
    const path = 'spec>etcdadmConfigSpec>postEtcdadmCommands';
    expect(readEtcdadmCluster(set(rawEtcd(), path, commands))?.postEtcdadmCommands).toEqual(commands);
    for (const wrong of [['true', 1], 'true', ['x'.repeat(4097)], Array.from({ length: 65 }, () => 'true')])
      expect(readEtcdadmCluster(set(rawEtcd(), path, wrong))).toBeUndefined();
    const annotated = set(rawEtcd(), ANNOTATIONS, {
      'etcdcluster.cluster.x-k8s.io/upgrading': 'true',
      'controlplane.cluster.x-k8s.io/upgrade-complete': 'true',
      'cluster.x-k8s.io/paused': '',
      'certmarshal.dev/rollout': '?',
    });
    expect(readEtcdadmCluster(annotated)).toMatchObject({
      upgrading: true,
      upgradeComplete: true,
      paused: true,
      mark: 'unreadable',
    });
  });

  it('reads conditions that an EtcdadmCluster has not yet as missing', () => {
    expect(readEtcdadmCluster(set(rawEtcd(), 'status', undefined))?.conditions).toEqual({
      EtcdMachinesSpecUpToDate: { status: 'Missing' },
      EtcdCertificatesAvailable: { status: 'Missing' },
      EtcdClusterHasNoOutdatedMachines: { status: 'Missing' },
    });
  });

  it('reads a Lease', () => {
    expect(readLease(rawLease())).toEqual({
      uid: '6f1c9b1e-6f2b-4d66-9a3e-0d7d3b6a0c03',
      resourceVersion: '812001',
      holder: 'eksa-system/milan-prod milan-1a2b3c',
      acquiredAt: Date.parse('2026-11-28T01:30:00Z'),
      renewedAt: Date.parse('2026-11-28T02:00:00Z'),
      transitions: 3,
    });
    // Nobody took it over yet.
    expect(readLease(set(rawLease(), 'spec>leaseTransitions', 0))).toMatchObject({ transitions: 0 });
    expect(readLease(set(rawLease(), 'spec', { holderIdentity: '' }))).toEqual({
      uid: '6f1c9b1e-6f2b-4d66-9a3e-0d7d3b6a0c03',
      resourceVersion: '812001',
    });
  });

  it('reads at most 32 endpoints of etcd', () => {
    const endpoints = Array.from({ length: 33 }, (_, n) => `https://10.0.1.${n}:2379`);
    expect(readEtcdadmCluster(set(rawEtcd(), 'status>endpoints', endpoints.join(',')))?.endpoints).toEqual(
      endpoints.slice(0, 32),
    );
  });

  it.each(['uid', 'resourceVersion'])('reads no Lease without its %s', (field) => {
    expect(readLease(set(rawLease(), `metadata>${field}`, undefined))).toBeUndefined();
  });

  const healthCheckOf = (raw: Fields, cluster = NAME) => readMachineHealthCheck(raw, cluster, [rawMachine(1)]);

  const CONTROL_PLANE = 'cluster.x-k8s.io/control-plane';
  it.each([
    ['a label', { matchLabels: { [CONTROL_PLANE]: '' } }, true],
    ['a label of workers', { matchLabels: { 'cluster.x-k8s.io/deployment-name': 'md-0' } }, false],
    ['another value', { matchLabels: { [CONTROL_PLANE]: 'true' } }, false],
    ['everything', {}, true],
    ['nothing at all', undefined, true],
    ['Exists', { matchExpressions: [{ key: CONTROL_PLANE, operator: 'Exists' }] }, true],
    ['DoesNotExist', { matchExpressions: [{ key: CONTROL_PLANE, operator: 'DoesNotExist' }] }, false],
    ['In', { matchExpressions: [{ key: CONTROL_PLANE, operator: 'In', values: ['', 'x'] }] }, true],
    ['In others', { matchExpressions: [{ key: CONTROL_PLANE, operator: 'In', values: ['x'] }] }, false],
    ['NotIn', { matchExpressions: [{ key: CONTROL_PLANE, operator: 'NotIn', values: [''] }] }, false],
    ['NotIn what it has not', { matchExpressions: [{ key: 'a', operator: 'NotIn', values: [''] }] }, true],
    ['an operator of tomorrow', { matchExpressions: [{ key: CONTROL_PLANE, operator: 'Like' }] }, true],
    ['a term without a key', { matchExpressions: [{ operator: 'DoesNotExist' }] }, true],
    ['a value that is none', { matchLabels: { [CONTROL_PLANE]: 1 } }, true],
  ])('knows whether a MachineHealthCheck selects control plane machines: %s', (_, selector, selects) => {
    expect(healthCheckOf(set(rawHealthCheck(), 'spec>selector', selector))).toEqual(
      selects ? healthyRollout().healthChecks[0] : undefined,
    );
  });

  it('takes no MachineHealthCheck of another cluster or namespace, or without a name, for its own', () => {
    expect(healthCheckOf(rawHealthCheck(), 'milan-prod')).toBeUndefined();
    expect(healthCheckOf(set(rawHealthCheck(), 'metadata>namespace', 'default'))).toBeUndefined();
    expect(healthCheckOf(set(rawHealthCheck(), 'metadata>name', undefined))).toBeUndefined();
  });
});

describe('what a cluster writes', () => {
  const READERS: Readonly<Record<string, (object: unknown) => unknown>> = {
    capi: readCluster,
    eksa: readEksAnywhere,
    scan: (object) => readCertificateScan(object).writtenAt,
    v1beta2: (object) => readControlPlane(object, 'v1beta2'),
    v1beta1: (object) => readControlPlane(object, 'v1beta1'),
    machine: (object) => observedMachine(object, { owner: 'x', role: 'stacked', endpoint: 'x' }),
    etcd: (object) => readEtcdadmCluster(object),
    check: (object) => readMachineHealthCheck(object, NAME, [object, rawMachine(1)]),
    sibling: (object) => {
      const seen = seenControlPlane(object, 'v1beta2');
      return seen && siblingOf(seen, [siblingMachine(object)], false);
    },
    lease: readLease,
    node: (object) => [readNode(object), readNodeLabels(object, 'n')],
  };
  const RAW = [
    rawControlPlane(),
    rawControlPlane('v1beta1'),
    rawControlPlane('v1beta1', true),
    rawMachine(1),
    rawEtcdMachine(1),
    rawCapiCluster(),
    rawEksAnywhere(),
    rawEtcd(),
    rawHealthCheck(),
    rawLease(),
  ];

  function paths(value: unknown, above: readonly string[] = []): readonly string[] {
    if (typeof value !== 'object' || value === null) return [above.join('>')];
    return [
      ...(above.length > 0 ? [above.join('>')] : []),
      ...Object.entries(value).flatMap(([key, below]) => paths(below, [...above, key])),
    ];
  }

  const garbage = fc.oneof(
    fc.anything(),
    fc.constantFrom(null, '', 'x'.repeat(5000), '\u{202e}\u{1b}]0;x\u{7}', -1, 2 ** 60, [[]], { __proto__: null }),
  );
  const broken = fc
    .constantFrom(...RAW)
    .chain((raw) =>
      fc
        .array(fc.tuple(fc.constantFrom(...paths(raw)), garbage), { minLength: 1, maxLength: 3 })
        .map((changes) => changes.reduce((object, [path, value]) => tried(object, path, value), raw)),
    );
  /** An earlier change may have taken away what is on the way. */
  function tried(object: Fields, path: string, value: unknown): Fields {
    try {
      return set(object, path, value);
    } catch {
      return object;
    }
  }

  it.each(Object.entries(READERS))('never throws, and is printable and bounded: %s', (_, reader) => {
    fc.assert(
      fc.property(fc.oneof(broken, fc.anything()), (object) => {
        const read = reader(object);
        // Commands are written back as they are.
        const { postEtcdadmCommands: _commands, ...shown } = (read ?? {}) as { postEtcdadmCommands?: unknown };
        const texts = JSON.stringify(shown);
        expect(texts.length).toBeLessThan(40_000);
        expect(texts).not.toMatch(/\u{202e}|\\u001b/u);
      }),
      { seed: 20_261_122, numRuns: 400 },
    );
  });
});
