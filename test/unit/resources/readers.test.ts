import { describe, expect, it } from 'vitest';
import { approvalSubjectOf } from '../../../lambdas/resources/approval-subject.ts';
import { readCluster } from '../../../lambdas/resources/cluster.ts';
import { readCertificateScan } from '../../../lambdas/resources/eks-anywhere.ts';
import { raw } from '../../../lambdas/resources/fields.ts';
import { clustersOfInstance } from '../../../lambdas/resources/instance-clusters.ts';
import { certificateValidityDays, isPaused } from '../../../lambdas/resources/kubeadm-control-plane.ts';
import { readMachineState } from '../../../lambdas/resources/machine.ts';
import { readMachineHealthCheck } from '../../../lambdas/resources/machine-health-check.ts';
import { isReady, readNode, readNodeLabels } from '../../../lambdas/resources/node.ts';
import { readCountedRequest, readSigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { serverAddresses } from '../../../lambdas/resources/status-addresses.ts';
import { countOf, nameAt, smallCountOf, timeOf } from '../../../lambdas/resources/values.ts';

const metadata = { namespace: 'eksa-system', name: 'berlin' };

describe('values', () => {
  it.each([
    ['a time', '1970-01-01T00:00:00Z', 0],
    ['the last one', '9999-12-31T23:59:59.999Z', 253_402_300_799_999],
    ['one later than that can be written', '9999-12-31T23:59:59-01:00', undefined],
    ['one before 1970', '1969-12-31T23:59:59Z', undefined],
    ['a day', '2026-11-22', undefined],
    ['a number', 0, undefined],
  ])('%s', (_, value, expected) => {
    expect(timeOf(value)).toBe(expected);
  });

  it.each([
    [0, 0, 0],
    [2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1],
    [2 ** 31, 2 ** 31, undefined],
    [2 ** 53, undefined, undefined],
    [-1, undefined, undefined],
    [0.5, undefined, undefined],
    ['1', undefined, undefined],
    [null, undefined, undefined],
  ])('a count: %j', (value, count, small) => {
    expect([countOf(value), smallCountOf(value)]).toEqual([count, small]);
  });

  it('a name has at most 253 characters', () => {
    expect(nameAt('x'.repeat(253))).toBe('x'.repeat(253));
    expect(nameAt('x'.repeat(254))).toBeUndefined();
    expect(nameAt('')).toBeUndefined();
  });
});

describe('the clusters of an instance', () => {
  const dublin = { Key: 'kubernetes.io/cluster/dublin', Value: 'owned' };

  it.each<[string, unknown, string[]]>([
    ['each once', [dublin, { Key: 'eks:cluster-name', Value: 'dublin' }], ['dublin']],
    ['several', [dublin, { Key: 'aws:eks:cluster-name', Value: 'oslo' }], ['dublin', 'oslo']],
    [
      'none without a name',
      [
        { Key: 'kubernetes.io/cluster/', Value: 'owned' },
        { Key: 'eks:cluster-name', Value: '' },
      ],
      [],
    ],
    [
      'none by another key',
      [
        { Key: 'aws:eks:cluster-name2', Value: 'oslo' },
        { Key: 'eks:nodegroup-name', Value: 'x' },
      ],
      [],
    ],
    ['none of tags that are none', [null, 'x', { Key: 1, Value: 'oslo' }, { Key: 'eks:cluster-name' }], []],
    ['none where there is no list', 'kubernetes.io/cluster/dublin', []],
  ])('are %s', (_, Tags, clusters) => {
    expect(clustersOfInstance(raw({ Tags }))).toEqual(clusters);
  });
});

describe('a Cluster', () => {
  it.each([
    ['no namespace', { name: 'berlin' }],
    ['no name', { namespace: 'eksa-system' }],
  ])('is none with %s', (_, of) => {
    expect(readCluster({ metadata: of })).toBeUndefined();
  });

  it.each([
    [1, 1],
    [65_535, 65_535],
    [0, undefined],
    [65_536, undefined],
    ['6443', undefined],
  ])('has a port: %j', (apiServerPort, expected) => {
    expect(readCluster({ metadata, spec: { clusterNetwork: { apiServerPort } } })?.apiServerPort).toBe(expected);
  });

  it.each([
    [
      ['10.96.0.0/32', 'fd00::/128'],
      ['10.96.0.0/32', 'fd00::/128'],
    ],
    [[], []],
    [null, []],
    [['10.96.0.0/33'], 'unusable'],
    [['fd00::/129'], 'unusable'],
    [['fe80::%eth0/64'], 'unusable'],
    ['10.96.0.0/12', 'unusable'],
    [{}, 'unusable'],
    [Array.from({ length: 16 }, () => '10.0.0.0/8'), Array.from({ length: 16 }, () => '10.0.0.0/8')],
    [Array.from({ length: 17 }, () => '10.0.0.0/8'), 'unusable'],
  ])('has service CIDRs: %j', (cidrBlocks, expected) => {
    const read = readCluster({ metadata, spec: { clusterNetwork: { services: { cidrBlocks } } } });
    expect(read?.serviceCidrs).toEqual(expected);
  });
});

describe('a Node', () => {
  const node = (labels: unknown) => ({ metadata: { name: 'n', labels } });

  it.each<[unknown, string | undefined, object]>([
    [undefined, undefined, { kind: undefined, controlPlane: false }],
    [{ 'eks.amazonaws.com/nodegroup': 'blue' }, undefined, { kind: undefined }],
    [{ 'eks.amazonaws.com/compute-type': { a: 1 } }, undefined, { kind: undefined }],
    [Object.create({ 'eks.amazonaws.com/compute-type': 'auto' }), undefined, { kind: undefined }],
    [{ 'eks.amazonaws.com/compute-type': 'auto', 'karpenter.sh/nodepool': 'p' }, undefined, { kind: 'auto-mode' }],
    [{ 'eks.amazonaws.com/compute-type': 'hybrid' }, undefined, { kind: 'hybrid' }],
    [{ 'eks.amazonaws.com/compute-type': 'fargate' }, 'fargate-ip-1', { kind: 'fargate' }],
    [{ 'eks.amazonaws.com/compute-type': 'fargate' }, 'ip-1', { kind: undefined }],
    [{ 'node-role.kubernetes.io/control-plane': '' }, undefined, { controlPlane: true }],
    [{ 'node-role.kubernetes.io/master': '' }, undefined, { controlPlane: true }],
  ])('by its labels: %j', (labels, name = 'n', expected) => {
    expect(readNodeLabels(node(labels), name)).toMatchObject(expected);
  });

  it('is none without a name', () => {
    expect(readNode({ metadata: {} })).toBeUndefined();
    expect(readNode({ metadata: { name: 'x'.repeat(254) } })).toBeUndefined();
  });

  it.each([
    [[{ type: 'Ready', status: 'True' }], true],
    [[{ type: 'Ready', status: 'False' }], false],
    [[{ type: 'DiskPressure', status: 'True' }], false],
    [
      [
        { type: 'Ready', status: 'False' },
        { type: 'Ready', status: 'True' },
      ],
      true,
    ],
    [undefined, false],
  ])('is ready: %j', (conditions, expected) => {
    expect(isReady({ status: { conditions } })).toBe(expected);
  });

  it('is looked for at internal addresses first, and not at that of the endpoint', () => {
    const addresses = { dnsNames: [], internalIps: ['10.0.0.1', '10.0.0.9'], externalIps: ['203.0.113.7'] };
    expect(serverAddresses(addresses)).toEqual(['10.0.0.1', '10.0.0.9', '203.0.113.7']);
    expect(serverAddresses(addresses, '10.0.0.1')).toEqual(['10.0.0.9', '203.0.113.7']);
    expect(serverAddresses({ ...addresses, internalIps: ['10.0.0.1'], externalIps: [] }, '10.0.0.1')).toEqual([
      '10.0.0.1',
    ]);
  });
});

describe('a CertificateSigningRequest', () => {
  const request = {
    metadata: { name: 'csr-1', creationTimestamp: '2026-11-22T12:00:00Z' },
    spec: { username: 'u', signerName: 's', groups: [], usages: [] },
    status: { conditions: [{ type: 'Approved' }] },
  };

  it('has empty texts for what it does not say', () => {
    const read = readSigningRequest(request);
    expect(read.ok && read.csr).toMatchObject({ uid: '', resourceVersion: '', issued: false });
    expect(read.ok && read.csr.conditions).toEqual([{ type: 'Approved', status: '', reason: '' }]);
  });

  it.each([
    [undefined, []],
    [null, []],
    [['X509SHA256=1'], ['X509SHA256=1']],
    [Array.from({ length: 16 }, () => 'x'), Array.from({ length: 16 }, () => 'x')],
    [Array.from({ length: 17 }, () => 'x'), undefined],
    [['x', 1], undefined],
    [['x'.repeat(1_025)], undefined],
    ['x', undefined],
  ])('was asked for with credentials: %j', (value, expected) => {
    const extra = { 'authentication.kubernetes.io/credential-id': value };
    const read = readSigningRequest({ ...request, spec: { ...request.spec, extra } });
    expect(read.ok && read.csr.credentials).toEqual(expected);
  });

  it.each<[string, object, unknown]>([
    ['approved', {}, { state: 'approved' }],
    ['pending', { conditions: [{ type: 'Approved', status: 'False' }] }, { state: 'pending' }],
    ['issued', { certificate: 'AAAA' }, { state: 'issued', certificate: 'AAAA' }],
    [
      'denied',
      {
        conditions: [
          { type: 'Failed', reason: 'F' },
          { type: 'Denied', reason: 'R', message: 'm' },
        ],
      },
      { state: 'denied', message: 'R: m' },
    ],
    ['failed', { conditions: [{ type: 'Failed', reason: '' }] }, { state: 'failed', message: undefined }],
  ])('is counted as %s', (_, status, expected) => {
    const read = readCountedRequest({ ...request, status: { ...request.status, ...status } });
    expect(read).toMatchObject(Object(expected));
  });

  it.each([
    ['name', 'metadata', 'name'],
    ['signerName', 'spec', 'signer'],
    ['username', 'spec', 'requester'],
  ] as const)('is counted by a %s that is long, and not without', (key, part, field) => {
    const having = (value: unknown) => ({ ...request, [part]: { ...request[part], [key]: value } });
    expect(readCountedRequest(having('x'.repeat(1025)))).toMatchObject({ [field]: 'x'.repeat(1024) });
    expect(readCountedRequest(having(undefined))).toBeUndefined();
  });

  it.each(['', '.', '..', 'a/b', 'a%2fb', '\u{d800}', 7])('is not written to under the name %j', (name) => {
    const subject = { metadata: { name, uid: 'u', resourceVersion: '1' } };
    expect(approvalSubjectOf(subject)).toBeUndefined();
    expect(approvalSubjectOf({ metadata: { ...subject.metadata, name: 'csr-1' } })).toMatchObject({ name: 'csr-1' });
  });
});

describe('what owns machines', () => {
  it('is paused by an annotation or a condition of either version', () => {
    const condition = [{ type: 'Paused', status: 'True' }];
    expect(isPaused({ metadata: { annotations: { 'cluster.x-k8s.io/paused': 'false' } } })).toBe(true);
    expect(isPaused({ status: { conditions: condition } })).toBe(true);
    expect(isPaused({ status: { v1beta2: { conditions: condition } } })).toBe(true);
    expect(isPaused({ status: { conditions: [{ type: 'Paused', status: 'False' }] } })).toBe(false);
    expect(isPaused({ status: { conditions: [{ type: 'Ready', status: 'True' }] } })).toBe(false);
  });

  it.each([
    [100, 100],
    [0, undefined],
    [-1, undefined],
    ['100', undefined],
  ])('says how long certificates live: %j', (certificateValidityPeriodDays, expected) => {
    const clusterConfiguration = { certificateValidityPeriodDays };
    expect(certificateValidityDays({ spec: { kubeadmConfigSpec: { clusterConfiguration } } })).toBe(expected);
  });

  it('looks at the conditions of v1beta2 where there is one', () => {
    const v1beta2 = { conditions: [{ type: 'Ready', status: 'True' }] };
    const conditions = [{ type: 'Ready', status: 'False' }];
    expect(readMachineState({ status: { v1beta2, conditions } }).conditions.get('Ready')?.status).toBe('True');
    expect(readMachineState({ status: { conditions } }).conditions.get('Ready')?.status).toBe('False');
  });

  it('selects by a term without a key, whatever its operator', () => {
    const check = (operator: string) => ({
      metadata,
      spec: { selector: { matchExpressions: [{ operator, values: ['x'] }] } },
    });
    for (const operator of ['In', 'NotIn', 'Exists', 'DoesNotExist'])
      expect(readMachineHealthCheck(check(operator), 'berlin', [{ metadata }])).toMatchObject(metadata);
  });

  it.each([
    [{}, { done: false }],
    [{ eksaVersion: 'v0.22.9' }, { done: false }],
    [{ eksaVersion: 'v0.23.0' }, { done: true }],
    [{ eksaVersion: 'v1.0.0' }, { done: true }],
    [{ eksaVersion: '0.23.0' }, { done: false }],
  ])('scans certificates: %j', (spec, expected) => {
    expect(readCertificateScan({ spec })).toMatchObject(expected);
  });

  it('tells the newest write of its status', () => {
    const write = (time: string, subresource = 'status') => ({ time, subresource });
    const managedFields = [
      write('2026-11-01T00:00:00Z'),
      write('2026-11-03T00:00:00Z'),
      write('2026-11-02T00:00:00Z'),
      write('2026-11-04T00:00:00Z', 'spec'),
      write('soon'),
    ];
    expect(readCertificateScan({ metadata: { managedFields } })).toEqual({
      days: new Map(),
      done: false,
      writtenAt: Date.parse('2026-11-03T00:00:00Z'),
    });
  });
});
