import { RegionInfo } from 'aws-cdk-lib/region-info';
import { describe, expect, it } from 'vitest';
import { isEksEndpoint, partitionOf, regionOfEksEndpoint } from '../../../lambdas/aws/eks-endpoint.ts';

const ID = '38B40D3A38B36E4F4FE11C3B9E3F1E77';

describe('the partition of a Region', () => {
  it.each(RegionInfo.regions.map(({ name, partition }) => [name, partition]))('of %s is %s', (region, partition) => {
    expect(partitionOf(region)).toBe(partition);
  });

  it('is aws where nobody knows it', () => {
    expect(partitionOf('mars-central-1')).toBe('aws');
  });
});

describe('the endpoint of an EKS cluster', () => {
  // Amazon EKS User Guide, "Cluster API server endpoint"; suffixes of the partitions: partitions.json of the AWS SDKs.
  it.each([
    [`https://${ID}.gr7.eu-central-1.eks.amazonaws.com`, 'eu-central-1'],
    [`https://${ID}.sk1.us-gov-west-1.eks.amazonaws.com/`, 'us-gov-west-1'],
    [`https://${ID}.yl4.cn-north-1.eks.amazonaws.com.cn:443`, 'cn-north-1'],
    [`https://${ID}.cn-northwest-1.eks.amazonaws.com.cn`, 'cn-northwest-1'],
    [`https://${ID}.gr7.eusc-de-east-1.eks.amazonaws.eu`, 'eusc-de-east-1'],
    [`https://${ID}.gr7.us-iso-east-1.eks.c2s.ic.gov`, 'us-iso-east-1'],
    [`https://${ID}.gr7.us-isob-east-1.eks.sc2s.sgov.gov`, 'us-isob-east-1'],
    [`https://${ID}.gr7.eu-isoe-west-1.eks.cloud.adc-e.uk`, 'eu-isoe-west-1'],
    [`https://${ID}.gr7.us-isof-south-1.eks.csp.hci.ic.gov`, 'us-isof-south-1'],
    [`https://${ID}.gr7.eks-cluster.us-west-2.api.aws`, 'us-west-2'],
    [`https://${ID}.eks-cluster.us-west-2.api.aws`, 'us-west-2'],
    [`https://${ID}.gr7.us-west-2.api.aws`, 'us-west-2'],
    [`https://${ID}.yl4.cn-north-1.api.amazonwebservices.com.cn`, 'cn-north-1'],
  ])('is %s', (endpoint, region) => {
    expect(regionOfEksEndpoint(endpoint)).toBe(region);
    expect(isEksEndpoint(endpoint, region)).toBe(true);
    expect(isEksEndpoint(endpoint, undefined)).toBe(true);
    expect(isEksEndpoint(endpoint, 'eu-north-1')).toBe(false);
  });

  it.each([
    ['another server', 'https://attacker.example'],
    ['this machine', 'https://127.0.0.1:8443'],
    ['EKS in front of another domain', `https://${ID}.gr7.eu-central-1.eks.amazonaws.com.attacker.example`],
    ['EKS at the end of a label', `https://${ID}.gr7.eu-central-1.attacker-eks.amazonaws.com`],
    ['EKS as a user', `https://${ID}.gr7.eu-central-1.eks.amazonaws.com@attacker.example`],
    ['a user at EKS', `https://attacker@${ID}.gr7.eu-central-1.eks.amazonaws.com`],
    ['EKS as a path', `https://attacker.example/${ID}.gr7.eu-central-1.eks.amazonaws.com`],
    ['a path', `https://${ID}.gr7.eu-central-1.eks.amazonaws.com/proxy`],
    ['a query', `https://${ID}.gr7.eu-central-1.eks.amazonaws.com/?x`],
    ['another port', `https://${ID}.gr7.eu-central-1.eks.amazonaws.com:8443`],
    ['no TLS', `http://${ID}.gr7.eu-central-1.eks.amazonaws.com`],
    ['a trailing dot', `https://${ID}.gr7.eu-central-1.eks.amazonaws.com.`],
    ['the service itself', 'https://eks.eu-central-1.amazonaws.com'],
    ['an OIDC issuer', 'https://oidc.eks.eu-central-1.amazonaws.com'],
    ['a load balancer', 'https://mine-0123456789.eu-central-1.elb.amazonaws.com'],
    ['an API of a customer', 'https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com'],
    ['a dual-stack API of a customer', 'https://a1b2c3d4e5.execute-api.eu-central-1.api.aws'],
    ['a dual-stack name with 32 digits of another service', `https://${ID}.iot.eu-central-1.api.aws`],
    ['the suffix of another partition', `https://${ID}.gr7.cn-north-1.eks.amazonaws.com`],
    ['the dual-stack suffix of another partition', `https://${ID}.gr7.cn-north-1.api.aws`],
    ['a partition that is not known', `https://${ID}.gr7.mars-central-1.eks.amazonaws.com`],
    ['three labels', `https://a.${ID}.gr7.eu-central-1.eks.amazonaws.com`],
    ['no URL', 'attacker'],
  ])('is not %s', (_, endpoint) => {
    expect(regionOfEksEndpoint(endpoint)).toBeUndefined();
    expect(isEksEndpoint(endpoint, 'eu-central-1')).toBe(false);
    expect(isEksEndpoint(endpoint, undefined)).toBe(false);
  });
});
