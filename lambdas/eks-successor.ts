import { HOUR_MS } from './time.ts';

/**
 * When new Nodes surely trust a successor of the CA of an EKS cluster: EKS says when it was created, not when its
 * distribution was complete. Once too often rather than never.
 *
 * @param createdAt milliseconds since the epoch
 */
export function trustedSince(createdAt: number): number {
  return createdAt + HOUR_MS;
}
