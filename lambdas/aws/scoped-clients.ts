import { setTimeout as delay } from 'node:timers/promises';
import type { DeserializeMiddleware, MiddlewareStack } from '@smithy/types';
import type { AwsScope } from '../contracts/target.ts';

/** Calls one API in one account and Region. */
export interface ScopedClient<C> {
  readonly client: C;
  /** Waits until the calls of everybody before leave room for another, or for the signal. */
  readonly turn: (signal: AbortSignal) => Promise<void>;
}

/**
 * One client for each scope, created at first use and kept with its connections.
 *
 * Calls begin evenly, as AWS's token bucket fills; retries, and calls without a turn, delay the turns that follow. The
 * SDK's adaptive mode limits nothing before a first throttled call, and then all callers at once: of 100 audits at ten
 * calls a second, 82 timed out with it, and none with turns.
 *
 * @param callsPerSecond to one scope
 */
export function createScopedClients<I extends object, O extends object, C>(
  callsPerSecond: number,
  make: (scope: AwsScope) => C & { readonly middlewareStack: MiddlewareStack<I, O> },
): (scope: AwsScope) => ScopedClient<C> {
  const clients = new Map<string, ScopedClient<C>>();
  return (scope) => {
    const { account, region, role } = scope;
    const key = JSON.stringify([account, region, role?.arn, role?.externalId, role?.sessionTags]);
    const kept = clients.get(key);
    if (kept !== undefined) return kept;
    const client = make(scope);
    const pace = createPace(callsPerSecond);
    // In this step once for each try.
    const counted: DeserializeMiddleware<I, O> = (next) => async (args) => {
      pace.sent();
      return next(args);
    };
    client.middlewareStack.add(counted, { step: 'deserialize' });
    const made = { client, turn: pace.turn };
    clients.set(key, made);
    return made;
  };
}

function createPace(callsPerSecond: number) {
  let free = 0;
  let paid = 0;
  let queue: Promise<unknown> = Promise.resolve();
  const take = (): void => void (free = Math.max(free, performance.now()) + 1_000 / callsPerSecond);
  const wait = async (signal: AbortSignal): Promise<void> => {
    for (let left = free - performance.now(); left > 0 && !signal.aborted; left = free - performance.now())
      await delay(left, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    take();
    paid += 1;
  };
  return {
    turn: async (signal: AbortSignal): Promise<void> => {
      const turn = queue.then(() => wait(signal));
      queue = turn;
      return turn;
    },
    sent(): void {
      if (paid > 0) paid -= 1;
      else take();
    },
  };
}
