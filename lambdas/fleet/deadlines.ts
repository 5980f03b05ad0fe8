/** How long an ordinary sweep may take. Milliseconds. */
export const DEADLINE_MS = 45_000;
/**
 * For a cluster that has not answered by then: it must not take the time of others in its batch. A storm continues in
 * the next tick.
 */
export const SHORT_DEADLINE_MS = 10_000;
/** The webhook starts at most one sweep of a cluster in this time; later calls are of no use before it. Milliseconds. */
export const WEBHOOK_EVERY_MS = 1_500;
/**
 * A sweep by webhook lists CSRs only when all that called meanwhile are stored: an API server stores one after the
 * answer, and a call that starts no sweep is answered at once.
 */
export const WEBHOOK_WAIT_MS = WEBHOOK_EVERY_MS + 500;
