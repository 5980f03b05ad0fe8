import type { Provider } from '../identifiers.ts';
import type { ExpiryFinding } from './finding.ts';
import type { Observation } from './observation.ts';

/** What one audit of one cluster knows: what it saw, and of what it could not look at the newest that was seen before. */
export interface Snapshot {
  readonly version: 1;
  /** Id in the fleet; on the command line the name. */
  readonly cluster: string;
  readonly provider: Provider;
  /** Of the command line: host and port of the API server, which tells clusters apart that are called alike. */
  readonly server?: string;
  /** RFC 3339: when the audit began. */
  readonly auditedAt: string;
  /** Something of before is lost, and was not looked at again since: what is missing here may be there all the same. */
  readonly partial?: true;
  /** An observation that is older than `auditedAt` was kept, because its source could not be read again. */
  readonly observations: readonly Observation[];
  readonly findings: readonly ExpiryFinding[];
}
