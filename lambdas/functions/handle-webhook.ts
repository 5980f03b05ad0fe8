import { allowedReview, reviewUid } from '../contracts/admission-review.ts';
import { encodeWaitingHint } from '../contracts/waiting-hint.ts';
import { hintDue } from '../fleet/hints.ts';
import { hintedBy, PROOF_HEADER, proofOf } from '../fleet/webhook-token.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { text } from '../resources/fields.ts';

/** A new key counts within this time. Milliseconds. */
const KEY_MS = HUB_SIZES.webhook.keyEverySeconds * 1_000;
/** After a failure nobody asks for the key for so long, however many hints come. Milliseconds. */
const KEY_AGAIN_MS = 10_000;
/** Clusters whose last hint is remembered. Each has a token, so that a flood does not fill it. */
const MAX_REMEMBERED = 1_000;

export interface WebhookOptions {
  /** @throws AwsError */
  readonly readKey: (signal: AbortSignal) => Promise<string>;
  /** Puts a hint where it waits. */
  readonly wait: (body: string, delaySeconds: number, signal: AbortSignal) => Promise<void>;
  /** A random text, another one at each call. */
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
 * Answers the admission webhook of a cluster: allowed, always and to everyone. The token in the path is all that is believed, and only that this cluster may be looked at now; of the body
 * the uid alone is read, because the answer has to repeat it. Hints of a cluster within three seconds are one.
 *
 * @param event of a function URL
 * @throws AwsError when the key could not be read now, or a hint not be sent
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

/** Undefined where it could not be read a moment ago: a flood must not become one of calls, or of errors. */
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
