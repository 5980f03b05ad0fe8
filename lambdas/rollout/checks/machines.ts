import { DAY_MS } from '../../time.ts';
import { counted, date } from '../../words.ts';
import type { CheckQuestion } from '../checks.ts';
import type { ObservedMachine, ObservedRollout } from '../observed.ts';
import { ETCD_PEER_PORT } from '../observed-machine.ts';
import { sharedCertificates } from '../progress.ts';
import {
  fails,
  kubectl,
  MACHINES,
  objectOf,
  passes,
  serversOf,
  stayingMachines,
  type Verdict,
  verdictOf,
} from './verdict.ts';

/** Problems of machines, the first of which is the object: its name is not repeated. */
function verdictOfMachines(
  machines: readonly ObservedMachine[],
  wrongWith: (machine: ObservedMachine) => readonly string[],
  { good, remedy, also = [] }: { readonly good: string; readonly remedy: string; readonly also?: readonly string[] },
): Verdict {
  const [first] = machines.filter((machine) => wrongWith(machine).length > 0);
  const look = first === undefined ? `kubectl get ${MACHINES} -A` : kubectl('describe', MACHINES, first);
  return verdictOf(
    [
      ...also,
      ...machines.flatMap((machine) =>
        wrongWith(machine).map((wrong) =>
          machine === first && also.length === 0 ? wrong : `${machine.name}: ${wrong}`,
        ),
      ),
    ],
    { object: first === undefined ? undefined : objectOf('Machine', first), good, remedy: `${remedy}: ${look}` },
  );
}

export function machinesSettled({ observed: { machines, controlPlane } }: CheckQuestion): Verdict | undefined {
  if (controlPlane === undefined) return undefined;
  const { replicas } = controlPlane;
  return verdictOfMachines(
    machines,
    ({ deleting, owned, node }) => [
      ...(deleting ? ['it is being deleted'] : []),
      ...(owned ? [] : ['the control plane does not own it']),
      ...(node === undefined ? ['it has no Node'] : []),
    ],
    {
      also: machines.length === replicas ? [] : [`${machines.length} of ${counted(replicas, 'machine')} seen`],
      good: `all ${counted(replicas, 'machine')} seen, each with its Node`,
      remedy: 'Wait until every machine has its Node',
    },
  );
}

export function machinesHealthy({ observed: { machines } }: CheckQuestion): Verdict {
  return verdictOfMachines(machines, ({ unhealthy }) => unhealthy, {
    good: `${counted(machines.length, 'machine')} healthy`,
    remedy: 'Fix the machine first: Cluster API begins no step while one is unhealthy',
  });
}

/** A deletion hook may delay a machine forever. */
export function machineHooks({ observed: { machines } }: CheckQuestion): Verdict {
  return verdictOfMachines(machines, ({ hooks }) => hooks.map((hook) => `it has the hook ${hook}`), {
    good: 'no machine has a deletion hook of someone else',
    remedy: 'Ask whose hook it is, and have it removed',
  });
}

export function healthChecks({ observed: { healthChecks: checks } }: CheckQuestion): Verdict | undefined {
  if (checks.length === 0) return undefined;
  const wrong = checks.filter(({ expected, healthy }) => expected === undefined || expected !== healthy);
  const [first] = wrong;
  return verdictOf(
    wrong.map(
      ({ name, expected = 'unknown', healthy = 'unknown' }, index) =>
        `${index === 0 ? '' : `${name}: `}${healthy} of ${expected} healthy`,
    ),
    {
      object: first === undefined ? undefined : objectOf('MachineHealthCheck', first),
      good: `${counted(checks.length, 'MachineHealthCheck')} without unhealthy machines`,
      remedy: `Fix what is unhealthy before more is replaced: ${first === undefined ? '' : kubectl('describe', 'machinehealthchecks.cluster.x-k8s.io', first)}`,
    },
  );
}

/** Every machine of the control plane and of external etcd: an unseen certificate may have expired. */
export function unseenServers(observed: ObservedRollout) {
  const asked = stayingMachines(observed).flatMap(serversOf);
  const shared = new Set(
    [...Map.groupBy(asked, ({ port }) => port).values()].flatMap((servers) => [...sharedCertificates(servers)]),
  );
  return asked.filter(({ served }) => served.kind !== 'certificate' || shared.has(served.fingerprint));
}

/** Peers of etcd need not be reachable from outside: one that does not answer is a warning. */
export function handshakes({ observed }: CheckQuestion): Verdict {
  const unseen = unseenServers(observed);
  const isSilent = ({ port, served }: (typeof unseen)[number]) =>
    port === ETCD_PEER_PORT && (served.kind === 'none' || (served.kind === 'failed' && served.answered !== true));
  const needed = unseen.filter((server) => !isSilent(server));
  const words = (needed.length > 0 ? needed : unseen).map(({ machine, port, served }, index) => {
    const what = served.kind === 'failed' ? served.problem : 'it was not tried';
    const found =
      served.kind === 'certificate' ? `another machine shows the same certificate at ${served.address}` : what;
    return [...(index === 0 ? [] : [machine.name]), ...(port === undefined ? [] : [`port ${port}`]), found].join(': ');
  });
  const [first = unseen[0]] = needed;
  const object = first === undefined ? undefined : objectOf('Machine', first.machine);
  const remedy =
    first?.served.kind === 'failed'
      ? first.served.remedy
      : first?.served.kind === 'certificate'
        ? 'Give each Machine addresses of its own: the checked one is shared, such as a virtual IP that moves between machines'
        : 'Give certmarshal a route to port 6443 of each control plane machine, and to ports 2379 and 2380 of each machine that runs etcd';
  const machines = stayingMachines(observed).length;
  const good = `${counted(machines, 'machine')} showed every certificate`;
  const verdict = verdictOf(machines === 0 ? ['there is no machine to check'] : words, { object, good, remedy });
  return needed.length === 0 && first !== undefined ? { ...verdict, passed: true, warning: true } : verdict;
}

/** Registry mirror, trust bundles and vCenter: without them no new machine comes up. Undefined without any. */
export function machineDependencies({ observed: { dependencies = [] }, now }: CheckQuestion): Verdict | undefined {
  if (dependencies.length === 0) return undefined;
  const wrong = dependencies.flatMap(({ where, notAfter, problem }) => {
    if (problem !== undefined) return [`${where}: ${problem}`];
    return notAfter > now ? [] : [`${where}: its last certificate expired at ${date(notAfter)}`];
  });
  return verdictOf(wrong, {
    good: `${counted(dependencies.length, 'certificate')} that new machines need seen and valid`,
    remedy: 'Renew it where it is, and give EKS Anywhere the new one, before a machine is replaced',
  });
}

/**
 * With `serverTLSBootstrap` a new kubelet has no certificate before its CSR is approved, and Cluster API reaches stacked
 * etcd only through the kubelet (`pods/portforward`): the rollout would stop at its first machine. Undefined for
 * external etcd.
 *
 * Source: Cluster API, controlplane/kubeadm/internal/etcd_client_generator.go.
 */
export function kubeletsServed({ observed }: CheckQuestion): Verdict | undefined {
  const { cluster, controlPlane } = observed;
  if (controlPlane?.etcd !== 'stacked') return undefined;
  if (cluster.approves === true) return passes('a policy in mode enforce approves the CSRs of its kubelets');
  const [first] = stayingMachines(observed).filter(({ kubelet }) => kubelet?.kind !== 'failed' || !kubelet.foreign);
  if (first === undefined) return passes('its kubelets serve certificates that need no approval');
  const isOfCluster = first.kubelet?.kind === 'certificate';
  const found = isOfCluster ? 'its kubelet serves a certificate of the cluster' : 'its kubelet showed no certificate';
  return fails({
    object: objectOf('Machine', first),
    found: `${found}, and no policy is known to approve that of a new machine: Cluster API could not reach its etcd`,
    remedy: `Let a policy of fleet.yaml in mode enforce select ${cluster.name}; on the command line name it with --fleet`,
  });
}

/** A leaf expires with its CA at the latest: replacing machines does not help. */
const OUTLIVES_MS = 365 * DAY_MS;

export function authorityOutlives({ observed: { authorities }, now }: CheckQuestion): Verdict {
  const short = authorities.filter(({ notAfter }) => !(notAfter > now + OUTLIVES_MS));
  return verdictOf(
    [
      ...(authorities.length === 0
        ? ['the CA of the cluster was not seen: its machines send only their own certificate']
        : []),
      ...short.map(({ name, notAfter }) => `${name} expires at ${date(notAfter)}, within a year`),
    ],
    {
      object: short[0]?.name,
      good: `${counted(authorities.length, 'CA')} seen, each outlives new certificates`,
      remedy:
        authorities.length === 0
          ? 'Give certmarshal the kubeconfig of the cluster itself, which has its CA in certificate-authority-data: on the command line, --kubeconfig besides --management-kubeconfig'
          : 'Cluster API cannot rotate a CA: before machines are rolled, plan a rotation by hand or a new cluster',
    },
  );
}
