import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../../lambdas/approval/decide-approval.ts';
import { indexEvidence, isLive } from '../../../lambdas/approval/evidence/evidence.ts';
import type { RenewalProof } from '../../../lambdas/approval/evidence/renewal.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { Verdict } from '../../../lambdas/approval/verdict.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import type { EvidenceSource } from '../../../lambdas/tables/evidence-sources.ts';
import { runs } from '../../runs.ts';
import {
  BERLIN,
  csrObject,
  dns,
  evidenceFor,
  ips,
  machine,
  NOW,
  nodeObject,
  type Sources,
  signingRequest,
} from './fixtures.ts';

const RUNS = runs(300);
const OPTIONS = { seed: 20_261_122, numRuns: RUNS };
const cluster = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'] };

/** Whoever asks has the first name, and owns that node: what it says and serves is the attacker's. */
const ME = 'ip-10-0-0-1.eu-west-1.compute.internal';
const OTHER = 'ip-10-0-0-2.eu-west-1.compute.internal';
const DNS_NAMES = [ME, OTHER, 'me.corp.example.com', 'ip-10-0-0-9.eu-west-1.compute.internal'];
const ADDRESSES = ['10.0.0.1', '10.0.0.2', '10.0.0.9', 'fd00::1'];

interface Names {
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
}
interface MachineOf extends Names {
  readonly of: 'me' | 'other' | 'nobody';
  readonly life: 'live' | 'deleting' | 'phase';
}
interface InstanceOf {
  readonly of: 'me' | 'other' | 'nobody';
  readonly state: string;
  readonly address: string;
  readonly secondary: readonly string[];
}
interface World {
  readonly asked: Names;
  readonly mine: Names;
  readonly others: Names | undefined;
  readonly machines: readonly MachineOf[] | undefined;
  readonly instances: readonly InstanceOf[] | undefined;
  readonly shown: Names | undefined;
  readonly shownByOther: Names | undefined;
  readonly evidence: readonly EvidenceSource[];
  readonly onHostile: 'leave' | 'deny';
  readonly unreadable: NonNullable<Sources['unreadable']>;
}

const few = (names: readonly string[]) =>
  fc.oneof(fc.constant([]), fc.constant(names.slice(0, 1)), fc.subarray([...names]));
const someNames: fc.Arbitrary<Names> = fc.record({ dnsNames: few(DNS_NAMES), addresses: few(ADDRESSES) });
const everything: Names = { dnsNames: DNS_NAMES, addresses: ADDRESSES };
/** Of the asking node first: most things are as they should be, so that some are approved. */
const whose = fc.constantFrom('me', 'me', 'other', 'nobody');
const somebody: fc.Arbitrary<MachineOf> = fc
  .tuple(someNames, whose, fc.constantFrom('live', 'live', 'live', 'deleting', 'phase'))
  .map(([names, of, life]) => ({ ...names, of, life }));
const anInstance: fc.Arbitrary<InstanceOf> = fc.record({
  of: whose,
  state: fc.constantFrom('running', 'running', 'running', 'pending', 'shutting-down', 'stopped'),
  address: fc.constantFrom(...ADDRESSES.slice(0, 3)),
  secondary: few(ADDRESSES),
});

const worlds: fc.Arbitrary<World> = fc
  .record({
    mine: someNames,
    other: fc.option(someNames, { nil: undefined, freq: 2 }),
    another: fc.option(someNames, { nil: undefined, freq: 1 }),
    machines: fc.option(fc.array(somebody, { maxLength: 3 }), { nil: undefined }),
    instances: fc.option(fc.array(anInstance, { maxLength: 3 }), { nil: undefined, freq: 1 }),
    shown: fc.oneof(fc.constant(everything), fc.constant(everything), someNames, fc.constant(undefined)),
    shownByOther: fc.option(someNames, { nil: undefined, freq: 1 }),
    evidence: fc.subarray<EvidenceSource>(['machine', 'ec2', 'node', 'patterns'], { minLength: 0 }),
    onHostile: fc.constantFrom('leave', 'deny'),
    unreadable: fc.oneof(
      { weight: 6, arbitrary: fc.constant([]) },
      {
        weight: 1,
        arbitrary: fc.subarray<NonNullable<Sources['unreadable']>[number]>(['machine', 'ec2', 'node', 'renewal']),
      },
    ),
  })
  .map(({ mine, other, another, ...rest }) => ({ ...rest, mine, others: other, asked: another ?? mine }))
  .filter(({ asked }) => asked.dnsNames.length + asked.addresses.length > 0);

const NAME_OF = { me: ME, other: OTHER, nobody: undefined } as const;

function machineObject({ of, life, dnsNames, addresses }: MachineOf, index: number): unknown {
  const { metadata, status, ...rest } = machine(
    NAME_OF[of] ?? '',
    { InternalDNS: dnsNames, InternalIP: addresses },
    `m-${index}`,
  );
  return {
    ...rest,
    metadata: { ...metadata, ...(life === 'deleting' ? { deletionTimestamp: '2026-03-02T11:00:00Z' } : {}) },
    status: {
      ...status,
      ...(life === 'phase' ? { phase: 'Deleting' } : {}),
      ...(of === 'nobody' ? { nodeRef: undefined } : {}),
    },
  };
}

function instanceObject({ of, state, address, secondary }: InstanceOf, index: number): unknown {
  return {
    InstanceId: `i-0${index}`,
    State: { Name: state },
    PrivateDnsName: of === 'nobody' ? undefined : NAME_OF[of],
    PrivateIpAddress: address,
    Tags: [{ Key: 'eks:cluster-name', Value: cluster.name }],
    NetworkInterfaces: [
      {
        Attachment: { DeviceIndex: 0 },
        PrivateIpAddresses: [
          { Primary: true, PrivateIpAddress: address },
          ...secondary.map((PrivateIpAddress) => ({ Primary: false, PrivateIpAddress })),
        ],
      },
    ],
  };
}

const certificate = (node: string, { dnsNames, addresses }: Names): RenewalProof => ({
  ok: true,
  owner: { source: 'renewal', object: `certificate of ${node}`, nodes: [node], dnsNames, addresses },
});

function sourcesOf(world: World): Sources {
  const { mine, others, machines, instances, shown, shownByOther, unreadable } = world;
  const node = (name: string, { dnsNames, addresses }: Names) =>
    nodeObject(name, { InternalDNS: dnsNames, InternalIP: addresses });
  return {
    machines: machines?.map(machineObject),
    instances: instances?.map(instanceObject),
    nodes: [
      ...(shown === undefined ? [] : [node(ME, shown)]),
      ...(shownByOther === undefined ? [] : [node(OTHER, shownByOther)]),
    ],
    served: new Map([
      [ME, certificate(ME, mine)],
      ...(others === undefined ? [] : [[OTHER, certificate(OTHER, others)] as const]),
    ]),
    unreadable,
  };
}

/** Keys take time, and the same requests come again and again. */
const requests = new Map<string, SigningRequest>();
function requestFor({ dnsNames, addresses }: Names): SigningRequest {
  const key = [...dnsNames, ...addresses].join();
  const made =
    requests.get(key) ??
    signingRequest(csrObject({ node: ME, request: { sans: [...dns(...dnsNames), ...ips(...addresses)] } }));
  requests.set(key, made);
  return made;
}

function judge(world: World, evidence: readonly EvidenceSource[], readings = readingsOf(world)): Verdict {
  const policy: ApprovalPolicy = {
    ...DEFAULT_POLICY,
    evidence,
    onHostile: world.onHostile,
    patterns: { cidrs: ['10.0.0.0/30'], dnsNames: ['{node}'] },
  };
  const request = { cluster, csr: requestFor(world.asked), siblings: { pending: 1 } };
  const verdict = decideApproval(request, indexEvidence(readings), [policy], NOW);
  if (verdict.reason === 'JudgeFailed') throw new Error(verdict.message);
  return verdict;
}

const readingsOf = (world: World) => evidenceFor(cluster, sourcesOf(world)).readings;
const has = ({ dnsNames, addresses }: Names, name: string) => dnsNames.includes(name) || addresses.includes(name);

/** Everything that speaks against a certificate of the asking node for a name, read from the world in the plainest way. */
function objections(name: string, world: World): string[] {
  const said: string[] = [];
  const readable = (source: (typeof world.unreadable)[number]) => !world.unreadable.includes(source);
  const machines = readable('machine') ? (world.machines ?? []) : [];
  const instances = readable('ec2') ? (world.instances ?? []) : [];
  const isAddress = ADDRESSES.includes(name);

  if (!world.asked.dnsNames.every((asked) => world.mine.dnsNames.includes(asked))) said.push('another request');
  if (!world.asked.addresses.every((asked) => world.mine.addresses.includes(asked))) said.push('another request');
  if (world.asked.dnsNames.length !== world.mine.dnsNames.length) said.push('another request');
  if (world.asked.addresses.length !== world.mine.addresses.length) said.push('another request');
  if (!readable('renewal')) said.push('no certificate');
  if (world.shown === undefined || !readable('node') || !has(world.shown, name)) said.push('the Node does not show it');

  const myMachines = machines.filter(({ of }) => of === 'me');
  if (myMachines.filter(({ life }) => life === 'live').length > 1) said.push('several Machines');
  if (myMachines.some(({ life }) => life !== 'live')) said.push('Machine is being deleted');
  for (const one of myMachines) {
    if (isAddress && one.addresses.length > 0 && !has(one, name)) said.push('Machine has other addresses');
    if (!isAddress && name !== ME && one.dnsNames.length > 0 && !has(one, name)) said.push('Machine has other names');
    if (!isAddress && name !== ME && name.startsWith('ip-') && !has(one, name)) said.push('the address is not there');
  }
  const myInstances = instances.filter(({ of }) => of === 'me');
  if (myInstances.filter(({ state }) => state === 'running').length > 1) said.push('several instances');
  if (myInstances.some(({ state }) => state !== 'running')) said.push('instance does not run');
  for (const one of myInstances) {
    if (isAddress && one.address !== name) said.push('instance has another address');
    if (!isAddress && name !== ME) said.push('instance has other names');
  }
  if (machines.some((one) => one.of !== 'me' && has(one, name))) said.push('a Machine of another');
  if (machines.some(({ of }) => of === 'other') && name === OTHER) said.push('the name of another');
  if (instances.some(({ of, address }) => of !== 'me' && address === name)) said.push('an instance of another');
  if (instances.some(({ of }) => of === 'other') && name === OTHER) said.push('the name of another');
  if (world.shownByOther !== undefined && readable('node') && has(world.shownByOther, name)) said.push('another Node');
  if (world.shownByOther !== undefined && readable('node') && name === OTHER) said.push('the name of another Node');
  if (world.others !== undefined && (has(world.others, name) || name === OTHER)) said.push('another certificate');
  return said;
}

/** Whether the policy trusts Machines or instances that were read, and these know nodes, but not the one that asks. */
function isStranger(world: World, evidence: readonly EvidenceSource[]): boolean {
  const live = (of: (who: string) => boolean) => [
    ...(world.machines ?? []).filter((one) => one.life === 'live' && of(one.of)).map(() => 'machine' as const),
    ...(world.instances ?? []).filter((one) => one.state === 'running' && of(one.of)).map(() => 'ec2' as const),
  ];
  const read = (source: 'machine' | 'ec2') => !world.unreadable.includes(source);
  const known = live((who) => who === 'me').some(read);
  return !known && live((who) => who !== 'nobody').some((source) => read(source) && evidence.includes(source));
}

describe('a policy that does not trust renewals', () => {
  it('decides as if no certificate was looked at; a Machine or instance that is not live proves nothing, and finds no malice', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const all = readingsOf(world);
        const uncertified = all.filter(({ source }) => source !== 'renewal');
        const verdict = judge(world, world.evidence, all);
        expect(verdict).toEqual(judge(world, world.evidence, uncertified));
        const live = uncertified.map((reading) =>
          reading.ok ? { ...reading, owners: reading.owners.filter(isLive) } : reading,
        );
        const without = judge(world, world.evidence, live);
        expect(verdict.verdict === 'approve' && without.verdict !== 'approve').toBe(false);
        expect(verdict.hostile && !without.hostile).toBe(false);
      }),
      OPTIONS,
    );
  });
});

/** What trusting renewals too must not have done. */
function wrongs(before: Verdict, after: Verdict, world: World): readonly unknown[] {
  // Only the sentence of the rule names one source more.
  const told = ({ verdict, reason, message, names }: Verdict) => JSON.stringify([verdict, reason, message, names]);
  if (before.verdict === 'approve') return told(before) === told(after) ? [] : ['another approval', after];
  const renewed = after.names.filter(({ provenBy }) => provenBy?.source === 'renewal');
  const found: unknown[] = renewed.flatMap(({ name }) => objections(name, world).map((said) => [name, said]));
  if (renewed.length > 0 && isStranger(world, world.evidence)) found.push('the node of no Machine');
  if (after.verdict === 'approve') return renewed.length > 0 ? found : [...found, 'approved by nothing'];
  // It finds no malice, and takes it from a request only where it proves a name, or was not read and might have proven it.
  const explains = renewed.length > 0 || world.unreadable.includes('renewal');
  if (after.verdict !== before.verdict && !(before.verdict === 'deny' && after.verdict === 'leave' && explains))
    found.push([before.verdict, after.verdict]);
  return found;
}

describe('a policy that trusts renewals too', () => {
  it('approves what it approved before, and further only what nobody objects to', () => {
    const seen = { before: 0, renewed: 0, neither: 0 };
    fc.assert(
      fc.property(worlds, (world) => {
        const before = judge(world, world.evidence);
        const after = judge(world, [...world.evidence, 'renewal']);
        expect(wrongs(before, after, world)).toEqual([]);
        seen[before.verdict === 'approve' ? 'before' : after.verdict === 'approve' ? 'renewed' : 'neither'] += 1;
      }),
      OPTIONS,
    );
    // It is worth something only if all of this happens.
    expect(Object.entries(seen).filter(([, count]) => count < RUNS / 100)).toEqual([]);
  });

  it('approves whatever nobody objects to', () => {
    let approved = 0;
    fc.assert(
      fc.property(worlds, (world) => {
        const evidence = ['machine', 'ec2', 'renewal'] as const;
        const quiet = world.unreadable.length === 0 && !isStranger(world, evidence);
        const names = [...world.asked.dnsNames, ...world.asked.addresses];
        if (!quiet || names.some((name) => objections(name, world).length > 0)) return;
        expect(judge(world, evidence).verdict).toBe('approve');
        approved += 1;
      }),
      OPTIONS,
    );
    expect(approved).toBeGreaterThan(RUNS / 100);
  });

  it('and nothing else approves no more than one that trusts Nodes', () => {
    let approved = 0;
    fc.assert(
      fc.property(worlds, (world) => {
        if (judge(world, ['renewal']).verdict !== 'approve') return;
        approved += 1;
        expect(judge(world, ['node']).verdict).toBe('approve');
      }),
      OPTIONS,
    );
    expect(approved).toBeGreaterThan(RUNS / 100);
  });
});
