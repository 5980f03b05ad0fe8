import type { Problem } from '../problem.ts';
import type { Target } from './target.ts';

/**
 * Every cluster that was found, when and how. dispatch alone writes it, to S3. A discovery that fails changes nothing but the record of
 * its source: what was found before stays.
 */
export interface Registry {
  readonly version: 1;
  /** RFC 3339, as all times here. */
  readonly writtenAt: string;
  /** By {@link RegisteredCluster.source}. */
  readonly sources: Readonly<Record<string, SourceRecord>>;
  /** By id, in the order of the ids. */
  readonly clusters: Readonly<Record<string, RegisteredCluster>>;
}

/** A place where clusters are looked for: `fleet.yaml`, `eks 111122223333/eu-central-1`, `cluster-api berlin-mgmt`. */
export interface SourceRecord {
  readonly triedAt: string;
  /** The last time it could be read to its end. */
  readonly readAt?: string;
  /** Why it could not be read the last time, or what else is wrong with it. */
  readonly problem?: Problem;
}

export interface RegisteredCluster {
  readonly id: string;
  readonly source: string;
  readonly foundAt: string;
  /** The last time its source showed it, and it was looked at. */
  readonly seenAt: string;
  /** Its source was read to its end without it, since then. */
  readonly missingSince?: string;
  /** Absent when it cannot be swept; `problem` then says why. */
  readonly target?: Target;
  readonly problem?: Problem;
  /** It is missing because its tags no longer select it. */
  readonly untagged?: true;
  /** A management cluster: its workload clusters are looked for through it, in these namespaces. */
  readonly managesClusters?: readonly string[];
}
