import { EVIDENCE_SOURCES } from '../../tables/evidence-sources.ts';
import { notRead, type ReadProblem } from './believed.ts';
import type { Owner, ReadableSource, SourceReading } from './evidence.ts';

export type ListedSource = Exclude<ReadableSource, 'hybrid'>;

/** Four times the nodes that Kubernetes supports in a cluster. */
const MAX_OWNERS = 20_000;
const MIB = 1024 * 1024;
/** Bytes of a name besides its characters: the string object and its entry in the index. */
const NAME_OVERHEAD = 100;

/** Collects the objects of one list in bounded memory. */
export interface CollectedOwners {
  /**
   * @param owner undefined for an object that represents no node of the cluster
   * @returns whether there is room for more; if not, the source counts as unread
   */
  add(owner: Owner | undefined): boolean;
  /** @param problem the end of a list that was not read completely */
  reading(problem?: ReadProblem): SourceReading;
}

export function collectOwners(source: ListedSource): CollectedOwners {
  const owners: Owner[] = [];
  let lookedAt = 0;
  let bytes = 0;
  const fits = () => owners.length <= MAX_OWNERS && bytes <= EVIDENCE_SOURCES[source].maxMib * MIB;
  return {
    add(owner) {
      lookedAt += 1;
      if (owner !== undefined) {
        owners.push(owner);
        bytes += bytesOf(owner);
      }
      return fits();
    },
    reading: (problem) => {
      const unread = problem && notRead(source, problem);
      if (unread !== undefined && problem?.skipped === undefined) return unread;
      return fits() ? { ...unread, source, ok: true, lookedAt, owners } : tooMuch(source);
    },
  };
}

function bytesOf({ object, nodes, dnsNames, addresses, weakAddresses = [] }: Owner): number {
  const names = [object, ...nodes, ...dnsNames, ...addresses, ...weakAddresses.map(({ address }) => address)];
  return names.reduce((sum, name) => sum + name.length + NAME_OVERHEAD, 0);
}

/** Unread, not truncated: an object that is left out might contest what the others prove. */
function tooMuch(source: ListedSource): SourceReading {
  return {
    source,
    ok: false,
    kind: 'too-large',
    problem: `there are more than ${MAX_OWNERS} of them, or their names and addresses take more than ${EVIDENCE_SOURCES[source].maxMib} MiB`,
    remedy: 'Find out who creates so many of them; Kubernetes supports 5,000 nodes in a cluster.',
  };
}
