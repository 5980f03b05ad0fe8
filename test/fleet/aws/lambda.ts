import { AwsFault } from './aws-fault.ts';
import { jsonAnswer, restJson } from './json-protocol.ts';
import type { Service } from './service.ts';

export interface SimulatedLambda {
  /** How many functions may run at once in each account and Region; 10 in some new accounts. */
  concurrency: number;
}

/** GetAccountSettings. Source: AWS Lambda API reference. */
export function createLambda(): SimulatedLambda & Service<undefined> {
  const lambda: SimulatedLambda & Service<undefined> = {
    concurrency: 1_000,
    protocol: restJson(({ method, url }) => {
      if (method !== 'GET' || url.pathname !== '/2016-08-19/account-settings')
        throw new AwsFault(404, 'ResourceNotFoundException', `Not simulated: ${method} ${url.pathname}`);
      return { action: 'GetAccountSettings', input: undefined };
    }),
    handle: () => jsonAnswer({ AccountLimit: { ConcurrentExecutions: lambda.concurrency } }),
  };
  return lambda;
}
