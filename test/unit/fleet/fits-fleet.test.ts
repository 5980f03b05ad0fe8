import { describe, expect, it } from 'vitest';
import type { Order, SweepOrder } from '../../../lambdas/contracts/order.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import {
  createCompleteOrder,
  createTargetsOf,
  type FleetOfTargets,
  factsOf,
  fitRegistry,
} from '../../../lambdas/fleet/fits-fleet.ts';
import { listedClusters } from '../../../lambdas/fleet/listed-clusters.ts';
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
  readOrder,
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

const orderOf = ({ id, ...target }: Target, changed: Partial<Order> = {}): Order => ({
  id,
  facts: factsOf({ id, ...target }),
  tick: NOW,
  deadlineMs: 45_000,
  ...changed,
});

/** What the sweep makes of a message, whatever else that says. */
function completed(order: object, { lane = 'default', fleet = FLEET, now = NOW } = {}) {
  const read = readOrder(order);
  if (!read.ok) throw new Error(read.problem);
  return createCompleteOrder(fleet, createTargetsOf(fleet, HUB), lane)(read.value, now);
}

function sweepOf(...args: Parameters<typeof completed>): SweepOrder {
  const result = completed(...args);
  if (!result.ok) throw new Error(result.problem.message);
  return result.value;
}

function refusalOf(...args: Parameters<typeof completed>): string | undefined {
  const result = completed(...args);
  return result.ok ? undefined : result.problem.message;
}

describe('an order', () => {
  it.each(HONEST.map((target) => [target.id, target] as const))('has its target from fleet.yaml: %s', (_, target) => {
    expect(sweepOf(orderOf(target), { lane: target.lane }).target).toEqual(target);
  });

  it('says what only EKS knows: endpoint, CA bundle, VPC and CIDRs', () => {
    const facts = {
      endpoint: 'https://0A1C.gr7.eu-central-1.eks.amazonaws.com',
      certificateAuthority: 'Q0EK',
      vpcId: 'vpc-9',
      serviceCidrs: ['172.20.0.0/16'],
      remoteNodeNetworks: ['10.80.0.0/16'],
    };
    expect(factsOf(sweepOf(orderOf(DUBLIN, { facts })).target)).toEqual(facts);
    expect(sweepOf(orderOf(LISTED, { facts })).target).toEqual(LISTED);
  });

  it('may be in the lane of its VPC', () => {
    const facts = { ...factsOf(DUBLIN), vpcId: ONPREM.vpcId };
    expect(sweepOf(orderOf(DUBLIN, { facts }), { lane: 'onprem' })).toMatchObject({
      target: { lane: 'onprem' },
      handshakes: true,
    });
    expect(sweepOf(orderOf(PROD), { lane: 'quiet' }).handshakes).toBeUndefined();
  });

  it.each(HONEST.map((target) => [target.id, target] as const))('cannot say how %s is entered or read', (_, target) => {
    const scope = { account: HUB.account, region: HUB.region, role: { arn: `arn:aws:iam::${SPOKE}:role/other` } };
    const forged = {
      role: scope.role,
      externalId: 'other',
      secret: OTHER_SECRET,
      lane: 'quiet',
      access: { kind: 'kubeconfig', secret: OTHER_SECRET },
      management: { access: { kind: 'kubeconfig', secret: OTHER_SECRET }, namespace: 'tenant-x' },
      instances: scope,
      namespace: 'tenant-x',
      lookForClusters: ['tenant-x'],
      handshakes: true,
      audit: { secrets: true, kubeletMetrics: true },
      expiredServer: { pin: 'fingerprint', sha256: 'a'.repeat(64) },
      recovery: { nodes: ['cp-1'] },
      nodes: ['cp-1'],
    };
    const honest = sweepOf(orderOf(target, { audit: {} }), { lane: target.lane });
    const order = { ...orderOf(target), ...forged, target: { ...target, ...forged } };
    expect(sweepOf(order, { lane: target.lane })).toEqual(honest);
    const facts = { ...factsOf(target), ...forged };
    expect(sweepOf({ ...orderOf(target, { audit: {} }), facts }, { lane: target.lane })).toEqual(honest);
  });

  it('looks for workload clusters in the namespaces of fleet.yaml, and nowhere for a cluster that manages none', () => {
    const mgmt = targetOf('mgmt');
    const lookIn = (target: Target, changed: Partial<Order>) =>
      sweepOf(orderOf(target, changed), { lane: target.lane }).lookForClusters;
    expect(lookIn(mgmt, { workloadClusters: true })).toEqual(FLEET.managementClusters[0]?.workloadClusters.namespaces);
    expect(lookIn(mgmt, {})).toBeUndefined();
    expect(lookIn(LISTED, { workloadClusters: true })).toBeUndefined();
  });

  it('audits as far as fleet.yaml opts in', () => {
    const audit = { known: true as const };
    expect(sweepOf(orderOf(LISTED, { audit })).audit).toEqual({ ...audit, secrets: false, kubeletMetrics: true });
    expect(sweepOf(orderOf(PROD, { audit }), { lane: PROD.lane }).audit).toMatchObject({ secrets: true });
    expect(sweepOf(orderOf(DUBLIN, { audit })).audit).toMatchObject({ secrets: false, kubeletMetrics: false });
  });

  it('tolerates an expired certificate only if and while recovery does; it can only make that stricter', () => {
    const serverOf = (target: Target, now = NOW) =>
      sweepOf(orderOf(target, { replacedBefore: 7, tick: now }), { lane: target.lane, now }).expiredServer;
    expect(serverOf(LISTED)).toEqual({ pin: 'authority', replacedBefore: 7 });
    expect(serverOf(LISTED, NOW + 60 * MINUTE)).toBeUndefined();
    expect(serverOf(targetOf('mgmt'))).toBeUndefined();
  });
});

describe('an order is refused, with the object and a remedy,', () => {
  const unlisted = { ...LISTED, id: 'oslo' };
  const otherRegion = { ...PROD, id: `${SPOKE}/eu-west-2/prod-1` };
  const excluded = { ...PROD, id: `${SPOKE}/eu-west-1/prod-old` };
  const tenant = { ...BERLIN, id: 'mgmt/tenant-x/berlin' };
  it.each<[string, Order, string]>([
    ['of a cluster that fleet.yaml does not have', orderOf(unlisted), 'no such cluster'],
    ['of a Region that fleet.yaml does not name', orderOf(otherRegion), 'no such cluster'],
    ['of a cluster that fleet.yaml excludes', orderOf(excluded), 'no such cluster'],
    ['of a workload cluster in a namespace that fleet.yaml does not name', orderOf(tenant), 'no such cluster'],
    ['of an EKS cluster without facts', orderOf(DUBLIN, { facts: {} }), 'no such cluster'],
    ['of another lane', orderOf(PROD), 'is in lane onprem, and this is lane default'],
    ['older than three ticks', orderOf(LISTED, { tick: NOW - 3 * MINUTE - 1 }), 'too old, or from the future'],
    ['of yesterday', orderOf(LISTED, { tick: NOW - 24 * 60 * MINUTE }), 'too old, or from the future'],
    ['of tomorrow, to be newest', orderOf(LISTED, { tick: NOW + 24 * 60 * MINUTE }), 'too old, or from the future'],
    ['that hides refusals from the journal', orderOf(LISTED, { lastHeard: NOW + 60 * MINUTE }), 'heard in the future'],
  ])('%s', (_, order, why) => {
    const result = completed(order);
    expect(result).toMatchObject({
      ok: false,
      problem: {
        kind: 'order',
        object: `cluster ${order.id}`,
        message: expect.stringContaining(why),
        remedy: expect.stringContaining('find out who'),
      },
    });
  });

  it('if it was right before fleet.yaml was changed', () => {
    expect(refusalOf(orderOf(DUBLIN), { fleet: { ...FLEET, discovery: [SPOKE_ENTRY] } })).toContain('no such cluster');
    expect(refusalOf(orderOf(BERLIN), { fleet: { ...FLEET, managementClusters: [] } })).toContain('no such cluster');
  });

  it('but not while it is of the last three ticks', () => {
    expect(refusalOf(orderOf(LISTED, { tick: NOW - 3 * MINUTE }))).toBeUndefined();
  });
});

describe('the registry that fits fleet.yaml', () => {
  const fit = (...targets: readonly Target[]) =>
    fitRegistry(registry(...targets.map((target) => registered(target.id, { target }))), createTargetsOf(FLEET, HUB));

  it('stays as it is', () => {
    const stored = registry(...HONEST.map((target) => registered(target.id, { target })), registered('oslo'));
    expect(fitRegistry(stored, createTargetsOf(FLEET, HUB))).toEqual(stored);
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

  it('has the target of the id, whatever name the stored one has', () => {
    const id = `${SPOKE}/eu-west-1/prod-2`;
    const [fitted] = Object.values(fit({ ...PROD, id }).clusters);
    expect(fitted?.target).toEqual({ ...PROD, id, cluster: { name: 'prod-2', provider: 'eks' } });
  });

  it('has no target of a cluster that fleet.yaml does not have', () => {
    const oslo = { ...PROD, id: `${SPOKE}/eu-west-1/oslo`, cluster: { name: 'oslo', provider: 'eks' as const } };
    const { [oslo.id]: found } = fit(oslo).clusters;
    expect(found).not.toHaveProperty('target', expect.anything());
    expect(found).toMatchObject({ problem: { kind: 'foreign', object: `cluster ${oslo.id}` } });
  });
});
