import { CLUSTER_ID } from '../fleet/target.ts';

/** A cluster that is to be swept at a time. Waits in a queue until then. */
export interface WaitingHint {
  /** Of the cluster. */
  readonly id: string;
  /** Milliseconds since the epoch; the same for all hints of one interval. */
  readonly due: number;
}

export function encodeWaitingHint({ id, due }: WaitingHint): string {
  return JSON.stringify({ id, due });
}

/** Undefined when it is not what {@link encodeWaitingHint} makes. Never throws. */
export function decodeWaitingHint(body: string): WaitingHint | undefined {
  try {
    const hint: unknown = JSON.parse(body);
    if (typeof hint !== 'object' || hint === null || !('id' in hint) || !('due' in hint)) return undefined;
    const { id, due } = hint;
    if (typeof id !== 'string' || !CLUSTER_ID.test(id)) return undefined;
    return typeof due === 'number' && Number.isSafeInteger(due) ? { id, due } : undefined;
  } catch {
    return undefined;
  }
}
