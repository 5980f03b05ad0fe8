import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import type { SimulatedApiServer } from './api-server.ts';

/**
 * The text of a kubeconfig for a user of a simulated server.
 *
 * @throws Error when the user was not defined at the server's start.
 */
export function kubeconfigOf(server: SimulatedApiServer, user: string): string {
  return kubeconfigYaml(server.server, server.caPem, user, { token: server.tokenFor(user) });
}
