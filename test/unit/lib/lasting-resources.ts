import { Template } from 'aws-cdk-lib/assertions';
import type { FleetStacks } from '../../../lib/app-stacks.ts';
import { text } from './stacks.ts';

/**
 * By type, what holds something or is named outside of the stacks: the properties that CloudFormation updates by replacement. Sources: the
 * page of each type in the CloudFormation Template Reference, "Update requires: Replacement"; db.json.gz of aws-cdk 2.1148.1,
 * `causesReplacement`.
 */
const REPLACED_WITH: Readonly<Record<string, readonly string[]>> = {
  'AWS::IAM::Role': ['Path', 'RoleName'],
  'AWS::KMS::Key': [],
  'AWS::Lambda::Function': ['FunctionName', 'PackageType', 'TenancyConfig'],
  'AWS::Lambda::Url': ['Qualifier', 'TargetFunctionArn'],
  'AWS::Logs::LogGroup': ['LogGroupName'],
  'AWS::S3::Bucket': ['BucketName', 'BucketNamePrefix', 'BucketNamespace', 'ObjectLockEnabled'],
  // The page of the type: a change of GenerateSecretString makes a new value, which no cluster has.
  'AWS::SecretsManager::Secret': ['GenerateSecretString', 'Name'],
  'AWS::SNS::Topic': ['FifoTopic', 'TopicName'],
  'AWS::SQS::Queue': ['FifoQueue', 'QueueName'],
};

/** A fleet with all that lasts, and with Object Lock, as it was written for the commit of deployed-resources.json. */
export const EVERYTHING_DEPLOYED = `
version: 1
discovery:
  - accounts: [self]
  - accounts: ['111122223333']
    regions: [eu-central-1]
    accessEntries: [notebooks]
lanes:
  - name: onprem
    vpcId: vpc-0a1b2c3d4e5f60718
    subnetIds: [subnet-0a1b2c3d4e5f60718]
    securityGroupIds: [sg-0a1b2c3d4e5f60718]
hub:
  account: '999988887777'
  region: eu-central-1
  kmsKeyArn: arn:aws:kms:eu-central-1:999988887777:key/6f1d0c5a-3b2e-4d7c-9a41-5e8f2b6c7d80
  webhook: true
journal:
  objectLock: { mode: governance, days: 90 }
`;

/** What lasts of the stacks of a fleet: by stack and logical id, its type and the properties with which it would be replaced. */
export function lastingResources({ hub, spokes }: FleetStacks): Readonly<Record<string, string>> {
  const resources = [hub, ...spokes].flatMap((stack) =>
    Object.entries<{ Type: string; Properties?: Readonly<Record<string, unknown>> }>(
      Template.fromStack(stack).toJSON()['Resources'],
    ).flatMap(([id, { Type, Properties = {} }]) => {
      const properties = REPLACED_WITH[Type]?.filter((name) => name in Properties);
      if (properties === undefined) return [];
      const values = properties.map((name) => `${name}=${text(Properties[name])}`);
      return [[`${stack.stackName}/${id}`, [Type, ...values].join(' ')] as const];
    }),
  );
  return Object.fromEntries(resources);
}
