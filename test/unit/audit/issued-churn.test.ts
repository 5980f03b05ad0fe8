import { expect, test, vi } from 'vitest';
import { audit } from '../../../lambdas/audit/audit.ts';
import type { AuditSource } from '../../../lambdas/audit/audit-source.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { machines } from '../../../lambdas/audit/sources/machines.ts';
import { nodes } from '../../../lambdas/audit/sources/nodes.ts';
import { signingRequests } from '../../../lambdas/audit/sources/signing-requests.ts';
import { tlsSource } from '../../../lambdas/audit/sources/tls.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import type { handshakes } from '../../../lambdas/tls/handshakes.ts';
import { readable } from '../../../lambdas/x509/certificate.ts';
import { decodeBundle } from '../../../lambdas/x509/certificate-bundle.ts';
import { seededRandom } from '../../fleet/random.ts';
import { workerMachine } from '../../providers/objects.ts';
import { PROVIDERS } from '../../providers/table.ts';
import { cn, certificate as der, name, P256, pem } from '../x509/certificate-writer.ts';
import { CLUSTERS, CSRS, clusterAnswers, issuedRequest, MACHINES } from './issued-cluster.ts';
import { servingCertificate } from './serving-certificate.ts';
import { type Answers, contextOf, failure, fakeClient } from './sources/fake-cluster.ts';
import { serving } from './sources/fake-management.ts';
import { decodeSnapshot, encodeSnapshot } from './stored-snapshot.ts';

// A month of 200 nodes, of which every certificate is honest but those that the test puts in. All of an audit runs but sockets and signatures.

const START = Date.parse('2026-11-01T00:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DAYS = 30;
const NODES = 200;
/** Each day begins with so many audits, a quarter of an hour apart; the others of a quiet day would see the same. */
const AUDITS_A_DAY = 6;
const EVERY = 15 * MINUTE;
const HOSTILE_DAYS = [4, 8, 12];

const shake = vi.hoisted(() => ({ answers: (host: string): string | undefined => host }));
vi.mock('../../../lambdas/tls/handshakes.ts', () => ({
  handshakes: (async (targets) =>
    targets.map(({ host }) => {
      const shown = shake.answers(host);
      return shown === undefined
        ? { ok: false, failure: { kind: 'timeout', message: 'no answer', remedy: 'Wait.' } }
        : { ok: true, chain: chainOf(shown), keyProven: true };
    })) satisfies typeof handshakes,
}));
// 60,000 signatures take too long here, and all are right.
vi.mock('../../../lambdas/x509/issued-by.ts', async (original) => ({
  ...(await original<object>()),
  leadsTo: () => true,
}));

const chains = new Map<string, ReturnType<typeof decodeBundle>['certificates']>();
function chainOf(text: string): ReturnType<typeof decodeBundle>['certificates'] {
  const chain = chains.get(text) ?? decodeBundle(text).certificates;
  chains.set(text, chain);
  return chain;
}

/** What is so from some time on. */
type Since<T> = readonly (readonly [from: number, value: T])[];
function at<T>(values: Since<T>, time: number): T | undefined {
  return values.findLast(([from]) => from <= time)?.[1];
}

interface Issued {
  readonly pem: string;
  readonly fingerprint: string;
  readonly names: readonly string[];
  readonly addresses: readonly string[];
  readonly machine: SimulatedMachine;
  readonly hostile: boolean;
  readonly at: number;
}

interface SimulatedMachine {
  readonly id: string;
  readonly node: string;
  readonly createdAt: number;
  readonly joinedAt: number;
  /** What Cluster API knows, later than it is so. */
  readonly nodeRefAt: number;
  /** Really, and what its Machine says. */
  addresses: Since<string>;
  status: Since<string>;
  served: Since<Issued>;
  deletingAt: number;
  goneAt: number;
  /** Nothing else happens to it until then. */
  restsUntil: number;
}

interface Outage {
  readonly from: number;
  readonly to: number;
  readonly what: 'machines' | 'nodes' | 'cluster' | 'authorities' | 'requests' | 'handshakes';
}

function issue(
  machine: SimulatedMachine,
  time: number,
  change: Partial<Pick<Issued, 'names' | 'addresses'>> = {},
): Issued {
  const { names = [machine.node], addresses = [at(machine.addresses, time) ?? ''] } = change;
  const certificate = servingCertificate({ node: machine.node, dnsNames: names, addresses, at: time });
  const [read] = readable(chainOf(certificate));
  if (read === undefined) throw new Error('the test wrote no certificate');
  const hostile = Object.keys(change).length > 0;
  return { pem: certificate, fingerprint: read.fingerprint, names, addresses, machine, hostile, at: time };
}

const OF = { provider: PROVIDERS['vSphere, 0.26'], name: 'berlin' } as const;
const iso = (time: number) => `${new Date(time).toISOString().slice(0, 19)}Z`;

function createWorld(seed: number) {
  const random = seededRandom(seed);
  const below = (count: number) => Math.floor(random() * count);
  const minutes = (from: number, to: number) => (from + below(to - from + 1)) * MINUTE;
  const all: SimulatedMachine[] = [];
  const requests: Issued[] = [];
  const outages: Outage[] = [];
  let lastAddress = 0;
  const free: { readonly address: string; readonly from: number }[] = [];
  const freshAddress = () => {
    lastAddress += 1;
    return `10.1.${lastAddress >> 8}.${lastAddress & 0xff}`;
  };

  const ask = (machine: SimulatedMachine, time: number, change?: Parameters<typeof issue>[2]): Issued => {
    const issued = issue(machine, time, change);
    requests.push(issued);
    if (!issued.hostile) machine.served = [...machine.served, [time, issued]];
    return issued;
  };
  const join = (node: string, time: number, address: string, late = true): SimulatedMachine => {
    const joinedAt = time + minutes(2, 4);
    const machine: SimulatedMachine = {
      id: `md-0-${all.length}`,
      node,
      createdAt: time,
      joinedAt,
      nodeRefAt: joinedAt + (late ? minutes(0, 8) : 0),
      addresses: [[time, address]],
      status: [[time + (late ? minutes(1, 10) : 0), address]],
      served: [],
      deletingAt: Infinity,
      goneAt: Infinity,
      restsUntil: time + HOUR,
    };
    all.push(machine);
    ask(machine, joinedAt);
    return machine;
  };
  const live = (time: number) => all.filter(({ joinedAt, deletingAt }) => joinedAt <= time && deletingAt > time);
  const pick = (time: number, not: readonly SimulatedMachine[] = []) => {
    const candidates = live(time).filter((one) => !not.includes(one) && one.restsUntil < time);
    const one = candidates[below(candidates.length)];
    if (one === undefined) throw new Error('no machine is left');
    return one;
  };
  const remove = (machine: SimulatedMachine, time: number) => {
    machine.deletingAt = time;
    machine.goneAt = time + minutes(1, 5);
    const address = at(machine.addresses, time);
    if (address !== undefined) free.push({ address, from: machine.goneAt });
  };
  const move = (machine: SimulatedMachine, time: number, address: string) => {
    machine.restsUntil = time + 15 * MINUTE;
    machine.addresses = [...machine.addresses, [time, address]];
    machine.status = [...machine.status, [time + minutes(0, 10), address]];
    ask(machine, time + minutes(0, 1));
  };

  for (let index = 0; index < NODES; index += 1) {
    const machine = join(`worker-${index}`, START - 40 * DAY + index * MINUTE, freshAddress(), false);
    requests.splice(
      requests.findIndex((one) => one.machine === machine),
      1,
    );
  }

  return {
    all,
    requests,
    outages,
    ask,
    pick,
    remove,
    live,
    /** What happens on one day, in its first hours. */
    churn(day: number, spared: readonly SimulatedMachine[], calm: boolean) {
      const midnight = START + day * DAY;
      const sometime = () => midnight + minutes(0, 70);
      const replace = (time: number, count: number) => {
        const old = pick(time, spared);
        remove(old, time);
        const createdAt = old.goneAt + minutes(0, 5);
        // The next lease is often that of a machine that has just gone.
        const lease = free.findIndex(({ from }) => from <= createdAt);
        const address = lease === -1 || below(2) === 0 ? freshAddress() : (free.splice(lease, 1)[0]?.address ?? '');
        join(below(3) === 0 ? old.node : `worker-${day}-${count}`, createdAt, address);
      };
      const hand = (time: number) => {
        const from = pick(time, spared);
        const to = pick(time, [...spared, from]);
        const handed = at(from.addresses, time) ?? '';
        move(from, time, freshAddress());
        move(to, time + minutes(0, 3), handed);
      };
      const events = [
        ...Array.from({ length: 4 }, () => replace),
        ...Array.from({ length: 2 }, () => hand),
        ...Array.from({ length: 8 }, () => (time: number) => ask(pick(time), time)),
      ].map((happen) => ({ happen, time: sometime() }));
      for (const [count, { happen, time }] of events.toSorted((a, b) => a.time - b.time).entries()) happen(time, count);
      const kinds = ['machines', 'nodes', 'cluster', 'authorities', 'requests', 'handshakes'] as const;
      for (const what of kinds) {
        if (below(4) !== 0 || (calm && what === 'requests')) continue;
        const from = sometime();
        outages.push({ what, from, to: from + minutes(20, 200) });
      }
    },
    isOut: (what: Outage['what'], time: number) =>
      outages.some((outage) => outage.what === what && outage.from <= time && time < outage.to),
  };
}

type World = ReturnType<typeof createWorld>;

/** What the API servers and the kubelets answer at a time. */
function answersOf(world: World, time: number): Answers {
  const present = world.all.filter(({ createdAt, goneAt }) => createdAt <= time && goneAt > time);
  const joined = present.filter(({ joinedAt, deletingAt }) => joinedAt <= time && deletingAt > time);
  const unless = (what: Outage['what'], value: object) => (world.isOut(what, time) ? failure('timeout') : value);
  return {
    ...serving('v1beta2'),
    '/api/v1/nodes': unless(
      'nodes',
      joined.map(({ node, joinedAt, addresses }) => ({
        metadata: { name: node, creationTimestamp: iso(joinedAt) },
        status: { addresses: [{ type: 'InternalIP', address: at(addresses, time) }] },
      })),
    ),
    [MACHINES]: unless(
      'machines',
      present.map((machine) => {
        const made = workerMachine(OF, { name: machine.id, address: '' });
        const address = at(machine.status, time);
        return {
          ...made,
          metadata: {
            ...made.metadata,
            creationTimestamp: iso(machine.createdAt),
            ...(machine.deletingAt <= time ? { deletionTimestamp: iso(machine.deletingAt) } : {}),
          },
          status: {
            ...made.status,
            nodeRef: machine.nodeRefAt <= time ? { name: machine.node } : undefined,
            addresses: address === undefined ? [] : [{ type: 'InternalIP', address }],
          },
        };
      }),
    ),
    [CLUSTERS]: unless('cluster', clusterAnswers({})[CLUSTERS] as object),
    [CSRS]: unless(
      'requests',
      listedRequests(world, time).map(({ pem: certificate, machine: { node }, at: issuedAt }) =>
        issuedRequest({ node, addresses: [], certificate, at: issuedAt }),
      ),
    ),
  };
}

/** The cleaner of requests deletes what was approved an hour ago. */
function listedRequests(world: World, time: number): readonly Issued[] {
  return world.requests.filter((one) => one.at <= time && time < one.at + HOUR);
}

function shownAt(world: World, time: number): ReadonlyMap<string, Issued> {
  const up = world.live(time);
  return new Map(
    up.flatMap((machine) => {
      const served = at(machine.served, time);
      const address = at(machine.addresses, time);
      return served === undefined || address === undefined ? [] : [[address, served] as const];
    }),
  );
}

/** Whether another live machine really has an address that is in a certificate. */
function isAnothers(world: World, { machine, addresses }: Issued, time: number): boolean {
  return world.live(time).some((other) => other !== machine && addresses.includes(at(other.addresses, time) ?? ''));
}

const authority = readable(decodeBundle(pem(der({ subject: name(cn('kubernetes')), key: P256 }))).certificates);

async function auditAt(world: World, time: number, previous: Snapshot | undefined): Promise<Snapshot> {
  const client = fakeClient(answersOf(world, time));
  const { target, signal } = contextOf(client, { reach: { handshakes: true } });
  const shown = shownAt(world, time);
  shake.answers = (host) => (world.isOut('handshakes', time) ? undefined : shown.get(host)?.pem);
  const trust: AuditSource = {
    id: 'trust-configmaps',
    stage: 'first',
    deadlineMs: 10_000,
    off: () => undefined,
    async observe() {
      if (world.isOut('authorities', time)) throw failure('timeout');
      return { observations: [], count: 1, authorities: authority };
    },
  };
  const { snapshot } = await audit(
    { ...target, management: client },
    {
      previous,
      thresholds: DEFAULT_THRESHOLDS,
      clock: () => time,
      signal,
      sources: [nodes, machines, trust, signingRequests, tlsSource],
    },
  );
  return snapshot;
}

const issuedOf = ({ findings }: Snapshot): readonly ExpiryFinding[] =>
  findings.filter(({ code }) => code === 'IssuedNamesAnother' || code === 'IssuedUnproven');
const isOf = ({ object }: ExpiryFinding, { fingerprint }: Issued) => object.endsWith(` ${fingerprint.slice(0, 8)}`);

test.each([1])(
  'a month of churn: nothing is called another’s that is not, and nothing hostile is missed (seed %i)',
  async (seed) => {
    const world = createWorld(seed);
    const hostile: { readonly issued: Issued; readonly isAddress: boolean; audits: number }[] = [];
    const spared: SimulatedMachine[] = [];
    let previous: Snapshot | undefined;
    const doubted = new Set<string>();
    const wrong: string[] = [];

    for (let day = 0; day < DAYS; day += 1) {
      const midnight = START + day * DAY;
      if (HOSTILE_DAYS.includes(day)) {
        const machine = world.pick(midnight, spared);
        const victim = world.pick(midnight, [...spared, machine]);
        spared.push(machine, victim);
        const own = at(machine.addresses, midnight) ?? '';
        const theirs = at(victim.addresses, midnight) ?? '';
        const change = {
          4: { names: [machine.node, victim.node] },
          8: { addresses: [own, theirs] },
          12: { names: ['localhost', victim.node], addresses: [] },
        }[day];
        const issued = world.ask(machine, midnight + 10 * MINUTE, change);
        hostile.push({ issued, isAddress: day === 8, audits: 0 });
        // It asks for an honest one at once, so that the other is not its newest.
        world.ask(machine, midnight + 11 * MINUTE);
      }
      // A request that no audit could read leaves no trace.
      world.churn(day, spared, HOSTILE_DAYS.includes(day));
      for (let turn = 0; turn < AUDITS_A_DAY; turn += 1) {
        const time = midnight + turn * EVERY + 7 * MINUTE;
        // oxlint-disable-next-line no-await-in-loop -- each audit knows the one before
        const snapshot = await auditAt(world, time, previous);
        const critical = issuedOf(snapshot).filter(({ severity }) => severity === 'critical');
        for (const { object } of issuedOf(snapshot)) doubted.add(object);
        for (const finding of critical) {
          const issued = world.requests.find((one) => isOf(finding, one));
          if (issued?.hostile === true) continue;
          if (issued === undefined || !isAnothers(world, issued, time))
            wrong.push(`${iso(time)} ${JSON.stringify(finding)}`);
        }
        const isBlind = world.isOut('machines', time) || world.isOut('cluster', time);
        for (const one of hostile) {
          const isListed = listedRequests(world, time).includes(one.issued);
          if (isListed && !isBlind) one.audits += 1;
          const isDue = one.audits > Number(one.isAddress);
          const isTold = critical.some((finding) => isOf(finding, one.issued));
          if (isListed && isDue && !isTold) wrong.push(`${iso(time)} ${one.issued.machine.node} is missed`);
          if (!isListed && isTold && !world.isOut('requests', time))
            wrong.push(`${iso(time)} ${one.issued.machine.node} is over`);
        }
        // As it is stored.
        previous = turn === 0 ? await decodeSnapshot(await encodeSnapshot(snapshot)) : snapshot;
      }
    }
    expect(wrong).toEqual([]);
    expect(hostile.map(({ audits, isAddress }) => audits > Number(isAddress))).toEqual([true, true, true]);
    expect(world.requests.length).toBeGreaterThan(400);
    // Evidence is late, and addresses are handed on while an older certificate is still listed.
    expect(doubted.size).toBeGreaterThan(hostile.length);
    expect(doubted.size).toBeLessThan(80);
  },
);
