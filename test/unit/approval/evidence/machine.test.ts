import { describe, expect, it } from 'vitest';
import { ownerFromMachine } from '../../../../lambdas/approval/evidence/machine.ts';
import { machine } from '../fixtures.ts';

const running = machine('node-1', {
  InternalIP: ['10.0.1.23', 'FD00::23'],
  ExternalIP: ['203.0.113.23'],
  InternalDNS: ['Node-1.internal.'],
  ExternalDNS: ['node-1.example.com'],
  Hostname: ['host-1'],
});

describe('ownerFromMachine', () => {
  it('reads every address by its type', () => {
    expect(ownerFromMachine(running, 'berlin')).toEqual({
      source: 'machine',
      object: 'Machine eksa-system/md-0-node-1',
      nodes: ['node-1'],
      dnsNames: ['node-1', 'node-1.internal', 'node-1.example.com', 'host-1'],
      addresses: ['10.0.1.23', 'fd00::23', '203.0.113.23'],
    });
  });

  it('reads a v1beta2 Machine, whose nodeRef is only a name', () => {
    const { status, ...rest } = running;
    const v1beta2 = {
      ...rest,
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      status: { ...status, nodeRef: { name: 'node-1' }, conditions: [{ type: 'NodeReady', status: 'True' }] },
    };
    expect(ownerFromMachine(v1beta2, 'berlin')).toEqual(ownerFromMachine(running, 'berlin'));
  });

  it('takes an address under a DNS type for no DNS name, and a name under an IP type for no address', () => {
    const confused = machine('node-1', { Hostname: ['10.0.1.23'], InternalDNS: ['fd00::23'], InternalIP: ['node-9'] });
    expect(ownerFromMachine(confused, 'berlin')).toMatchObject({ dnsNames: ['node-1'], addresses: [] });
  });

  it('drops addresses of unknown or missing type and of the wrong shape', () => {
    const addresses = [
      { type: 'PodIP', address: '10.1.0.1' },
      { address: '10.1.0.2' },
      { type: 'InternalIP' },
      { type: 'InternalIP', address: 167772161 },
      { type: ['InternalIP'], address: '10.1.0.3' },
      'InternalIP',
      null,
      { type: 'InternalIP', address: '10.0.1.23' },
    ];
    const odd = { ...running, status: { ...running.status, addresses } };
    expect(ownerFromMachine(odd, 'berlin')).toMatchObject({ dnsNames: ['node-1'], addresses: ['10.0.1.23'] });
  });

  it('needs no addresses', () => {
    const { addresses: _, ...status } = running.status;
    expect(ownerFromMachine({ ...running, status }, 'berlin')).toMatchObject({ dnsNames: ['node-1'], addresses: [] });
  });

  it('takes the cluster from the label when the spec is silent', () => {
    expect(ownerFromMachine({ ...running, spec: {} }, 'berlin')).toBeDefined();
  });

  const { metadata } = running;
  it.each([
    ['has no name', { ...running, metadata: { namespace: 'eksa-system' } }],
    ['is of another cluster by its spec', { ...running, spec: { clusterName: 'oslo' } }],
    [
      'is of another cluster by its label',
      { ...running, metadata: { ...metadata, labels: { 'cluster.x-k8s.io/cluster-name': 'oslo' } } },
    ],
    ['is a list', [running]],
    ['is text', 'Machine'],
    ['is null', null],
    ['is absent', undefined],
  ])('is undefined for what %s', (_, object) => {
    expect(ownerFromMachine(object, 'berlin')).toBeUndefined();
  });
});

describe('a Machine that is not live', () => {
  const { metadata, status } = running;
  const names = {
    source: 'machine',
    object: 'Machine eksa-system/md-0-node-1',
    addresses: ['10.0.1.23', 'fd00::23', '203.0.113.23'],
  };
  const booting = {
    ...names,
    notLive: 'has no node yet',
    nodes: [],
    dnsNames: ['node-1.internal', 'node-1.example.com', 'host-1'],
  };
  const going = { ...names, nodes: ['node-1'], notLive: 'is being deleted' };

  it.each<[string, unknown, object]>([
    ['no nodeRef', { ...running, status: { ...status, nodeRef: undefined } }, booting],
    ['an empty nodeRef', { ...running, status: { ...status, nodeRef: { name: '' } } }, booting],
    ['a nodeRef that is text', { ...running, status: { ...status, nodeRef: 'node-1' } }, booting],
    ['a nodeRef name that is no text', { ...running, status: { ...status, nodeRef: { name: ['node-1'] } } }, booting],
    ['no status', { ...running, status: undefined }, { nodes: [], addresses: [], notLive: 'has no node yet' }],
    ['a deletion time', { ...running, metadata: { ...metadata, deletionTimestamp: '2026-03-02T11:59:00Z' } }, going],
    ['a deletionTimestamp of the wrong type', { ...running, metadata: { ...metadata, deletionTimestamp: 0 } }, going],
    ['the phase Deleting', { ...running, status: { ...status, phase: 'Deleting' } }, going],
    ['the phase Deleted', { ...running, status: { ...status, phase: 'Deleted' } }, going],
    [
      'no nodeRef, and a deletionTimestamp',
      { ...running, metadata: { ...metadata, deletionTimestamp: 'x' }, status: { ...status, nodeRef: undefined } },
      { ...booting, notLive: 'is being deleted' },
    ],
  ])('keeps its names, and says why: %s', (_, object, owner) => {
    expect(ownerFromMachine(object, 'berlin')).toMatchObject(owner);
  });

  it('is not what runs, nor one of another cluster', () => {
    expect(ownerFromMachine(running, 'berlin')).not.toHaveProperty('notLive', expect.anything());
    const other = { ...running, spec: { clusterName: 'oslo' }, status: { ...status, nodeRef: undefined } };
    expect(ownerFromMachine(other, 'berlin')).toBeUndefined();
  });

  it('knows a Machine that lists no DNS name from one that lists that of its node', () => {
    expect(ownerFromMachine(machine('node-1', { InternalIP: ['10.0.0.1'] }), 'berlin')?.listsNoDnsName).toBe(true);
    expect(ownerFromMachine(machine('node-1', { Hostname: ['node-1'] }), 'berlin')?.listsNoDnsName).toBeUndefined();
  });

  it('says that it is of the control plane, by the label that its guest cannot write', () => {
    const labels = { ...metadata.labels, 'cluster.x-k8s.io/control-plane': '' };
    expect(ownerFromMachine({ ...running, metadata: { ...metadata, labels } }, 'berlin')?.controlPlane).toBe(true);
    expect(ownerFromMachine(running, 'berlin')).not.toHaveProperty('controlPlane', expect.anything());
  });
});
