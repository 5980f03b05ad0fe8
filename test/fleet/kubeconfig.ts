import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import type { SimulatedApiServer } from './api-server.ts';

/**
 * The text of a kubeconfig for a user of a simulated server.
 *
 * @throws Error when the user was not defined at the server's start.
 */
export function kubeconfigOf({ server, caPem, tokenFor }: SimulatedApiServer, user: string): string {
  return kubeconfigYaml(server, caPem, user, { token: tokenFor(user) });
}
