import { describe, expect, it } from 'vitest';
import { ownerFromNode } from '../../../../lambdas/approval/evidence/node.ts';
import { nodeObject } from '../fixtures.ts';

describe('ownerFromNode', () => {
  it('reads what the Node says about itself', () => {
    const node = nodeObject('node-1', {
      Hostname: ['Host-1'],
      InternalIP: ['10.0.1.23'],
      ExternalDNS: ['n.example.com'],
    });
    expect(ownerFromNode(node)).toEqual({
      source: 'node',
      object: 'Node node-1',
      nodes: ['node-1'],
      dnsNames: ['host-1', 'n.example.com'],
      addresses: ['10.0.1.23'],
    });
  });

  it('takes the name of the Node for no proof of that name', () => {
    expect(ownerFromNode(nodeObject('node-1'))).toMatchObject({ nodes: ['node-1'], dnsNames: [], addresses: [] });
  });

  it('is not live while the Node is being deleted, and keeps what it shows', () => {
    const node = nodeObject('node-1', { InternalIP: ['10.0.1.23'] });
    const deleting = { ...node, metadata: { name: 'node-1', deletionTimestamp: '2026-03-02T11:59:00Z' } };
    expect(ownerFromNode(deleting)).toMatchObject({ addresses: ['10.0.1.23'], notLive: 'is being deleted' });
  });

  it.each([
    ['has no name', { metadata: {} }],
    ['has an empty name', { metadata: { name: '' } }],
    ['has a name that is no text', { metadata: { name: 1 } }],
    ['is null', null],
  ])('proves nothing when it %s', (_, node) => {
    expect(ownerFromNode(node)).toBeUndefined();
  });
});
