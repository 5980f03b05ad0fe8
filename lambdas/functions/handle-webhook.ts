import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod/mini';
import { matching, readJson } from '../contracts/contract.ts';
import { WEBHOOK_EVERY_MS } from '../fleet/deadlines.ts';
import { clusterOf } from '../fleet/webhook-token.ts';
import { text } from '../resources/fields.ts';

// Milliseconds. An API server waits for a second; slower work continues, for the next call.
const [ANSWER_MS, WORK_MS] = [900, 4_000];
const [KEY_MS, KEY_AGAIN_MS] = [300_000, 10_000];
/** Only a valid token adds one, so a flood cannot fill it. */
const MAX_CLUSTERS = 1_000;
const UID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Claims of a cluster are not trusted. Source: Kubernetes API reference, AdmissionReview. A real one has 2 kB. */
const Review = z.object({ request: z.object({ uid: matching(UID, 'a UUID') }) });

export interface WebhookOptions {
  readonly readKey: (signal: AbortSignal) => Promise<string>;
  /** Each starts the sweep of one lane, of this cluster. */
  readonly starts: readonly ((id: string, signal: AbortSignal) => Promise<void>)[];
  readonly log: (error: unknown) => void;
  readonly clock: () => number;
}

/**
 * Allows every request, and has the cluster swept whose token is in the path. The status is for people: 200, 403 for a
 * wrong token, 503 if AWS failed or was slow; with `failurePolicy: Ignore` an API server continues after each. A 403
 * discloses nothing: 256 bits cannot be guessed, and every id has a token, whether there is such a cluster or not.
 */
export function createWebhookHandler({ readKey, starts, log, clock }: WebhookOptions) {
  const swept = new Map<string, number>();
  let key: Promise<string | undefined> | undefined;
  let readAt = 0;

  /** @param event of a function URL (AWS Lambda Developer Guide, "Invoking Lambda function URLs") */
  return async (event: unknown) => {
    const review = readJson(Review, text(event, 'body') ?? '', 64 * 1_024);
    const response = { uid: review.ok ? review.value.request.uid : '', allowed: true };
    return {
      statusCode: await Promise.race([statusOf(event), delay(ANSWER_MS, 503, { ref: false })]),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }),
    };
  };

  async function statusOf(event: unknown): Promise<number> {
    const [now, signal] = [clock(), AbortSignal.timeout(WORK_MS)];
    if (now >= readAt) {
      readAt = now + KEY_MS;
      key = readKey(signal).catch((error: unknown) => {
        readAt = now + KEY_AGAIN_MS;
        log(error);
        return undefined;
      });
    }
    const secret = await key;
    if (secret === undefined) return 503;
    const isPost = text(event, 'requestContext', 'http', 'method') === 'POST';
    const id = isPost ? clusterOf(secret, text(event, 'rawPath') ?? '') : undefined;
    if (id === undefined) return 403;
    if (now < (swept.get(id) ?? 0) + WEBHOOK_EVERY_MS) return 200;
    if (swept.size >= MAX_CLUSTERS) swept.clear();
    swept.set(id, now);
    const results = await Promise.allSettled(starts.map(async (start) => start(id, signal)));
    const failures = results.filter((result) => result.status === 'rejected');
    for (const { reason } of failures) log(reason);
    return failures.length > 0 ? 503 : 200;
  }
}
