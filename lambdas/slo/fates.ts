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

/** The fates of the requests that were made in one minute (whole minutes since the epoch), in the order of {@link FATES}. */
export type FateRow = readonly [
  minute: number,
  us: number,
  others: number,
  missed: number,
  refused: number,
  unprovable: number,
];

/** How long a request may stay undecided. Milliseconds. Source: kubelet certificate manager, certificateWaitTimeout. */
export const WAIT_MS = 15 * 60_000;
/**
 * How old a request may be for its fate to be read. Kubernetes keeps an approved or denied one for an hour, and the condition comes after the creation.
 * Source: kube-controller-manager, certificates cleaner, approvedExpiration and deniedExpiration. Milliseconds.
 */
export const VISIBLE_MS = 60 * 60_000;
