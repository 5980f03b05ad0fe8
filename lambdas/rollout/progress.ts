import type { Served } from './observed.ts';

/** How far a rollout is, by its machines alone: it does not depend on the version of an API. */
export interface RolloutProgress {
  /** Machines that there are to be. */
  readonly wanted: number;
  /** Made since it began, with a Node, and not being deleted. */
  readonly replaced: number;
  /** Of these, those that a handshake showed to serve a certificate that starts since it began. */
  readonly verified: number;
  readonly machines: readonly MachineProgress[];
  /** Milliseconds since the epoch: the newest sign of life, a machine that was made, got its Node or began to go. */
  readonly movedAt: number;
  readonly etcd?: Omit<RolloutProgress, 'etcd'>;
}

export interface MachineProgress {
  readonly name: string;
  readonly node?: string;
  /** `old` waits for its turn, `new` is being made, `replaced` has its Node, `verified` shows its new certificate, `leaving` is being deleted. */
  readonly state: 'old' | 'new' | 'replaced' | 'verified' | 'leaving';
  readonly createdAt: number;
  readonly served: Served;
  readonly unhealthy: readonly string[];
}
