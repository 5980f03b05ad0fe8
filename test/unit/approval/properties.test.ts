import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../../lambdas/approval/decide-approval.ts';
import {
  type Evidence,
  indexEvidence,
  type Owner,
  type SourceReading,
} from '../../../lambdas/approval/evidence/evidence.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { Verdict } from '../../../lambdas/approval/verdict.ts';
import { field, list, text } from '../../../lambdas/resources/fields.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { readSigningRequest } from '../../../lambdas/resources/signing-request.ts';
import type { EvidenceSource } from '../../../lambdas/tables/evidence-sources.ts';
import { REASONS } from '../../../lambdas/tables/reasons.ts';
import { readWithPeculiar } from '../../peculiar.ts';
import { runs } from '../../runs.ts';
import type { San } from '../x509/request-factory.ts';
import { FAILURES } from './failures.ts';
import { BERLIN, csrObject, dns, evidenceFor, ips, machine, NOW, nodeObject, signingRequest } from './fixtures.ts';
import { type Mutated, mutated, mutatedRequests } from './mutations.ts';

const RUNS = runs(1_000);
const SEED = 20_260_302;

function judge({ cluster, policies }: Mutated, csr: SigningRequest, evidence: Evidence): Verdict {
  return decideApproval({ cluster, csr, siblings: { pending: 1 } }, evidence, policies, NOW);
}

/** The text of an address as a URL has it: another canonical form than that of the code under test. */
function canonical(address: string): string {
  return new URL(address.includes(':') ? `http://[${address}]` : `http://${address}`).hostname;
}
const lower = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** Every name that the mutated evidence gives to a node, read from the objects in the plainest way. */
function namesOf(node: string, { cluster, sources, policies }: Mutated): Set<string> {
  const names = new Set<string>();
  const addAddresses = (object: unknown): void => {
    for (const entry of list(object, 'status', 'addresses')) {
      const address = text(entry, 'address') ?? '';
      names.add(text(entry, 'type')?.endsWith('IP') === true ? canonical(address) : lower(address));
    }
  };
  for (const object of sources.machines ?? []) {
    const mine = text(object, 'status', 'nodeRef', 'name') === node;
    const alive = field(object, 'metadata', 'deletionTimestamp') === undefined;
    if (!mine || !alive || text(object, 'spec', 'clusterName') !== cluster.name) continue;
    names.add(node);
    addAddresses(object);
  }
  for (const object of sources.instances ?? []) {
    const mine = text(object, 'PrivateDnsName') === node;
    if (!mine || text(object, 'State', 'Name') !== 'running' || list(object, 'Tags').length === 0) continue;
    const id = text(object, 'InstanceId') ?? '';
    for (const name of [node, id, `${id}.eu-west-1.compute.internal`]) names.add(name);
    names.add(text(object, 'PrivateIpAddress') ?? '');
  }
  const asks = (source: EvidenceSource): boolean => policies.some(({ evidence }) => evidence.includes(source));
  if (asks('node') || asks('patterns'))
    for (const object of sources.nodes ?? []) if (text(object, 'metadata', 'name') === node) addAddresses(object);
  if (asks('patterns')) names.add(`${node}.example.com`);
  return names;
}

function expectProven(one: Mutated, csr: SigningRequest): void {
  const body = Buffer.from(csr.request ?? [])
    .toString()
    .replaceAll(/-----[A-Z ]+-----|\s/g, '');
  const { subject, extensions, subjectAltNames } = readWithPeculiar(Buffer.from(body, 'base64'));
  expect(subject.toSorted((a, b) => Object.keys(b)[0]!.localeCompare(Object.keys(a)[0]!))).toEqual([
    { O: ['system:nodes'] },
    { CN: [csr.username] },
  ]);
  expect(extensions.map(({ oid }) => oid)).toEqual(['2.5.29.17']);
  expect(subjectAltNames.length).toBeGreaterThan(0);
  const owned = namesOf(csr.username.replace('system:node:', ''), one);
  const foreign = subjectAltNames.filter(
    ({ type, value }) =>
      !(type === 'ip' && owned.has(canonical(value))) && !(type === 'dns' && owned.has(lower(value))),
  );
  expect(foreign).toEqual([]);
}

const ownersIn = (readings: readonly SourceReading[]): Owner[] =>
  readings.flatMap((reading) => (reading.ok ? reading.owners : []));
const keeping = (readings: readonly SourceReading[], keep: (owner: Owner) => boolean): SourceReading[] =>
  readings.map((reading) => (reading.ok ? { ...reading, owners: reading.owners.filter(keep) } : reading));

describe('any mutation of a request', () => {
  const documented = new Set(FAILURES.map(({ rule, reason, hostile }) => `${rule} ${reason} ${hostile}`));

  it('gets a verdict, and an approval only for names of the node, read by another decoder', () => {
    const seen = new Map<string, number>();
    const undocumented = new Set<string>();
    for (const one of mutatedRequests(SEED, RUNS)) {
      const reading = readSigningRequest(one.object);
      const outcome = reading.ok
        ? judge(one, reading.csr, evidenceFor(one.cluster, one.sources))
        : { verdict: 'unreadable', reason: '', facts: undefined, checks: [] };
      // It is caught so that it stops no other request; here it is a bug.
      if (outcome.reason === 'JudgeFailed')
        throw new Error(`${JSON.stringify(outcome.facts)}: ${JSON.stringify(one.object)}`);
      seen.set(outcome.verdict, (seen.get(outcome.verdict) ?? 0) + 1);
      for (const { rule, passed, reason, hostile } of outcome.checks)
        if (!passed && reason !== 'RequestMalformed') undocumented.add(`${rule} ${reason} ${hostile}`);
      if (reading.ok && outcome.verdict === 'approve') expectProven(one, reading.csr);
    }
    expect([...undocumented].filter((failure) => !documented.has(failure))).toEqual([]);
    // The mutations are worth something only if many requests stay good and many do not.
    const shares = { approve: 0.2, leave: 0.2, deny: 0.01, ignore: 0.01 };
    expect(Object.entries(shares).filter(([verdict, share]) => (seen.get(verdict) ?? 0) < share * RUNS)).toEqual([]);
  });

  it('gets the verdict that its reason has, and no check without a reason', () => {
    fc.assert(
      fc.property(mutated, (one) => {
        const reading = readSigningRequest(one.object);
        if (!reading.ok) return;
        const { verdict, reason, checks, names } = judge(one, reading.csr, evidenceFor(one.cluster, one.sources));
        expect(verdict === 'deny' ? 'leave' : verdict).toBe(REASONS[reason].verdict);
        expect(checks.filter((check) => !check.passed && check.reason === undefined)).toEqual([]);
        expect(verdict === 'approve').toBe(checks.length > 0 && checks.every(({ passed }) => passed));
        expect(verdict !== 'approve' || names.every(({ proven }) => proven)).toBe(true);
      }),
      { seed: SEED, numRuns: RUNS / 10 },
    );
  });
});

describe('a name that no node may have', () => {
  const never: readonly San[] = [
    ...dns('kubernetes', 'Kubernetes.Default', 'kubernetes.default.svc.cluster.local', 'a.b.svc', 'x.cluster.local'),
    ...dns('localhost', 'berlin.example.com', '*', '*.example.com', 'w*', 'a_b', '', '10.0.0.1', 'a..b', 'node-1\0.x'),
    ...ips('127.0.0.1', '::1', '0.0.0.0', '169.254.1.1', 'fe80::1', '224.0.0.1', '::ffff:10.0.0.1', '10.96.3.4'),
    { kind: 'rfc822Name', value: 'node-1' },
    { kind: 'uniformResourceIdentifier', value: 'https://node-1' },
    { kind: 'otherName' },
    { kind: 'x400Address' },
    { kind: 'directoryName' },
    { kind: 'ediPartyName' },
    { kind: 'registeredID' },
  ];
  const texts = never.flatMap((san) => ('value' in san ? [String(san.value)] : []));
  const cluster = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'] };
  const everything = {
    InternalIP: texts,
    ExternalIP: texts,
    InternalDNS: texts,
    ExternalDNS: texts,
    Hostname: [...texts, 'node-1'],
  };
  const sources = { machines: [machine('node-1', everything)], nodes: [nodeObject('node-1', everything)] };
  const policies = [
    DEFAULT_POLICY,
    { ...DEFAULT_POLICY, evidence: ['node'] as const },
    {
      ...DEFAULT_POLICY,
      evidence: ['patterns', 'node'] as const,
      patterns: { cidrs: ['0.0.0.0/0', '::/0'], dnsNames: ['{node}'] },
    },
  ];

  it('is not approved, though a Machine, the Node and a pattern give it to the node', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...never),
        fc.subarray(dns('node-1', 'NODE-1.')),
        fc.boolean(),
        (forbidden, allowed, first) => {
          const sans = first ? [forbidden, ...allowed] : [...allowed, forbidden];
          const csr = signingRequest(csrObject({ request: { sans } }));
          const request = { cluster, csr, siblings: { pending: 1 } };
          expect(decideApproval(request, evidenceFor(cluster, sources), policies, NOW).verdict).toBe('leave');
        },
      ),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it('is what stands in the way: without it the request is approved', () => {
    const request = { cluster, csr: signingRequest(csrObject()), siblings: { pending: 1 } };
    expect(decideApproval(request, evidenceFor(cluster, sources), policies, NOW).verdict).toBe('approve');
  });
});

describe('evidence', () => {
  /** A mutated request that is a request of a node, with its evidence as owners. */
  const judged = mutated.map((one) => {
    const reading = readSigningRequest(one.object);
    return {
      one,
      csr: reading.ok ? reading.csr : signingRequest(csrObject()),
      ...evidenceFor(one.cluster, one.sources),
    };
  });
  const options = { seed: SEED, numRuns: RUNS / 5 };
  it('gives the same verdict in any order', () => {
    fc.assert(
      fc.property(judged, fc.integer(), ({ one, csr, readings }, by) => {
        const shuffled = keeping(readings, () => true).map((reading) =>
          reading.ok ? { ...reading, owners: shuffle(reading.owners, by) } : reading,
        );
        const policies = one.policies.map((policy) => ({ ...policy, evidence: shuffle(policy.evidence, by) }));
        const before = judge(one, csr, indexEvidence(readings));
        const after = judge({ ...one, policies }, csr, indexEvidence(shuffle(shuffled, by)));
        expect([after.verdict, after.reason]).toEqual([before.verdict, before.reason]);
      }),
      options,
    );
  });

  it('of another node never makes an approval', () => {
    const stranger = fc.record({
      source: fc.constantFrom<Owner['source']>('machine', 'ec2', 'node'),
      dnsNames: fc.subarray(['worker-1', 'worker-2', 'worker-3.example.com', 'auth.evil.io', 'i-0a']),
      addresses: fc.subarray(['10.0.0.1', '10.0.0.2', '10.0.0.99', 'fd00::3', '10.0.1.1']),
    });
    fc.assert(
      fc.property(judged, stranger, ({ one, csr, readings }, names) => {
        const owner: Owner = { ...names, object: 'stranger', nodes: ['stranger'] };
        const more = [...readings, { source: names.source, ok: true, lookedAt: 1, owners: [owner] } as const];
        const before = judge(one, csr, indexEvidence(readings));
        const after = judge(one, csr, indexEvidence(more));
        expect(after.verdict === 'approve' && before.verdict !== 'approve').toBe(false);
      }),
      options,
    );
  });

  it('that goes makes an approval only where it ends a contest or an ambiguity', () => {
    let ended = 0;
    fc.assert(
      fc.property(judged, fc.integer(), ({ one, csr, readings }, by) => {
        const all = ownersIn(readings);
        const gone = new Set(all.filter((_, index) => ((by >> (index % 30)) & 1) === 1));
        const before = judge(one, csr, indexEvidence(readings));
        const after = judge(one, csr, indexEvidence(keeping(readings, (owner) => !gone.has(owner))));
        if (before.verdict === 'approve' || after.verdict !== 'approve') return;
        ended += 1;
        const node = csr.username.replace('system:node:', '');
        const twins = all.filter((owner) => owner.nodes.includes(node));
        const asked = new Set(after.names.map(({ kind, name }) => (kind === 'ip' ? canonical(name) : lower(name))));
        const rivals = [...gone].filter(
          (owner) =>
            !owner.nodes.includes(node) &&
            [...owner.dnsNames, ...owner.addresses.map(canonical)].some((name) => asked.has(name)),
        );
        const ambiguous = twins.some(
          (owner) => gone.has(owner) && twins.some((twin) => twin !== owner && twin.source === owner.source),
        );
        expect(ambiguous || rivals.length > 0).toBe(true);
      }),
      options,
    );
    expect(ended).toBeGreaterThan(0);
  });

  it('of the node itself is needed: nothing is approved without it', () => {
    fc.assert(
      fc.property(judged, ({ one, csr, readings }) => {
        const node = csr.username.replace('system:node:', '');
        const bare = keeping(readings, (owner) => !owner.nodes.includes(node));
        const policies = one.policies.filter(({ evidence }) => !evidence.includes('patterns'));
        expect(judge({ ...one, policies }, csr, indexEvidence(bare)).verdict).not.toBe('approve');
      }),
      options,
    );
  });
});

/** A permutation that depends on `by` only. */
function shuffle<T>(values: readonly T[], by: number): T[] {
  return values
    .map((value, index) => ({ value, key: Math.imul(by ^ (index + 1), 0x9e3779b1) >>> 0 }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ value }) => value);
}
