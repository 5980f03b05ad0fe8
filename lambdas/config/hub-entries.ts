import { z } from 'zod';
import { ACCOUNT_ID, REGION_NAME } from '../identifiers.ts';
import { KMS_KEY_ARN, laneNameProblem, SECURITY_GROUP_ID, SUBNET_ID, VPC_ID } from './aws-names.ts';
import { list, matching, quote, refusing, text } from './values.ts';

// What is deployed beside the usual: sweep functions in a VPC, and options of the stack.

/** Each is a queue and a function with role, logs and alarm; a stack holds 500 resources. */
export const MAX_LANES = 20;
/** Limits of a Lambda function. Source: Lambda API Reference, VpcConfig. */
const MAX_SUBNETS = 16;
const MAX_SECURITY_GROUPS = 5;

/** The least that an SQS event source can be held to (Lambda API Reference, ScalingConfig), and the usual quota of an account. */
const MIN_CONCURRENCY = 2;
const MAX_CONCURRENCY = 1_000;

function resourceId(kind: string, pattern: RegExp, example: string) {
  return matching(`the id of a ${kind}`, pattern, `is not the id of a ${kind}; write, for example, ${example}`);
}

/** An entry of `lanes`: a network from which clusters are swept. */
export const LaneEntry = z
  .strictObject({
    name: refusing(text('the name of the lane'), laneNameProblem).meta({
      description: 'What discovery, managementClusters and clusters call it.',
      examples: ['onprem'],
    }),
    vpcId: resourceId('VPC', VPC_ID, 'vpc-0a1b2c3d4e5f60718').meta({
      description: 'EKS clusters in this VPC whose endpoint is private are swept from here by themselves.',
      examples: ['vpc-0a1b2c3d4e5f60718'],
    }),
    subnetIds: list(resourceId('subnet', SUBNET_ID, 'subnet-0a1b2c3d4e5f60718'))
      .max(MAX_SUBNETS)
      .meta({
        description:
          'Subnets of the VPC, best one in each Availability Zone. They need a way to the API servers and, by NAT or VPC endpoints, to AWS.',
      }),
    securityGroupIds: list(resourceId('security group', SECURITY_GROUP_ID, 'sg-0a1b2c3d4e5f60718'))
      .max(MAX_SECURITY_GROUPS)
      .meta({ description: 'Security groups of the sweep function. They must let it out to the API servers.' }),
    handshakes: z.boolean().exactOptional().meta({
      description:
        'Whether audits from here shake hands with machines and nodes, on the ports 2379, 2380, 6443, 10250, 10257 and 10259. Write false where the network does not reach them. Default: true; the lane outside of every VPC never does.',
    }),
  })
  .meta({ title: 'Lane' });

/** `hub`: options of the stack. */
export const Hub = z.strictObject({
  account: z
    .string({ error: 'write the account id in quotes' })
    .regex(ACCOUNT_ID, { error: ({ input }) => `${quote(input)} is not an account id; write twelve digits in quotes` })
    .exactOptional()
    .meta({
      description:
        'The account that certmarshal is deployed to. Needed when other accounts are discovered: they trust its roles.',
      examples: ['999988887777'],
    }),
  region: matching('the name of a Region', REGION_NAME, 'is not the name of a Region; write, for example, eu-central-1')
    .exactOptional()
    .meta({
      description: 'The Region that certmarshal is deployed to. Needed with account.',
      examples: ['eu-central-1'],
    }),
  kmsKeyArn: matching(
    'the ARN of a KMS key',
    KMS_KEY_ARN,
    'is not the ARN of a KMS key; write that of the key itself, for example arn:aws:kms:eu-central-1:111122223333:key/6f1d0c5a-0000-4000-8000-000000000000, not of an alias',
  )
    .exactOptional()
    .meta({
      description:
        "KMS key for queues, bucket and logs. Default: AWS's own keys. Its policy must allow CloudWatch Logs.",
    }),
  reservedConcurrency: z
    .int({ abort: true })
    .min(MIN_CONCURRENCY, {
      error: ({ input }) => `${String(input)} would starve the queue; write ${MIN_CONCURRENCY} or more`,
    })
    .max(MAX_CONCURRENCY, {
      error: ({ input }) => `${String(input)} is more than an account has; write ${MAX_CONCURRENCY} or less`,
    })
    .exactOptional()
    .meta({
      description:
        'Concurrency that is kept free for each sweep function, so that nothing else in the account can starve it. Ten clusters are swept at once with each.',
    }),
  hints: z.boolean().prefault(false).meta({
    description:
      'Sweep at once when an audit log or an Auto Scaling group of this account and Region shows a new node, not only each minute. Needs audit logs of the clusters in CloudWatch Logs. Default: false.',
  }),
});
