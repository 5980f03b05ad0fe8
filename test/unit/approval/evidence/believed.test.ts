import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../../../lambdas/approval/decide-approval.ts';
import { believe, type Listed, withLearned } from '../../../../lambdas/approval/evidence/believed.ts';
import { indexEvidence, type SourceReading } from '../../../../lambdas/approval/evidence/evidence.ts';
import { ownerFromMachine } from '../../../../lambdas/approval/evidence/machine.ts';
import { DEFAULT_POLICY } from '../../../../lambdas/approval/policy.ts';
import { type Cluster, readCluster } from '../../../../lambdas/resources/cluster.ts';
import { readSigningRequest } from '../../../../lambdas/resources/signing-request.ts';
import { createServingRequest } from '../../../fleet/serving-request.ts';

const NOW = Date.parse('2026-11-27T12:00:00Z');
const VIP = '10.0.0.5';

const machine = (node: string, addresses: readonly string[], controlPlane = false) => ({
  metadata: {
    namespace: 'eksa-system',
    name: node,
    labels: controlPlane ? { 'cluster.x-k8s.io/control-plane': '' } : {},
  },
  spec: { clusterName: 'berlin' },
  status: {
    phase: 'Running',
    addresses: [
      ...addresses.map((address) => ({ type: 'ExternalIP', address })),
      { type: 'InternalDNS', address: node },
    ],
    nodeRef: { name: node },
  },
});

const readingOf = (machines: readonly unknown[]): SourceReading => ({
  source: 'machine',
  ok: true,
  lookedAt: machines.length,
  owners: machines.flatMap((one) => ownerFromMachine(one, 'berlin') ?? []),
});

interface World {
  readonly machines: readonly unknown[];
  readonly resolved?: readonly string[];
  readonly remembered?: readonly string[];
  readonly host?: string;
  readonly infrastructure?: string;
  readonly listed?: Listed;
}

/** The endpoint is a name, and the hub comes in another way. */
const believedIn = ({
  machines,
  resolved,
  remembered,
  host = 'api.berlin.example.com',
  infrastructure,
  listed,
}: World) =>
  believe(
    {
      cluster: { name: 'berlin', provider: 'eks-anywhere' },
      workload: { endpoints: ['tunnel.example.net', '192.0.2.10'] },
      ...(remembered && { endpointAddresses: remembered }),
    },
    { machines: true, nodes: false },
    {
      machines: readingOf(machines),
      object: readCluster({
        metadata: { namespace: 'eksa-system', name: 'berlin' },
        spec: {
          controlPlaneEndpoint: { host, port: 6443 },
          clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/12'] } },
          infrastructureRef: { kind: infrastructure ?? 'VSphereCluster' },
        },
      }),
      ...(resolved && { resolved }),
      ...listed,
    },
  );

const judged = (world: World, node: string, ipAddresses: readonly string[]) => {
  const { cluster, readings } = believedIn(world);
  const { pem } = createServingRequest(node, { dnsNames: [node], ipAddresses });
  const read = readSigningRequest({
    metadata: { name: 'csr', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-11-27T11:59:40Z' },
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'kubernetes.io/kubelet-serving',
      username: `system:node:${node}`,
      groups: ['system:nodes', 'system:authenticated'],
      usages: ['digital signature', 'server auth'],
    },
  });
  if (!read.ok) throw new Error(read.problem);
  const evidence = indexEvidence(readings);
  return decideApproval({ cluster, csr: read.csr, siblings: { pending: 1 } }, evidence, [DEFAULT_POLICY], NOW);
};

describe('the addresses behind the name of an API endpoint', () => {
  const worker = machine('w1', ['10.0.1.1', VIP]);
  const leader = machine('cp1', ['10.0.0.11', VIP], true);
  const follower = machine('cp1', ['10.0.0.11'], true);

  it.each<[string, World]>([
    ['now', { machines: [worker, follower], resolved: [VIP] }],
    ['in the last 30 days', { machines: [worker, follower], resolved: ['10.0.0.6'], remembered: [VIP] }],
    ['while it does not resolve', { machines: [worker, follower], remembered: [VIP] }],
    ['while a leader has it too', { machines: [worker, leader], resolved: [VIP] }],
    ['if the name never resolved', { machines: [worker, follower] }],
  ])('are not approved for a worker that lists one, and not hostile: %s', (_, world) => {
    const { verdict, hostile } = judged(world, 'w1', ['10.0.1.1', VIP]);
    expect([verdict, hostile]).toEqual(['leave', false]);
  });

  it('leave the names of a worker that asks for its own address alone', () => {
    expect(judged({ machines: [worker, follower], resolved: [VIP] }, 'w1', ['10.0.1.1'])).toMatchObject({
      verdict: 'approve',
    });
  });

  it('are approved at the machine of the control plane that has one: each server of a name with several addresses', () => {
    const servers = [1, 2, 3].map((n) => machine(`cp${n}`, [`10.0.0.1${n}`], true));
    const world = {
      machines: [...servers, machine('w1', ['10.0.1.1'])],
      resolved: ['10.0.0.11', '10.0.0.12', '10.0.0.13'],
    };
    expect(judged(world, 'cp2', ['10.0.0.12'])).toMatchObject({ verdict: 'approve' });
    expect(judged(world, 'w1', ['10.0.1.1', '10.0.0.12'])).toMatchObject({ verdict: 'leave' });
  });

  it('are remembered, unless a live worker listed one first', () => {
    const { endpointAddresses } = believedIn({ machines: [worker, leader], resolved: [VIP, '10.0.0.6'] });
    expect(endpointAddresses).toEqual(['10.0.0.6']);
    const before = believedIn({ machines: [worker, leader], resolved: [VIP], remembered: [VIP] });
    expect(before.endpointAddresses).toEqual([VIP]);
    expect(believedIn({ machines: [leader], resolved: [VIP] }).endpointAddresses).toEqual([VIP]);
    const gone = { ...worker, metadata: { ...worker.metadata, deletionTimestamp: '2026-11-27T11:59:00Z' } };
    expect(believedIn({ machines: [gone, leader], resolved: [VIP] }).endpointAddresses).toEqual([VIP]);
  });

  it('are not remembered while Machines cannot be read, which is told before any doubt about them', () => {
    const problem = { kind: 'forbidden', object: 'Cluster', problem: '403 Forbidden', remedy: 'Grant it.' };
    const unread = { ...problem, source: 'machine', ok: false } as const;
    const believed = believedIn({ machines: [], resolved: [VIP], listed: { machines: unread, object: problem } });
    expect(believed).toMatchObject({ readings: [unread], endpointAddresses: [] });
  });

  it('need not be known where no guest tells its addresses, nor where the endpoint is an address', () => {
    const machines = [machine('w1', ['10.0.1.1']), follower];
    for (const world of [
      { machines, infrastructure: 'TinkerbellCluster' },
      { machines, host: VIP },
    ])
      expect(judged(world, 'w1', ['10.0.1.1'])).toMatchObject({ verdict: 'approve' });
    expect(judged({ machines }, 'w1', ['10.0.1.1'])).toMatchObject({ verdict: 'leave', reason: 'EvidenceUnreadable' });
  });

  it('are never approved for a worker, whatever it lists and whatever resolves', () => {
    const address = fc.integer({ min: 1, max: 6 }).map((n) => `10.0.0.${n}`);
    const addresses = fc.uniqueArray(address, { maxLength: 4 });
    fc.assert(
      fc.property(addresses, addresses, addresses, addresses, (asked, resolved, remembered, ofLeader) => {
        const machines = [machine('w1', ['10.0.1.1', ...asked]), machine('cp1', ['10.0.0.11', ...ofLeader], true)];
        const world = { machines, resolved, remembered };
        const { verdict, hostile } = judged(world, 'w1', ['10.0.1.1', ...asked]);
        const isTheirs = asked.some((one) => [...resolved, ...remembered, ...ofLeader].includes(one));
        const isKnown = resolved.length + remembered.length > 0;
        expect([verdict, hostile]).toEqual([isTheirs || !isKnown ? 'leave' : 'approve', false]);
      }),
      { seed: 42 },
    );
  });
});

it('adds what the Cluster and its ServiceCIDRs say to fleet.yaml, but no domain that is none', () => {
  const target = {
    cluster: { name: 'berlin', provider: 'eks-anywhere', serviceCidrs: ['10.1.0.0/16'] },
    workload: {},
  } as const;
  const object = { endpoint: 'api.example.com', serviceCidrs: ['10.2.0.0/16'], serviceDomain: 'k8s..local' } as const;
  const learned = withLearned(target, object as unknown as Cluster, ['10.3.0.0/16']);
  expect(learned.serviceCidrs).toEqual(['10.1.0.0/16', '10.2.0.0/16', '10.3.0.0/16']);
  expect(learned.endpoints).toEqual(['api.example.com']);
  expect(learned).not.toHaveProperty('serviceDomain');
});

describe('a Machine whose guest tells its addresses', () => {
  const many = Array.from({ length: 60 }, (_, n) => `10.0.1.${n + 1}`);

  it('proves eight, and keeps the others from every node', () => {
    const world = { machines: [machine('w1', many), machine('w2', ['10.0.1.50'])], host: VIP };
    expect(judged(world, 'w1', many.slice(0, 8))).toMatchObject({ verdict: 'approve' });
    expect(judged(world, 'w1', many.slice(0, 9))).toMatchObject({ verdict: 'leave', hostile: false });
    expect(judged(world, 'w2', ['10.0.1.50'])).toMatchObject({
      verdict: 'leave',
      reason: 'SanContested',
      hostile: false,
    });
  });

  it('proves all where the hardware tells them', () => {
    const own = {
      ...machine('w1', many),
      spec: { clusterName: 'berlin', infrastructureRef: { kind: 'TinkerbellMachine' } },
    };
    expect(judged({ machines: [own], host: VIP, infrastructure: 'TinkerbellCluster' }, 'w1', many)).toMatchObject({
      verdict: 'approve',
    });
  });
});
