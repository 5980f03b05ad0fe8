import { AssumeRoleCommand, STSClient, type STSClientConfig } from '@aws-sdk/client-sts';
import type { AwsCredentialIdentity, AwsCredentialIdentityProvider } from '@smithy/types';
import type { AwsScope, SpokeRole } from '../contracts/target.ts';
import { callAws } from './call.ts';
import { invalid } from './classify.ts';

/** A session is renewed this long before it ends: the SDK's clients ask their provider again at the same time. Milliseconds. */
const RENEW_BEFORE_MS = 5 * 60_000;
/** The shortest there is: a session that AWS refuses, because its role was made anew or its sessions were revoked, is used for ten minutes at most. */
const SESSION_SECONDS = 900;
/** Sessions kept; more than accounts × Regions of a large organization. */
const MAX_SESSIONS = 2_000;

/** The credentials for calls in a scope. The provider may be asked for every call; it throws AwsError when a role cannot be assumed. */
export type CredentialsOf = (scope: AwsScope) => AwsCredentialIdentityProvider;

export interface CredentialsOptions {
  /** RoleSessionName: what CloudTrail shows in the other account; 2 to 64 characters of `[\w+=,.@-]`. */
  readonly sessionName: string;
  /** Of every STS client, with the credentials that roles are assumed with. @default the default chain of the SDK */
  readonly sts?: STSClientConfig;
}

/**
 * Own credentials where a scope has no role; where it has one, those of a session of it. Sessions are shared by all who ask for the
 * same role in the same Region, and kept until five minutes before they end. They are assumed at the STS of the scope's Region,
 * so that a Region that is not enabled fails alone.
 */
export function createCredentials({ sessionName, sts = {} }: CredentialsOptions): CredentialsOf {
  const clients = new Map<string, STSClient>();
  const sessions = new Map<string, Promise<AwsCredentialIdentity>>();
  // The client resolves the default chain and keeps its answer; all Regions share that one.
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
      // A flight that fails is not kept, but those who wait for it share its failure.
      const credentials = await kept;
      if (Number(credentials.expiration) - Date.now() > RENEW_BEFORE_MS) return credentials;
      // Somebody else may have renewed it while we looked.
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

/** @throws AwsError that says what the other account lacks */
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
    'names the role that calls in the condition aws:PrincipalArn',
    externalId === undefined ? 'wants no ExternalId' : 'wants the ExternalId of fleet.yaml',
    ...(tags.length === 0 ? [] : ['allows sts:TagSession']),
  ];
  const remedies = {
    denied: `Deploy the spoke stack in account ${account}; the role's trust policy must be one that ${trust.join(' and ')}.`,
    region: `Enable ${region} in account ${account} and in the account of the hub, whose credentials STS accepts there (AWS Account Management), or remove it from fleet.yaml.`,
  };
  // Nobody's signal: others wait for the same session.
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
