import type { MemberObservation, Observation } from '../../contracts/observation.ts';
import type { Problem } from '../../contracts/problem.ts';
import type { Provider } from '../../identifiers.ts';
import { listKind } from '../../kubernetes/list.ts';
import { field, list, text } from '../../resources/fields.ts';
import { ownersCluster } from '../../rollout/eks-anywhere-owner.ts';
import { DAY_MS } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { instantOf, timestamp } from '../instant.ts';
import { machineMembers, memberName } from '../machine-name.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';
import { toldCertificate } from '../told-certificate.ts';

/** More than one Cluster of a name is a mistake, and named in a message. */
const MOST_CLUSTERS = 10;
/** A hundred years. */
const MOST_DAYS = 36_525;
const LONGEST_NAME = 253;

/** What the scanner of EKS Anywhere dials, by role. */
const SCANNED = {
  'control-plane': { what: 'kube-apiserver', port: 6443 },
  etcd: { what: 'etcd-server', port: 2379 },
} as const;

/**
 * The owner's Cluster of EKS Anywhere: in how many days it last found the certificates of its machines to end. It dials the ExternalIP of each and leaves out
 * machines that it could not reach, so one that has such an address and is missing is told as such.
 *
 * Source: EKS Anywhere, pkg/certificates/scanner.go; since 0.23.
 */
export const eksAnywhere: AuditSource = {
  id: 'eks-anywhere',
  stage: 'second',
  deadlineMs: 10_000,
  optional: 'always',
  off: ({ management }) => (management === undefined ? false : undefined),
  async observe({ target: { management, cluster, eksAnywhereNamespace: namespace }, members, now, signal }) {
    if (management === undefined) return { observations: [], count: 0 };
    const at = now();
    const told = { source: 'eks-anywhere' as const, observedAt: timestamp(at) };
    const found: { readonly namespace: string; readonly object: unknown }[] = [];
    const clusters = listKind(management, 'eksAnywhereClusters', { clusterName: cluster.name, namespace, signal });
    const reading = await readList(clusters, (object) => {
      const of = text(object, 'metadata', 'namespace');
      if (of === undefined || text(object, 'metadata', 'name') !== cluster.name) return 'more';
      if (found.length < MOST_CLUSTERS) found.push({ namespace: of, object });
      return 'more';
    });
    const owners = ownersCluster(found, cluster.name, namespace);
    const observations =
      owners.kind === 'one'
        ? scanned(owners.cluster.object, scannedMachines(members), cluster.provider, { ...told, now: at })
        : [];
    const unknown = owners.kind === 'one' || owners.problem === undefined ? [] : [leftOut(told, owners.problem)];
    return { observations: [...observations, ...unknown, ...cutShort(told, reading)], count: reading.count };
  },
};

/** What the owner's Cluster says is not known, so what it said before still holds. */
function leftOut(told: Omit<Observing, 'now'>, { kind, object, message, remedy }: Problem): Observation {
  return { kind: 'unread', ...told, problem: kind, message: `${object}: ${message}`, remedy };
}

interface Observing {
  readonly source: 'eks-anywhere';
  readonly observedAt: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What one Cluster says, and does not say, of each machine. */
function scanned(
  cluster: unknown,
  machines: ReadonlyMap<string, Scanned>,
  provider: Provider,
  { now, ...told }: Observing,
): readonly Observation[] {
  const countedAt = countedBy(cluster, now);
  const days = daysByMachine(cluster);
  const leavesOut = isScanned(cluster);
  return [...machines].flatMap(([name, { member, what, port }]): readonly Observation[] => {
    const where = `Cluster ${shownName(cluster)} status (machine ${name})`;
    const sighting = { ...told, what, where, member: memberName(member) };
    const expiresInDays = days.get(name);
    if (isDays(expiresInDays)) {
      const notAfter = Math.max(0, countedAt + expiresInDays * DAY_MS);
      return [toldCertificate(sighting, { basis: 'status', notAfter, precisionMs: DAY_MS }, provider)];
    }
    if (days.has(name)) return [{ kind: 'unread', ...sighting, ...NO_DAYS }];
    if (!leavesOut || member.externalIp !== true || now - Date.parse(member.createdAt) <= DAY_MS) return [];
    return [{ kind: 'unread', ...sighting, ...missing(name, port) }];
  });
}

const NO_DAYS = {
  problem: 'malformed',
  message: 'expiresInDays in the status of the Cluster is no number of days',
  remedy: 'Look who writes the status of the Cluster beside EKS Anywhere.',
} as const;

function missing(name: string, port: number) {
  return {
    problem: 'missing',
    message: `EKS Anywhere could not reach machine ${name}`,
    remedy: `Look at the log of deployment eksa-controller-manager in eksa-system, and at the route from there to port ${port} of the machine's external address.`,
  } as const;
}

type Scanned = (typeof SCANNED)[keyof typeof SCANNED] & { readonly member: MemberObservation };

/** By the name of the Machine, which is all that the status says. */
function scannedMachines(members: readonly MemberObservation[]): ReadonlyMap<string, Scanned> {
  return new Map(
    [...machineMembers(members)].flatMap(([id, member]) => {
      const { role } = member;
      if (role !== 'control-plane' && role !== 'etcd') return [];
      return [[id.slice(id.indexOf('/') + 1), { member, ...SCANNED[role] }] as const];
    }),
  );
}

function daysByMachine(cluster: unknown): ReadonlyMap<string, unknown> {
  const entries = list(cluster, 'status', 'clusterCertificateInfo');
  return new Map(
    entries.flatMap((entry) => {
      const machine = text(entry, 'machine');
      return machine === undefined || machine.length > LONGEST_NAME
        ? []
        : [[machine, field(entry, 'expiresInDays')] as const];
    }),
  );
}

function isDays(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= MOST_DAYS;
}

/** Also with an empty list: that is what is left when no machine could be reached. */
function isScanned(cluster: unknown): boolean {
  if (field(cluster, 'status', 'clusterCertificateInfo') != null) return true;
  const [, major = '0', minor = '0'] =
    /^v(\d{1,3})\.(\d{1,3})\./.exec(text(cluster, 'spec', 'eksaVersion') ?? '') ?? [];
  return Number(major) > 0 || Number(minor) >= 23;
}

/**
 * When the days were counted, at the latest. The status does not say; but they change every day, so it was not after the newest write of the status, and
 * a Cluster that is not ready is not scanned.
 *
 * @param now milliseconds since the epoch, as what is returned
 */
function countedBy(cluster: unknown, now: number): number {
  let newestWrite: number | undefined;
  for (const entry of list(cluster, 'metadata', 'managedFields')) {
    const at = text(entry, 'subresource') === 'status' ? instantOf(field(entry, 'time')) : undefined;
    if (at !== undefined && (newestWrite === undefined || at > newestWrite)) newestWrite = at;
  }
  const ready = list(cluster, 'status', 'conditions').find((condition) => text(condition, 'type') === 'Ready');
  const unreadySince =
    ready === undefined || text(ready, 'status') === 'True' ? undefined : instantOf(field(ready, 'lastTransitionTime'));
  return Math.min(now, newestWrite ?? now, unreadySince ?? now);
}
