import { AwsError } from '../../lambdas/aws/errors.ts';
import type { AwsScope } from '../../lambdas/aws/scope.ts';
import type { EksSource } from '../../lambdas/fleet/sources.ts';
import { counted } from '../terminal/plural.ts';
import type { AwsCalls } from './aws-calls.ts';
import { allowFix } from './aws-fixes.ts';
import { type Answer, type CheckGroup, type Fix, failed, passed } from './check.ts';

/** A node that no account has: whether we may ask is told all the same. */
const NO_NODE = 'ip-0-0-0-0.ec2.internal';

/** Everything that finding and judging the EKS clusters of one account and Region takes. */
export function sourceGroup({ name: subject, scope }: EksSource, aws: AwsCalls): CheckGroup {
  const { role, account, region } = scope;
  const place = `${account}/${region}`;
  const principal = role?.arn ?? aws.caller.arn;
  let names: readonly string[] = [];
  return {
    subject,
    checks: [
      {
        id: 'region',
        title: 'Region is enabled',
        object: place,
        async run(signal) {
          const problem = await errorOf(async () => {
            await aws.credentials(scope)();
            names = await firstNames(aws, scope, signal);
          });
          if (problem?.kind === 'region') return failed(problem.problem, regionFix(scope, aws.caller.account));
          // Whatever else it answers, the next checks tell.
          return passed('yes');
        },
      },
      ...(role === undefined
        ? []
        : [
            {
              id: 'assume-role',
              title: 'role can be assumed',
              object: role.arn,
              needs: ['region'],
              run: async () =>
                answerOf(await errorOf(async () => void (await aws.credentials(scope)())), 'yes', ({ remedy }) => ({
                  text: `${remedy} ${trustText(aws.caller.arn, role.externalId)}`,
                })),
            },
          ]),
      {
        id: 'list-clusters',
        title: 'action is allowed',
        object: 'eks:ListClusters',
        needs: ['region', ...(role === undefined ? [] : ['assume-role'])],
        run: async (signal) =>
          answerOf(
            await errorOf(async () => {
              names = await firstNames(aws, scope, signal);
            }),
            () => `${counted(names.length, 'cluster')} on the first page`,
            (error) => fixOf(error, principal, 'eks:ListClusters'),
          ),
      },
      {
        id: 'describe-cluster',
        title: 'action is allowed',
        object: 'eks:DescribeCluster',
        needs: ['list-clusters'],
        async run(signal) {
          const [first] = names;
          if (first === undefined) return passed('not tried: there is no cluster');
          const problem = await errorOf(async () => void (await aws.eks.describeCluster(scope, first, signal)));
          return answerOf(problem, 'yes', (error) => fixOf(error, principal, 'eks:DescribeCluster'));
        },
      },
      {
        id: 'describe-instances',
        title: 'action is allowed',
        object: 'ec2:DescribeInstances',
        needs: ['region', ...(role === undefined ? [] : ['assume-role'])],
        async run(signal) {
          const problem = await errorOf(async () => {
            await aws.listInstances(scope, [NO_NODE], signal)[Symbol.asyncIterator]().next();
          });
          return answerOf(problem, 'yes', (error) => fixOf(error, principal, 'ec2:DescribeInstances'));
        },
      },
    ],
  };
}

async function firstNames({ eks }: AwsCalls, scope: AwsScope, signal: AbortSignal): Promise<readonly string[]> {
  for await (const page of eks.listClusters(scope, signal)) return page;
  return [];
}

async function errorOf(call: () => Promise<void>): Promise<AwsError | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    if (error instanceof AwsError) return error;
    throw error;
  }
}

function answerOf(error: AwsError | undefined, found: string | (() => string), fix: (error: AwsError) => Fix): Answer {
  if (error !== undefined) return failed(error.problem, fix(error));
  return passed(typeof found === 'string' ? found : found());
}

function fixOf(error: AwsError, principal: string, action: string): Fix {
  return error.kind === 'denied' ? allowFix(principal, action, '*', error.remedy) : { text: error.remedy };
}

function regionFix({ account, region }: AwsScope, own: string): Fix {
  const other = account === own ? '' : ` --account-id ${account}`;
  return {
    text: `Take ${region} out of fleet.yaml, or enable it, which takes minutes:`,
    command: `aws account enable-region --region-name ${region}${other}`,
  };
}

/** AWS says the same whatever part of the trust policy refuses. */
function trustText(caller: string, externalId: string | undefined): string {
  const id = externalId === undefined ? 'no sts:ExternalId' : 'as sts:ExternalId the externalId of fleet.yaml';
  return `Its trust policy has to name the caller (${caller}) or its account, and ${id}.`;
}
