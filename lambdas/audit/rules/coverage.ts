import { KUBELET_SERVING_SIGNER } from '../../approval/policy.ts';
import { namesOf as factsOf } from '../../contracts/facts.ts';
import type { ExpiryFinding } from '../../contracts/finding.ts';
import type { MemberObservation, MemberRole, Observation } from '../../contracts/observation.ts';
import type { Provider } from '../../identifiers.ts';
import { CERTIFICATE_CLASSES, type CertificateClass, renewedBy } from '../../tables/certificate-classes.ts';
import { keysOf } from '../../tables/keys.ts';
import { DAY_MS } from '../../time.ts';
import { compare, timeOf } from '../../words.ts';
import { classOf, type KnownCertificate } from '../certificates.ts';
import { namesOf } from '../keep-observations.ts';
import type { Draft } from './draft.ts';

/** Missing machines are reported for a day; a rollout brings a new machine sooner. */
const SHRUNK_MS = DAY_MS;

/** Roles with few machines, none of which disappears without a reason. */
const COUNTED_ROLES: readonly MemberRole[] = ['control-plane', 'etcd'];

export interface Coverage {
  readonly provider: Provider;
  readonly observations: readonly Observation[];
  readonly certificates: readonly KnownCertificate[];
  /** Observations and findings of the previous audit. */
  readonly before: { readonly observations: readonly Observation[]; readonly findings: readonly ExpiryFinding[] };
  /** Sources that were read completely now. */
  readonly read: ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Findings about what exists but is not seen, is no longer seen, or cannot be seen. */
export function coverageFindings(coverage: Coverage): readonly Draft[] {
  return [
    ...endsUnknown(coverage),
    ...fewerThanWanted(coverage),
    ...withoutControlPlane(coverage),
    ...fewerThanBefore(coverage),
    ...notVisible(coverage),
  ];
}

/** Members without any observation of a certificate that every such member has. */
function endsUnknown({ provider, observations, certificates }: Coverage): readonly Draft[] {
  const known = new Set(certificates.map(({ what, member }) => [what, member].join(' ')));
  const members = observations.filter((observation) => observation.kind === 'member');
  const looksAtKubelets = certificates.some(({ what }) => KUBELETS.includes(what));
  const lacks = (classes: readonly CertificateClass[]) => (member: MemberObservation) =>
    !namesOf(member).some((name) => classes.some((what) => known.has(`${what} ${name}`)));
  const unknown = (
    what: CertificateClass,
    lacking: readonly MemberObservation[],
    pending: ReadonlySet<string> = new Set(),
  ): readonly Draft[] => {
    if (lacking.length === 0) return [];
    const names = lacking.map(({ name }) => name).toSorted(compare);
    const waiting = lacking.filter((member) => namesOf(member).some((name) => pending.has(`system:node:${name}`)));
    return [
      {
        code: 'ExpiryUnknown',
        severity: 'warning',
        object: `${what} of members`,
        what,
        places: names,
        facts: { of: 'members', members: factsOf(names), pending: waiting.length },
        renewedBy: renewedBy(what, provider),
      },
    ];
  };
  const having = (role: MemberRole) => members.filter((member) => provider !== 'eks' && member.role === role);
  const kubelets = members.filter((member) => looksAtKubelets && hasKubelet(member));
  return [
    ...unknown('kube-apiserver', having('control-plane').filter(lacks(['kube-apiserver']))),
    ...unknown('etcd-server', having('etcd').filter(lacks(['etcd-server']))),
    ...unknown('kubelet-serving', kubelets.filter(lacks(KUBELETS)), waitingRequesters(observations)),
  ];
}

/** Who asks for a kubelet serving certificate and waits. */
function waitingRequesters(observations: readonly Observation[]): ReadonlySet<string> {
  return new Set(
    observations.flatMap((one) =>
      one.kind === 'requests' && one.signer === KUBELET_SERVING_SIGNER && one.state === 'pending' ? one.requester : [],
    ),
  );
}

const KUBELETS: readonly CertificateClass[] = ['kubelet-serving', 'kubelet-self-signed'];

/** EKS replaces the machines of Auto Mode and Fargate before a kubelet has anything to renew. */
function hasKubelet({ source, kindOfNode }: MemberObservation): boolean {
  return source === 'nodes' && kindOfNode !== 'fargate' && kindOfNode !== 'auto-mode';
}

function fewerThanWanted({ observations }: Coverage): readonly Draft[] {
  const groups = observations.filter((observation) => observation.kind === 'group');
  return [...Map.groupBy(groups, ({ role }) => role)].flatMap(([role, same]): readonly Draft[] => {
    const wanted = same.reduce((sum, { wanted: count }) => sum + count, 0);
    const seen = countOf(role, observations);
    if (!(seen < wanted)) return [];
    return [
      {
        code: 'CoverageShrunk',
        severity: 'warning',
        object: `${role} machines wanted`,
        facts: {
          of: 'wanted',
          role,
          count: seen,
          wanted,
          groups: factsOf(same.map(({ name }) => name).toSorted(compare)),
        },
      },
    ];
  });
}

/**
 * The control plane of an EKS Anywhere cluster is on Machines in the same namespace as the others; its Nodes do not
 * replace them.
 */
function withoutControlPlane({ provider, observations }: Coverage): readonly Draft[] {
  const machines = observations.filter((seen) => seen.kind === 'member').filter(({ source }) => source === 'machines');
  if (provider === 'eks' || machines.length === 0 || machines.some(({ role }) => role === 'control-plane')) return [];
  const names = machines.map(({ name }) => name).toSorted(compare);
  return [
    {
      code: 'CoverageShrunk',
      severity: 'warning',
      object: 'control-plane machines',
      facts: { of: 'none', machines: factsOf(names) },
    },
  ];
}

/** A machine and its Node are two members: the longer list counts. */
function countOf(role: MemberRole, observations: readonly Observation[]): number {
  const members = observations.filter((observation) => observation.kind === 'member' && observation.role === role);
  return [...Map.groupBy(members, ({ source }) => source).values()].reduce(
    (most, { length }) => Math.max(most, length),
    0,
  );
}

/** Members of the previous audit that are missing now, without a replacement; reported for a day. */
function fewerThanBefore({ observations, before, read, now }: Coverage): readonly Draft[] {
  const members = observations.filter((observation) => observation.kind === 'member');
  return COUNTED_ROLES.flatMap((role): readonly Draft[] => {
    const present = new Map(members.filter((member) => member.role === role).map((member) => [member.name, member]));
    const names = new Set(
      before.observations.flatMap((one) => (one.kind === 'member' && one.role === role ? one.name : [])),
    );
    const gone = [...names].filter((name) => !present.has(name));
    const added = [...present.keys()].filter((name) => !names.has(name));
    const finding = before.findings.find(
      ({ code, object }) => code === 'CoverageShrunk' && object === `${role} machines gone`,
    );
    const since = timeOf(finding?.since) ?? now;
    const isReplaced = [...present.values()].some(({ createdAt }) => (timeOf(createdAt) ?? 0) >= since);
    const listed = [...present.values()].length === 0 || [...present.values()].some(({ source }) => read.has(source));
    const still =
      finding === undefined || isReplaced || (now - since > SHRUNK_MS && listed)
        ? []
        : (finding.places ?? []).filter((name) => !present.has(name));
    // The surplus machine of a rollout disappears long after its successor appeared.
    if (isAsWanted(role, observations)) return [];
    const missing = [...new Set([...(gone.length > added.length ? gone : []), ...still])].toSorted(compare);
    if (missing.length === 0) return [];
    return [
      {
        code: 'CoverageShrunk',
        severity: 'warning',
        object: `${role} machines gone`,
        places: missing,
        facts: { of: 'gone', role, machines: factsOf(missing), left: present.size },
      },
    ];
  });
}

function isAsWanted(role: MemberRole, observations: readonly Observation[]): boolean {
  const groups = observations
    .filter((observation) => observation.kind === 'group')
    .filter((group) => group.role === role);
  return groups.length > 0 && countOf(role, observations) >= groups.reduce((sum, { wanted }) => sum + wanted, 0);
}

/** One finding for what this audit cannot see: without it, the result would look complete. */
function notVisible({ provider, observations, certificates }: Coverage): readonly Draft[] {
  if (!observations.some(tellsOfCluster)) return [];
  const seen = new Set<CertificateClass>(certificates.flatMap(({ said }) => said.map(classOf)));
  const classes = keysOf(CERTIFICATE_CLASSES).filter(
    (what) => !seen.has(what) && CERTIFICATE_CLASSES[what].expected && renewedBy(what, provider) !== undefined,
  );
  const off = observations.filter((observation) => observation.kind === 'off');
  const reasons = [...new Set(off.map(({ source, why }) => `${source} (${why})`))].toSorted(compare);
  if (classes.length + off.length === 0) return [];
  return [
    {
      code: 'NotVisible',
      severity: 'info',
      object: 'what cannot be seen',
      places: [
        ...classes.map((what) => CERTIFICATE_CLASSES[what].title),
        ...reasons.map((reason) => `source ${reason}`),
      ],
      facts: { classes, off: [...new Set(off.map(({ source }) => source))].toSorted(compare) },
    },
  ];
}

/** A few endpoints alone prove nothing about the cluster: nothing else was read. */
function tellsOfCluster(observation: Observation): boolean {
  if (observation.kind === 'unread') return observation.where === undefined;
  return observation.kind === 'read' || observation.kind === 'off' || observation.kind === 'member';
}
