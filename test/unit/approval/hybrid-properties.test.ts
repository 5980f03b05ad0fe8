import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { proveOwnership } from '../../../lambdas/approval/rules/ownership.ts';
import type { GeneralName } from '../../../lambdas/x509/certificate-request.ts';
import { DUBLIN, evidenceFor, instance, nodeObject } from './fixtures.ts';

const CLUSTER = { ...DUBLIN, remoteNodeNetworks: ['10.80.0.0/16'] };
const POLICY: ApprovalPolicy = { ...DEFAULT_POLICY, evidence: ['ec2', 'hybrid'] };
const SPELT = 'ip-10-80-0-9.eu-west-1.compute.internal';
const NODES = ['mi-0123456789abcdef0', 'edge-1', 'edge-2', 'i-0aaaaaaaa', SPELT];
const ADDRESSES = ['10.80.0.5', '10.80.0.6', '10.80.0.9', '10.81.0.5', '10.0.1.7'];

const world = fc.record({
  nodes: fc.uniqueArray(
    fc.record({
      name: fc.constantFrom(...NODES),
      addresses: fc.subarray(ADDRESSES),
      deleting: fc.boolean(),
    }),
    { selector: ({ name }) => name },
  ),
  instances: fc.uniqueArray(
    fc.record({
      id: fc.constantFrom('i-0aaaaaaaa', 'i-0bbbbbbbb'),
      address: fc.constantFrom(...ADDRESSES),
      state: fc.constantFrom('running', 'stopped'),
    }),
    { selector: ({ id }) => id, maxLength: 2 },
  ),
  asking: fc.constantFrom(...NODES),
  dnsNames: fc.subarray([...NODES, 'db.example.com']),
  addresses: fc.subarray(ADDRESSES),
});

it('gives a hybrid node a name only where EKS, its Node, every other Node and EC2 agree, whatever they say', () => {
  let proven = 0;
  fc.assert(
    fc.property(world, ({ nodes, instances, asking, dnsNames, addresses }) => {
      const names: GeneralName[] = [
        ...dnsNames.map((value) => ({ kind: 'dNSName' as const, value })),
        ...addresses.map((value) => ({ kind: 'iPAddress' as const, value })),
      ];
      const evidence = evidenceFor(CLUSTER, {
        nodes: nodes.map(({ name, addresses: InternalIP, deleting }) => {
          const node = nodeObject(name, { InternalIP });
          return deleting ? { ...node, metadata: { name, deletionTimestamp: '2026-01-01T00:00:00Z' } } : node;
        }),
        instances: instances.map(({ id, address, state }) => ({ ...instance(id, address), State: { Name: state } })),
      });
      const { proofs } = proveOwnership(names, asking, evidence, POLICY, CLUSTER);
      for (const { kind, name, provenBy } of proofs) {
        if (provenBy?.source !== 'hybrid') continue;
        proven += 1;
        const live = nodes.filter(({ deleting }) => !deleting);
        const showing = live.filter((node) => node.addresses.includes(name)).map((node) => node.name);
        const isOwnAddress =
          name.startsWith('10.80.') && showing.join() === asking && instances.every(({ address }) => address !== name);
        expect(['mi-0123456789abcdef0', 'edge-1', 'edge-2']).toContain(asking);
        expect(live.map((node) => node.name)).toContain(asking);
        expect(dnsNames).toContain(asking);
        expect(kind === 'dns' ? name === asking : isOwnAddress).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(proven).toBeGreaterThan(100);
});
