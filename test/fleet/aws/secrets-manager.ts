import { randomBytes, randomUUID } from 'node:crypto';
import { AwsFault } from './aws-fault.ts';
import { awsJson } from './json-protocol.ts';
import { type Caller, type Place, placed, type Service } from './service.ts';
import { commonFault } from './service-faults.ts';

export interface SimulatedSecretsManager {
  /** Creates a secret, or gives it another value. @returns its complete ARN */
  putSecret(place: Place, name: string, value: string | Uint8Array): string;
  /** As DeleteSecret does: the secret is there, and cannot be read. */
  markForDeletion(arn: string): void;
}

interface Version {
  readonly id: string;
  readonly SecretString?: string;
  /** Base64. */
  readonly SecretBinary?: string;
}

interface Secret {
  readonly arn: string;
  readonly name: string;
  readonly createdAt: number;
  /** The current one first, the previous one second. */
  versions: readonly Version[];
  isDeleted: boolean;
}

interface SecretsInput {
  readonly SecretId?: string;
  readonly VersionStage?: string;
  readonly Name?: string;
  readonly ClientRequestToken?: string;
  readonly SecretString?: string;
  readonly SecretBinary?: string;
}

const protocol = awsJson<SecretsInput>();

/**
 * GetSecretValue, CreateSecret and PutSecretValue, with the stages AWSCURRENT and AWSPREVIOUS. A secret is for its own account only:
 * resource policies are not simulated.
 *
 * Source: AWS Secrets Manager API reference.
 */
export function createSecretsManager(now: () => number): SimulatedSecretsManager & Service<SecretsInput> {
  const secrets = new Map<string, Secret>();

  const create = (place: Place, name: string, version: Version): Secret => {
    const suffix = randomBytes(3).toString('hex'); // As many characters as SUFFIX.
    const arn = `arn:aws:secretsmanager:${place.region}:${place.account}:secret:${name}-${suffix}`;
    const secret: Secret = { arn, name, createdAt: now(), versions: [version], isDeleted: false };
    secrets.set(placed(place, name), secret);
    return secret;
  };

  /** By name, or by ARN with or without its suffix. */
  const find = (caller: Caller, id = ''): Secret => {
    const [, , , , account = caller.account] = id.split(':');
    if (account !== caller.account) throw commonFault('secretsmanager', 'denied');
    const [, secret] =
      [...secrets].find(
        ([key, { name, arn }]) =>
          key === placed(caller, name) && [name, arn, arn.slice(0, -SUFFIX.length)].includes(id),
      ) ?? [];
    if (secret === undefined)
      throw new AwsFault(400, 'ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    if (secret.isDeleted) throw invalidRequest('it was marked for deletion');
    return secret;
  };

  const getSecretValue = (input: SecretsInput, caller: Caller) => {
    const { arn, name, versions, createdAt } = find(caller, input.SecretId);
    const stage = input.VersionStage ?? 'AWSCURRENT';
    const version = versions[stage === 'AWSCURRENT' ? 0 : 1];
    if (version === undefined || !STAGES.includes(stage))
      throw new AwsFault(400, 'ResourceNotFoundException', `No secret value for staging label: ${stage}`);
    const { id, ...value } = version;
    const described = { ARN: arn, Name: name, VersionId: id, VersionStages: [stage], CreatedDate: createdAt / 1000 };
    return protocol.answer({ ...described, ...value });
  };

  const createSecret = (input: SecretsInput, caller: Caller) => {
    const { Name: name = '' } = input;
    const version = versionOf(input);
    const present = secrets.get(placed(caller, name));
    if (present?.isDeleted) throw invalidRequest('a secret with this name is already scheduled for deletion');
    // The same call again, by its token, is no error.
    if (present !== undefined && !isSame(present.versions[0], version))
      throw new AwsFault(400, 'ResourceExistsException', `A secret with this name already exists: ${name}`);
    const { arn } = present ?? create(caller, name, version);
    return protocol.answer({ ARN: arn, Name: name, VersionId: version.id });
  };

  const putSecretValue = (input: SecretsInput, caller: Caller) => {
    const secret = find(caller, input.SecretId);
    const version = versionOf(input);
    const present = secret.versions.find(({ id }) => id === version.id);
    if (present !== undefined && !isSame(present, version))
      throw new AwsFault(400, 'ResourceExistsException', 'This version has another value already');
    if (present === undefined) renew(secret, version);
    return protocol.answer({
      ARN: secret.arn,
      Name: secret.name,
      VersionId: version.id,
      VersionStages: ['AWSCURRENT'],
    });
  };

  return {
    putSecret(place, name, value) {
      const isText = typeof value === 'string';
      const version = versionOf(
        isText ? { SecretString: value } : { SecretBinary: Buffer.from(value).toString('base64') },
      );
      const present = secrets.get(placed(place, name));
      if (present === undefined) return create(place, name, version).arn;
      renew(present, version);
      return present.arn;
    },
    markForDeletion(arn) {
      for (const secret of secrets.values()) if (secret.arn === arn) secret.isDeleted = true;
    },
    protocol,
    handle(action, input, caller) {
      if (action === 'GetSecretValue') return getSecretValue(input, caller);
      if (action === 'CreateSecret') return createSecret(input, caller);
      if (action === 'PutSecretValue') return putSecretValue(input, caller);
      throw new AwsFault(400, 'UnknownOperationException', `Not simulated: ${action}`);
    },
  };
}

/** What Secrets Manager appends to the name in an ARN. */
const SUFFIX = '-a1b2c3';
const STAGES = ['AWSCURRENT', 'AWSPREVIOUS'];

function renew(secret: Secret, version: Version): void {
  secret.versions = [version, ...secret.versions.slice(0, 1)];
}

/** @throws AwsFault when there is no value, or two. */
function versionOf({
  ClientRequestToken: id = randomUUID(),
  SecretString: text,
  SecretBinary: binary,
}: SecretsInput): Version {
  if (text !== undefined && binary === undefined) return { id, SecretString: text };
  if (binary !== undefined && text === undefined) return { id, SecretBinary: binary };
  throw new AwsFault(400, 'InvalidParameterException', 'You must provide either SecretString or SecretBinary.');
}

function isSame(one: Version | undefined, other: Version): boolean {
  return one?.id === other.id && one.SecretString === other.SecretString && one.SecretBinary === other.SecretBinary;
}

function invalidRequest(why: string): AwsFault {
  const message = `You can't perform this operation on the secret because ${why}.`;
  return new AwsFault(400, 'InvalidRequestException', message);
}
