import type { AwsScope } from '../contracts/target.ts';
import { createPace, type Pace } from './pace.ts';

/** Calls one API in one scope: the client, and the pace shared by all callers. */
export interface ScopedClient<C> {
  readonly client: C;
  readonly pace: Pace;
}

/**
 * One client for each scope, created at first use and kept with its connections.
 *
 * @param callsPerSecond to one scope, without throttling
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
