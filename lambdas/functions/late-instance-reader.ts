import type { ListInstances } from '../aws/ec2-instances.ts';
import type { CredentialsOf } from '../aws/spoke-credentials.ts';
import { once } from './once.ts';

/**
 * Reads instances with a client that is loaded at the first one: EC2's schemas are as much code as all the rest of a sweep, and most
 * sweeps find no open request.
 */
export function lateInstanceReader(credentials: CredentialsOf): ListInstances {
  const reader = once(async () => {
    const { createInstanceReader } = await import('../aws/ec2-instances.ts');
    return createInstanceReader({ credentials });
  });
  return async function* listInstances(scope, query, signal) {
    yield* (await reader())(scope, query, signal);
  };
}
