import { AwsFault } from './aws-fault.ts';
import { jsonAnswer, restJson } from './json-protocol.ts';
import type { Service } from './service.ts';

export interface SimulatedLambda {
  /** How many functions may run at once in each account and Region; 10 in some new accounts. */
  concurrency: number;
  /** By name, the same in each account and Region. */
  readonly functions: Map<string, SimulatedFunction>;
}

export interface SimulatedFunction {
  readonly environment: Readonly<Record<string, string>>;
  /** @default it has no function URL */
  readonly url?: string;
}

interface LambdaInput {
  readonly FunctionName: string;
}

const FUNCTION =
  /^\/(?:2015-03-31\/functions\/(?<configured>[\w-]+)\/configuration|2021-10-31\/functions\/(?<reached>[\w-]+)\/url)$/;

/** GetAccountSettings, GetFunctionConfiguration and GetFunctionUrlConfig. Source: AWS Lambda API reference. */
export function createLambda(): SimulatedLambda & Service<LambdaInput> {
  const lambda: SimulatedLambda & Service<LambdaInput> = {
    concurrency: 1_000,
    functions: new Map(),
    protocol: restJson(({ method, url }) => {
      const { configured, reached } = FUNCTION.exec(url.pathname)?.groups ?? {};
      if (method === 'GET' && url.pathname === '/2016-08-19/account-settings')
        return { action: 'GetAccountSettings', input: { FunctionName: '' } };
      if (method === 'GET' && configured !== undefined)
        return { action: 'GetFunctionConfiguration', input: { FunctionName: configured } };
      if (method === 'GET' && reached !== undefined)
        return { action: 'GetFunctionUrlConfig', input: { FunctionName: reached } };
      throw new AwsFault(404, 'ResourceNotFoundException', `Not simulated: ${method} ${url.pathname}`);
    }),
    handle(action, { FunctionName }) {
      if (action === 'GetAccountSettings')
        return jsonAnswer({ AccountLimit: { ConcurrentExecutions: lambda.concurrency } });
      const found = lambda.functions.get(FunctionName);
      if (found === undefined || (action === 'GetFunctionUrlConfig' && found.url === undefined))
        throw new AwsFault(404, 'ResourceNotFoundException', `Function not found: ${FunctionName}`);
      return action === 'GetFunctionUrlConfig'
        ? jsonAnswer({ FunctionUrl: found.url, AuthType: 'NONE' })
        : jsonAnswer({ FunctionName, Environment: { Variables: found.environment } });
    },
  };
  return lambda;
}
