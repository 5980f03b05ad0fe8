import type { Condition } from '../resources/values.ts';
import type { ObservedMachine, ObservedRollout, Served } from './observed.ts';
import { CLOCK_TOLERANCE_MS, type MadeSince, madeSince } from './verification.ts';

/** Progress of a rollout by its machines alone, independent of API versions. */
export interface RolloutProgress {
  readonly wanted: number;
  /** Created since it began, with a Node (for etcd: ready), and not in deletion. */
  readonly replaced: number;
  /** Those of them that served a certificate issued since it began. */
  readonly verified: number;
  readonly machines: readonly MachineProgress[];
  /** The last creation or deletion of a machine. Milliseconds since the epoch. */
  readonly movedAt: number;
  readonly etcd?: Omit<RolloutProgress, 'etcd'>;
}

export interface MachineProgress {
  readonly name: string;
  readonly node?: string;
  /**
   * `old` waits for its turn, `new` is being created, `replaced` has its Node, `verified` serves its new certificate,
   * `leaving` is being deleted, or its etcd member is to be removed.
   */
  readonly state: 'old' | 'new' | 'replaced' | 'verified' | 'leaving';
  readonly createdAt: number;
  readonly served: Served;
  readonly unhealthy: readonly string[];
}

/**
 * Progress of the rollout that began at `since`. Pure.
 *
 * @param since milliseconds since the epoch, as is now
 */
export function progressOf(observed: ObservedRollout, since: number, now: number): RolloutProgress {
  const { controlPlane, etcd } = observed;
  const validityDays = controlPlane?.certificateValidityDays;
  const conditions = controlPlane?.conditions;
  const made: MadeSince = { since, now, validityDays };
  const progress = progressOfMachines(observed.machines, made, {
    wanted: controlPlane?.replicas ?? 0,
    up: ({ node }) => node !== undefined,
    leaves: () => false,
    // They change whenever a machine is created or deleted.
    signs: [conditions?.RollingOut, conditions?.ScalingUp, conditions?.ScalingDown],
  });
  if (etcd === undefined) return progress;
  // Etcd machines have no Node, and etcdadm knows one validity only.
  const ofEtcd = progressOfMachines(
    etcd.machines,
    { since, now },
    {
      wanted: etcd.replicas,
      up: ({ etcdReady }) => etcdReady === true,
      leaves: ({ owned, createdAt }) => !owned && createdAt < since,
      signs: Object.values(etcd.conditions),
    },
  );
  return { ...progress, movedAt: Math.max(progress.movedAt, ofEtcd.movedAt), etcd: ofEtcd };
}

interface Kind {
  readonly wanted: number;
  readonly up: (machine: ObservedMachine) => boolean;
  readonly leaves: (machine: ObservedMachine) => boolean;
  readonly signs: readonly (Condition | undefined)[];
}

function progressOfMachines(
  observed: readonly ObservedMachine[],
  made: MadeSince,
  kind: Kind,
): Omit<RolloutProgress, 'etcd'> {
  const isOld = ({ createdAt }: ObservedMachine) => !(createdAt >= made.since);
  // An old server may still answer at the address of a new machine.
  const shared = sharedCertificates(observed);
  const showsNew = ({ served }: ObservedMachine) =>
    served.kind === 'certificate' && !shared.has(served.fingerprint) && madeSince(served, made);
  const stateOf = (machine: ObservedMachine): MachineProgress['state'] => {
    if (machine.deleting || kind.leaves(machine)) return 'leaving';
    if (isOld(machine)) return 'old';
    if (!kind.up(machine)) return 'new';
    return showsNew(machine) ? 'verified' : 'replaced';
  };
  const machines = observed.map((machine) => ({
    name: machine.name,
    node: machine.node,
    state: stateOf(machine),
    createdAt: machine.createdAt,
    served: machine.served,
    unhealthy: machine.unhealthy,
  }));
  const verified = machines.filter(({ state }) => state === 'verified').length;
  const signs = [...observed.map(({ createdAt }) => createdAt), ...kind.signs.map((sign) => sign?.since ?? made.since)];
  return {
    wanted: kind.wanted,
    replaced: verified + machines.filter(({ state }) => state === 'replaced').length,
    verified,
    machines,
    movedAt: signs
      .filter((sign) => sign <= made.now + CLOCK_TOLERANCE_MS)
      .reduce((latest, sign) => Math.max(latest, Math.min(sign, made.now)), made.since),
  };
}

/**
 * Fingerprints served by several machines: each machine has its own certificate, so this comes from a shared address
 * and proves nothing about any of them.
 */
export function sharedCertificates(machines: readonly { readonly served: Served }[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const { served } of machines) {
    if (served.kind !== 'certificate') continue;
    if (seen.has(served.fingerprint)) shared.add(served.fingerprint);
    seen.add(served.fingerprint);
  }
  return shared;
}

/** Every machine is new, up, and serves a new certificate; none is in deletion. */
export function isVerified({ wanted, verified, machines }: Omit<RolloutProgress, 'etcd'>): boolean {
  return wanted > 0 && verified === wanted && machines.length === wanted;
}
