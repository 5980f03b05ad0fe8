/* oxlint-disable vitest/expect-expect -- the assertions of aws-cdk-lib are not those of vitest */
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { discovery } from '../fleet/values.ts';
import { fleetOf, PLACE, stacksOf, statementsOf } from './stacks.ts';

const A = '111122223333';
const FLEET: Fleet = fleetOf({
  discovery: [
    discovery({ accounts: [A], regions: ['self', 'eu-west-1'], externalId: 'cm-1', sessionTags: { team: 'platform' } }),
    discovery({
      accounts: [A],
      regions: ['us-east-1'],
      externalId: 'cm-1',
      sessionTags: { team: 'platform' },
      accessEntries: ['reno'],
    }),
  ],
});
const { spokes } = stacksOf(FLEET);
const [role, entries] = spokes.map((stack) => Template.fromStack(stack));

describe('the spoke stacks', () => {
  it('are one for each account and Region where something is made', () => {
    expect(spokes.map(({ stackName }) => stackName)).toEqual([
      `CertMarshalSpoke-${A}-eu-central-1`,
      `CertMarshalSpoke-${A}-us-east-1`,
    ]);
    expect(spokes.map(({ account, region }) => [account, region])).toEqual([
      [A, 'eu-central-1'],
      [A, 'us-east-1'],
    ]);
  });

  it('can be carried by a StackSet: no asset, no bootstrap, no account', () => {
    for (const template of [role, entries]) {
      const { Parameters: parameters = {}, Rules: rules, ...rest } = template?.toJSON() ?? {};
      expect(rules).toBeUndefined();
      expect(Object.keys(parameters)).not.toContain('BootstrapVersion');
      expect(JSON.stringify(rest)).not.toContain('asset');
      expect(JSON.stringify(rest)).not.toContain(A);
      expect(JSON.stringify(rest)).not.toContain(PLACE.account);
    }
  });

  const ArnEquals = { 'aws:PrincipalArn': [{ Ref: 'HubDispatchRoleArn' }, { Ref: 'HubSweepRoleArn' }] };
  /** The account that is in the ARN of the sweep role. */
  const hubAccount = { 'Fn::Select': [4, { 'Fn::Split': [':', { Ref: 'HubSweepRoleArn' }] }] };
  const principalsOf = (partition: string) => ({
    AWS: { 'Fn::Join': ['', [`arn:${partition}:iam::`, hubAccount, ':root']] },
  });

  it('trust exactly the two roles of the hub by their ARNs, with the external id and the session tags', () => {
    const Principal = principalsOf('aws');
    const tags = { 'aws:RequestTag/team': 'platform' };
    role?.hasResourceProperties('AWS::IAM::Role', {
      RoleName: 'certmarshal-spoke',
      AssumeRolePolicyDocument: {
        Statement: [
          {
            Effect: 'Allow',
            Action: 'sts:AssumeRole',
            Principal,
            Condition: { ArnEquals, StringEquals: { ...tags, 'sts:ExternalId': { Ref: 'ExternalId' } } },
          },
          { Effect: 'Allow', Action: 'sts:TagSession', Principal, Condition: { ArnEquals, StringEquals: tags } },
        ],
      },
    });
  });

  it('allow to read in the Regions of the discovery, and nothing else', () => {
    const statements = role === undefined ? [] : statementsOf(role);
    expect(statements.filter((line) => !line.includes(' sts:')).join('\n')).toMatchInlineSnapshot(`
      "<Rolecertmarshalspoke> Allow ec2:DescribeInstances eks:ListClusters on * if {StringEquals:{aws:RequestedRegion:[eu-central-1,eu-west-1,us-east-1]}}
      <Rolecertmarshalspoke> Allow eks:DescribeCertificateAuthority eks:DescribeCluster eks:ListCertificateAuthorities on arn:<Partition>:eks:eu-central-1:<AccountId>:cluster/*
      <Rolecertmarshalspoke> Allow eks:DescribeCertificateAuthority eks:DescribeCluster eks:ListCertificateAuthorities on arn:<Partition>:eks:eu-west-1:<AccountId>:cluster/*
      <Rolecertmarshalspoke> Allow eks:DescribeCertificateAuthority eks:DescribeCluster eks:ListCertificateAuthorities on arn:<Partition>:eks:us-east-1:<AccountId>:cluster/*"
    `);
    expect(role?.toJSON()['Resources']).toEqual({ Rolecertmarshalspoke: expect.anything() });
  });

  it('make access entries for the sweep role of the hub', () => {
    entries?.hasResourceProperties('AWS::EKS::AccessEntry', {
      ClusterName: 'reno',
      PrincipalArn: { Ref: 'HubSweepRoleArn' },
      KubernetesGroups: ['certmarshal'],
      Type: 'STANDARD',
    });
    entries?.resourceCountIs('AWS::IAM::Role', 0);
  });

  it('have the roles of the hub as defaults of their parameters, which take an ARN and no pattern', () => {
    const { Default: arn, AllowedPattern: pattern } = role?.toJSON()['Parameters'].HubSweepRoleArn ?? {};
    expect(arn).toBe(`arn:aws:iam::${PLACE.account}:role/CertMarshal-sweep-eu-central-1`);
    const allowed = new RegExp(`^(?:${pattern})$`);
    expect(
      [arn, `${arn}*`, arn.replace('sweep', '?'), `arn:aws:iam::${PLACE.account}:root`].map((each) =>
        allowed.test(each),
      ),
    ).toEqual([true, false, false, false]);
  });

  it('are called by what the file says, whoever synthesizes, and depend on no other stack', () => {
    const elsewhere = stacksOf(
      fleetOf({ discovery: [discovery({ regions: ['self', 'eu-west-1'], accessEntries: [] })] }),
      {},
    );
    expect(elsewhere.spokes).toEqual([]);
    for (const stack of stacksOf(FLEET).spokes) expect(stack.dependencies).toEqual([]);
  });

  it('demand no external id and no tags where none are configured', () => {
    const [plain] = stacksOf(fleetOf({ discovery: [discovery({ accounts: [A] })] }), {
      ...PLACE,
      region: 'cn-north-1',
    }).spokes;
    if (plain === undefined) throw new Error('no spoke');
    const template = Template.fromStack(plain);
    expect(JSON.stringify(template.toJSON())).not.toMatch(/ExternalId|RequestTag|TagSession/);
    template.hasResourceProperties('AWS::IAM::Role', {
      AssumeRolePolicyDocument: {
        Statement: [
          { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: principalsOf('aws-cn'), Condition: { ArnEquals } },
        ],
      },
    });
    expect(template.toJSON()['Parameters'].HubSweepRoleArn.Default).toMatch(/^arn:aws-cn:/);
  });
});
