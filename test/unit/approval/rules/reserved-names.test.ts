import { describe, expect, it } from 'vitest';
import type { ClusterContext } from '../../../../lambdas/approval/request.ts';
import { reservedAddress, reservedDnsName } from '../../../../lambdas/approval/rules/reserved-names.ts';

const cluster: ClusterContext = {
  name: 'berlin',
  provider: 'eks-anywhere',
  endpoints: ['API.Berlin.example.com.', '10.0.1.5', 'sni.example.com'],
  serviceCidrs: ['10.96.0.0/12', 'fd00:10:96::/112'],
};

describe('reservedDnsName', () => {
  it.each([
    ['kubernetes', 'the API server', true, true],
    ['kubernetes.default', 'the API server', true, true],
    ['kubernetes.default.svc', 'the API server', true, true],
    ['kubernetes.default.svc.cluster.local', 'the API server', true, true],
    ['vault.prod.svc', 'a Service', true, true],
    ['vault.prod.svc.cluster.local', 'a Service', true, true],
    ['svc', 'like the name of a Service', true, false],
    ['prod.svc', 'like the name of a Service', true, false],
    ['vault-0.vault.prod.svc', 'like the name of a Service', true, false],
    ['vault.prod.svc.corp.example.com', 'like the name of a Service', true, false],
    ['vault-0.vault.prod.svc.corp.example.com', 'like the name of a Service', true, false],
    ['cluster.local', 'in the domain of the cluster', true, false],
    ['kubernetes.cluster.local', 'in the domain of the cluster', true, false],
    ['vault-0.vault.prod.svc.cluster.local', 'in the domain of the cluster', true, false],
    ['10-0-1-23.prod.pod.cluster.local', 'in the domain of the cluster', true, false],
    ['localhost', 'loopback', false, false],
    ['node-1.localhost', 'loopback', false, false],
    ['localhost.localdomain', 'loopback', false, false],
    ['localhost6.localdomain6', 'loopback', false, false],
    ['ip6-loopback', 'loopback', false, false],
    ['api.berlin.example.com', 'the API endpoint of the cluster', true, true],
    ['sni.example.com', 'the API endpoint of the cluster', true, true],
  ])('%s is %s', (name, why, isOfCluster, hostile) => {
    expect(reservedDnsName(name, cluster, false)).toEqual({ why, isOfCluster, hostile });
  });

  it.each<[string, string, boolean]>([
    ['kubernetes.default.svc.k8s.example.com', 'the API server', true],
    ['vault.prod.svc.k8s.example.com', 'a Service', true],
    ['vault.prod.svc.cluster.local', 'a Service', true],
    ['kubernetes.k8s.example.com', 'in the domain of the cluster', false],
    ['k8s.example.com', 'in the domain of the cluster', false],
  ])('%s is %s where its Cluster has a domain of its own', (name, why, hostile) => {
    const known = { ...cluster, serviceDomain: 'k8s.example.com' };
    expect(reservedDnsName(name, known, false)).toEqual({ why, isOfCluster: true, hostile });
    expect(reservedDnsName('vault.prod.svc.corp.example.com', known, false)).toBeUndefined();
  });

  it('takes no offence at a node of the control plane that is called as its endpoint is, and at no other name of its', () => {
    expect(reservedDnsName('api.berlin.example.com', cluster, true)).toMatchObject({ hostile: false });
    expect(reservedDnsName('kubernetes', cluster, true)).toMatchObject({ hostile: true });
    expect(reservedDnsName('vault.prod.svc', cluster, true)).toMatchObject({ hostile: true });
  });

  it.each([
    'kubernetes-1',
    'mykubernetes',
    'node.kubernetes',
    'kubernetes.lab.example.com',
    'kubernetes.default.example.com',
    'w1.svc.corp.example',
    'svc.corp.example',
    'svc-1',
    'mysvc',
    'cluster.local.example.com',
    'localhost1',
    'w1.localdomain',
    'berlin.example.com',
  ])('%s is free', (name) => {
    expect(reservedDnsName(name, cluster, false)).toBeUndefined();
  });
});

describe('reservedAddress', () => {
  it.each([
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['::1', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['fe80::1', 'link-local'],
    ['febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'link-local'],
    ['fd00:ec2::254', 'EC2 instance metadata'],
    ['224.0.0.1', 'multicast or broadcast'],
    ['240.0.0.1', 'multicast or broadcast'],
    ['255.255.255.255', 'multicast or broadcast'],
    ['ff02::1', 'multicast or broadcast'],
    ['::ffff:10.0.1.23', 'IPv4-mapped'],
    ['10.0.1.5', 'the API endpoint of the cluster'],
    ['10.96.0.1', 'in the service CIDR'],
    ['10.111.255.255', 'in the service CIDR'],
    ['fd00:10:96::1', 'in the service CIDR'],
  ])('%s is %s, which no honest node can help', (address, why) => {
    expect(reservedAddress(address, cluster)).toEqual({ why, isOfCluster: why.includes('service'), hostile: false });
  });

  it('reserves the endpoint when that is an address, in every text of it', () => {
    const byAddress = {
      name: 'berlin',
      provider: 'eks-anywhere',
      endpoints: ['api.example.com', 'FD00:0::10'],
    } as const;
    expect(reservedAddress('fd00::10', byAddress)).toMatchObject({ why: 'the API endpoint of the cluster' });
    expect(reservedAddress('fd00::11', byAddress)).toBeUndefined();
  });

  it.each([
    '10.0.1.23',
    '126.255.255.255',
    '128.0.0.0',
    '10.95.255.255',
    '10.112.0.0',
    'fd00::1',
    '::2',
    'fec0::',
    'fe7f:ffff::',
    '223.255.255.255',
  ])('%s is free', (address) => {
    expect(reservedAddress(address, cluster)).toBeUndefined();
  });
});
