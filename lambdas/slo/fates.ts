import { MINUTE_MS } from '../time.ts';
/**
 * What became of a request of a node, 15 minutes after it was made: as long as a kubelet waits for one. Each request has one fate.
 *
 * - `us`: approved by certmarshal.
 * - `others`: approved by somebody else; on EKS mostly EKS itself.
 * - `missed`: still undecided, although its evidence is there, or could not be read: a failed read never looks like a success.
 * - `refused`: rightly not approved: denied, or a rule that has nothing to do with missing evidence says no.
 * - `unprovable`: still undecided, and nothing that could be read proves it.
 *
 * Requests that only a policy in mode `observe` would approve have no fate: nobody promised them anything.
 * Source of the objective: KEP-267, 99.9 % of the requests of nodes are accepted each day.
 */
export const FATES = ['us', 'others', 'missed', 'refused', 'unprovable'] as const;
export type Fate = (typeof FATES)[number];
export type FateCounts = Readonly<Record<Fate, number>>;

/** How long a request may stay undecided. Milliseconds. Source: kubelet certificate manager, certificateWaitTimeout. */
export const WAIT_MS = 15 * 60_000;
/**
 * How old a request may be for its fate to be read. Kubernetes keeps an approved or denied one for an hour, and the condition comes after the creation.
 * Source: kube-controller-manager, certificates cleaner, approvedExpiration and deniedExpiration. Milliseconds.
 */
const VISIBLE_MS = 60 * 60_000;

/**
 * The minutes whose fates a look can tell: all requests of the first one may still be seen, and all of the last one have waited out their 15 minutes. Pure.
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
