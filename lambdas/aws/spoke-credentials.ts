import { AssumeRoleCommand, STSClient, type STSClientConfig } from '@aws-sdk/client-sts';
import type { AwsCredentialIdentity, AwsCredentialIdentityProvider } from '@smithy/types';
import type { AwsScope, SpokeRole } from '../contracts/target.ts';
import { callAws } from './call.ts';
import { invalid } from './classify.ts';

/**
 * A session is renewed this long before it expires; the SDK's clients ask their provider at the same time.
 * Milliseconds.
 */
const RENEW_BEFORE_MS = 5 * 60_000;
/**
 * The shortest duration: a session that AWS rejects, because its role was created again or its sessions were revoked,
 * is used for at most ten minutes.
 */
const SESSION_SECONDS = 900;
/** Most cached sessions; more than accounts × Regions of a large organization. */
const MAX_SESSIONS = 2_000;

/**
 * The credentials for calls in a scope. The provider may be called for every call; it throws AwsError if a role cannot
 * be assumed.
 */
export type CredentialsOf = (scope: AwsScope) => AwsCredentialIdentityProvider;

export interface CredentialsOptions {
  /** RoleSessionName, shown by CloudTrail in the other account; 2 to 64 characters of `[\w+=,.@-]`. */
  readonly sessionName: string;
  /** Options of every STS client, with the credentials for assuming roles. @default the default chain of the SDK */
  readonly sts?: STSClientConfig;
}

/**
 * Own credentials for a scope without a role, otherwise those of a session of the role. Sessions are shared by callers
 * for the same role and Region, and kept until five minutes before they expire. Roles are assumed at the STS of the
 * scope's Region, so that a disabled Region fails alone.
 */
export function createCredentials({ sessionName, sts = {} }: CredentialsOptions): CredentialsOf {
  const clients = new Map<string, STSClient>();
  const sessions = new Map<string, Promise<AwsCredentialIdentity>>();
  // The client caches the default chain; all Regions share it.
  let own: AwsCredentialIdentityProvider | undefined;

  const clientIn = (region: string): STSClient => {
    const client = clients.get(region) ?? new STSClient({ ...sts, ...(own && { credentials: own }), region });
    clients.set(region, client);
    own ??= client.config.credentials;
    return client;
  };
  const session = async (scope: AwsScope, role: SpokeRole): Promise<AwsCredentialIdentity> => {
    const { arn, externalId, sessionTags = {} } = role;
    const key = JSON.stringify([arn, externalId, sessionTags, scope.region]);
    const kept = sessions.get(key);
    if (kept !== undefined) {
      // A failed call is not cached, but concurrent callers share its failure.
      const credentials = await kept;
      if (Number(credentials.expiration) - Date.now() > RENEW_BEFORE_MS) return credentials;
      // A concurrent call may have renewed it.
      if (sessions.get(key) !== kept) return session(scope, role);
    }
    const flight = assumeRole(clientIn(scope.region), scope, role, sessionName);
    sessions.set(key, flight);
    const [oldest] = sessions.keys();
    if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
    flight.catch(() => sessions.get(key) === flight && sessions.delete(key));
    return flight;
  };
  return (scope) => {
    const { role } = scope;
    return role === undefined ? () => (own ?? clientIn(scope.region).config.credentials)() : () => session(scope, role);
  };
}

/** @throws AwsError with what the other account lacks */
async function assumeRole(
  client: STSClient,
  { account, region }: AwsScope,
  { arn, externalId, sessionTags = {} }: SpokeRole,
  sessionName: string,
): Promise<AwsCredentialIdentity> {
  const object = `sts:AssumeRole of ${arn} in ${region}`;
  const tags = Object.entries(sessionTags).map(([Key, Value]) => ({ Key, Value }));
  const command = new AssumeRoleCommand({
    RoleArn: arn,
    RoleSessionName: sessionName,
    DurationSeconds: SESSION_SECONDS,
    ExternalId: externalId,
    Tags: tags.length === 0 ? undefined : tags,
  });
  const trust = [
    'name the calling role in the condition aws:PrincipalArn',
    externalId === undefined ? 'require no ExternalId' : 'require the ExternalId of fleet.yaml',
    ...(tags.length === 0 ? [] : ['allow sts:TagSession']),
  ];
  const remedies = {
    denied: `Deploy the spoke stack in account ${account}; the role's trust policy must ${trust.join(' and ')}.`,
    region: `Enable ${region} in account ${account} and, so that STS accepts its credentials there, in the account of the hub (AWS Account Management); or remove it from fleet.yaml.`,
  };
  // Without a caller's signal: others wait for the same session.
  const { Credentials: answered } = await callAws({ object, remedies }, new AbortController().signal, (signal) =>
    client.send(command, { abortSignal: signal }),
  );
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = answered ?? {};
  if (!AccessKeyId || !SecretAccessKey || !SessionToken || !Number.isFinite(Expiration?.getTime()))
    throw invalid(object, 'the answer holds no complete credentials');
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken,
    ...(Expiration && { expiration: Expiration }),
  };
}
