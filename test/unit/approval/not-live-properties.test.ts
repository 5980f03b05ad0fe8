import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { decideApproval } from '../../../lambdas/approval/decide-approval.ts';
import { indexEvidence, isLive, type SourceReading } from '../../../lambdas/approval/evidence/evidence.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { Verdict } from '../../../lambdas/approval/verdict.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import type { EvidenceSource } from '../../../lambdas/tables/evidence-sources.ts';
import { verdictSentence } from '../../../lambdas/words/verdict-words.ts';
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

const cluster = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'] };

/** The first node asks, and is the attacker's: so is what it says. */
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
    asked: someNames,
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
        arbitrary: fc.subarray<NonNullable<Sources['unreadable']>[number]>(['machine', 'ec2', 'node']),
      },
    ),
  })
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

function sourcesOf(world: World): Sources {
  const { machines, instances, shown, shownByOther, unreadable } = world;
  const node = (name: string, { dnsNames, addresses }: Names) =>
    nodeObject(name, { InternalDNS: dnsNames, InternalIP: addresses });
  return {
    machines: machines?.map(machineObject),
    instances: instances?.map(instanceObject),
    nodes: [
      ...(shown === undefined ? [] : [node(ME, shown)]),
      ...(shownByOther === undefined ? [] : [node(OTHER, shownByOther)]),
    ],
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

function judge(world: World, readings: readonly SourceReading[]): Verdict {
  const policy: ApprovalPolicy = {
    ...DEFAULT_POLICY,
    evidence: world.evidence,
    onHostile: world.onHostile,
    patterns: { cidrs: ['10.0.0.0/30'], dnsNames: ['{node}'] },
  };
  const request = { cluster, csr: requestFor(world.asked), siblings: { pending: 1 } };
  const verdict = decideApproval(request, indexEvidence(readings), [policy], NOW);
  if (verdict.reason === 'JudgeFailed') throw new Error(verdictSentence(verdict.facts));
  return verdict;
}

it('a Machine or instance that is not live proves nothing, and finds no malice', () => {
  fc.assert(
    fc.property(worlds, (world) => {
      const { readings } = evidenceFor(cluster, sourcesOf(world));
      const verdict = judge(world, readings);
      const live = readings.map((reading) =>
        reading.ok ? { ...reading, owners: reading.owners.filter(isLive) } : reading,
      );
      const without = judge(world, live);
      expect(verdict.verdict === 'approve' && without.verdict !== 'approve').toBe(false);
      expect(verdict.hostile && !without.hostile).toBe(false);
    }),
    { seed: 20_261_122, numRuns: runs(300) },
  );
});
