import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Assessment, assessExpiry } from '../../../lambdas/audit/assess.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type { CertificateObservation, Observation } from '../../../lambdas/contracts/observation.ts';
import { BASES, SOURCE_IDS, type SourceId } from '../../../lambdas/tables/audit-sources.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../../../lambdas/tables/certificate-classes.ts';
import { type FindingCode, SEVERITIES } from '../../../lambdas/tables/finding-codes.ts';
import { messageOf, nextOf } from '../../../lambdas/words/findings.ts';
import { runs } from '../../runs.ts';
import { BERLIN, certificate, DAY, DUBLIN, days, MINUTE, member, NOW, read, unread } from './fixtures.ts';

const SEED = 20_261_121;
const RUNS = runs(200);

const CLASSES = Object.keys(CERTIFICATE_CLASSES) as CertificateClass[];
const MEMBERS = ['worker-1', 'cp-1', 'etcd-1'] as const;
const PLACES = ['10.0.1.31:6443', 'Secret eksa-system/berlin-ca tls.crt', 'Node worker-1'] as const;
const FINGERPRINTS = ['a'.repeat(64), 'b'.repeat(64), 'c'.repeat(64)] as const;
const SOURCES = ['tls', 'machines', 'nodes', 'kubeadm-configs', 'cluster-secrets', 'trust-configmaps'] as const;

/** Few names and many ends, so that observations meet. */
const anEnd = fc.integer({ min: -400, max: 4_000 }).map((at) => days(at / 4));
const someOf = <const T>(...values: readonly T[]) => fc.constantFrom(...values);
const optional = <T>(key: string, value: fc.Arbitrary<T>) =>
  fc.option(value, { nil: undefined }).map((given) => (given === undefined ? {} : { [key]: given }));

const aCertificate = (sources: readonly SourceId[]): fc.Arbitrary<Observation> =>
  fc
    .tuple(
      fc.record({
        kind: fc.constant('certificate' as const),
        source: someOf(...sources),
        what: someOf(...CLASSES),
        where: someOf(...PLACES),
        basis: someOf(...BASES),
        notAfter: anEnd,
      }),
      optional(
        'notBefore',
        fc.integer({ min: -4_000, max: 100 }).map((at) => days(at)),
      ),
      optional('member', someOf(...MEMBERS)),
      optional('position', fc.integer({ min: 0, max: 2 })),
      optional('fingerprint', someOf(...FINGERPRINTS)),
      optional('isAuthority', fc.boolean()),
      optional('issuedByCluster', fc.boolean()),
      optional('weakKey', fc.constant('RSA-1024')),
      optional('subject', someOf('CN=ca', 'CN=leaf')),
      optional('issuer', someOf('CN=ca', 'CN=leaf')),
      optional('commonName', someOf('system:node:worker-1', 'x')),
    )
    .map((parts) => Object.assign({ observedAt: days(0) }, ...parts) as CertificateObservation);

const seenBy = <const S extends SourceId, const K extends Observation['kind']>(kind: K, source: S) => ({
  kind: fc.constant(kind),
  source: fc.constant(source),
  observedAt: fc.constant(days(0)),
});
const hoursAgo = fc.integer({ min: -48, max: 0 }).map((hours) => days(hours / 24));
const anOther = fc.oneof(
  fc.record({
    ...seenBy('requests', 'signing-requests'),
    signer: someOf('kubernetes.io/kubelet-serving', 'example.com/other'),
    requester: someOf('system:node:worker-1', '*'),
    state: someOf('pending', 'approved', 'issued', 'failed', 'denied'),
    count: fc.integer({ min: 0, max: 20_000 }),
    lastHour: fc.integer({ min: 0, max: 200 }),
    oldestAt: hoursAgo,
    newestAt: hoursAgo,
    examples: fc.constant(['csr-1']),
  }),
  fc.record({
    ...seenBy('authority', 'eks-authorities'),
    id: someOf('ca-1', 'ca-2'),
    createdAt: anEnd,
    signingStatus: someOf('NOT_USED', 'ACTIVATING', 'IN_USE'),
    distributionStatus: someOf('IN_PROGRESS', 'COMPLETE', 'FAILED'),
    firstAutoActivation: anEnd,
  }),
  fc.record({
    ...seenBy('renewal', 'kubelet-metrics'),
    what: fc.constant('kubelet-serving' as const),
    node: fc.constant('worker-1'),
    errors: fc.integer({ min: 0, max: 3 }),
    none: fc.boolean(),
  }),
  fc.record({
    ...seenBy('clock', 'clock'),
    server: fc.constant('10.0.1.31'),
    skewMs: fc.integer({ min: -120_000, max: 120_000 }),
  }),
  fc.record({
    ...seenBy('group', 'kubeadm-control-plane'),
    role: fc.constant('control-plane' as const),
    name: fc.constant('KubeadmControlPlane eksa-system/berlin'),
    wanted: fc.integer({ min: 0, max: 4 }),
  }),
  fc
    .record({
      where: someOf('10.0.1.99:2379', '10.0.1.98:2379'),
      what: someOf('etcd-server', 'etcd-peer'),
      problem: someOf('timeout', 'malformed', 'missing'),
    })
    .map((changes) => unread('tls', changes)),
) satisfies fc.Arbitrary<Observation>;

const MEMBER_LIST: readonly Observation[] = (['worker', 'control-plane', 'etcd'] as const).map((role, index) => {
  const node = MEMBERS[index] ?? '';
  const [source, name] =
    role === 'worker' ? (['nodes', `Node ${node}`] as const) : (['machines', `Machine eksa-system/${node}`] as const);
  return member({ source, role, name, node, addresses: [] });
});
/** What each source would say, if it could be read. */
type World = readonly Observation[];

const aWorld = (sources: readonly SourceId[] = SOURCES): fc.Arbitrary<World> =>
  fc
    .tuple(fc.array(aCertificate(sources), { maxLength: 14 }), fc.array(anOther, { maxLength: 5 }))
    .map(([certificates, others]) => distinct([...MEMBER_LIST, ...certificates, ...others]));

/** A source says one thing about one place. */
function distinct(observations: readonly Observation[]): World {
  const names = ['what', 'where', 'position', 'basis', 'signer', 'requester', 'state', 'id', 'name'];
  const keyOf = (one: Observation) => names.map((name) => Object.entries(one).find(([key]) => key === name)?.[1] || '');
  return [...new Map(observations.map((one) => [[one.kind, one.source, ...keyOf(one)].join(' '), one])).values()];
}

interface Failures {
  readonly sources: readonly SourceId[];
  /** Of handshakes. */
  readonly places: readonly string[];
}

const someFailures: fc.Arbitrary<Failures> = fc.record({
  sources: fc.uniqueArray(someOf(...SOURCE_IDS), { maxLength: 8 }),
  places: fc.uniqueArray(someOf(...PLACES), { maxLength: 2 }),
});

/** What an audit of the world sees at one time, where some of it cannot be read. */
function audited(world: World, { sources, places }: Failures, now: number): readonly Observation[] {
  const observedAt = new Date(now).toISOString();
  const failed = new Set(sources);
  const lost = new Set(places);
  const observations = world
    .filter(({ source }) => !failed.has(source))
    .flatMap((observation): readonly Observation[] => {
      const told = { ...observation, observedAt };
      if (observation.kind !== 'certificate' || !lost.has(observation.where)) return [told];
      const { source, where, what } = observation;
      return [unread(source, { where, what, observedAt, member: observation.member })];
    });
  return [
    ...observations,
    ...SOURCE_IDS.map((source) => (failed.has(source) ? unread(source, { observedAt }) : read(source, now))),
  ];
}

const ALL: Failures = { sources: [], places: [] };

function assessed(world: World, failures: Failures, previous: Assessment | undefined, now: number): Assessment {
  return assessExpiry(BERLIN, audited(world, failures, now), previous, DEFAULT_THRESHOLDS, now);
}

/** Time goes on: what was one code becomes a stronger one of the same object. */
const STRONGER: Partial<Record<FindingCode, readonly FindingCode[]>> = {
  CertificateExpiring: ['CertificateExpired', 'KubeletRenewalOverdue', 'ExpiryUnknown'],
  KubeletRenewalOverdue: ['CertificateExpired', 'ExpiryUnknown'],
  SourceUnread: ['SourceLost'],
  Unreachable: ['SourceLost'],
};
/** Ends by itself when its time comes. */
const ENDS_BY_TIME: readonly FindingCode[] = ['CertificateNotYetValid'];

function weakened(before: Assessment, after: Assessment): readonly ExpiryFinding[] {
  const known = new Map(after.findings.map((finding) => [`${finding.code} ${finding.object}`, finding]));
  const unknown = ({ findings }: Assessment) => findings.filter(({ code }) => code === 'ExpiryUnknown').length;
  const refutes = unknown(after) > unknown(before);
  return before.findings.filter((finding) => {
    const { code, object, severity, due } = finding;
    if (ENDS_BY_TIME.includes(code)) return false;
    return ![code, ...(STRONGER[code] ?? [])].some((stronger) => {
      const next = known.get(`${stronger} ${object}`);
      // A guess that has passed while the API server answers is refuted, also for what was known only by it.
      const isRefuted = stronger !== code ? stronger === 'ExpiryUnknown' : code === 'SourceLost' && refutes;
      return (
        next !== undefined &&
        (isRefuted || SEVERITIES.indexOf(next.severity) <= SEVERITIES.indexOf(severity)) &&
        (due === undefined || next.due === undefined || next.due <= due)
      );
    });
  });
}

const step = fc.integer({ min: 1, max: 40 * 24 * 60 });

/** What is known at best: of each source, and of each place of handshakes, what it said when it was read the last time. */
function lastGood(before: World, world: World, { sources, places }: Failures): World {
  const dialled = new Set(world.flatMap((one) => (one.kind === 'certificate' ? `${one.source} ${one.where}` : [])));
  const isLost = (one: Observation): boolean =>
    sources.includes(one.source) ||
    (one.kind === 'certificate' && places.includes(one.where) && dialled.has(`${one.source} ${one.where}`));
  return [...world.filter((one) => !isLost(one)), ...before.filter(isLost)];
}

describe('no failed read', () => {
  it('makes anything look better than if its source had said the same again, in any sequence of reads', () => {
    const aRead = fc.record({ world: fc.option(aWorld(), { nil: undefined }), failures: someFailures, minutes: step });
    fc.assert(
      fc.property(aWorld(), fc.array(aRead, { minLength: 1, maxLength: 5 }), (first, reads) => {
        let now = NOW;
        let [world, good] = [first, first];
        let seen = assessed(world, ALL, undefined, now);
        let ideal = seen;
        for (const { world: changed = world, failures, minutes } of reads) {
          now += minutes * MINUTE;
          world = changed;
          good = lastGood(good, world, failures);
          seen = assessed(world, failures, seen, now);
          ideal = assessed(good, ALL, ideal, now);
          expect(weakened(ideal, seen)).toEqual([]);
        }
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });

  it('is forgotten when sources come back: then everything is as if it had never failed', () => {
    fc.assert(
      fc.property(aWorld(), someFailures, step, (world, failures, minutes) => {
        const now = NOW + minutes * MINUTE;
        const first = assessed(world, ALL, undefined, NOW);
        const failed = assessed(world, failures, first, now);
        const back = assessed(world, ALL, failed, now + MINUTE);
        const never = assessed(world, ALL, first, now + MINUTE);
        const plain = ({ findings }: Assessment) => findings.map((finding) => ({ ...finding, since: '' }));
        expect(plain(back)).toEqual(plain(never));
      }),
      { seed: SEED, numRuns: RUNS / 2 },
    );
  });
});

describe('a certificate without proof', () => {
  const SERVED = { 6443: 'kube-apiserver', 2379: 'etcd-server' } as const;
  const aServer = fc.record({
    port: someOf(6443, 2379),
    member: someOf('cp-1', undefined),
    notAfter: anEnd,
    address: someOf('10.0.1.31', '10.0.1.32'),
  });
  const told = fc.option(fc.record({ basis: someOf('status', 'annotation', 'inference'), notAfter: anEnd }), {
    nil: undefined,
  });
  const without = someOf<Partial<CertificateObservation>>(
    { issuedByCluster: false },
    { keyProven: false },
    { commonName: 'system:node:worker-1' },
    { isAuthority: true },
  );

  it('removes no finding, lowers no severity and moves no date later, whenever a server of the control plane shows it', () => {
    fc.assert(
      fc.property(
        aServer,
        told,
        aServer,
        without,
        step,
        fc.boolean(),
        (honest, other, shown, lack, minutes, isFirst) => {
          const now = NOW + minutes * MINUTE;
          const proofs = { issuedByCluster: true, keyProven: true };
          const at = ({ port, member: of, address, notAfter }: typeof honest, more: object) =>
            certificate({
              what: SERVED[port],
              where: `${of === undefined ? '10.0.1.100' : address}:${port}`,
              notBefore: days(-1_000),
              notAfter,
              fingerprint: 'a'.repeat(64),
              member: of,
              ...proofs,
              ...more,
            });
          const { port, member: of } = honest;
          const what = SERVED[port];
          const where = of === undefined ? '10.0.1.100:6443' : 'KubeadmConfig eksa-system/cp-1';
          const source = 'kubeadm-configs';
          const said = other && certificate({ source, what, where, member: of, notBefore: undefined, ...other });
          const elsewhere: World = [...MEMBER_LIST, ...(said === undefined ? [] : [said])];
          const hostile = at({ ...shown, port, member: of }, { fingerprint: 'b'.repeat(64), ...lack });
          const before = isFirst ? undefined : assessed([...elsewhere, at(honest, {})], ALL, undefined, NOW);
          const well = assessed(isFirst ? elsewhere : [...elsewhere, at(honest, {})], ALL, before, now);
          let last = before;
          // Also when it is shown again, and at another address.
          for (const address of ['10.0.1.31', '10.0.1.32', '10.0.1.31']) {
            const place = `${of === undefined ? '10.0.1.100' : address}:${port}`;
            last = assessed([...elsewhere, { ...hostile, where: place }], ALL, last, now);
            // Of a place of which nothing else was ever known, it is all that tells an end.
            expect(weakened(well, last).filter(({ code }) => code !== 'ExpiryUnknown')).toEqual([]);
          }
          // One with all proofs takes its place.
          const renewed = at({ ...honest, notAfter: days(900) }, { fingerprint: 'c'.repeat(64) });
          const after = assessed([...MEMBER_LIST, renewed], ALL, last, now);
          expect(after.findings.map(({ code }) => code)).not.toContain('CertificateExpired');
        },
      ),
      { seed: SEED, numRuns: RUNS },
    );
  });
});

/** Servers of a machine: what is looked for there, and what may be shown. */
const SERVERS = {
  6443: { what: 'kube-apiserver', shown: ['kube-apiserver'], usual: false },
  10_259: { what: 'kube-scheduler', shown: ['kube-scheduler'], usual: true },
  10_250: { what: 'kubelet-serving', shown: ['kubelet-serving', 'kubelet-self-signed'], usual: false },
} as const;
type Port = keyof typeof SERVERS;
const PORTS = [6443, 10_259, 10_250] as const satisfies readonly Port[];

interface MachineOfWorld {
  readonly name: string;
  readonly role: 'control-plane' | 'worker';
  /** Which of its two addresses answers. */
  readonly answersAt: 0 | 1;
  readonly shown: Readonly<Record<Port, { readonly what: CertificateClass; readonly notAfter: string }>>;
  /** The authority that it sends along. */
  readonly along: string;
  /** From this audit on none of its servers answers; and from then on, in every audit, it has other addresses. */
  readonly failsAt: number;
  readonly becomes: 'the same' | 'other addresses' | 'no address';
}

const aShown = (port: Port) => fc.record({ what: someOf(...SERVERS[port].shown), notAfter: anEnd });
const someMachines: fc.Arbitrary<readonly MachineOfWorld[]> = fc
  .array(
    fc.record({
      role: someOf('control-plane', 'worker'),
      answersAt: someOf(0, 1),
      shown: fc.record({ 6443: aShown(6443), 10_259: aShown(10_259), 10_250: aShown(10_250) }),
      along: anEnd,
      failsAt: fc.integer({ min: 1, max: 5 }),
      becomes: someOf('the same', 'other addresses', 'no address'),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((machines) => machines.map((machine, index) => ({ ...machine, name: `m${index}` })));

/** What an audit sees of machines and their servers. */
function machinesSeen(machines: readonly MachineOfWorld[], turn: number, now: number): readonly Observation[] {
  const observedAt = new Date(now).toISOString();
  const seen = machines.flatMap((machine, index): readonly Observation[] => {
    const fails = turn >= machine.failsAt;
    const became = fails ? machine.becomes : 'the same';
    const node = machine.name;
    const net = became === 'other addresses' ? 10 * (turn + 1) + index : index;
    const addresses = became === 'no address' ? [] : [`10.0.${net}.1`, `10.0.${net}.2`];
    const told = { source: 'tls', observedAt, member: node } as const;
    return [
      member({ observedAt, role: machine.role, name: `Node ${node}`, node, addresses }),
      ...PORTS.flatMap((port): readonly Observation[] => {
        const { what, usual } = SERVERS[port];
        const hidden = usual ? ({ usual } as const) : {};
        if (fails) {
          const [where = `${node}:${port}`] = addresses.map((address) => `${address}:${port}`);
          return [unread('tls', { ...told, what, where, ...hidden })];
        }
        const where = `${addresses[machine.answersAt]}:${port}`;
        const shown = { kind: 'certificate', ...told, where, basis: 'certificate' } as const;
        return [
          { ...shown, ...machine.shown[port] },
          { ...shown, what: 'ca-bundle', position: 1, isAuthority: true, notAfter: machine.along },
        ];
      }),
    ];
  });
  return [...seen, ...SOURCE_IDS.map((source) => read(source, now))];
}

describe('a machine whose servers do not answer', () => {
  it('takes nothing with it, at whichever address it was seen, and whatever address it gets', () => {
    fc.assert(
      fc.property(someMachines, fc.array(step, { minLength: 1, maxLength: 4 }), (machines, audits) => {
        let now = NOW;
        let last = assessExpiry(BERLIN, machinesSeen(machines, 0, now), undefined, DEFAULT_THRESHOLDS, now);
        for (const [index, minutes] of audits.entries()) {
          now += minutes * MINUTE;
          const seen = machinesSeen(machines, index + 1, now);
          const next = assessExpiry(BERLIN, seen, last, DEFAULT_THRESHOLDS, now);
          expect(weakened(last, next)).toEqual([]);
          const failing = machines.filter(({ failsAt }) => index + 1 >= failsAt).length;
          for (const { what } of Object.values(SERVERS)) {
            const told = next.findings.find(
              ({ code, object }) => ['Unreachable', 'SourceLost'].includes(code) && object === `tls ${what}`,
            );
            expect(told?.placeCount ?? 0).toBe(failing);
          }
          last = next;
        }
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });
});

describe('an assessment', () => {
  it('does not depend on the order of what was seen, nor on anything but its input', () => {
    fc.assert(
      fc.property(
        aWorld().chain((world) =>
          fc.tuple(fc.constant(world), fc.shuffledSubarray([...world], { minLength: world.length })),
        ),
        someFailures,
        ([world, shuffled], failures) => {
          const first = assessed(world, ALL, undefined, NOW);
          const now = NOW + DAY;
          const { findings } = assessed(world, failures, first, now);
          const mixed = { ...first, observations: first.observations.toReversed() };
          expect(assessed(shuffled, failures, mixed, now).findings).toEqual(findings);
          expect(assessed(world, failures, first, now).findings).toEqual(findings);
        },
      ),
      { seed: SEED, numRuns: RUNS / 2 },
    );
  });

  it('never throws, whatever the texts and numbers are, and says one plain sentence', () => {
    const anyText = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', '+275760-09-13T00:00:00Z', '9999-12-31T23:59:59Z', '0000-01-01T00:00:00Z'),
    );
    const garbage = aWorld().chain((world) =>
      fc
        .array(
          fc.tuple(
            fc.nat(),
            fc.nat(),
            fc.oneof(anyText, fc.constantFrom<unknown>(Number.NaN, 1e6, -1, Number.MAX_VALUE)),
          ),
        )
        .map((changes) => {
          const copies = world.map((observation): Record<string, unknown> => ({ ...observation }));
          for (const [at, field, value] of changes) {
            const observation = copies[at % copies.length] ?? {};
            const fields = Object.keys(observation).filter(
              (name) => !['kind', 'source', 'what', 'basis', 'role', 'state'].includes(name),
            );
            const name = fields[field % fields.length] ?? 'where';
            if (typeof observation[name] === typeof value) observation[name] = value;
          }
          return copies as unknown as World;
        }),
    );
    fc.assert(
      fc.property(garbage, someFailures, (world, failures) => {
        const first = assessed(world, ALL, undefined, NOW);
        const next = assessed(world, failures, first, NOW + DAY);
        for (const finding of next.findings) {
          const message = messageOf(finding, NOW + DAY);
          expect(message).not.toMatch(/[\p{Cc}\p{Cs}]|undefined|NaN/u);
          expect(nextOf(finding, { name: 'berlin' })).toMatch(/^[\x20-\x7e]+$/);
          expect(Date.parse(finding.since)).toBeLessThanOrEqual(NOW + DAY);
        }
      }),
      { seed: SEED, numRuns: RUNS / 2 },
    );
  });

  it('has at most 10,000 findings', () => {
    const expired = Array.from({ length: 12_000 }, (_, index) => ({
      ...(MEMBER_LIST[0] as Observation),
      kind: 'certificate' as const,
      source: 'tls' as const,
      what: 'endpoint' as const,
      where: `h${index}:443`,
      basis: 'certificate' as const,
      notAfter: days(-1),
    }));
    const { findings } = assessExpiry(DUBLIN, expired, undefined, DEFAULT_THRESHOLDS, NOW);
    expect(findings).toHaveLength(10_000);
    expect(findings).toContainEqual(expect.objectContaining({ code: 'SourcePartial', object: 'findings' }));
  });
});
