import type { DeserializeHandler, MiddlewareStack } from '@smithy/types';
import { createScopedClients } from '../../../lambdas/aws/scoped-clients.ts';

const SCOPE = { account: '111122223333', region: 'eu-central-1' };

/** One scope, with a client that makes this call for each try. */
export function pacedCalls(callsPerSecond: number, send: () => Promise<void>) {
  let next: DeserializeHandler<object, object> | undefined;
  const sender: DeserializeHandler<object, object> = async () => {
    await send();
    return { response: {}, output: {} };
  };
  const middlewareStack = {
    add: (middleware: (handler: typeof sender, context: object) => typeof sender) =>
      void (next = middleware(sender, {})),
  } as unknown as MiddlewareStack<object, object>;
  const { turn } = createScopedClients(callsPerSecond, () => ({ middlewareStack }))(SCOPE);
  return { turn, call: async (): Promise<unknown> => next?.({ input: {}, request: {} }) };
}
