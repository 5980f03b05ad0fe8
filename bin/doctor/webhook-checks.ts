import { randomUUID } from 'node:crypto';
import { Agent } from 'node:https';
import { reviewOf } from '../../lambdas/contracts/admission-review.ts';
import { hintPath, PROOF_HEADER, provesAccepted } from '../../lambdas/fleet/webhook-token.ts';
import { ExchangeFailure, exchange } from '../../lambdas/kubernetes/exchange.ts';
import type { HubWebhook } from '../hub-webhook.ts';
import { type Answer, type CheckGroup, failed, passed, warning } from './check.ts';
import { asUser } from './source-checks.ts';

/** Most of it is for a cold start. Milliseconds. */
const DEADLINE_MS = 10_000;
/** An answer has a few hundred bytes. */
const MAX_BYTES = 64 * 1_024;

const DEPLOY =
  'Deploy again. If it still fails, run aws logs tail on the log group of the function, which names what failed.';

/**
 * Sends a hint for each cluster, as its API server would: checks that the URL is reachable from here and that the hub
 * accepts the token.
 *
 * @param read the URL for hints, and the key of the tokens
 * @param ids of the clusters
 * @param ca CA of the URL's certificate, PEM. @default the CAs that this machine trusts
 */
export function webhookGroup(
  read: (signal: AbortSignal) => Promise<HubWebhook>,
  ids: readonly string[],
  ca?: string,
): CheckGroup {
  const agent = new Agent({ keepAlive: true, ca });
  let webhook: HubWebhook | undefined;
  return {
    subject: 'hints by webhook',
    checks: [
      {
        id: 'webhook',
        title: 'URL of hints is known',
        object: 'the function that takes hints',
        run: asUser(async (signal) => {
          webhook = await read(signal);
          return passed(webhook.url);
        }),
      },
      ...ids.map((id) => ({
        id: 'hint',
        title: 'hint is taken',
        object: id,
        needs: ['webhook'],
        run: async (signal: AbortSignal) =>
          webhook === undefined
            ? failed('the URL is not known', { text: DEPLOY })
            : sendHint(webhook, id, agent, signal),
      })),
    ],
    close: () => agent.destroy(),
  };
}

async function sendHint({ url, key }: HubWebhook, id: string, agent: Agent, signal: AbortSignal): Promise<Answer> {
  const uid = randomUUID();
  const { hostname, port } = new URL(url);
  const options = {
    agent,
    hostname,
    port: port === '' ? 443 : port,
    method: 'POST',
    path: hintPath(key, id),
    headers: { 'content-type': 'application/json', 'user-agent': 'certmarshal' },
  };
  try {
    const limits = { timeoutMs: DEADLINE_MS, maxBytes: MAX_BYTES };
    const { status, headers } = await exchange(options, reviewOf(uid), limits, [signal], () => true);
    // Throttled. Source: AWS Lambda Developer Guide, "Creating and managing Lambda function URLs", throttling.
    if (status === 429)
      return warning('Lambda throttles the hints', {
        text: 'Run this again. If it is still throttled, something floods the URL: check Invocations and Throttles of the function.',
      });
    if (status !== 200) return failed(`HTTP ${status}`, { text: DEPLOY });
    if (provesAccepted(key, uid, String(headers[PROOF_HEADER]))) return passed('yes');
    return failed('the hub does not take the token', {
      text: 'A new key takes effect after 5 minutes: run this again then. If it still fails, deploy again.',
    });
  } catch (error) {
    if (!(error instanceof ExchangeFailure) || error.failure === 'aborted') throw error;
    return failed(`${url} does not answer: ${error.code ?? error.failure}`, {
      text: 'Check the route from here to the URL: DNS, proxy, firewall. API servers need a route too; without it, their clusters wait for the tick.',
    });
  }
}
