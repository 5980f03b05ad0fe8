import { describe, expect, it } from 'vitest';
import { transform } from './transform.ts';

const SUPPORTED = new Set(['AWS::SQS::Queue', 'AWS::CloudWatch::Alarm', 'AWS::IAM::Role']);
const queue = { Type: 'AWS::SQS::Queue', Properties: { FifoQueue: true } };

describe('transform', () => {
  it('leaves a template that the emulator takes as it is', () => {
    const template = { Description: 'd', Resources: { Queue: queue }, Outputs: { Url: { Value: { Ref: 'Queue' } } } };
    expect(transform(template, SUPPORTED)).toEqual({ template, leftOut: [] });
  });

  it('takes out unknown types and alarms on expressions, and what depends on them', () => {
    const simple = { Type: 'AWS::CloudWatch::Alarm', Properties: { MetricName: 'm' } };
    const insights = { Type: 'AWS::CloudWatch::Alarm', Properties: { Metrics: [{ Expression: 'SELECT 1' }] } };
    const { template, leftOut } = transform(
      {
        Resources: {
          Queue: { ...queue, DependsOn: ['Entry', 'Simple'] },
          Simple: { ...simple, DependsOn: 'Insights' },
          Insights: insights,
          Entry: { Type: 'AWS::EKS::AccessEntry', Properties: { ClusterName: 'a' } },
        },
      },
      SUPPORTED,
    );
    expect(template.Resources).toEqual({ Queue: { ...queue, DependsOn: ['Simple'] }, Simple: simple });
    expect(leftOut.map(({ logicalId, type, reason }) => [logicalId, type, reason])).toEqual([
      ['Insights', 'AWS::CloudWatch::Alarm', 'the emulator does not evaluate metric expressions'],
      ['Entry', 'AWS::EKS::AccessEntry', 'the emulator does not know the type'],
    ]);
  });

  it('gives the computed values of what it takes out as outputs', () => {
    const arn = { 'Fn::GetAtt': ['Role', 'Arn'] };
    const { template, leftOut } = transform(
      {
        Resources: {
          Role: { Type: 'AWS::IAM::Role' },
          Entry: {
            Type: 'AWS::EKS::AccessEntry',
            Properties: {
              PrincipalArn: arn,
              KubernetesGroups: ['certmarshal'],
              Tags: [{ Key: 'k', Value: { Ref: 'Role' } }],
            },
          },
        },
      },
      SUPPORTED,
    );
    expect(leftOut[0]?.properties).toEqual({
      PrincipalArn: { Output: 'EntryProperty0' },
      KubernetesGroups: ['certmarshal'],
      Tags: [{ Key: 'k', Value: { Output: 'EntryProperty1' } }],
    });
    expect(template.Outputs).toEqual({ EntryProperty0: { Value: arn }, EntryProperty1: { Value: { Ref: 'Role' } } });
  });

  it('names a secret by the attribute that has its ARN', () => {
    const Secret = { Type: 'AWS::SecretsManager::Secret' };
    const { template } = transform(
      {
        Resources: { Secret, Queue: queue },
        Outputs: { Key: { Value: { Ref: 'Secret' } }, Url: { Value: { Ref: 'Queue' } } },
      },
      new Set([...SUPPORTED, Secret.Type]),
    );
    expect(template.Outputs).toEqual({
      Key: { Value: { 'Fn::GetAtt': ['Secret', 'Id'] } },
      Url: { Value: { Ref: 'Queue' } },
    });
  });

  it('asks in a trust policy for the sessions of a role, whose ARN the emulator gives', () => {
    const trust = (condition: object) => ({
      Type: 'AWS::IAM::Role',
      Properties: { AssumeRolePolicyDocument: { Statement: [{ Effect: 'Allow', Condition: condition }] } },
    });
    const tags = { StringEquals: { 'aws:RequestTag/a': 'b' } };
    const asked = { ArnEquals: { 'aws:PrincipalArn': [{ Ref: 'HubSweepRoleArn' }] }, ...tags };
    const { template } = transform({ Resources: { Role: trust(asked) } }, SUPPORTED);
    const inIam = { 'Fn::Split': [':iam:', { Ref: 'HubSweepRoleArn' }] };
    const session = { 'Fn::Join': [':assumed-role/', { 'Fn::Split': [':role/', { 'Fn::Join': [':sts:', inIam] }] }] };
    expect(template.Resources['Role']).toEqual(
      trust({ ArnEquals: { 'aws:PrincipalArn': [{ 'Fn::Join': ['', [session, '/*']] }] }, ...tags }),
    );
  });

  it('asks in a policy for the session of a function, by its name', () => {
    const policy = (Condition: object) => ({
      Type: 'AWS::IAM::Policy',
      Properties: { PolicyDocument: { Statement: [{ Effect: 'Allow', Condition }] } },
    });
    const arn = { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':lambda:eu-west-1:1:function:plan']] };
    const asked = policy({ ArnEquals: { 'lambda:SourceFunctionArn': arn } });
    const { template } = transform({ Resources: { Policy: asked } }, new Set(['AWS::IAM::Policy']));
    const name = { 'Fn::Select': [6, { 'Fn::Split': [':', arn] }] };
    const session = { 'Fn::Join': ['', ['arn:aws:sts::*:assumed-role/*/', name]] };
    expect(template.Resources['Policy']).toEqual(policy({ ArnEquals: { 'aws:PrincipalArn': [session] } }));
  });

  it('leads functions to the API servers on this machine', () => {
    const functionWith = (Variables: object) => ({
      Resources: { Sweep: { Type: 'AWS::Lambda::Function', Properties: { Environment: { Variables } } } },
    });
    const { template } = transform(functionWith({ LANE: 'default' }), new Set(['AWS::Lambda::Function']));
    const NODE_OPTIONS = expect.stringMatching(/^--import=file:.*eks-on-loopback\.ts$/);
    expect(template).toEqual({ ...functionWith({ LANE: 'default', NODE_OPTIONS }), Outputs: {} });
  });

  it('takes away the refusal of a bucket that asks for a key which the emulator does not fill in, and no other', () => {
    const tls = { Effect: 'Deny', Action: 's3:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } };
    const asking = { Effect: 'Deny', Action: '*', Condition: { Null: { 's3:if-none-match': 'true' } } };
    const policy = (...Statement: object[]) => ({
      Policy: { Type: 'AWS::S3::BucketPolicy', Properties: { PolicyDocument: { Statement } } },
    });
    const { template } = transform({ Resources: policy(tls, asking) }, new Set(['AWS::S3::BucketPolicy']));
    expect(template.Resources).toEqual(policy(tls));
  });

  it.each([
    ['Ref', { Ref: 'Entry' }],
    ['Fn::GetAtt', { 'Fn::GetAtt': ['Entry', 'AccessEntryArn'] }],
    ['Fn::GetAtt with a dot', { 'Fn::GetAtt': 'Entry.AccessEntryArn' }],
    ['Fn::Sub', { 'Fn::Sub': '${Entry}' }],
    ['Fn::Sub of an attribute', { 'Fn::Sub': ['x-${Entry.Arn}', {}] }],
    ['Ref inside Fn::Join', { 'Fn::Join': ['', ['a', { Ref: 'Entry' }]] }],
  ])('refuses when something that stays needs it: %s', (_, value) => {
    const template = {
      Resources: {
        Queue: { Type: 'AWS::SQS::Queue', Properties: { QueueName: value } },
        Entry: { Type: 'AWS::EKS::AccessEntry' },
      },
    };
    expect(() => transform(template, SUPPORTED)).toThrow('refers to Entry');
  });
});
