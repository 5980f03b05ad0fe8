import type { AwsScope } from '../contracts/target.ts';
import { createPace, type Pace } from './pace.ts';

/** What calls one API in one scope: its client, and the pace that all its callers share. */
export interface ScopedClient<C> {
  readonly client: C;
  readonly pace: Pace;
}

/**
 * One client for each scope, made when it is first asked for and then kept with its connections.
 *
 * @param callsPerSecond to one scope, when nothing is throttled
 */
export function createScopedClients<C>(
  callsPerSecond: number,
  make: (scope: AwsScope) => C,
): (scope: AwsScope) => ScopedClient<C> {
  const clients = new Map<string, ScopedClient<C>>();
  return (scope) => {
    const { account, region, role } = scope;
    const key = JSON.stringify([account, region, role?.arn, role?.externalId, role?.sessionTags]);
    const kept = clients.get(key);
    if (kept !== undefined) return kept;
    const made = { client: make(scope), pace: createPace(callsPerSecond) };
    clients.set(key, made);
    return made;
  };
}
