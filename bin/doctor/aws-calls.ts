import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import type { AwsCredentialIdentity } from '@smithy/types';
import { callAws } from '../../lambdas/aws/call.ts';
import { invalid } from '../../lambdas/aws/classify.ts';
import { createInstanceReader, type ListInstances } from '../../lambdas/aws/ec2-instances.ts';
import { createEksReader, type EksReader } from '../../lambdas/aws/eks-clusters.ts';
import { createTokenSigner, type SignToken } from '../../lambdas/aws/eks-token.ts';
import { createSecretReader, type ReadKubeconfigSecret } from '../../lambdas/aws/kubeconfig-secret.ts';
import { type CredentialsOf, createCredentials } from '../../lambdas/aws/spoke-credentials.ts';
import type { HubIdentity } from '../../lambdas/fleet/sources.ts';

/** Who calls AWS, and from where. */
export interface AwsCaller extends HubIdentity {
  /** `arn:aws:sts::111122223333:assumed-role/certmarshal-sweep/session` */
  readonly arn: string;
}

/** The calls that the functions make, with the credentials of this environment. */
export interface AwsCalls {
  readonly caller: AwsCaller;
  readonly credentials: CredentialsOf;
  readonly eks: EksReader;
  readonly listInstances: ListInstances;
  readonly signToken: SignToken;
  readonly readSecret: ReadKubeconfigSecret;
}

/** What all clients may be told. @default the environment says where and as whom */
export interface AwsConfig {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: AwsCredentialIdentity;
}

/** @throws AwsError when there are no usable credentials */
export async function connectAws(signal: AbortSignal, config: AwsConfig = {}): Promise<AwsCalls> {
  const { credentials: own, region: _region, ...reached } = config;
  const sts = new STSClient(config);
  const object = 'sts:GetCallerIdentity';
  const region = await sts.config.region().catch(() => {
    throw invalid(object, 'no Region is named', 'Set AWS_REGION, or region in the profile of AWS_PROFILE.');
  });
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
  };
}
