import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { DescribeAccessEntryCommand, EKSClient } from '@aws-sdk/client-eks';
import {
  GetAccountSettingsCommand,
  GetFunctionConfigurationCommand,
  GetFunctionUrlConfigCommand,
  LambdaClient,
} from '@aws-sdk/client-lambda';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import type { AwsCredentialIdentity } from '@smithy/types';
import { callAws, describeCall } from '../../lambdas/aws/call.ts';
import { classify, invalid } from '../../lambdas/aws/classify.ts';
import { createInstanceReader, type ListInstances } from '../../lambdas/aws/ec2-instances.ts';
import { createEksReader, type EksReader } from '../../lambdas/aws/eks-clusters.ts';
import { createTokenSigner, type SignToken } from '../../lambdas/aws/eks-token.ts';
import type { AwsError } from '../../lambdas/aws/errors.ts';
import { createSecretReader, type ReadKubeconfigSecret } from '../../lambdas/aws/kubeconfig-secret.ts';
import { type CredentialsOf, createCredentials } from '../../lambdas/aws/spoke-credentials.ts';
import { readWebhookKey } from '../../lambdas/aws/webhook-key.ts';
import type { AwsScope } from '../../lambdas/contracts/target.ts';
import { HUB_STACK, webhookFunctionName } from '../../lambdas/fleet/role-names.ts';
import type { HubIdentity } from '../../lambdas/fleet/sources.ts';
import { printable } from '../../lambdas/printable.ts';
import { UsageError } from '../exit-codes.ts';
import { remedyAtTheKeyboard } from './at-the-keyboard.ts';
import { readSubscriptions, type Subscriptions } from './subscriptions-check.ts';

export interface AwsCaller extends HubIdentity {
  /** `arn:aws:sts::111122223333:assumed-role/certmarshal-sweep/session` */
  readonly arn: string;
}

export interface AwsCalls {
  readonly caller: AwsCaller;
  readonly credentials: CredentialsOf;
  readonly eks: EksReader;
  readonly listInstances: ListInstances;
  readonly signToken: SignToken;
  readonly readSecret: ReadKubeconfigSecret;
  /**
   * The access entry of a principal, read with our own credentials in our own account.
   *
   * @throws AwsError `not-found` without an entry, `invalid` if the cluster does not accept access entries
   */
  readonly accessEntry: (
    scope: AwsScope,
    cluster: string,
    principalArn: string,
    signal: AbortSignal,
  ) => Promise<AccessEntry>;
  /**
   * The limit of concurrent function executions of our account in a Region.
   *
   * @throws AwsError
   */
  readonly concurrency: (region: string, signal: AbortSignal) => Promise<number>;
  /** The webhook of the hub of our account in a Region. @throws AwsError */
  readonly webhook: (region: string, signal: AbortSignal) => Promise<HubWebhook>;
  /** Of the topics of the hub of our account in a Region; undefined without a hub. @throws AwsError */
  readonly subscriptions: (region: string, signal: AbortSignal) => Promise<Subscriptions | undefined>;
}

export interface AccessEntry {
  readonly groups: readonly string[];
  /** EKS keeps the unique id that the principal had at this time. */
  readonly madeAt: Date | undefined;
}

/** Without a path, and the key of its tokens. */
export type HubWebhook = Readonly<Record<'url' | 'key', string>>;

/** Options of all clients. @default from the environment */
export interface AwsConfig {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: AwsCredentialIdentity;
}

/** @throws AwsError without a Region or usable credentials; one error names both problems */
export async function connectAws(
  signal: AbortSignal,
  config: AwsConfig = {},
  env: NodeJS.ProcessEnv = process.env,
): Promise<AwsCalls> {
  const { credentials: own, region: _region, ...reached } = config;
  const sts = new STSClient(config);
  const object = 'sts:GetCallerIdentity';
  const region = await settle(sts, object, signal, env);
  const { Account, Arn } = await callAws({ object }, signal, (abortSignal) =>
    sts.send(new GetCallerIdentityCommand({}), { abortSignal }),
  );
  const partition = Arn?.split(':')[1];
  if (Account === undefined || Arn === undefined || partition === undefined)
    throw invalid(object, 'AWS answered without account or ARN');
  const credentials = createCredentials({ sessionName: 'certmarshal-doctor', sts: config });
  return {
    caller: { account: Account, arn: Arn, partition, region },
    credentials,
    eks: createEksReader({ credentials, config: reached }),
    listInstances: createInstanceReader({ credentials, config: reached }),
    signToken: createTokenSigner(own === undefined ? {} : { credentials: async () => own }),
    readSecret: createSecretReader(config),
    async accessEntry({ account, region: place, role }, clusterName, principalArn, ended) {
      const scope = { account, region: place, role: account === Account || role === undefined ? undefined : role };
      const client = new EKSClient({ ...reached, region: place, credentials: credentials(scope) });
      const command = new DescribeAccessEntryCommand({ clusterName, principalArn });
      const call = describeCall(`eks:DescribeAccessEntry ${printable(clusterName)}`, scope);
      const { accessEntry } = await callAws({ object: call }, ended, (abortSignal) =>
        client.send(command, { abortSignal }),
      );
      return { groups: accessEntry?.kubernetesGroups ?? [], madeAt: accessEntry?.createdAt };
    },
    async concurrency(place, ended) {
      const client = new LambdaClient({ ...config, region: place });
      const call = describeCall('lambda:GetAccountSettings', { account: Account, region: place });
      const { AccountLimit } = await callAws({ object: call }, ended, (abortSignal) =>
        client.send(new GetAccountSettingsCommand({}), { abortSignal }),
      );
      const most: unknown = AccountLimit?.ConcurrentExecutions;
      if (typeof most !== 'number') throw invalid(call, 'the answer holds no AccountLimit.ConcurrentExecutions');
      return most;
    },
    webhook: async (place, ended) => readHubWebhook(ended, { ...config, region: place }),
    subscriptions: async (place, ended) => readSubscriptions(ended, { ...config, region: place }),
  };
}

/** @throws AwsError, UsageError without a Region */
export async function readHubWebhook(signal: AbortSignal, config: AwsConfig = {}): Promise<HubWebhook> {
  const [lambda, FunctionName] = [new LambdaClient(config), webhookFunctionName(HUB_STACK)];
  await requireRegion(lambda);
  const remedy = 'Set hub.webhook: true and deploy. If it is deployed, use Region (AWS_REGION) and account of the hub.';
  const object = `lambda:GetFunctionUrlConfig, lambda:GetFunctionConfiguration ${FunctionName}`;
  const call = { object, remedies: { 'not-found': remedy } };
  const { FunctionUrl = '' } = await callAws(call, signal, (abortSignal) =>
    lambda.send(new GetFunctionUrlConfigCommand({ FunctionName }), { abortSignal }),
  );
  const { Environment } = await callAws(call, signal, (abortSignal) =>
    lambda.send(new GetFunctionConfigurationCommand({ FunctionName }), { abortSignal }),
  );
  const secret = Environment?.Variables?.['KEY_SECRET_ARN'] ?? '';
  const key = await readWebhookKey(new SecretsManagerClient(config), secret, signal);
  return { url: FunctionUrl.replace(/\/$/, ''), key };
}

/** Resolves the Region and checks that credentials exist. */
async function settle(sts: STSClient, object: string, signal: AbortSignal, env: NodeJS.ProcessEnv): Promise<string> {
  const [region, credentials] = await callAws({ object }, signal, () =>
    Promise.allSettled([sts.config.region(), sts.config.credentials()]),
  );
  const problems: Pick<AwsError, 'problem' | 'remedy'>[] = [];
  if (region.status === 'rejected') problems.push({ problem: 'no Region is named', remedy: REGION_REMEDY });
  if (credentials.status === 'rejected') {
    const profile = await missingProfile(env);
    const error = classify(credentials.reason, object);
    problems.push(
      profile === undefined
        ? { problem: error.problem, remedy: remedyAtTheKeyboard(error, env) }
        : {
            problem: `AWS_PROFILE names the profile ${printable(profile, 100)}, which is in no file`,
            remedy: 'Name one of those that aws configure list-profiles prints.',
          },
    );
  }
  if (region.status === 'fulfilled' && problems.length === 0) return region.value;
  throw invalid(
    object,
    problems.map(({ problem }) => problem).join('; '),
    problems.map(({ remedy }) => remedy).join(' '),
  );
}

/**
 * The profile in AWS_PROFILE if neither file has it: the SDK then reports only missing credentials.
 * Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files".
 */
async function missingProfile(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const profile = env['AWS_PROFILE'] ?? '';
  if (profile === '') return undefined;
  const files = [
    env['AWS_CONFIG_FILE'] ?? join(homedir(), '.aws', 'config'),
    env['AWS_SHARED_CREDENTIALS_FILE'] ?? join(homedir(), '.aws', 'credentials'),
  ];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  const names = texts.flatMap((text) =>
    [...text.matchAll(/^\s*\[\s*(?:profile\s+)?(?<name>[^\]]+?)\s*\]/gm)].map(({ groups }) =>
      groups?.['name']?.replaceAll(/["']/g, ''),
    ),
  );
  return names.includes(profile) ? undefined : profile;
}

/** How to name the Region. Everything at the keyboard that needs one is in the account and Region of the hub. */
const REGION_REMEDY =
  'Set AWS_REGION, or region in the profile of AWS_PROFILE, to the Region of the hub, where CertMarshal is deployed; that of a cluster may differ.';

/**
 * Requires a Region before the first call: without one the SDK fails as if the service did not answer.
 *
 * @param client any SDK client without an explicit Region
 * @throws UsageError if neither the environment nor a profile names one
 */
export async function requireRegion(client: {
  readonly config: { readonly region: () => Promise<string> };
}): Promise<void> {
  try {
    await client.config.region();
  } catch (error) {
    throw new UsageError(`No Region is named. ${REGION_REMEDY}`, { cause: error });
  }
}
