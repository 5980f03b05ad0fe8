import { AwsFault } from './aws-fault.ts';
import { assumedRoleArn, type Identity, type SimulatedRole } from './identity.ts';
import { queryProtocol } from './query-protocol.ts';
import type { AwsAnswer, Caller, Service } from './service.ts';
import { commonFault } from './service-faults.ts';

const protocol = queryProtocol('aws');
const SHORTEST_SECONDS = 900;
const MAX_SECONDS = 12 * 3600;
const CHAINED_SECONDS = 3600;

/**
 * AssumeRole and GetCallerIdentity.
 *
 * Source: AWS STS API reference. A role that does not exist, does not trust the caller or wants another ExternalId gives the
 * same refusal, so that nobody learns which.
 */
export function createSts(identity: Identity, now: () => number): Service<URLSearchParams> {
  const assumeRole = (input: URLSearchParams, caller: Caller): AwsAnswer => {
    const arn = input.get('RoleArn') ?? '';
    const name = input.get('RoleSessionName') ?? '';
    const seconds = Number(input.get('DurationSeconds') ?? 3600);
    if (!/^[\w+=,.@-]{2,64}$/.test(name)) throw invalid('roleSessionName');
    if (!(seconds >= SHORTEST_SECONDS && seconds <= MAX_SECONDS)) throw invalid('durationSeconds');
    // A role that assumes a role gets an hour at most.
    if (caller.role !== undefined && seconds > CHAINED_SECONDS) throw invalid('durationSeconds');
    const role = identity.role(arn);
    if (role === undefined || !admits(role, caller, input.get('ExternalId'))) throw refused('AssumeRole', caller, arn);

    const expiresAt = now() + seconds * 1000;
    const keys = identity.openSession(role, { name, tags: tagsOf(input), expiresAt });
    return protocol.answer('AssumeRole', {
      Credentials: {
        AccessKeyId: keys.accessKeyId,
        SecretAccessKey: keys.secretAccessKey,
        SessionToken: keys.sessionToken,
        // The SDK compares it with the clock of the machine, which may be ahead.
        Expiration: new Date(Math.max(expiresAt, Date.now() + seconds * 1000)).toISOString(),
      },
      AssumedRoleUser: { Arn: assumedRoleArn(arn, name), AssumedRoleId: `AROA:${name}` },
    });
  };

  return {
    protocol,
    permissions(action, input) {
      if (action === 'GetCallerIdentity') return []; // No policy can deny it.
      return action === 'AssumeRole' && input.has('Tags.member.1.Key') ? [action, 'TagSession'] : [action];
    },
    handle(action, input, caller) {
      if (action === 'AssumeRole') return assumeRole(input, caller);
      if (action !== 'GetCallerIdentity') throw new AwsFault(400, 'InvalidAction', `Not simulated: ${action}`);
      return protocol.answer(action, { Arn: caller.arn, UserId: 'AIDA', Account: caller.account });
    },
  };
}

function admits({ trusts, externalId }: SimulatedRole, { account, role }: Caller, given: string | null): boolean {
  if (externalId !== undefined && externalId !== given) return false;
  return trusts.some((trusted) => trusted === role || trusted === account);
}

function refused(action: string, caller: Caller, arn: string): AwsFault {
  const message = `User: ${caller.arn} is not authorized to perform: sts:${action} on resource: ${arn}`;
  return commonFault('sts', 'denied', message);
}

function invalid(field: string): AwsFault {
  return new AwsFault(400, 'ValidationError', `1 validation error detected: Value at '${field}' failed a constraint`);
}

function tagsOf(input: URLSearchParams): Record<string, string> {
  const tags: Record<string, string> = {};
  for (let index = 1; ; index += 1) {
    const key = input.get(`Tags.member.${index}.Key`);
    if (key === null) return tags;
    tags[key] = input.get(`Tags.member.${index}.Value`) ?? '';
  }
}
