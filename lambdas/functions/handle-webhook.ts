import { allowedReview, reviewUid } from '../contracts/admission-review.ts';
import { encodeWaitingHint } from '../contracts/waiting-hint.ts';
import { hintDue } from '../fleet/hints.ts';
import { hintedBy, PROOF_HEADER, proofOf } from '../fleet/webhook-token.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { text } from '../resources/fields.ts';

/** A new key is used within this time. Milliseconds. */
const KEY_MS = HUB_SIZES.webhook.keyEverySeconds * 1_000;
/** After a failure the key is not read again for this long, however many hints arrive. Milliseconds. */
const KEY_AGAIN_MS = 10_000;
/** Clusters whose last hint is remembered. Only a valid token adds one, so a flood cannot fill it. */
const MAX_REMEMBERED = 1_000;

export interface WebhookOptions {
  /** @throws AwsError */
  readonly readKey: (signal: AbortSignal) => Promise<string>;
  /** Queues a hint with a delay. */
  readonly wait: (body: string, delaySeconds: number, signal: AbortSignal) => Promise<void>;
  /** A new random text at each call. */
  readonly salt: () => string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Source: AWS Lambda Developer Guide, "Invoking Lambda function URLs", response payload format. */
export interface WebhookAnswer {
  readonly statusCode: 200;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Answers the admission webhook of a cluster. The answer is always "allowed". The token in the path proves only that
 * this cluster may be swept now; of the body only the uid is read, because the answer must repeat it. Hints of one
 * cluster within three seconds are one.
 *
 * @param event of a function URL
 * @throws AwsError when the key could not be read or a hint could not be sent
 */
export type HandleWebhook = (event: unknown, signal: AbortSignal) => Promise<WebhookAnswer>;

export function createWebhookHandler({ readKey, wait, salt, clock }: WebhookOptions): HandleWebhook {
  const keyNow = remembered(readKey, clock);
  const sent = new Map<string, number>();

  return async (event, signal) => {
    const key = await keyNow(signal);
    const id = key === undefined ? undefined : hintedBy(key, text(event, 'rawPath') ?? '');
    const accepted = id !== undefined && text(event, 'requestContext', 'http', 'method') === 'POST';
    if (accepted) await hint(id, signal);
    const uid = reviewUid(text(event, 'body') ?? '');
    const proof = key === undefined ? '' : proofOf(key, accepted ? 'accepted' : 'refused', uid ?? '', salt());
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/json', [PROOF_HEADER]: proof },
      body: JSON.stringify(allowedReview(uid)),
    };
  };

  async function hint(id: string, signal: AbortSignal): Promise<void> {
    const now = clock();
    const due = hintDue(now, 0);
    if (sent.get(id) === due) return;
    await wait(encodeWaitingHint({ id, due, fresh: true }), Math.ceil((due - now) / 1_000), signal);
    if (sent.size >= MAX_REMEMBERED) sent.clear();
    sent.set(id, due);
  }
}

/** Undefined shortly after a failed read: a flood must not become a flood of calls or errors. */
function remembered(
  readKey: WebhookOptions['readKey'],
  clock: () => number,
): (signal: AbortSignal) => Promise<string | undefined> {
  let key: string | undefined;
  let askAt = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    const now = clock();
    if (now < askAt) return key;
    key = undefined;
    askAt = now + KEY_AGAIN_MS;
    key = await readKey(signal);
    askAt = now + KEY_MS;
    return key;
  };
}
