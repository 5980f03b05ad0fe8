import { collectOwners } from '../../approval/evidence/collect-owners.ts';
import { ownerFromMachine } from '../../approval/evidence/machine.ts';
import type { ClusterContext } from '../../approval/request.ts';
import type { MemberObservation, MemberRole, Observation } from '../../contracts/observation.ts';
import type { Provider } from '../../identifiers.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import type { KubernetesError } from '../../kubernetes/errors.ts';
import { listKind } from '../../kubernetes/list.ts';
import { listMachines, type MachineSelection } from '../../kubernetes/machines.ts';
import { printable } from '../../printable.ts';
import { certificateValidityDays, DEFAULT_VALIDITY_DAYS } from '../../resources/kubeadm-control-plane.ts';
import {
  EXPIRY_ANNOTATION,
  isMachineOfAnother,
  type Machine,
  readMachine,
  roleOfMachine,
} from '../../resources/machine.ts';
import { serverAddresses } from '../../resources/status-addresses.ts';
import { isDeleting, timeOf } from '../../resources/values.ts';
import type { CertificateClass } from '../../tables/certificate-classes.ts';
import { DAY_MS, timestamp } from '../../time.ts';
import { isAbsent } from '../absent.ts';
import type { AuditSource, Origin } from '../audit-source.ts';
import { memberName } from '../machine-name.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';
import { AGREE_MS } from '../rules/inferred-ends.ts';
import { type Stated, statedCertificate } from '../stated-certificate.ts';
import { unreadBecause } from '../unread.ts';

/** Twice as many as Kubernetes supports in one cluster. */
const MAX_MACHINES = 10_000;

/**
 * Cluster API Machines: the members of the cluster, what is recorded about the certificates of each and, as a last
 * resort, what follows from their age. A Machine being deleted is no longer a member.
 */
export const machines: AuditSource = {
  id: 'machines',
  stage: 'first',
  deadlineMs: 10_000,
  optional: { lacking: 'Cluster API' },
  off: ({ management }) => (management === undefined ? false : undefined),
  async observe({ target: { management, cluster, machinesNamespace }, now, signal, remembered }) {
    if (management === undefined) return { observations: [], count: 0 };
    const origin: Origin = { source: 'machines', observedAt: timestamp(now()) };
    const selection = { clusterName: cluster.name, namespace: machinesNamespace, signal };
    const seen: Member[] = [];
    const unreadable: Observation[] = [];
    const owners = collectOwners('machine');
    let etcdMachines = false;
    const reading = await readList(listMachines(management, selection), (object) => {
      if (seen.length + unreadable.length === MAX_MACHINES) return 'full';
      if (isMachineOfAnother(object, cluster.name)) return 'more';
      owners.add(ownerFromMachine(object, cluster.name));
      etcdMachines ||= roleOfMachine(object) === 'etcd';
      if (isDeleting(object)) return 'more';
      const member = memberOf(readMachine(object), cluster.endpoints?.[0], origin);
      if (member === undefined) unreadable.push(noMachine(object, origin));
      else seen.push(member);
      return 'more';
    });
    const cut = cutShort(origin, reading);

    const hasControlPlane = seen.some(({ member }) => member.role === 'control-plane');
    const validity = hasControlPlane ? await leafValidity(management, selection) : { days: DEFAULT_VALIDITY_DAYS };
    const { days: kubeadmDays, problem } = validity;
    const unknownLife =
      problem === undefined || isAbsent(problem, 'kubeadm-control-plane', { remembered }) ? undefined : problem;
    // Without the end of the list, it is unknown whether etcd has its own machines.
    const stackedEtcd = !etcdMachines && reading.problem === undefined;
    const observations = [
      ...unreadable,
      ...seen.flatMap((seenMember) => [
        seenMember.member,
        ...expiryObservations(seenMember, cluster.provider, origin),
        ...inferredCertificates(seenMember, {
          stackedEtcd,
          kubeadmDays,
          unknownLife,
          provider: cluster.provider,
          now: now(),
          origin,
        }),
      ]),
      ...inferredEtcdClient(seen, cluster, origin),
      ...cut,
    ];
    return { observations, count: reading.count, evidence: owners.reading(reading.problem) };
  },
};

interface Member {
  readonly member: MemberObservation;
  readonly namespace: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Recorded expiries of its {@link RECORDED} certificates. */
  readonly expiries: readonly Expiry[];
}

interface Expiry {
  readonly where: string;
  /** Undefined if the value is not a time. */
  readonly at: number | undefined;
}

/** Undefined without a name, a namespace or a creation time. */
function memberOf(machine: Machine | undefined, endpoint: string | undefined, origin: Origin): Member | undefined {
  if (machine?.namespace === undefined || machine.createdAt === undefined) return undefined;
  const { namespace, createdAt, role, node, addresses } = machine;
  const name = `Machine ${namespace}/${machine.name}`;
  return {
    member: {
      kind: 'member',
      ...origin,
      role,
      name,
      node,
      createdAt: timestamp(createdAt),
      addresses: serverAddresses(addresses, endpoint),
      // vSphere and Docker list one; bare metal, CloudStack and Nutanix list only an InternalIP. Source: EKS Anywhere,
      // pkg/certificates/scanner.go.
      externalIp: addresses.externalIps.length > 0 ? true : undefined,
    },
    namespace,
    createdAt,
    expiries: expiriesOf(machine, name),
  };
}

function noMachine(object: unknown, origin: Origin): Observation {
  return {
    kind: 'unread',
    ...origin,
    where: `Machine ${shownName(object)}`,
    problem: 'malformed',
    message: 'it has no name and namespace, or no creationTimestamp that is an RFC 3339 time',
    remedy: 'Check that this is a management cluster: an API server writes all of these.',
  };
}

/** What a recorded expiry is about. Cluster API writes that of the control plane; on an etcd Machine, people do. */
const RECORDED: Readonly<Record<MemberRole, readonly CertificateClass[]>> = {
  'control-plane': ['kube-apiserver'],
  etcd: ['etcd-server', 'etcd-peer'],
  worker: [],
};

/**
 * The one that takes precedence first. The status copies the annotation, so if both agree, only the status is listed.
 */
function expiriesOf({ expiryAnnotation, certificatesExpiryDate }: Machine, where: string): readonly Expiry[] {
  const override = { where: `${where} annotation`, at: timeOf(expiryAnnotation) };
  const copied = { where, at: timeOf(certificatesExpiryDate) };
  return [
    ...(expiryAnnotation === undefined || (override.at !== undefined && override.at === copied.at) ? [] : [override]),
    ...(certificatesExpiryDate === undefined ? [] : [copied]),
  ];
}

function expiryObservations({ member, expiries }: Member, provider: Provider, origin: Origin): readonly Observation[] {
  const recorded = expiries.flatMap((expiry) => RECORDED[member.role].map((what) => ({ ...expiry, what })));
  return recorded.map(({ what, where, at }) => {
    const sighting = { ...origin, what, where, member: memberName(member) };
    if (at !== undefined) return statedCertificate(sighting, { basis: 'annotation', notAfter: at }, provider);
    return {
      kind: 'unread',
      ...sighting,
      problem: 'malformed',
      message: 'the expiry of the certificates is not an RFC 3339 time',
      remedy: `Correct or remove the annotation ${EXPIRY_ANNOTATION} of the Machine, or of its KubeadmConfig.`,
    };
  });
}

interface Inference {
  readonly stackedEtcd: boolean;
  readonly kubeadmDays: number;
  /** Why the lifetime of kubeadm's certificates is unknown: its default could be longer than the real one. */
  readonly unknownLife: KubernetesError | undefined;
  readonly provider: Provider;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly origin: Origin;
}

/** The certificates that kubeadm and etcdadm make on a machine, all together, soon after the Machine is created. */
function inferredCertificates(
  { member, createdAt, expiries }: Member,
  { stackedEtcd, kubeadmDays, unknownLife, provider, now, origin }: Inference,
): readonly Observation[] {
  const { role } = member;
  const isOfKubeadm = role === 'control-plane';
  const end = byAge(createdAt, isOfKubeadm ? kubeadmDays : DEFAULT_VALIDITY_DAYS);
  // A later expiry than that of a certificate issued now is not believed.
  const latest = end.notAfter - createdAt + now + AGREE_MS;
  const isRecorded = expiries.some(({ at = Number.POSITIVE_INFINITY }) => at <= latest);
  const classes = [
    ...(isRecorded ? [] : RECORDED[role]),
    ...(isOfKubeadm ? (['control-plane-clients'] as const) : []),
    ...(isOfKubeadm && stackedEtcd ? (['etcd-server', 'etcd-peer', 'etcd-healthcheck-client'] as const) : []),
  ];
  const sighting = { ...origin, where: member.name, member: memberName(member) };
  if (unknownLife !== undefined && isOfKubeadm)
    return classes.slice(0, 1).map((what) => unreadBecause({ ...sighting, what }, unknownLife));
  return classes.map((what) => statedCertificate({ ...sighting, what }, end, provider));
}

/**
 * The client certificate for external etcd is renewed at the end of an etcd rollout, so not before its oldest machine
 * was created. It is in the Secret that cluster-secrets reads, if allowed.
 */
function inferredEtcdClient(
  seen: readonly Member[],
  { name, provider }: Pick<ClusterContext, 'name' | 'provider'>,
  origin: Origin,
): readonly Observation[] {
  const [oldest] = seen.filter(({ member }) => member.role === 'etcd').toSorted((a, b) => a.createdAt - b.createdAt);
  if (oldest === undefined) return [];
  const where = `Secret ${oldest.namespace}/${printable(name)}-apiserver-etcd-client tls.crt`;
  const end = byAge(oldest.createdAt, DEFAULT_VALIDITY_DAYS);
  return [statedCertificate({ ...origin, what: 'apiserver-etcd-client', where }, end, provider)];
}

function byAge(createdAt: number, days: number): Stated {
  return { basis: 'inference', notBefore: createdAt, notAfter: createdAt + days * DAY_MS, precisionMs: DAY_MS };
}

interface LeafValidity {
  readonly days: number;
  /** Why the list was not read completely: the lifetime may be shorter. */
  readonly problem?: KubernetesError;
}

/**
 * The lifetime in days of kubeadm's control plane certificates, from the KubeadmControlPlane (Cluster API since 1.11,
 * the same path in both versions); kubeadm's default if that says none.
 */
async function leafValidity(client: KubernetesClient, selection: MachineSelection): Promise<LeafValidity> {
  let shortest: number | undefined;
  const { problem } = await readList(listKind(client, 'kubeadmcontrolplanes', selection), (plane) => {
    const days = certificateValidityDays(plane);
    if (days !== undefined) shortest = Math.min(shortest ?? days, days);
    return 'more';
  });
  return { days: shortest ?? DEFAULT_VALIDITY_DAYS, problem };
}
