import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Owner, SourceReading } from '../../../../lambdas/approval/evidence/evidence.ts';
import { readHybridNodes } from '../../../../lambdas/approval/evidence/hybrid.ts';
import { canonicalAddress } from '../../../../lambdas/names.ts';

const NODE = 'mi-0123456789abcdef0';
const NETWORKS = ['10.80.0.0/16', '10.90.1.0/24'];

const node = (name: string, addresses: readonly string[]): Owner => ({
  source: 'node',
  object: `Node ${name}`,
  nodes: [name],
  dnsNames: ['shown.by.its.kubelet'],
  addresses,
});
const instance = (name: string, more: Partial<Owner> = {}): Owner => ({
  source: 'ec2',
  object: 'EC2 instance i-0abc',
  nodes: [name],
  dnsNames: [],
  addresses: ['10.0.0.7'],
  ...more,
});
const reading = (source: 'node' | 'ec2' | 'machine', ...owners: Owner[]): SourceReading => ({
  source,
  ok: true,
  lookedAt: owners.length,
  owners,
});
const unread = (source: 'node' | 'ec2' | 'machine'): SourceReading => ({
  source,
  ok: false,
  problem: 'no',
  remedy: 'r',
});

function read(readings: readonly SourceReading[], { asking = [NODE], networks = NETWORKS } = {}) {
  const found = readHybridNodes({ remoteNodeNetworks: networks }, new Set(asking), readings);
  if (found?.ok === false) throw new Error(found.problem);
  return found;
}

describe('readHybridNodes', () => {
  it('proves the name of the node and those of its addresses that are in the networks of EKS, and nothing else', () => {
    const shown = ['10.80.0.5', '10.90.1.6', '10.90.2.6', '192.168.1.1', 'fd00::5'];
    expect(read([reading('node', node(NODE, shown)), reading('ec2', instance('i-0abc'))])).toEqual({
      source: 'hybrid',
      ok: true,
      lookedAt: 1,
      owners: [
        {
          source: 'hybrid',
          object: `hybrid node ${NODE}`,
          nodes: [NODE],
          dnsNames: [NODE],
          addresses: ['10.80.0.5', '10.90.1.6'],
          weakAddresses: ['10.90.2.6', '192.168.1.1', 'fd00::5'].map((address) => ({
            address,
            why: 'is outside of 10.80.0.0/16, 10.90.1.0/24, the remote node networks of the cluster',
          })),
          listsNoDnsName: true,
        },
      ],
      without: new Map(),
    });
  });

  const hybrid = reading('node', node(NODE, ['10.80.0.5']));

  it.each<[string, readonly SourceReading[], object?]>([
    ['the cluster has no such networks', [hybrid, reading('ec2')], { networks: [] }],
    ['Nodes were not read', [reading('ec2')]],
    ['Nodes could not be read', [unread('node'), reading('ec2')]],
    ['instances were not read', [hybrid]],
    ['instances could not be read', [hybrid, unread('ec2')]],
    ['Machines could not be read', [unread('machine'), hybrid, reading('ec2')]],
  ])('says nothing where %s', (_, readings, options) => {
    expect(read(readings, options)).toBeUndefined();
  });

  it('says nothing where EKS was not asked for networks', () => {
    expect(readHybridNodes({}, new Set([NODE]), [hybrid, reading('ec2')])).toBeUndefined();
  });

  it.each<[string, string, readonly string[], readonly SourceReading[], string]>([
    ['that is an instance', NODE, ['10.80.0.5'], [reading('ec2', instance(NODE))], 'it is EC2 instance i-0abc, so'],
    [
      'whose instance does not run',
      NODE,
      ['10.80.0.5'],
      [reading('ec2', instance(NODE, { notLive: 'is stopped' }))],
      'it is EC2 instance i-0abc, so',
    ],
    [
      'that is a Machine',
      NODE,
      ['10.80.0.5'],
      [reading('ec2'), reading('machine', instance(NODE, { source: 'machine', object: 'Machine a/b' }))],
      'it is Machine a/b, so not a hybrid node',
    ],
    [
      'that is called as an instance',
      'i-0123456789abcdef0',
      ['10.80.0.5'],
      [reading('ec2')],
      'that AWS gives its own nodes',
    ],
    [
      'with a resource name',
      'i-0123456789abcdef0.ec2.internal',
      ['10.80.0.5'],
      [reading('ec2')],
      'that AWS gives its own nodes',
    ],
    [
      'with a private DNS name',
      'ip-10-80-0-5.ec2.internal',
      ['10.80.0.5'],
      [reading('ec2')],
      'that AWS gives its own nodes',
    ],
    [
      'of Fargate',
      'fargate-ip-10-80-0-5.ec2.internal',
      ['10.80.0.5'],
      [reading('ec2')],
      'that AWS gives its own nodes',
    ],
    ['in no network', NODE, ['10.81.0.5'], [reading('ec2')], 'its Node shows no address in 10.80.0.0/16, 10.90.1.0/24'],
    ['without an address', NODE, [], [reading('ec2')], 'its Node shows no address in'],
  ])('proves nothing of a node %s, and says why', (_, name, addresses, others, why) => {
    const found = read([reading('node', node(name, addresses)), ...others], { asking: [name] });
    expect(found).toMatchObject({ owners: [], lookedAt: 1 });
    expect(found?.without?.get(name)).toContain(why);
  });

  it('looks at no node that does not ask', () => {
    const all = reading('node', node(NODE, ['10.80.0.5']), node('mi-0123456789abcdef1', ['10.80.0.6']));
    expect(read([all, reading('ec2')])?.owners.map(({ nodes }) => nodes)).toEqual([[NODE]]);
    expect(read([all, reading('ec2')], { asking: [] })).toMatchObject({ owners: [], lookedAt: 0 });
  });

  it('never proves an address outside of the networks, nor one that the Node does not show', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.ipV4(),
            fc.ipV6(),
            fc.ipV4().map((address) => address.replace(/^\d+\.\d+/, '10.80')),
          ),
        ),
        (shown) => {
          const addresses = shown.flatMap((address) => canonicalAddress(address) ?? []);
          const owners = read([reading('node', node(NODE, addresses)), reading('ec2')])?.owners ?? [];
          const proven = owners.flatMap((owner) => owner.addresses);
          expect(proven).toEqual(addresses.filter((address) => /^10\.(?:80\.|90\.1\.)/.test(address)));
        },
      ),
    );
  });
});
