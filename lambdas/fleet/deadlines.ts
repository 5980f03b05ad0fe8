/** How long an ordinary sweep may take. Milliseconds. */
export const DEADLINE_MS = 45_000;
/**
 * For a cluster that has not answered by then: it must not take the time of others in its batch. A storm continues in
 * the next tick.
 */
export const SHORT_DEADLINE_MS = 10_000;
