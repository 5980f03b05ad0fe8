import { randomUUID } from 'node:crypto';
import { sweepPath } from '../../lambdas/fleet/webhook-token.ts';
import type { HubWebhook } from './aws-calls.ts';
import { type Answer, type CheckGroup, failed, passed, warning } from './check.ts';
import { asUser } from './source-checks.ts';

const FIXES: Readonly<Record<number, string>> = {
  403: 'A new key takes effect after 5 minutes: run this again then. If it still fails, deploy again.',
  429: 'Lambda throttles it. If that persists, something floods the URL: check Invocations of the function.',
  503: 'The log group of the function names what failed: aws logs tail.',
};
const ROUTE = 'Check the route to the URL: DNS, firewall. API servers give up after a second, and wait for the tick.';

/** Calls the URL as API servers do: this starts a sweep of each cluster. */
export function webhookGroup(read: (signal: AbortSignal) => Promise<HubWebhook>, ids: readonly string[]): CheckGroup {
  let hub: HubWebhook = { url: '', key: '' };
  const refused = asUser(async (signal) => {
    hub = await read(signal);
    return call(hub.url + sweepPath('another', 'any'), 403, signal);
  });
  const started = (id: string) => async (signal: AbortSignal) => call(hub.url + sweepPath(hub.key, id), 200, signal);
  return {
    subject: 'webhook',
    checks: [
      { id: 'webhook', title: 'refuses a wrong token', object: 'the URL of the hub', run: refused },
      ...ids.map((id) => ({ id: 'token', title: 'sweep starts', object: id, needs: ['webhook'], run: started(id) })),
    ],
  };
}

async function call(url: string, wanted: number, ended: AbortSignal): Promise<Answer> {
  const [uid, began, signal] = [randomUUID(), performance.now(), AbortSignal.any([ended, AbortSignal.timeout(10_000)])];
  try {
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ request: { uid } }), signal });
    const ok = (await answer.text()).includes(uid) && answer.status === wanted;
    const ms = Math.round(performance.now() - began);
    if (!ok) return failed(`HTTP ${answer.status}`, { text: FIXES[answer.status] ?? 'Deploy again.' });
    // The first may be a cold start.
    return ms > 1_000 && wanted === 200 ? warning(`${ms} ms`, { text: ROUTE }) : passed(`${ms} ms`);
  } catch (error) {
    if (ended.aborted) throw error;
    return failed(`${new URL(url).origin} does not answer`, { text: ROUTE });
  }
}
