import { describe, expect, it } from 'vitest';
import type { EksDiscovery } from '../../../lambdas/config/fleet.ts';
import { encodeOrders, type SweepOrder } from '../../../lambdas/contracts/order.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import {
  allowedTargets,
  createOrderRefusal,
  type FleetOfTargets,
  fitRegistry,
} from '../../../lambdas/fleet/fits-fleet.ts';
import { listedClusters } from '../../../lambdas/fleet/listed-clusters.ts';
import { isSameJson } from '../../../lambdas/same-json.ts';
import {
  BERLIN,
  DUBLIN,
  discovery,
  fleetCluster,
  HUB,
  MINUTE,
  managementCluster,
  NOW,
  OTHER_SECRET,
  onlyOrder,
  PARIS,
  registered,
  registry,
  SECRET,
} from './values.ts';

const SPOKE = '444455556666';
const SPOKE_ENTRY = discovery({
  accounts: [SPOKE],
  regions: ['eu-west-1'],
  externalId: 'external-id',
  sessionTags: { team: 'platform' },
  include: { names: ['prod-*'] },
  exclude: { names: ['prod-old'] },
  lane: 'onprem',
  auditSecrets: true,
});
const ONPREM = { name: 'onprem', vpcId: 'vpc-0a1b2c3d4e5f60718', subnetIds: [], securityGroupIds: [] };

const FLEET: FleetOfTargets = {
  discovery: [discovery(), SPOKE_ENTRY],
  managementClusters: [
    managementCluster({ kubeconfigsFromManagementCluster: true, kubeconfigSecrets: { rome: SECRET } }),
  ],
  clusters: [
    fleetCluster({
      authenticatorId: '6b1f9c27-d0e8-4a35-9f00-1c2d3e4f5a6b',
      managementKubeconfigSecret: OTHER_SECRET,
      serviceCidrs: ['10.96.0.0/12'],
      kubeletMetrics: true,
    }),
  ],
  lanes: [ONPREM, { ...ONPREM, name: 'quiet', vpcId: 'vpc-1', handshakes: false }],
  recovery: [{ cluster: 'paris', until: new Date(NOW + 60 * MINUTE).toISOString(), server: { pin: 'authority' } }],
};

const targetOf = (id: string): Target => {
  const { target } = listedClusters(FLEET).clusters?.find((cluster) => cluster.id === id) ?? {};
  if (target === undefined) throw new Error(`${id} is not listed`);
  return target;
};
const LISTED = targetOf('paris');
const ROME: Target = {
  ...BERLIN,
  id: 'mgmt/eksa-system/rome',
  cluster: { name: 'rome', provider: 'eks-anywhere', serviceCidrs: ['10.96.0.0/12'] },
  access: { kind: 'kubeconfig', secret: SECRET },
};
const SPOKE_SCOPE = {
  account: SPOKE,
  region: 'eu-west-1',
  role: {
    arn: `arn:aws:iam::${SPOKE}:role/certmarshal-spoke`,
    externalId: 'external-id',
    sessionTags: { team: 'platform' },
  },
};
const PROD: Target = {
  id: `${SPOKE}/eu-west-1/prod-1`,
  cluster: { name: 'prod-1', provider: 'eks' },
  access: {
    kind: 'eks',
    endpoint: 'https://0A1B.gr7.eu-west-1.eks.amazonaws.com',
    certificateAuthority: 'Q0E=',
    scope: SPOKE_SCOPE,
  },
  instances: { ...SPOKE_SCOPE, vpcId: 'vpc-1' },
  lane: 'onprem',
  audit: { secrets: true },
};
const HONEST: readonly Target[] = [LISTED, targetOf('mgmt'), BERLIN, ROME, DUBLIN, PROD];

const orderOf = (target: Target, changed: Partial<SweepOrder> = {}): SweepOrder => ({
  target,
  tick: NOW,
  deadlineMs: 45_000,
  ...changed,
});

/** As it comes out of the queue. */
function refusalOf(order: SweepOrder, { lane = order.target.lane, fleet = FLEET } = {}): string | undefined {
  const read = onlyOrder(encodeOrders([order]));
  if (!read.ok) return `unreadable: ${read.problem}`;
  return createOrderRefusal(fleet, HUB, lane)(read.value, NOW)?.message;
}

describe('an order that fits fleet.yaml', () => {
  it.each(HONEST.map((target) => [target.id, target] as const))('is carried out: %s', (_, target) => {
    expect(refusalOf(orderOf(target))).toBeUndefined();
  });

  it('may be in the lane of its VPC, and be as EKS says in everything that only EKS knows', () => {
    expect(refusalOf(orderOf({ ...DUBLIN, lane: 'onprem' }))).toBeUndefined();
    expect(refusalOf(orderOf({ ...PROD, lane: 'quiet' }))).toBeUndefined();
    const { instances: _, ...rest } = DUBLIN;
    const other = { ...rest, instances: { account: HUB.account, region: HUB.region, vpcId: 'vpc-9' } };
    expect(refusalOf(orderOf({ ...other, cluster: { name: 'dublin', provider: 'eks' } }))).toBeUndefined();
    const hybrid = { ...DUBLIN.cluster, remoteNodeNetworks: ['10.80.0.0/16'] };
    expect(refusalOf(orderOf({ ...DUBLIN, cluster: hybrid }))).toBeUndefined();
  });

  it('may tolerate what recovery tolerates, look where workload clusters are, and audit as far as is opted in', () => {
    const audit = { secrets: false, kubeletMetrics: true };
    expect(refusalOf(orderOf(LISTED, { expiredServer: { pin: 'authority' }, audit }))).toBeUndefined();
    expect(
      refusalOf(orderOf(targetOf('mgmt'), { lookForClusters: ['eksa-system'], handshakes: true })),
    ).toBeUndefined();
    expect(refusalOf(orderOf(PROD, { audit: { secrets: true, kubeletMetrics: false } }))).toBeUndefined();
  });
});

describe('an order that was delayed', () => {
  it('is carried out as long as its tick, its delivery, dispatch and the queue may take', () => {
    expect(refusalOf(orderOf(LISTED, { tick: NOW - 5 * MINUTE }))).toBeUndefined();
  });

  it('tolerates an expired certificate only while recovery does, whatever its tick says', () => {
    const until = (ms: number): FleetOfTargets => ({
      ...FLEET,
      recovery: [{ cluster: 'paris', until: new Date(NOW + ms).toISOString(), server: { pin: 'authority' } }],
    });
    const order = orderOf(LISTED, { tick: NOW - MINUTE, expiredServer: { pin: 'authority', replacedBefore: NOW } });
    expect(refusalOf(order, { fleet: until(1) })).toBeUndefined();
    expect(refusalOf(order, { fleet: until(-1) })).toContain('recovery');
  });
});

describe('a forged order', () => {
  const eks = (changed: object): Target => ({ ...PROD, access: { ...PROD.access, ...changed } });
  const entries: readonly EksDiscovery[] = [discovery({ exclude: { names: ['*'] } })];

  it.each<readonly [string, SweepOrder, string]>([
    ['names a cluster that is not in the fleet', orderOf({ ...PARIS, id: 'oslo' }), 'no such cluster'],
    [
      'names the secret of another cluster',
      orderOf({ ...LISTED, access: { kind: 'kubeconfig', secret: OTHER_SECRET } }),
      'target.access',
    ],
    ['has no authenticatorId', orderOf({ ...LISTED, access: { kind: 'kubeconfig', secret: SECRET } }), 'target.access'],
    [
      'takes the Machines of another management cluster',
      orderOf({ ...LISTED, management: { access: { kind: 'kubeconfig', secret: SECRET }, namespace: 'eksa-system' } }),
      'target.management',
    ],
    [
      'takes a management cluster where there is none',
      orderOf({
        ...targetOf('mgmt'),
        management: { access: { kind: 'kubeconfig', secret: SECRET }, namespace: 'eksa-system' },
      }),
      'target.management',
    ],
    ['leaves the management cluster out', orderOf(withValue(LISTED, ['management'], undefined)), 'target.management'],
    [
      'takes Machines of another namespace',
      orderOf({ ...ROME, management: { access: { kind: 'kubeconfig', secret: OTHER_SECRET }, namespace: 'tenant-x' } }),
      'target.management',
    ],
    ['omits the CIDRs', orderOf({ ...LISTED, cluster: { name: 'paris', provider: 'eks-anywhere' } }), 'target.cluster'],
    [
      'has another name, which policies select by',
      orderOf({ ...LISTED, cluster: { ...LISTED.cluster, name: 'milan' } }),
      'target.cluster',
    ],
    ['has another provider', orderOf({ ...LISTED, cluster: { ...LISTED.cluster, provider: 'eks' } }), 'target.cluster'],
    ['gives EC2 instances to one without', orderOf({ ...LISTED, instances: DUBLIN.instances }), 'target.instances'],
    ['opts in to Secrets', orderOf({ ...LISTED, audit: { secrets: true, kubeletMetrics: true } }), 'target.audit'],
    ['audits Secrets without opt-in', orderOf(LISTED, { audit: { secrets: true, kubeletMetrics: true } }), 'its audit'],
    ['asks kubelets without an opt-in', orderOf(PROD, { audit: { secrets: true, kubeletMetrics: true } }), 'its audit'],
    ['is for another account', orderOf(eks({ scope: { ...SPOKE_SCOPE, account: '999900001111' } })), 'no such cluster'],
    ['is for another Region', orderOf(eks({ scope: { ...SPOKE_SCOPE, region: 'us-east-1' } })), 'no such cluster'],
    [
      'assumes another role',
      orderOf(
        eks({ scope: { ...SPOKE_SCOPE, role: { ...SPOKE_SCOPE.role, arn: `arn:aws:iam::${SPOKE}:role/admin` } } }),
      ),
      'target.access',
    ],
    [
      'leaves out the external id',
      orderOf(eks({ scope: { ...SPOKE_SCOPE, role: { arn: SPOKE_SCOPE.role.arn } } })),
      'target.access',
    ],
    [
      'takes the instances of another account',
      orderOf({ ...PROD, instances: { account: HUB.account, region: HUB.region, vpcId: 'vpc-1' } }),
      'target.instances',
    ],
    ['is an EKS cluster under the id of another', orderOf({ ...PROD, id: `${SPOKE}/eu-west-1/prod-2` }), 'target.id'],
    [
      'is an EKS cluster that its entry excludes',
      orderOf({ ...PROD, id: `${SPOKE}/eu-west-1/prod-old`, cluster: { name: 'prod-old', provider: 'eks' } }),
      'no such cluster',
    ],
    ['is a workload cluster of another namespace', orderOf({ ...ROME, id: 'mgmt/tenant-x/rome' }), 'no such cluster'],
    [
      'is a workload cluster called like its management cluster',
      orderOf({ ...BERLIN, id: 'mgmt/eksa-system/mgmt', cluster: { name: 'mgmt', provider: 'eks-anywhere' } }),
      'no such cluster',
    ],
    [
      'reads the kubeconfig of a tenant where a secret is named',
      orderOf({ ...ROME, access: { kind: 'cluster-api', namespace: 'eksa-system' } }),
      'target.access',
    ],
    [
      'reads the kubeconfig of another namespace',
      orderOf({ ...BERLIN, access: { kind: 'cluster-api', namespace: 'tenant-x' } }),
      'target.access',
    ],
    [
      'tolerates an expired certificate that recovery does not',
      orderOf(targetOf('mgmt'), { expiredServer: { pin: 'authority' } }),
      'recovery',
    ],
    [
      'tolerates another certificate than recovery does',
      orderOf(LISTED, { expiredServer: { pin: 'fingerprint', sha256: 'a'.repeat(64) } }),
      'recovery',
    ],
    ['looks for clusters of tenants', orderOf(targetOf('mgmt'), { lookForClusters: ['tenant-x'] }), 'namespace'],
    ['looks for clusters in one that manages none', orderOf(LISTED, { lookForClusters: ['eksa-system'] }), 'namespace'],
    ['shakes hands from a lane that must not', orderOf({ ...PROD, lane: 'quiet' }, { handshakes: true }), 'lane quiet'],
    ['is older than any honest order', orderOf(LISTED, { tick: NOW - 5 * MINUTE - 1 }), 'too old, or from the future'],
    ['is of yesterday', orderOf(LISTED, { tick: NOW - 24 * 60 * MINUTE }), 'too old, or from the future'],
    ['is of tomorrow, to be newest', orderOf(LISTED, { tick: NOW + 24 * 60 * MINUTE }), 'too old, or from the future'],
    ['hides refusals from the journal', orderOf(LISTED, { lastHeard: NOW + 60 * MINUTE }), 'heard in the future'],
  ])('that %s is refused, with the object and a remedy', (_, order, why) => {
    expect(refusalOf(order)).toContain(why);
    expect(createOrderRefusal(FLEET, HUB, order.target.lane)(order, NOW)).toMatchObject({
      kind: 'order',
      object: `cluster ${order.target.id}`,
      remedy: expect.stringContaining('find out who'),
    });
  });

  it('that was sent to the queue of another lane is refused', () => {
    expect(refusalOf(orderOf(LISTED), { lane: 'onprem' })).toContain('lane default');
    expect(refusalOf(orderOf({ ...LISTED, lane: 'onprem' }))).toContain('target.lane');
    expect(refusalOf(orderOf({ ...DUBLIN, lane: 'quiet' }))).toContain('target.lane');
  });

  it('that was right before fleet.yaml was changed is refused', () => {
    expect(refusalOf(orderOf(DUBLIN), { fleet: { ...FLEET, discovery: entries } })).toContain('no such cluster');
    expect(refusalOf(orderOf(BERLIN), { fleet: { ...FLEET, managementClusters: [] } })).toContain('no such cluster');
  });

  it('with a change of any one field is refused, but for what only EKS or the management cluster can say', () => {
    // Endpoints are bound to EKS where the client is opened.
    const said = /^(?:access\.(?:endpoint|certificateAuthority)|instances\.vpcId|cluster\.serviceCidrs(?:\.\d)?)$/;
    const accepted = HONEST.flatMap((target) =>
      [...mutations(target)].flatMap(([path, forged]) =>
        refusalOf(orderOf(forged)) === undefined && !isSame(forged, target) ? [`${target.id} ${path}`] : [],
      ),
    );
    const isSaid = (one: string) => said.test(one.split(' ')[1] ?? '') && !/^(?:paris|mgmt) /.test(one);
    expect(accepted.filter((one) => !isSaid(one))).toEqual([]);
    expect(accepted.length).toBeGreaterThan(5);
  });
});

/** What is read of it is: an absent namespace is the default one. */
function isSame(forged: Target, target: Target): boolean {
  const read = onlyOrder(encodeOrders([orderOf(forged)]));
  return read.ok && isSameJson(read.value.target, target);
}

/** The target with one leaf changed, or one field removed, by its path. */
function* mutations(target: Target): Generator<readonly [path: string, forged: Target]> {
  for (const path of pathsOf(target)) {
    const value = path.reduce<unknown>((at, key) => Reflect.get(Object(at), key), target);
    const changes = typeof value === 'string' ? [another(value)] : typeof value === 'boolean' ? [!value] : [];
    for (const change of changes) yield [path.join('.'), withValue(target, path, change)];
    // The id, the name and the lane are not optional: without them it cannot be read.
    yield [path.join('.'), withValue(target, path, undefined)];
  }
}

/** As good as the one before, and another. */
function another(value: string): string {
  if (value.startsWith('https:')) return value.replace('0A1B', '0a1c');
  if (/^\d+\.\d+\.\d+\.\d+\//.test(value)) return '192.168.0.0/16';
  return /[a-z]$/i.test(value)
    ? `${value.slice(0, -1)}${value.endsWith('x') ? 'y' : 'x'}`
    : value.replace(/.$/, (end) => (end === '=' ? 'A' : String((Number(end) + 1) % 10)));
}

function* pathsOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, entry] of Object.entries(value)) {
    yield [...path, key];
    yield* pathsOf(entry, [...path, key]);
  }
}

function withValue(target: Target, path: readonly string[], value: unknown): Target {
  const copy: Target = structuredClone(target);
  const last = path.at(-1) ?? '';
  const parent: object = path.slice(0, -1).reduce<unknown>((at, key) => Reflect.get(Object(at), key), copy) as object;
  if (value === undefined) {
    if (Array.isArray(parent)) parent.splice(Number(last), 1);
    else Reflect.deleteProperty(parent, last);
  } else Reflect.set(parent, last, value);
  return copy;
}

describe('the registry that fits fleet.yaml', () => {
  const fit = (...targets: readonly Target[]) =>
    fitRegistry(registry(...targets.map((target) => registered(target.id, { target }))), allowedTargets(FLEET, HUB));

  it('stays as it is', () => {
    const stored = registry(...HONEST.map((target) => registered(target.id, { target })), registered('oslo'));
    expect(fitRegistry(stored, allowedTargets(FLEET, HUB))).toEqual(stored);
  });

  it('says what was found, and not how that is entered', () => {
    const forged: Target = {
      ...PROD,
      access: { ...PROD.access, scope: { account: SPOKE, region: 'eu-west-1' } } as Target['access'],
      lane: 'default',
      audit: { kubeletMetrics: true },
    };
    expect(fit(forged).clusters[PROD.id]?.target).toEqual(PROD);
    expect(fit({ ...ROME, access: { kind: 'cluster-api', namespace: 'tenant-x' } }).clusters[ROME.id]?.target).toEqual(
      ROME,
    );
  });

  it('has no target of a cluster whose target leads to another one', () => {
    const id = `${SPOKE}/eu-west-1/prod-2`;
    expect(fit({ ...PROD, id }).clusters[id]).not.toHaveProperty('target', expect.anything());
  });

  it('has no target of a cluster that fleet.yaml does not have', () => {
    const oslo = { ...PROD, id: `${SPOKE}/eu-west-1/oslo`, cluster: { name: 'oslo', provider: 'eks' as const } };
    const { [oslo.id]: found } = fit(oslo).clusters;
    expect(found).not.toHaveProperty('target', expect.anything());
    expect(found).toMatchObject({ problem: { kind: 'foreign', object: `cluster ${oslo.id}` } });
  });
});
