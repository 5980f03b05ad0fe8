import { describe, expect, it } from 'vitest';
import { verdictSentence } from '../../../lambdas/words/verdict-words.ts';
import { seededRandom } from '../../fleet/random.ts';
import { runs } from '../../runs.ts';
import { type Names, startFleet } from './kubelets.ts';

const HOUR = 60;
const DAY = 24 * HOUR;
const LEASED = Array.from({ length: 120 }, (_, index) => `vsphere-${index}`);
const RESERVED = Array.from({ length: 80 }, (_, index) => `metal-${index}`);

/**
 * A month of 200 nodes of two sites. On vSphere leases end, so that addresses change and pass to others; the site loses
 * its power; virtual addresses go from node to node; guests have a wrong name for a day; all renew in place. Machines
 * show it up to 15 minutes late. Once the approver is away for 30 hours.
 */
function month(seed: number) {
  const random = seededRandom(seed);
  const upTo = (limit: number): number => Math.floor(random() * limit);
  const some = (nodes: readonly string[]): string => nodes[upTo(nodes.length)] ?? '';
  const fleet = startFleet([...LEASED, ...RESERVED], () => 1 + upTo(15));

  let next = 0;
  const fresh = (): string => `10.${1 + (next >> 16)}.${(next >> 8) & 255}.${next++ & 255}`;
  const leases = new Map([...LEASED, ...RESERVED].map((node) => [node, fresh()]));
  const virtual = new Map<string, string>();
  const guests = new Map<string, string>();
  const pool: string[] = [];
  const apply = (node: string): void => {
    const own: Names = {
      dnsNames: [guests.get(node) ?? node],
      addresses: [leases.get(node) ?? '', ...[...virtual].flatMap(([address, at]) => (at === node ? [address] : []))],
    };
    fleet.set(node, own);
  };
  for (const address of ['10.250.0.1', '10.250.0.2', '10.250.0.3']) virtual.set(address, some(RESERVED));
  for (const node of leases.keys()) apply(node);

  /** An address goes to who asks next, as a small pool of DHCP makes it. */
  const lease = (node: string): void => {
    const old = leases.get(node) ?? '';
    leases.set(node, pool.shift() ?? fresh());
    pool.push(old);
    apply(node);
  };
  const float = (): void => {
    const [address, from] = [...virtual][upTo(virtual.size)] ?? ['', ''];
    const to = some(RESERVED.filter((node) => node !== from));
    virtual.set(address, to);
    for (const node of [from, to]) apply(node);
  };
  const outage = (isOn: boolean): void => {
    for (const node of LEASED) fleet.power(node, isOn);
    if (!isOn) return;
    const dealt = LEASED.filter(() => upTo(3) === 0);
    const addresses = dealt.map((node) => leases.get(node) ?? '');
    for (const [index, node] of dealt.entries()) {
      leases.set(node, addresses[(index + 1) % addresses.length] ?? '');
      apply(node);
    }
  };
  const misname = (node: string, hostname: string | undefined): void => {
    if (hostname === undefined) guests.delete(node);
    else guests.set(node, hostname);
    apply(node);
  };

  const due = new Map<number, (() => void)[]>();
  const at = (minute: number, work: () => void): void => void due.set(minute, [...(due.get(minute) ?? []), work]);
  const AWAY = [12 * DAY, 13 * DAY + 6 * HOUR] as const;
  for (let count = 0; count < 250; count += 1) at(upTo(30 * DAY), () => lease(some(LEASED)));
  for (let count = 0; count < 60; count += 1) at(count * 12 * HOUR + upTo(11 * HOUR), float);
  for (const node of leases.keys())
    for (const days of [0, 10, 20]) at(days * DAY + upTo(10 * DAY), () => fleet.renew(node));
  for (const day of [5, 16, 25]) {
    const begin = day * DAY + upTo(DAY);
    at(begin, () => outage(false));
    at(begin + 5 + upTo(4 * HOUR), () => outage(true));
  }
  for (const node of LEASED.slice(0, 3)) {
    at(8 * DAY, () => misname(node, 'localhost.localdomain'));
    at(8 * DAY + 6 * HOUR, () => lease(node));
    at(8 * DAY + 10 * HOUR, () => misname(node, undefined));
  }

  const hostile: string[] = [];
  const verdicts = new Map<string, number>();
  for (let minute = 0; minute < 30 * DAY; minute += 1) {
    for (const work of due.get(minute) ?? []) work();
    for (const { csr, verdict } of fleet.tick(minute < AWAY[0] || minute >= AWAY[1])) {
      verdicts.set(verdict.reason, (verdicts.get(verdict.reason) ?? 0) + 1);
      if (verdict.hostile) hostile.push(`${minute} ${csr.username} ${verdictSentence(verdict.facts)}`);
    }
  }
  return { hostile, verdicts, unserved: [...leases.keys()].filter((node) => !fleet.isServed(node)) };
}

describe('an honest month', () => {
  it.each(Array.from({ length: runs(1) }, (_, index) => index + 1))('has no hostile verdict (seed %i)', (seed) => {
    const { hostile, verdicts, unserved } = month(seed);
    expect(hostile).toEqual([]);
    expect(unserved.length).toBeLessThan(5);
    // It is worth something only if much was approved, and much was late.
    expect(verdicts.get('Proven')).toBeGreaterThan(1_000);
    expect(verdicts.get('SanNotOwned')).toBeGreaterThan(300);
  });
});
