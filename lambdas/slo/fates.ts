import { MINUTE_MS } from '../time.ts';
/**
 * The fate of a node's request 15 minutes after its creation, which is how long a kubelet waits. Each request has one
 * fate.
 *
 * - `us`: approved by certmarshal, and issued.
 * - `others`: issued after another approver approved it; on EKS mostly EKS.
 * - `missed`: approved and not issued; or still pending although its evidence exists, or could not be read: a failed
 * read never looks like a success.
 * - `refused`: rightly not approved: denied, or a rule other than missing evidence rejects it.
 * - `unprovable`: still pending, and nothing readable proves it.
 *
 * Requests that only a policy in mode `observe` would approve have no fate: nothing was promised.
 * Source of the objective: KEP-267, 99.9 % of the requests of nodes are accepted each day.
 */
export const FATES = ['us', 'others', 'missed', 'refused', 'unprovable'] as const;
export type Fate = (typeof FATES)[number];
export type FateCounts = Readonly<Record<Fate, number>>;

/** How long a request may stay pending. Milliseconds. Source: kubelet certificate manager, certificateWaitTimeout. */
export const WAIT_MS = 15 * 60_000;
/**
 * The oldest request whose fate is read. Kubernetes deletes approved and denied ones after an hour, counted from a
 * condition later than the creation. Source: kube-controller-manager, certificates cleaner, approvedExpiration and
 * deniedExpiration. Milliseconds.
 */
const VISIBLE_MS = 60 * 60_000;

/**
 * The minutes whose fates a sweep can determine: all requests of the first one may still exist, and all of the last one
 * have waited 15 minutes. Pure.
 *
 * @param lookedAt milliseconds since the epoch
 * @returns whole minutes since the epoch: `first` inclusive, `end` exclusive; at most 45
 */
export function toldMinutes(lookedAt: number): { readonly first: number; readonly end: number } {
  return {
    first: Math.ceil((lookedAt - VISIBLE_MS) / MINUTE_MS),
    end: Math.floor((lookedAt - WAIT_MS) / MINUTE_MS),
  };
}
