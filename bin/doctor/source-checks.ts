import { AwsError } from '../../lambdas/aws/errors.ts';
import type { AwsScope } from '../../lambdas/contracts/target.ts';
import type { EksSource } from '../../lambdas/fleet/sources.ts';
import { counted } from '../../lambdas/words.ts';
import { remedyAtTheKeyboard } from './at-the-keyboard.ts';
import type { AwsCaller, AwsCalls } from './aws-calls.ts';
import { allowFix } from './aws-fixes.ts';
import { type Answer, type Check, type CheckGroup, type Fix, failed, passed, untold } from './check.ts';
import type { HubRoles } from './hub-roles.ts';

/** A node name that exists in no account: the answer still shows whether the call is allowed. */
const NO_NODE = 'ip-0-0-0-0.ec2.internal';

/** All checks for discovering and judging the EKS clusters of one account and Region. */
export function sourceGroup({ name: subject, scope }: EksSource, aws: AwsCalls, { weAreHub }: HubRoles): CheckGroup {
  const { role, account, region } = scope;
  const place = `${account}/${region}`;
  if (isElsewhere(scope, aws.caller)) return { subject, checks: [elsewhereCheck(scope, aws.caller)] };
  // In the account of the hub no assumed role is involved: a denial is about our own credentials.
  const fixOf = role === undefined && !weAreHub ? undefined : spokeFix;
  const principal = role?.arn ?? aws.caller.arn;
  const needs = role === undefined ? ['region'] : ['region', 'assume-role'];
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
          // The next checks report any other error.
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
              async run() {
                const error = await errorOf(async () => void (await aws.credentials(scope)()));
                if (error?.kind === 'denied' && !weAreHub)
                  return untold(
                    `cannot be tried as ${aws.caller.arn}: only the hub's roles are trusted`,
                    trustFix(scope, role.arn, 'This is expected. To see whether it exists and trusts them, run this'),
                  );
                return answerOf(error, 'yes', (failure) =>
                  failure.kind === 'denied'
                    ? trustFix(scope, role.arn, `${failure.remedy} To see its trust policy, run this`)
                    : { text: remedyAtTheKeyboard(failure) },
                );
              },
            },
          ]),
      {
        id: 'list-clusters',
        title: 'action is allowed',
        object: 'eks:ListClusters',
        needs,
        run: async (signal) =>
          answerOf(
            await errorOf(async () => {
              names = await firstNames(aws, scope, signal);
            }),
            () => `${counted(names.length, 'cluster')} on the first page`,
            fixOf?.(principal, 'eks:ListClusters'),
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
          return answerOf(problem, 'yes', fixOf?.(principal, 'eks:DescribeCluster'));
        },
      },
      {
        id: 'describe-instances',
        title: 'action is allowed',
        object: 'ec2:DescribeInstances',
        needs,
        async run(signal) {
          const problem = await errorOf(async () => {
            const pages = aws.listInstances(scope, { nodes: [NO_NODE] }, signal);
            await pages[Symbol.asyncIterator]().next();
          });
          return answerOf(problem, 'yes', fixOf?.(principal, 'ec2:DescribeInstances'));
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

/** @param fix absent if a denial says nothing about the functions */
function answerOf(error: AwsError | undefined, found: string | (() => string), fix?: (error: AwsError) => Fix): Answer {
  if (error === undefined) return passed(typeof found === 'string' ? found : found());
  if (fix !== undefined) return failed(error.problem, fix(error));
  return error.kind === 'denied' ? notOurs(error.problem) : failed(error.problem, { text: remedyAtTheKeyboard(error) });
}

/** A check in which a denial concerns the user's credentials, not those of certmarshal. */
export function asUser(run: Check['run']): Check['run'] {
  return async (signal) => {
    try {
      return await run(signal);
    } catch (error) {
      if (error instanceof AwsError && error.kind === 'denied') return notOurs(`${error.object}: ${error.problem}`);
      throw error;
    }
  };
}

export function notOurs(problem: string): Answer {
  return untold(problem, {
    text: "Your identity may not do it; the hub's stack allows it to the hub's own roles. To try the later checks, use credentials that may.",
  });
}

function spokeFix(principal: string, action: string): (error: AwsError) => Fix {
  return (error) =>
    error.kind === 'denied' ? allowFix(principal, action, '*', error.remedy) : { text: remedyAtTheKeyboard(error) };
}

/** Without a role to assume, our credentials would read our own account instead of that one. */
export function isElsewhere({ account, role }: AwsScope, caller: AwsCaller): boolean {
  return role === undefined && account !== caller.account;
}

function elsewhereCheck({ account, region }: AwsScope, caller: AwsCaller): Check {
  return {
    id: 'aws-account',
    title: 'credentials are of its account',
    object: `${account}/${region}`,
    run: async () =>
      untold(`cannot be tried as ${caller.arn}: the hub reads its own account without another role`, {
        text: `Use credentials of account ${account}.`,
      }),
  };
}

function regionFix({ account, region }: AwsScope, own: string): Fix {
  const [where, other] =
    account === own ? ['', ''] : [` in account ${account} and in that of the hub`, ` --account-id ${account}`];
  return {
    text: `Remove ${region} from fleet.yaml, or enable it${where}, which takes minutes:`,
    command: `aws account enable-region --region-name ${region}${other}`,
  };
}

/** AWS gives the same answer for a missing role, a role that does not trust the caller, and a wrong ExternalId. */
function trustFix({ account }: AwsScope, role: string, text: string): Fix {
  return {
    text: `${text} with credentials of account ${account}:`,
    command: `aws iam get-role --role-name ${role.split('/').at(-1)} --query Role.AssumeRolePolicyDocument`,
  };
}
