import { sign } from 'node:crypto';
import * as fc from 'fast-check';
import { type ApprovalPolicy, DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import type { ClusterContext } from '../../../lambdas/approval/request.ts';
import { bitString, sequence } from '../x509/der-writer.ts';
import {
  extension,
  type KeyKind,
  keyPair,
  makeRequest,
  OID,
  type RequestOptions,
  type San,
  toPem,
} from '../x509/request-factory.ts';
import { SEMANTIC_CHANGES } from '../x509/semantic-changes.ts';
import {
  BERLIN,
  CLIENT_SIGNER,
  CLIENT_USAGES,
  csrObject,
  DUBLIN,
  dns,
  instance,
  ips,
  machine,
  nodeObject,
  RSA_USAGES,
  type Sources,
} from './fixtures.ts';

/** A request of a node, with what a sweep sees around it: valid, or changed in its bytes, its fields or the evidence. */
export interface Mutated {
  readonly cluster: ClusterContext;
  /** As an API server would return it; any JSON. */
  readonly object: unknown;
  readonly sources: Sources;
  readonly policies: readonly ApprovalPolicy[];
}

/** A number that stands for a choice. */
type Noise = number;
const pick = <T>(from: readonly [T, ...T[]], noise: Noise): T => from[noise % from.length] ?? from[0];

interface Member {
  readonly node: string;
  readonly names: readonly [San, ...San[]];
}
type Three<T> = readonly [T, T, T];

/** Three nodes each: Machines in berlin, instances in dublin. */
const WORKERS: Three<Member> = [worker('worker-1', 1), worker('worker-2', 2), worker('worker-3', 3)];
const MACHINES = [
  machine('worker-1', { InternalIP: ['10.0.0.1', 'fd00::1'], InternalDNS: ['worker-1.example.com'] }),
  machine('worker-2', { InternalIP: ['10.0.0.2', 'FD00:0::2'], ExternalDNS: ['Worker-2.example.com.'] }),
  machine('worker-3', { ExternalIP: ['10.0.0.3', 'fd00::3'], Hostname: ['worker-3.example.com'] }),
];
const INSTANCES = [instance('i-0a', '10.0.1.1'), instance('i-0b', '10.0.1.2'), instance('i-0c', '10.0.1.3')];
const INSTANCE_NODES: Three<Member> = [ec2('i-0a', '10.0.1.1'), ec2('i-0b', '10.0.1.2'), ec2('i-0c', '10.0.1.3')];

function worker(node: string, number: number): Member {
  return {
    node,
    names: [...named(node), ...dns(`${node}.example.com`), ...ips(`10.0.0.${number}`, `fd00::${number}`)],
  };
}
function ec2(id: string, address: string): Member {
  const privateDnsName = `ip-${address.replaceAll('.', '-')}.eu-west-1.compute.internal`;
  return { node: privateDnsName, names: [...named(privateDnsName), ...dns(id), ...ips(address)] };
}
function named(node: string): [San] {
  return [{ kind: 'dNSName', value: node }];
}

type RequestChange = (options: RequestOptions, self: Member, other: Member, noise: Noise) => RequestOptions;
const O = { oid: OID.organization, value: 'system:nodes' };
const plus =
  (...names: readonly [San, ...San[]]): RequestChange =>
  (options, _self, _other, noise) => ({ ...options, sans: [...(options.sans ?? []), pick(names, noise)] });

const REQUEST_CHANGES: readonly RequestChange[] = [
  plus(...named('auth.evil.io'), ...dns('worker-9', 'xworker-1', 'worker-1.evil.io'), ...ips('10.0.0.99', 'fd00::99')),
  plus(...named('kubernetes'), ...dns('Kubernetes.default.svc', 'x.cluster.local', 'localhost', 'berlin.example.com')),
  plus(
    ...named('*'),
    ...ips('10.96.0.1', '127.0.0.1', '::1', '169.254.169.254', '::ffff:10.0.0.1', '0.0.0.0', 'fe80::1'),
  ),
  plus(...named('*.example.com'), ...dns('10.0.0.1', '', 'a..b', 'worker-1\0', 'worker-1 ', 'wörker-1', 'a_b', '.')),
  plus({ kind: 'rfc822Name', value: 'a@b' }, { kind: 'uniformResourceIdentifier', value: 'spiffe://x' }),
  plus({ kind: 'otherName' }, { kind: 'directoryName' }, { kind: 'registeredID' }, { kind: 'x400Address' }),
  plus({ kind: 'iPAddress', value: Buffer.from([10, 0, 0]) }, { kind: 'iPAddress', value: Buffer.alloc(8, 1) }),
  (options, _self, other, noise) => ({ ...options, sans: [...(options.sans ?? []), pick(other.names, noise)] }),
  (options, _self, other) => ({ ...options, sans: other.names }),
  (options, _self, other, noise) => ({
    ...options,
    commonName: pick([`system:node:${other.node}`, '', 'system:node:', 'kubernetes-admin', 'system:masters'], noise),
  }),
  (options, { node }, _, noise) => ({
    ...options,
    commonName: pick([`System:node:${node}`, `system:node:${node} `, `system:node:${node}\0`, node], noise),
  }),
  (options, _self, _other, noise) => ({
    ...options,
    organizations: pick([[], ['system:masters'], ['system:nodes', 'system:masters'], ['System:nodes'], ['']], noise),
  }),
  (options, { node }, other, noise) => {
    const CN = { oid: OID.commonName, value: `system:node:${node}` };
    return {
      ...options,
      subject: pick<NonNullable<RequestOptions['subject']>>(
        [
          [[CN], [O]],
          [[O], [CN], [CN]],
          [[O], [{ ...CN, value: `system:node:${other.node}` }], [CN]],
          [[O, CN]],
          [[{ ...O, form: 'utf8String' }], [{ ...CN, form: 'utf8String' }]],
          [[O], [{ ...CN, form: 'bmpString' }]],
          [[{ ...O, form: 'teletexString' }], [CN]],
          [[O], [CN], [{ oid: '2.5.4.11', value: 'unit' }]],
          [],
        ],
        noise,
      ),
    };
  },
  (options, _self, _other, noise) => ({
    ...options,
    extensions: [extension(pick([OID.basicConstraints, OID.keyUsage, OID.subjectAltName, '1.2.3'], noise), sequence())],
  }),
  (options, _self, _other, noise) => ({ ...options, sansCritical: noise % 2 === 0 }),
  (options, _self, _other, noise) => ({ ...options, version: noise % 4 }),
  (options) => ({ ...options, sans: [] }),
  (options, _self, other, noise) => {
    const names = Object.keys(SEMANTIC_CHANGES);
    const change = SEMANTIC_CHANGES[names[noise % names.length] ?? ''];
    const rest = Math.floor(noise / names.length);
    return change?.(options, pick(other.names, rest), rest) ?? options;
  },
];

type ByteChange = (
  made: { readonly der: Buffer; readonly pem: Buffer },
  key: KeyKind,
  at: number,
  noise: Noise,
) => Buffer;
const between = (head: Buffer, middle: Uint8Array, tail: Buffer): Buffer => Buffer.concat([head, middle, tail]);

function flip(bytes: Buffer, at: number, noise: Noise): Buffer {
  const flipped = Buffer.from(bytes);
  const position = Math.floor(at * bytes.length);
  flipped[position] = (flipped[position] ?? 0) ^ (1 << (noise & 7));
  return flipped;
}

/** The DER of a made request with one bit of its CertificationRequestInfo flipped, and signed as that. */
function flipAndSign({ der }: { readonly der: Buffer }, key: KeyKind, at: number, noise: Noise): Buffer {
  const start = 2 + lengthOctets(der, 0);
  const header = 2 + lengthOctets(der, start);
  const length = der.readUIntBE(start + header - Math.max(1, header - 2), Math.max(1, header - 2));
  const end = start + header + length;
  const info = flip(der.subarray(start, end), at, noise);
  const algorithmEnd = end + 2 + (der[end + 1] ?? 0);
  const digest = { p256: 'sha256', rsa2048: 'sha256' }[key as string] ?? null;
  return sequence(info, der.subarray(end, algorithmEnd), bitString(sign(digest, info, keyPair(key).privateKey)));
}
function lengthOctets(der: Buffer, at: number): number {
  const first = der[at + 1] ?? 0;
  return first < 0x80 ? 0 : first & 0x7f;
}

const BYTE_CHANGES: readonly ByteChange[] = [
  (made, key, at, noise) => toPem(flipAndSign(made, key, at, noise)),
  (made, key, at, noise) => toPem(flipAndSign(made, key, at, noise)),
  ({ der }, _, at, noise) => toPem(flip(der, at, noise)),
  ({ der }, _, at) => toPem(der.subarray(0, Math.floor(at * der.length))),
  ({ der }, _, at, noise) => {
    const position = Math.floor(at * der.length);
    return toPem(between(der.subarray(0, position), Buffer.from([noise & 0xff]), der.subarray(position)));
  },
  ({ der }, _, at, noise) => {
    const position = Math.floor(at * der.length);
    return toPem(Buffer.concat([der.subarray(0, position), der.subarray(position + 1 + (noise & 3))]));
  },
  ({ pem }, _, at, noise) => flip(pem, at, noise),
  ({ pem }) => Buffer.from(pem.toString().replaceAll('\n', '\r\n')),
  ({ pem }, _key, _at, noise) =>
    between(Buffer.from(pick(['\n', ' ', 'x', 'Bag Attributes\n'], noise)), pem, Buffer.alloc(0)),
  ({ pem }, _key, _at, noise) =>
    between(pem, Buffer.from(pick(['\n', ' ', 'x', '\0', pem.toString()], noise)), Buffer.alloc(0)),
  ({ pem }) => Buffer.from(pem.toString().replaceAll('CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST')),
  ({ der }, _, at) => der.subarray(Math.floor(at * 2)),
];

type CsrObject = ReturnType<typeof csrObject>;
type ObjectChange = (object: CsrObject, other: Member, noise: Noise, json: unknown) => unknown;
const inSpec =
  (change: (noise: Noise, other: Member) => object): ObjectChange =>
  (object, other, noise) => ({ ...object, spec: { ...object.spec, ...change(noise, other) } });

const OBJECT_CHANGES: readonly ObjectChange[] = [
  inSpec((noise) => ({
    usages: pick<readonly string[]>(
      [
        RSA_USAGES,
        ['server auth', 'digital signature', 'server auth'],
        ['server auth'],
        CLIENT_USAGES,
        [...RSA_USAGES, 'client auth'],
        [],
        ['Server Auth', 'digital signature'],
      ],
      noise,
    ),
  })),
  inSpec((noise) => ({
    groups: pick<readonly string[]>(
      [
        ['system:authenticated', 'system:nodes', 'x'],
        ['system:nodes'],
        ['system:authenticated'],
        [],
        ['system:masters'],
      ],
      noise,
    ),
  })),
  inSpec((noise, { node }) => ({
    username: pick([`system:node:${node}`, 'system:node:', 'jane', '', `system:node:${node.toUpperCase()}`], noise),
  })),
  inSpec((noise) => ({
    signerName: pick([CLIENT_SIGNER, 'kubernetes.io/legacy-unknown', 'example.com/s', ''], noise),
  })),
  inSpec((noise) => ({ expirationSeconds: pick([600, 3600, 86_400, 599, 0, -1, 40_000_000], noise) })),
  inSpec((noise) => ({ request: pick(['', 'AAAA', '!!!', 'LS0t'], noise) })),
  (object, _, noise) => ({
    ...object,
    status: pick<object>(
      [{ conditions: [{ type: 'Approved' }] }, { conditions: [{ type: 'Seen' }] }, { certificate: 'eA==' }, { x: 1 }],
      noise,
    ),
  }),
  ({ metadata, ...object }, _, noise) => ({
    ...object,
    metadata: {
      ...metadata,
      ...pick<object>(
        [
          { deletionTimestamp: '2026-03-02T12:00:00Z' },
          { creationTimestamp: '2026-03-02T11:00:00Z' },
          { creationTimestamp: '2026-03-02T13:00:00Z' },
          { creationTimestamp: 'yesterday' },
        ],
        noise,
      ),
    },
  }),
  (object, _, noise, json) => {
    const part = pick<'metadata' | 'spec' | 'status'>(['metadata', 'spec', 'status'], noise);
    const key = pick(
      ['name', 'username', 'groups', 'usages', 'request', 'conditions', 'expirationSeconds'],
      noise >> 2,
    );
    return { ...object, [part]: noise % 5 === 0 ? json : { ...object[part], [key]: json } };
  },
];

interface Around {
  readonly machines: readonly unknown[];
  readonly instances: readonly unknown[];
  readonly nodes: readonly unknown[];
  readonly unreadable: readonly ('machine' | 'ec2' | 'node')[];
}
type SourceChange = (around: Around, self: Member, other: Member, noise: Noise, json: unknown) => Around;
const without = <T>(list: readonly T[], noise: Noise): T[] => list.filter((_, index) => index !== noise % 3);
const texts = (names: readonly San[], kind: San['kind']): string[] =>
  names.flatMap((name) => (name.kind === kind && 'value' in name ? [String(name.value)] : []));
const address = (noise: Noise): string => `10.0.${noise % 2}.${(noise % 3) + 1}`;

const SOURCE_CHANGES: readonly SourceChange[] = [
  (around, _self, _other, noise) => ({
    ...around,
    machines: without(around.machines, noise),
    instances: without(around.instances, noise),
  }),
  (around, _self, _other, noise) => ({ ...around, unreadable: [pick(['machine', 'ec2', 'node'], noise)] }),
  (around, self, _, noise) => ({
    ...around,
    machines: [...around.machines, machine(self.node, { InternalIP: [address(noise)] }, 'twin')],
  }),
  (around, { names }, _, noise) => ({
    ...around,
    machines: [...around.machines, machine('rival', { InternalIP: [address(noise), ...texts(names, 'iPAddress')] })],
  }),
  (around, { names }, { node }, noise) => ({
    ...around,
    machines: [
      ...around.machines,
      machine(pick(['rival', node], noise), { Hostname: texts(names, 'dNSName') }, 'rival'),
    ],
  }),
  (around, self, other, noise) => ({
    ...around,
    nodes: [
      nodeObject(self.node, { Hostname: [self.node], InternalIP: [address(noise), 'fd00::99'] }),
      nodeObject(other.node, { Hostname: [pick([other.node, self.node, 'auth.evil.io'], noise)] }),
    ],
  }),
  (around, self, _, noise) => ({
    ...around,
    machines: [
      ...around.machines,
      {
        ...machine(self.node, { InternalIP: ['10.0.0.99'] }, 'gone'),
        ...pick<object>(
          [{ spec: { clusterName: 'oslo' } }, { metadata: { name: 'x', deletionTimestamp: 'y' } }],
          noise,
        ),
      },
    ],
  }),
  (around, self, _, noise) => ({
    ...around,
    instances: [
      ...around.instances,
      {
        ...instance('i-0f', '10.0.0.99'),
        PrivateDnsName: self.node,
        ...pick<object>(
          [{}, { State: { Name: 'stopped' } }, { Tags: [] }, { Tags: [{ Key: 'eks:cluster-name' }] }],
          noise,
        ),
      },
    ],
  }),
  (around, _self, _other, noise, json) => {
    const kind = pick<'machines' | 'instances' | 'nodes'>(['machines', 'instances', 'nodes'], noise);
    return { ...around, [kind]: [...around[kind], json] };
  },
];

const POLICIES: readonly [readonly ApprovalPolicy[], ...(readonly ApprovalPolicy[])[]] = [
  [DEFAULT_POLICY],
  [{ ...DEFAULT_POLICY, onHostile: 'deny' }],
  [{ ...DEFAULT_POLICY, evidence: ['node', 'machine', 'ec2'] }],
  [
    { ...DEFAULT_POLICY, name: 'a', evidence: ['ec2'] },
    { ...DEFAULT_POLICY, name: 'b', evidence: ['machine'], mode: everywhere('observe') },
  ],
  [
    {
      ...DEFAULT_POLICY,
      evidence: ['machine', 'ec2', 'patterns'],
      patterns: { cidrs: ['10.0.0.0/16'], dnsNames: ['{node}.example.com'] },
    },
  ],
];

interface Change {
  readonly of: 'request' | 'bytes' | 'object' | 'sources';
  readonly which: number;
  readonly noise: Noise;
  /** Where in the bytes, as a share of the whole. */
  readonly at: number;
  readonly json: unknown;
}

const change: fc.Arbitrary<Change> = fc.record({
  of: fc.constantFrom('request', 'request', 'bytes', 'object', 'sources', 'sources'),
  which: fc.nat(999),
  noise: fc.nat(9999),
  // Not fc.double, which likes numbers next to 0.
  at: fc.nat(0xffff).map((position) => position / 0x10000),
  json: fc.jsonValue({ maxDepth: 2 }),
});

/** Requests of which about a third is approved. */
export const mutated: fc.Arbitrary<Mutated> = fc
  .record({
    onEks: fc.boolean(),
    asker: fc.nat(2),
    key: fc.oneof(
      { weight: 12, arbitrary: fc.constant<KeyKind>('p256') },
      { weight: 4, arbitrary: fc.constant<KeyKind>('ed25519') },
      { weight: 1, arbitrary: fc.constantFrom<KeyKind>('rsa2048', 'mldsa44') },
    ),
    names: fc.array(fc.tuple(fc.nat(9), fc.nat(3)), { minLength: 1, maxLength: 4 }),
    changes: fc.array(change, { maxLength: 3 }),
    policy: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(4) }),
  })
  .map(({ onEks, asker, key, names, changes, policy }) => {
    const members = onEks ? INSTANCE_NODES : WORKERS;
    const self = pick(members, asker);
    const other = pick(members, asker + 1);
    const of = (kind: Change['of']) => changes.filter((candidate) => candidate.of === kind);

    const wanted: RequestOptions = {
      commonName: `system:node:${self.node}`,
      sans: names.map(([index, style]) => styled(pick(self.names, index), style)),
      key,
    };
    const options = of('request').reduce(
      (sofar, { which, noise }) => choose(REQUEST_CHANGES, which)(sofar, self, other, noise),
      wanted,
    );
    const made = makeRequest(options);
    const [bytes] = of('bytes');
    const pem = bytes === undefined ? made.pem : choose(BYTE_CHANGES, bytes.which)(made, key, bytes.at, bytes.noise);

    const original = csrObject({
      node: self.node,
      pem,
      ageSeconds: 180,
      usages: key === 'rsa2048' ? RSA_USAGES : undefined,
    });
    const [field] = of('object');
    const object =
      field === undefined ? original : choose(OBJECT_CHANGES, field.which)(original, other, field.noise, field.json);

    const around: Around = {
      machines: onEks ? [] : MACHINES,
      instances: onEks ? INSTANCES : [],
      nodes: [],
      unreadable: [],
    };
    const sources = of('sources').reduce(
      (sofar, { which, noise, json }) => choose(SOURCE_CHANGES, which)(sofar, self, other, noise, json),
      around,
    );
    const cluster = onEks ? DUBLIN : { ...BERLIN, serviceCidrs: ['10.96.0.0/12'] };
    return { cluster, object, sources, policies: pick(POLICIES, policy) };
  });

function choose<T>(list: readonly T[], index: number): T {
  const [first, ...rest] = list;
  if (first === undefined) throw new Error('an empty list of changes');
  return pick([first, ...rest], index);
}

/** The same name in another text. */
function styled(san: San, style: number): San {
  if (san.kind !== 'dNSName' || style === 0) return san;
  return { kind: 'dNSName', value: style === 1 ? san.value.toUpperCase() : style === 2 ? `${san.value}.` : san.value };
}

/** `count` mutated requests, the same for the same seed, made as they are taken. */
export function* mutatedRequests(seed: number, count: number): Generator<Mutated> {
  const chunk = 1000;
  for (let made = 0; made < count; made += chunk)
    yield* fc.sample(mutated, { seed: seed + made, numRuns: Math.min(chunk, count - made) });
}
