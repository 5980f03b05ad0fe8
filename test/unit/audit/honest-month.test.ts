import { describe, expect, it } from 'vitest';
import { type Assessment, assessExpiry } from '../../../lambdas/audit/assess.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import type { CertificateObservation, MemberRole, Observation } from '../../../lambdas/contracts/observation.ts';
import type { SourceId } from '../../../lambdas/tables/audit-sources.ts';
import type { CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { DAY, HOUR, read, unread } from './fixtures.ts';

/**
 * Ten clusters of twenty machines for a month, on vSphere and bare metal, audited every six hours. Each certificate has
 * its true end; what sources show of it depends on routes, rights and failures. Only the true ends decide what is right.
 */

const START = Date.parse('2026-11-01T00:00:00Z');
const AUDIT_EVERY = 6 * HOUR;
const YEAR = 365 * DAY;
/** So many days before the end people renew. */
const RENEWED_AT = 30;
/** What has less left is rightly critical. */
const PRESSING = 21 * DAY;

const OF_API_SERVER = ['kube-apiserver', 'control-plane-clients'] as const;
const OF_ETCD = ['etcd-server', 'etcd-peer', 'etcd-healthcheck-client'] as const;
const PORTS: Readonly<Partial<Record<CertificateClass, number>>> = {
  'kube-apiserver': 6443,
  'etcd-server': 2379,
  'etcd-peer': 2380,
  'kubelet-serving': 10_250,
};
const SOURCES = [
  'nodes',
  'signing-requests',
  'trust-configmaps',
  'machines',
  'eks-anywhere',
  'tls',
] as const satisfies readonly SourceId[];

interface Machine {
  name: string;
  readonly role: MemberRole;
  /** Of its Machine; a move makes it anew. */
  createdAt: number;
  /** Of its Node. */
  bornAt: number;
  /** True ends. */
  readonly ends: Map<CertificateClass, number>;
  /** What Cluster API or a person wrote. */
  annotation?: number | undefined;
  /** When people notice that it has to be written again. */
  annotatedFrom?: number | undefined;
}

interface Cluster {
  readonly name: string;
  readonly machines: Machine[];
  readonly external: boolean;
  /** Ports that audits reach. */
  readonly route: readonly number[];
  readonly scanned: boolean;
  /** Whether people renew in time. */
  readonly renews: boolean;
  /** The end of the client certificate in the Secret. */
  etcdClient: number;
  /** Until when each source fails, and everything in a power cut. */
  readonly failing: Map<SourceId, number>;
}

/** Source: mulberry32, public domain. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function machineOf(name: string, role: MemberRole, age: number, classes: readonly CertificateClass[]): Machine {
  const at = START - age * DAY;
  const ends = new Map<CertificateClass, number>(classes.map((what) => [what, at + YEAR]));
  if (role !== 'etcd') ends.set('kubelet-serving', START + 200 * DAY);
  return {
    name,
    role,
    createdAt: at,
    bornAt: at + 0.1 * DAY,
    ends,
    annotation: role === 'control-plane' ? at + YEAR : undefined,
  };
}

/** Renews the certificates of some components of a machine. */
function renew(machine: Machine, classes: readonly CertificateClass[], at: number): void {
  for (const what of classes) if (machine.ends.has(what)) machine.ends.set(what, at + YEAR);
  // The runbook says so, and people take a day. No one annotates the etcd of a control plane machine.
  machine.annotatedFrom = at + DAY;
}

function clusterOf(index: number, roll: () => number, renews: boolean): Cluster {
  const external = index % 2 === 0;
  const route = [[6443, 2379, 2380, 10_250], [6443], [6443, 10_250], [6443, 2379, 10_250], []][index % 5] ?? [];
  const age = () => Math.floor(40 + roll() * 295);
  const classes = [...OF_API_SERVER, ...(external ? [] : OF_ETCD)];
  const machines = [
    ...[1, 2, 3].map((n) => machineOf(`c${index}-cp-${n}`, 'control-plane', age(), classes)),
    ...(external ? [1, 2, 3].map((n) => machineOf(`c${index}-etcd-${n}`, 'etcd', age(), OF_ETCD.slice(0, 2))) : []),
  ];
  while (machines.length < 20) machines.push(machineOf(`c${index}-md-${machines.length}`, 'worker', age(), []));
  const oldest = Math.min(...machines.filter(({ role }) => role === 'etcd').map(({ createdAt }) => createdAt));
  const cluster: Cluster = {
    name: `c${index}`,
    machines,
    external,
    route,
    scanned: index % 3 === 0,
    renews,
    etcdClient: oldest + YEAR,
    failing: new Map(),
  };
  if (!renews) return cluster;
  // A third are older than any certificate: renewed in place a while ago, and in some only the API server, later, alone.
  for (const machine of index % 3 === 1 ? machines.filter(({ role }) => role !== 'worker') : []) {
    machine.createdAt -= YEAR;
    machine.bornAt -= YEAR;
    renew(machine, [...OF_API_SERVER, ...OF_ETCD], START - 60 * DAY);
    if (!external) renew(machine, OF_API_SERVER, START - 20 * DAY);
    // No one annotated these, and no handshake reaches them: nothing shows that they were renewed. Until their guess has
    // passed, that would be critical.
    if (machine.role === 'etcd') machine.annotatedFrom = undefined;
  }
  if (index % 3 === 1) cluster.etcdClient = START - 60 * DAY + YEAR;
  return cluster;
}

/** What happens to a cluster between two audits. */
function live(cluster: Cluster, now: number, roll: () => number): void {
  const { machines, renews, failing } = cluster;
  for (const machine of machines) {
    const due = Math.min(...[...machine.ends].flatMap(([what, end]) => (what === 'kubelet-serving' ? [] : end)));
    if (renews && due - now < RENEWED_AT * DAY) renew(machine, [...OF_API_SERVER, ...OF_ETCD], now);
    if (machine.annotatedFrom !== undefined && machine.annotatedFrom <= now) {
      const end = machine.ends.get(machine.role === 'etcd' ? 'etcd-server' : 'kube-apiserver');
      machine.annotation = machine.role === 'worker' ? undefined : end;
    }
    // Replaced by a new one under another name.
    if (renews && roll() < 0.0006) {
      const next = machineOf(`${machine.name}x`, machine.role, (START - now) / DAY, [...machine.ends.keys()]);
      Object.assign(machine, next);
    }
    if (machine.ends.has('kubelet-serving') && machine.ends.get('kubelet-serving')! - now < 80 * DAY)
      machine.ends.set('kubelet-serving', now + YEAR);
  }
  const etcd = machines.filter(({ role }) => role === 'etcd');
  if (renews && cluster.external && cluster.etcdClient - now < RENEWED_AT * DAY) {
    for (const machine of etcd) renew(machine, OF_ETCD, now);
    cluster.etcdClient = now + YEAR;
  }
  // clusterctl move.
  if (renews && roll() < 0.0015) for (const machine of machines) machine.createdAt = now;
  const isCut = roll() < 0.01;
  const cutUntil = now + (1 + roll() * 19) * HOUR;
  for (const source of SOURCES) {
    // It was read in between.
    if ((failing.get(source) ?? 0) > now - AUDIT_EVERY) continue;
    if (isCut) failing.set(source, cutUntil);
    else if (roll() < 0.03) failing.set(source, now + (1 + roll() * 19) * HOUR);
  }
}

function observed(cluster: Cluster, now: number): readonly Observation[] {
  const observedAt = new Date(now).toISOString();
  const time = (at: number) => new Date(at).toISOString();
  const fails = (source: SourceId) => (cluster.failing.get(source) ?? 0) > now;
  const all: Observation[] = SOURCES.map((source) =>
    fails(source) ? unread(source, { observedAt }) : read(source, now),
  );
  const add = (...observations: readonly Observation[]) => {
    all.push(...observations.filter(({ source }) => !fails(source)));
  };
  for (const machine of cluster.machines) {
    const { name, role, ends } = machine;
    const of = { observedAt, member: name } as const;
    const where = `Machine eksa-system/${name}`;
    const addresses: readonly string[] = [];
    const node = role === 'etcd' ? {} : { node: name };
    add({
      kind: 'member',
      source: 'machines',
      observedAt,
      role,
      name: where,
      ...node,
      createdAt: time(machine.createdAt),
      addresses,
    });
    if (role !== 'etcd')
      add({
        kind: 'member',
        source: 'nodes',
        observedAt,
        role,
        name: `Node ${name}`,
        node: name,
        createdAt: time(machine.bornAt),
        addresses,
      });
    const recorded: readonly CertificateClass[] = role === 'etcd' ? OF_ETCD : ['kube-apiserver'];
    for (const [what, end] of ends) {
      const certificate = { kind: 'certificate', ...of, what } as const;
      const port = PORTS[what];
      if (port !== undefined && cluster.route.includes(port))
        add({
          ...certificate,
          source: 'tls',
          where: `${name}:${port}`,
          basis: 'certificate',
          notBefore: time(START - 900 * DAY),
          notAfter: time(end),
          fingerprint: `${name}${what}${end}`,
        });
      if (what === 'kubelet-serving') continue;
      const isScanned = cluster.scanned && (what === 'kube-apiserver' || (what === 'etcd-server' && role === 'etcd'));
      if (isScanned)
        add({
          ...certificate,
          source: 'eks-anywhere',
          where: `Cluster default/x status (machine ${name})`,
          basis: 'status',
          notAfter: time(now + Math.floor((end - now) / DAY) * DAY),
          precisionMs: DAY,
        });
      const annotated = machine.annotation !== undefined && recorded.includes(what);
      const said: Pick<CertificateObservation, 'basis' | 'notAfter'> & { readonly notBefore?: string } = annotated
        ? { basis: 'annotation', notAfter: time(machine.annotation ?? 0) }
        : { basis: 'inference', notBefore: time(machine.createdAt), notAfter: time(machine.createdAt + YEAR) };
      add({ ...certificate, source: 'machines', where, ...said });
    }
  }
  const etcd = cluster.machines.filter(({ role }) => role === 'etcd').map(({ createdAt }) => createdAt);
  if (etcd.length > 0)
    add({
      kind: 'certificate',
      source: 'machines',
      observedAt,
      what: 'apiserver-etcd-client',
      where: 'Secret eksa-system/x-apiserver-etcd-client tls.crt',
      basis: 'inference',
      notBefore: time(Math.min(...etcd)),
      notAfter: time(Math.min(...etcd) + YEAR),
    });
  return all;
}

/** The true time left of what expires first, by class. */
function leftOf({ machines, external, etcdClient }: Cluster, now: number): ReadonlyMap<CertificateClass, number> {
  const left = new Map<CertificateClass, number>(external ? [['apiserver-etcd-client', etcdClient - now]] : []);
  for (const { ends } of machines)
    for (const [what, end] of ends) left.set(what, Math.min(end - now, left.get(what) ?? end - now));
  return left;
}

/** Audits a month; what an audit found, with the true time left. */
function month(
  seed: number,
  renews: boolean,
  look: (audit: Assessment, left: ReadonlyMap<CertificateClass, number>, at: string) => void,
): number {
  const roll = dice(seed);
  const clusters = Array.from({ length: 10 }, (_, index) => clusterOf(index, roll, renews));
  const last = new Map<string, Assessment>();
  let audits = 0;
  for (let now = START; now < START + 31 * DAY; now += AUDIT_EVERY)
    for (const cluster of clusters) {
      live(cluster, now, roll);
      const of = { id: cluster.name, provider: 'eks-anywhere' } as const;
      const next = assessExpiry(of, observed(cluster, now), last.get(cluster.name), DEFAULT_THRESHOLDS, now);
      last.set(cluster.name, next);
      look(next, leftOf(cluster, now), `${cluster.name} ${new Date(now).toISOString()}`);
      audits += 1;
    }
  return audits;
}

describe('a month of 200 nodes', () => {
  it.each([2, 4])('in which people renew in time has no critical finding: seed %d', (seed) => {
    const critical = new Set<string>();
    const codes = new Set<string>();
    const audits = month(seed, true, ({ findings }, left, at) => {
      expect(Math.min(...left.values())).toBeGreaterThan(PRESSING);
      for (const { code, severity, object, facts } of findings) {
        codes.add(code);
        if (severity === 'critical') critical.add(`${at} ${code} ${object}: ${JSON.stringify(facts)}`);
      }
    });
    expect([...critical].slice(0, 5)).toEqual([]);
    expect(audits).toBe(10 * 4 * 31);
    expect([...codes]).toEqual(expect.arrayContaining(['CertificateExpiring', 'ExpiryUnknown', 'SourceUnread']));
  });

  it.each([1])(
    'in which no one renews has a finding on each class that is about to expire, at every time: seed %d',
    (seed) => {
      let pressing = 0;
      const silent = new Set<string>();
      month(seed, false, ({ findings }, left, at) => {
        const warned = new Set(findings.flatMap(({ severity, what }) => (severity === 'info' ? [] : what)));
        for (const [what, time] of left)
          if (time < 2 * PRESSING) {
            pressing += 1;
            if (!warned.has(what)) silent.add(`${at} ${what}`);
          }
      });
      expect([...silent]).toEqual([]);
      expect(pressing).toBeGreaterThan(300);
    },
  );
});
