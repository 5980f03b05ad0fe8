/** How long an ordinary sweep may take. Milliseconds. */
export const DEADLINE_MS = 45_000;
/** Of a cluster that did not answer in this time: it must not take the time of others in its batch. A storm goes on in the next tick. */
export const SHORT_DEADLINE_MS = 10_000;
