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
    ['kubernetes', 'the API server', true],
    ['kubernetes.default', 'the API server', true],
    ['kubernetes.default.svc.cluster.local', 'the API server', true],
    ['svc', 'a Service', true],
    ['vault.prod.svc', 'a Service', true],
    ['vault.prod.svc.corp.example.com', 'a Service', true],
    ['cluster.local', 'a Service', true],
    ['10-0-1-23.prod.pod.cluster.local', 'a Service', true],
    ['localhost', 'loopback', false],
    ['node-1.localhost', 'loopback', false],
    ['api.berlin.example.com', 'the API endpoint of the cluster', true],
    ['sni.example.com', 'the API endpoint of the cluster', true],
  ])('%s is %s', (name, why, hostile) => {
    expect(reservedDnsName(name, cluster, false)).toEqual({ why, hostile });
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
    'svc-1',
    'mysvc',
    'cluster.local.example.com',
    'localhost1',
    'berlin.example.com',
  ])('%s is free', (name) => {
    expect(reservedDnsName(name, cluster, false)).toBeUndefined();
  });
});

describe('reservedAddress', () => {
  it.each([
    ['0.0.0.0', 'unspecified', false],
    ['::', 'unspecified', false],
    ['127.0.0.1', 'loopback', false],
    ['127.255.255.255', 'loopback', false],
    ['::1', 'loopback', false],
    ['169.254.169.254', 'link-local', false],
    ['fe80::1', 'link-local', false],
    ['febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'link-local', false],
    ['fd00:ec2::254', 'EC2 instance metadata', false],
    ['224.0.0.1', 'multicast or broadcast', false],
    ['240.0.0.1', 'multicast or broadcast', false],
    ['255.255.255.255', 'multicast or broadcast', false],
    ['ff02::1', 'multicast or broadcast', false],
    ['::ffff:10.0.1.23', 'IPv4-mapped', false],
    ['10.0.1.5', 'the API endpoint of the cluster', false],
    ['10.96.0.1', 'in the service CIDR', true],
    ['10.111.255.255', 'in the service CIDR', true],
    ['fd00:10:96::1', 'in the service CIDR', true],
  ])('%s is %s', (address, why, hostile) => {
    expect(reservedAddress(address, cluster)).toEqual({ why, hostile });
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
