import type { AwsCalls } from './aws-call.ts';

/** Everything of the types that the app makes, as `type name`. */
export type Inventory = ReadonlySet<string>;

/** A type of resource and how all of its kind are listed through the API. */
interface Listing {
  readonly type: string;
  readonly list: (calls: AwsCalls) => Promise<readonly string[]>;
}

const LISTINGS: readonly Listing[] = [
  {
    type: 'AWS::CloudFormation::Stack',
    list: (calls) => query(calls, 'cloudformation', '2010-05-15', 'DescribeStacks', 'StackName'),
  },
  {
    type: 'AWS::CloudWatch::Alarm',
    list: (calls) => query(calls, 'monitoring', '2010-08-01', 'DescribeAlarms', 'AlarmName'),
  },
  {
    type: 'AWS::CloudWatch::Dashboard',
    list: (calls) => query(calls, 'monitoring', '2010-08-01', 'ListDashboards', 'DashboardName'),
  },
  { type: 'AWS::IAM::Role', list: (calls) => query(calls, 'iam', '2010-05-08', 'ListRoles', 'RoleName') },
  {
    type: 'AWS::IAM::ManagedPolicy',
    list: (calls) => query(calls, 'iam', '2010-05-08', 'ListPolicies', 'PolicyName', { Scope: 'Local' }),
  },
  { type: 'AWS::SNS::Topic', list: (calls) => query(calls, 'sns', '2010-03-31', 'ListTopics', 'TopicArn') },
  { type: 'AWS::SQS::Queue', list: (calls) => json(calls, 'sqs', 'AmazonSQS.ListQueues', 'QueueUrls') },
  {
    type: 'AWS::Logs::LogGroup',
    list: (calls) => json(calls, 'logs', 'Logs_20140328.DescribeLogGroups', 'logGroups', 'logGroupName'),
  },
  { type: 'AWS::KMS::Key', list: keysInUse },
  {
    type: 'AWS::Lambda::Function',
    list: (calls) => rest(calls, 'lambda', '/2015-03-31/functions/', 'Functions', 'FunctionName'),
  },
  {
    type: 'AWS::StepFunctions::StateMachine',
    list: (calls) => json(calls, 'states', 'AWSStepFunctions.ListStateMachines', 'stateMachines', 'stateMachineArn'),
  },
  { type: 'AWS::Events::Rule', list: (calls) => json(calls, 'events', 'AWSEvents.ListRules', 'Rules', 'Name') },
  { type: 'AWS::Scheduler::Schedule', list: (calls) => rest(calls, 'scheduler', '/schedules', 'Schedules', 'Name') },
  { type: 'AWS::S3::Bucket', list: async (calls) => namesIn(await calls.get('s3', '/'), 'Name') },
];

/** Types whose resources are listed; the others of the app (policies, permissions) are part of one of these. */
export const LISTED_TYPES: ReadonlySet<string> = new Set(LISTINGS.map(({ type }) => type));

/** Lists all there is in the account and Region, of the types that the app makes. */
export async function takeInventory(calls: AwsCalls): Promise<Inventory> {
  const lists = await Promise.all(
    LISTINGS.map(async ({ type, list }) => (await list(calls)).map((name) => `${type} ${name}`)),
  );
  return new Set(lists.flat());
}

async function query(
  calls: AwsCalls,
  service: string,
  version: string,
  action: string,
  element: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  return namesIn(await calls.query(service, version, action, parameters), element);
}

async function json(
  calls: AwsCalls,
  service: string,
  target: string,
  field: string,
  name?: string,
): Promise<readonly string[]> {
  return fieldsOf(await calls.json(service, target), field, name);
}

async function rest(
  calls: AwsCalls,
  service: string,
  path: string,
  field: string,
  name: string,
): Promise<readonly string[]> {
  return fieldsOf(JSON.parse(await calls.get(service, path)), field, name);
}

/** A key cannot be deleted at once: one that waits for its deletion is as good as gone. */
async function keysInUse(calls: AwsCalls): Promise<readonly string[]> {
  const ids = await json(calls, 'kms', 'TrentService.ListKeys', 'Keys', 'KeyId');
  const described = await Promise.all(
    ids.map(async (id) => {
      const { KeyMetadata } = await calls.json('kms', 'TrentService.DescribeKey', { KeyId: id });
      return { id, waits: JSON.stringify(KeyMetadata).includes('PendingDeletion') };
    }),
  );
  return described.filter(({ waits }) => !waits).map(({ id }) => id);
}

function fieldsOf(answer: Record<string, unknown>, field: string, name?: string): readonly string[] {
  const entries = answer[field];
  if (entries === undefined) return [];
  if (!Array.isArray(entries)) throw new Error(`${field} is not a list`);
  return entries.map((entry) => String(name === undefined ? entry : entry[name]));
}

function namesIn(xml: string, element: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${element}>([^<]+)</${element}>`, 'g'))].map(([, name = '']) => name);
}
