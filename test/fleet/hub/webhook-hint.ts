import { randomUUID } from 'node:crypto';
import { hintPath } from '../../../lambdas/fleet/webhook-token.ts';
import { WEBHOOK_KEY } from './places.ts';

/** What the API server of a cluster sends when a kubelet asks. */
export function webhookHint(id: string) {
  return {
    rawPath: hintPath(WEBHOOK_KEY, id),
    requestContext: { http: { method: 'POST' } },
    body: JSON.stringify({ request: { uid: randomUUID() } }),
  };
}
