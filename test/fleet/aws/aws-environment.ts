import type { SimulatedKeys } from './identity.ts';
import type { Principal } from './service.ts';
import type { SimulatedAws } from './simulated-aws.ts';

/** Who calls, and from where. */
export interface AwsUser extends Principal {
  /** @default eu-central-1 */
  readonly region?: string;
}

type Reached = Pick<SimulatedAws, 'url' | 'identity'>;

/** Settings of a client of the SDK that calls the simulated AWS. */
export function awsClientConfig(aws: Reached, { region = 'eu-central-1', ...principal }: AwsUser) {
  return { endpoint: aws.url, region, credentials: keysOf(aws, principal) };
}

/** The same as environment variables, for a process that makes its clients itself. Nothing of this machine's AWS settings is left. */
export function awsEnvironment(
  aws: Reached,
  { region = 'eu-central-1', ...principal }: AwsUser,
): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken } = keysOf(aws, principal);
  return {
    AWS_ENDPOINT_URL: aws.url,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken === undefined ? {} : { AWS_SESSION_TOKEN: sessionToken }),
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
}

function keysOf({ identity }: Reached, { account, role }: Principal): SimulatedKeys {
  if (role === undefined) return { accessKeyId: account, secretAccessKey: 'simulated' };
  return identity.keysOf({ account, role });
}
