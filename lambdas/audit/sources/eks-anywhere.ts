import type { MemberObservation, Observation } from '../../contracts/observation.ts';
import type { Problem } from '../../contracts/problem.ts';
import type { Provider } from '../../identifiers.ts';
import { listKind } from '../../kubernetes/list.ts';
import {
  type CertificateScan,
  type EksAnywhereCluster,
  readCertificateScan,
  readEksAnywhere,
} from '../../resources/eks-anywhere.ts';
import { ownersCluster } from '../../rollout/eks-anywhere-owner.ts';
import { machineDependencies } from '../../rollout/machine-dependencies.ts';
import { createReader } from '../../rollout/reader.ts';
import { DAY_MS, timestamp } from '../../time.ts';
import { handshakes } from '../../tls/handshakes.ts';
import type { AuditSource, Origin } from '../audit-source.ts';
import { certificatesAt } from '../certificates-at.ts';
import { machineMembers, memberName } from '../machine-name.ts';
import { cutShort, readList } from '../read-list.ts';
import { statedCertificate } from '../stated-certificate.ts';

/** Several Clusters of one name are a mistake, which a message names. */
const MAX_CLUSTERS = 10;
/** A hundred years. */
const MAX_DAYS = 36_525;

/** What the scanner of EKS Anywhere dials, by role. */
const SCANNED = {
  'control-plane': { what: 'kube-apiserver', port: 6443 },
  etcd: { what: 'etcd-server', port: 2379 },
} as const;

/**
 * The owner's EKS Anywhere Cluster, whose status says in how many days the certificates of its machines expire. Its
 * scanner dials the ExternalIP of each machine and omits those that it cannot reach, so a machine with such an address
 * that is missing is reported.
 *
 * Source: EKS Anywhere, pkg/certificates/scanner.go; since 0.23.
 */
export const eksAnywhere: AuditSource = {
  id: 'eks-anywhere',
  stage: 'second',
  deadlineMs: 10_000,
  optional: 'always',
  off: ({ management }) => (management === undefined ? false : undefined),
  async observe({ target, members, now, signal }) {
    const { management, cluster, eksAnywhereNamespace: namespace, reach } = target;
    if (management === undefined) return { observations: [], count: 0 };
    const at = now();
    const origin = { source: 'eks-anywhere' as const, observedAt: timestamp(at) };
    const found: ScannedCluster[] = [];
    const clusters = listKind(management, 'eksAnywhereClusters', { clusterName: cluster.name, namespace, signal });
    const reading = await readList(clusters, (object) => {
      const read = readEksAnywhere(object);
      if (read?.name === cluster.name && found.length < MAX_CLUSTERS)
        found.push({ ...read, scan: readCertificateScan(object), object });
      return 'more';
    });
    const owners = ownersCluster(found, cluster.name, namespace);
    const owner = owners.kind === 'one' ? owners.cluster : undefined;
    const machines = scannedMachines(members);
    const days = owner === undefined ? [] : scanned(owner, machines, cluster.provider, { ...origin, now: at });
    const reader = createReader();
    const shake = reach.handshakes ? handshakes : undefined;
    const needed = owner && (await machineDependencies(management, owner.object, reader, shake, signal));
    const trusted = (needed ?? []).flatMap(
      ({ where, bundle }) =>
        certificatesAt({ ...origin, what: 'ca-bundle', where }, bundle, cluster.provider).observations,
    );
    const problems = owners.kind === 'one' || owners.problem === undefined ? reader.unread : [owners.problem];
    const unknown = problems.map((problem) => leftOut(origin, problem));
    return {
      observations: [...days, ...trusted, ...unknown, ...cutShort(origin, reading)],
      count: reading.count,
    };
  },
};

/** The status is unknown, so what it said earlier still holds. */
function leftOut(origin: Origin, { kind, object, message, remedy }: Problem): Observation {
  return { kind: 'unread', ...origin, problem: kind, message: `${object}: ${message}`, remedy };
}

interface Observing extends Origin {
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type ScannedCluster = EksAnywhereCluster & { readonly scan: CertificateScan; readonly object: unknown };

/** What the status of a Cluster says, or omits, about each machine. */
function scanned(
  cluster: ScannedCluster,
  machines: ReadonlyMap<string, Scanned>,
  provider: Provider,
  { now, ...origin }: Observing,
): readonly Observation[] {
  const countedAt = countedBy(cluster, now);
  const { days, done } = cluster.scan;
  return [...machines].flatMap(([name, { member, what, port }]): readonly Observation[] => {
    const where = `Cluster ${cluster.namespace}/${cluster.name} status (machine ${name})`;
    const sighting = { ...origin, what, where, member: memberName(member) };
    const expiresInDays = days.get(name);
    if (isDays(expiresInDays)) {
      const notAfter = Math.max(0, countedAt + expiresInDays * DAY_MS);
      return [statedCertificate(sighting, { basis: 'status', notAfter, precisionMs: DAY_MS }, provider)];
    }
    if (days.has(name)) return [{ kind: 'unread', ...sighting, ...NO_DAYS }];
    if (!done || member.externalIp !== true || now - Date.parse(member.createdAt) <= DAY_MS) return [];
    return [{ kind: 'unread', ...sighting, ...missing(name, port) }];
  });
}

const NO_DAYS = {
  problem: 'malformed',
  message: 'expiresInDays in the status of the Cluster is not a number of days',
  remedy: 'Find out what else writes the status of the Cluster besides EKS Anywhere.',
} as const;

function missing(name: string, port: number) {
  return {
    problem: 'missing',
    message: `EKS Anywhere could not reach machine ${name}`,
    remedy: `Check the log of deployment eksa-controller-manager in eksa-system, and the route from there to port ${port} of the machine's external address.`,
  } as const;
}

type Scanned = (typeof SCANNED)[keyof typeof SCANNED] & { readonly member: MemberObservation };

/** By the name of the Machine, the only key in the status. */
function scannedMachines(members: readonly MemberObservation[]): ReadonlyMap<string, Scanned> {
  return new Map(
    [...machineMembers(members)].flatMap(([id, member]) => {
      const { role } = member;
      if (role !== 'control-plane' && role !== 'etcd') return [];
      return [[id.slice(id.indexOf('/') + 1), { member, ...SCANNED[role] }] as const];
    }),
  );
}

function isDays(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= MAX_DAYS;
}

/**
 * The latest time at which the days were counted. The status does not say, but they change every day, so it was not
 * after the newest write of the status; and a Cluster that is not ready is not scanned.
 *
 * @param now milliseconds since the epoch, as what is returned
 */
function countedBy({ scan, ready }: ScannedCluster, now: number): number {
  const unreadySince = ready.status === 'True' ? undefined : ready.since;
  return Math.min(now, scan.writtenAt ?? now, unreadySince ?? now);
}
