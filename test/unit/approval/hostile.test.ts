import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../../lambdas/approval/decide-approval.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { reservedDnsName } from '../../../lambdas/approval/rules/reserved-names.ts';
import { canonicalDnsName } from '../../../lambdas/names.ts';
import { verdictSentence } from '../../../lambdas/words/verdict-words.ts';
import { runs } from '../../runs.ts';
import { BERLIN, csrObject, dns, evidenceFor, ips, machine, NOW, signingRequest } from './fixtures.ts';
import { type Names, startFleet } from './kubelets.ts';

const NODES = ['w-1', 'w-2', 'w-3', 'w-4'] as const;
type Fleet = ReturnType<typeof startFleet>;

const addressOf = (index: number): string => `10.0.${index >> 8}.${index & 255}`;
const own = (node: string, ...addresses: string[]): Names => ({ dnsNames: [node], addresses });

/** Hostile verdicts of a tick: who asked, and what is said. */
const hostileIn = (fleet: Fleet): string[] =>
  fleet
    .tick()
    .flatMap(({ csr, verdict }) =>
      verdict.hostile ? [`${fleet.minute()} ${csr.username} ${verdictSentence(verdict.facts)}`] : [],
    );

function after(fleet: Fleet, minutes: number): string[] {
  return Array.from({ length: minutes }, () => hostileIn(fleet)).flat();
}

/** Every node has an address of its own, a certificate, and a Machine that shows both. */
function settled(late: (node: string) => number = () => 1): Fleet {
  const fleet = startFleet(NODES, late);
  for (const [index, node] of NODES.entries()) fleet.set(node, own(node, addressOf(index)));
  return fleet;
}

/** What guests are called: anything that fits in a certificate, but nothing that belongs to somebody. */
const hostname = fc
  .oneof(
    fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 64 }),
    fc.domain(),
    fc.constantFrom('localhost', 'localhost.localdomain', '1042', '10', 'w1.rack.7', '10.9.9.9', 'node_1', 'a b.c'),
    fc.constantFrom(
      'kubernetes.lab.example.com',
      'w1.svc.corp.example',
      'dhcp-172-16-3-31',
      'w-1.corp',
      'x.cluster.local',
    ),
    fc.constantFrom('ip-10-0-0-2.ec2.internal', 'ubuntu-2204-kube-v1.33', 'a'.repeat(200)),
  )
  .filter((name) => {
    const canonical = canonicalDnsName(name);
    const isTheirs =
      NODES.some((node) => node === canonical) || reservedDnsName(canonical, BERLIN, true)?.hostile === true;
    // No tool that sets the name of a host takes an asterisk.
    return !isTheirs && !name.includes('*');
  });

describe('an honest kubelet', () => {
  it('is never called hostile, whatever it is called and wherever its addresses move', () => {
    const move = fc.record({
      wait: fc.integer({ min: 1, max: 40 }),
      from: fc.constantFrom(...NODES),
      to: fc.constantFrom(...NODES),
      swaps: fc.boolean(),
    });
    const history = fc.record({
      hostnames: fc.array(fc.option(hostname, { nil: undefined }), { minLength: 4, maxLength: 4 }),
      late: fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 9 }),
      moves: fc.array(move, { minLength: 1, maxLength: 12, size: 'max' }),
    });
    fc.assert(
      fc.property(history, ({ hostnames, late, moves }) => {
        let reads = 0;
        const fleet = startFleet(NODES, () => late[reads++ % late.length] ?? 1);
        const called = (node: (typeof NODES)[number]): string[] => {
          const other = hostnames[NODES.indexOf(node)];
          return other === undefined ? [node] : [other];
        };
        const left = new Map<string, number>();
        let fresh = NODES.length;
        for (const [index, node] of NODES.entries())
          fleet.set(node, { dnsNames: called(node), addresses: [addressOf(index)] });
        const hostile: string[] = [];
        for (const { wait, from, to, swaps } of moves) {
          hostile.push(...after(fleet, wait));
          const [address = ''] = fleet.namesOf(from).addresses;
          const [old = ''] = fleet.namesOf(to).addresses;
          const mayReturn = (node: string, moved: string) =>
            fleet.minute() - (left.get(`${node} ${moved}`) ?? -1_000) > 60;
          // An address that comes back to a node within the hour looks like one that a thief drops for a moment.
          if (from === to || !mayReturn(to, address) || (swaps && !mayReturn(from, old))) continue;
          left.set(`${from} ${address}`, fleet.minute()).set(`${to} ${old}`, fleet.minute());
          fleet.set(to, { dnsNames: called(to), addresses: [address] });
          fleet.set(from, { dnsNames: called(from), addresses: [swaps ? old : addressOf(fresh++)] });
        }
        hostile.push(...after(fleet, 70));
        expect(hostile).toEqual([]);
      }),
      { seed: 14, numRuns: runs(15) },
    );
  });
});

describe('a node with a number as its name', () => {
  const numbered = ['1042', '10', '10.0', 'rack.7', '10.0.0.2', '010.0.0.2', '167772162', '999.9.9.9'];
  const machines = numbered.map((node, index) => machine(node, { InternalIP: [`10.0.0.${index + 1}`] }, `m-${index}`));

  it('gets its own name and addresses, and nothing that is or reads as the address of another', () => {
    const evidence = evidenceFor(BERLIN, { machines });
    const asked = fc.record({
      node: fc.constantFrom(...numbered),
      dnsNames: fc.uniqueArray(fc.constantFrom(...numbered), { maxLength: 2 }),
      addresses: fc.uniqueArray(fc.integer({ min: 1, max: numbered.length }), { maxLength: 2 }),
    });
    fc.assert(
      fc.property(asked, ({ node, dnsNames, addresses: hosts }) => {
        fc.pre(dnsNames.length + hosts.length > 0);
        const sans = [...dns(...dnsNames), ...ips(...hosts.map((last) => `10.0.0.${last}`))];
        const csr = signingRequest(csrObject({ node, request: { sans } }));
        const { verdict, reason } = decideApproval(
          { cluster: BERLIN, csr, siblings: { pending: 1 } },
          evidence,
          [DEFAULT_POLICY],
          NOW,
        );
        const isOwn = dnsNames.every((name) => name === node) && hosts.every((last) => numbered[last - 1] === node);
        const readsAsAddress = dnsNames.some((name) => name.split('.').length === 4);
        expect(`${verdict} ${reason}`).toMatch(isOwn && !readsAsAddress ? /^approve Proven$/ : /^leave San/);
      }),
      { seed: 16, numRuns: runs(200) },
    );
  });
});

describe('a theft that stands', () => {
  const [thief, victim] = NODES;
  const stolen = addressOf(1);
  const claim = own(thief, addressOf(0), stolen);
  const harmless = own(thief, addressOf(0));

  it('is hostile 20 minutes after it was planted, also of one CSR that nobody outdates', () => {
    const fleet = settled();
    expect(after(fleet, 5)).toEqual([]);
    fleet.ask(thief, claim);
    expect(after(fleet, 19)).toEqual([]);
    expect(hostileIn(fleet)).toEqual([`25 system:node:w-1 IP ${stolen} belongs to w-2 (Machine eksa-system/md-0-w-2)`]);
  });

  it('is hostile then too if a harmless CSR follows each hostile one, which is approved until then', () => {
    const fleet = settled();
    expect(after(fleet, 5)).toEqual([]);
    const minutes: number[] = [];
    for (let minute = 0; minute <= 20; minute += 1) {
      if (minute % 10 === 0) for (const names of [claim, harmless]) fleet.ask(thief, names);
      if (hostileIn(fleet).length > 0) minutes.push(minute);
    }
    expect(minutes).toEqual([20]);
  });

  // An honest address can leave a node and come back too, so one that hides counts from its first to its last claim.
  it('is hostile at the latest when it asks for the first time after 20 minutes, whatever it hides behind', () => {
    const planted = fc.record({
      late: fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 5 }),
      every: fc.integer({ min: 1, max: 15 }),
      hides: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
      more: fc.array(fc.integer({ min: 100, max: 200 }), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(planted, ({ late, every, hides, more }) => {
        let reads = 0;
        const fleet = settled(() => late[reads++ % late.length] ?? 1);
        expect(after(fleet, 5)).toEqual([]);
        const found: string[] = [];
        const isHidden = hides.includes(true);
        for (let minute = 0; minute <= (isHidden ? 20 + every : 20); minute += 1) {
          if (minute % every === 0) {
            fleet.ask(thief, own(thief, stolen, ...more.map(addressOf)));
            if (hides[(minute / every) % hides.length] === true) fleet.ask(thief, harmless);
          }
          found.push(...hostileIn(fleet));
        }
        expect(found.filter((one) => one.includes(`${thief} IP ${stolen} belongs to ${victim}`))).not.toEqual([]);
        expect(found.filter((one) => !one.includes(thief))).toEqual([]);
      }),
      { seed: 15, numRuns: runs(40) },
    );
  });
});

describe('an address that moved', () => {
  const [from, to, third] = NODES;
  const address = addressOf(0);
  const lateAfter = (minutes: number) => {
    let isSettled = false;
    const fleet = settled(() => (isSettled ? minutes : 1));
    expect(after(fleet, 5)).toEqual([]);
    isSettled = true;
    return fleet;
  };

  it('is neither hostile nor approved while sources are late, and approved then', () => {
    const fleet = lateAfter(15);
    fleet.tick();
    fleet.set(from, own(from, addressOf(9)));
    fleet.set(to, own(to, address));
    expect(fleet.tick().map(({ csr, verdict: { verdict, reason } }) => [csr.username, verdict, reason])).toEqual([
      [`system:node:${from}`, 'leave', 'SanNotOwned'],
      [`system:node:${to}`, 'leave', 'SanNotOwned'],
    ]);
    expect(after(fleet, 20)).toEqual([]);
    expect([fleet.isServed(from), fleet.isServed(to)]).toEqual([true, true]);
  });

  it('is not hostile for an issued CSR of the node that had it', () => {
    const fleet = settled();
    expect(after(fleet, 5)).toEqual([]);
    fleet.set(from, own(from, addressOf(9)));
    fleet.set(to, own(to, address));
    expect(after(fleet, 90)).toEqual([]);
  });

  it('is not hostile for a pending CSR that the next one outdates after five minutes', () => {
    const fleet = lateAfter(15);
    fleet.set(from, own(from, addressOf(9)));
    fleet.set(to, own(to, address));
    expect(after(fleet, 5)).toEqual([]);
    fleet.set(to, own(to, addressOf(10)));
    fleet.set(third, own(third, address));
    // Kubernetes keeps the CSR for a day, and the one that outdates it for an hour.
    expect(after(fleet, 25 * 60)).toEqual([]);
  });
});
