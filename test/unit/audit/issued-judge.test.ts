import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Assessment } from '../../../lambdas/audit/assess.ts';
import { audit } from '../../../lambdas/audit/audit.ts';
import { issuedSummaryOf } from '../../../lambdas/audit/issued-summary.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { machines } from '../../../lambdas/audit/sources/machines.ts';
import { nodes } from '../../../lambdas/audit/sources/nodes.ts';
import { signingRequests } from '../../../lambdas/audit/sources/signing-requests.ts';
import { worthWriting } from '../../../lambdas/cluster/stages/audit.ts';
import { type CertificateObservation, NOT_ISSUED } from '../../../lambdas/contracts/observation.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import type { IssuedVerdict } from '../../../lambdas/tables/issued-verdicts.ts';
import { messageOf } from '../../../lambdas/words/findings.ts';
import { makeRequest } from '../x509/request-factory.ts';
import { assess, found, member, certificate as observed, read, unread } from './fixtures.ts';
import { CLUSTERS, CSRS, clusterAnswers, type Fleet, issuedRequest, MACHINES } from './issued-cluster.ts';
import { type ServingCertificate, servingCertificate } from './serving-certificate.ts';
import { type Answers, contextOf, failure, fakeClient, NOW } from './sources/fake-cluster.ts';
import { decodeSnapshot, encodeSnapshot } from './stored-snapshot.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Two machines, made ten days ago. */
const FLEET: Fleet = { 'node-1': { address: '10.0.0.1' }, 'node-2': { address: '10.0.0.2' } };
const honest = (more: Partial<ServingCertificate> = {}) =>
  issuedRequest({ node: 'node-1', addresses: ['10.0.0.1'], ...more });
const ofAddress = (more: Partial<ServingCertificate> = {}) =>
  issuedRequest({ node: 'node-1', addresses: ['10.0.0.1', '10.0.0.2'], ...more });
const ofName = (more: Partial<ServingCertificate> = {}) =>
  issuedRequest({ node: 'node-1', dnsNames: ['node-1', 'node-2'], addresses: [], ...more });

/** One audit after the other, each with the snapshot of the one before as it is stored. */
async function audited(...given: readonly (readonly [afterMs: number, Answers])[]): Promise<readonly Snapshot[]> {
  const snapshots: Snapshot[] = [];
  for (const [afterMs, answers] of given) {
    const client = fakeClient(answers);
    const { target, signal } = contextOf(client, { reach: { handshakes: false } });
    const last = snapshots.at(-1);
    const { snapshot } = await audit(
      { ...target, management: client },
      {
        previous: last && (await decodeSnapshot(await encodeSnapshot(last))),
        thresholds: DEFAULT_THRESHOLDS,
        clock: () => NOW + afterMs,
        signal,
        sources: [nodes, machines, signingRequests],
      },
    );
    snapshots.push(snapshot);
  }
  return snapshots;
}

const issuedIn = (snapshot: Snapshot | undefined) =>
  (snapshot?.findings ?? []).flatMap(({ code, severity, object }) =>
    code.startsWith('Issued') ? [`${severity} ${code} ${object.split(' ')[1]}`] : [],
  );
const NONE = { 'names-another': 0, 'not-proven': 0, 'no-longer-proven': 0, unknown: 0, proven: 0 };
const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
const ANOTHER = ['critical IssuedNamesAnother node-1'];
const UNPROVEN = ['warning IssuedUnproven node-1'];

describe('what names another’s is not hidden', () => {
  it.each<[string, readonly object[], hostile?: number]>([
    ['by a newer certificate of the same node', [ofAddress(), honest({ at: NOW - 10 * MINUTE })]],
    ['by many newer ones', [ofAddress(), ...Array.from({ length: 40 }, (_, n) => honest({ at: NOW - n * 1000 }))]],
    ['by one of the same second', [honest(), ofAddress(), honest()]],
    [
      'by those of other requesters',
      [...Array.from({ length: 30 }, (_, n) => issuedRequest({ node: `node-${n + 10}`, addresses: [] })), ofAddress()],
    ],
    [
      'by requests of another signer',
      [
        honest(),
        ofAddress({ at: NOW - 50 * MINUTE }),
        issuedRequest({ node: 'node-1', dnsNames: ['node-2'], addresses: [], signer: CLIENT_SIGNER }),
        ...Array.from({ length: 10_100 }, (_, n) =>
          issuedRequest({
            node: `node-${n}`,
            addresses: [],
            at: NOW,
            certificate: '-',
            signer: CLIENT_SIGNER,
          }),
        ),
      ],
    ],
    ['by its own number', [ofName(), ofName({ at: NOW - MINUTE }), ofAddress()], 3],
  ])('%s', async (_, requests, hostile = 1) => {
    const [now, later, muchLater] = await audited(
      [0, clusterAnswers(FLEET, requests)],
      [HOUR, clusterAnswers(FLEET)],
      [30 * DAY, clusterAnswers(FLEET, [honest({ at: NOW + 30 * DAY - MINUTE })])],
    );
    for (const snapshot of [now, later, muchLater])
      expect(issuedIn(snapshot).filter((told) => told.startsWith('critical'))).toEqual(
        Array.from({ length: hostile }, () => ANOTHER[0]),
      );
    // It is called the same whatever is beside it.
    const objects = [now, later, muchLater].map((snapshot) =>
      snapshot?.findings.flatMap(({ code, object, since }) => (code === 'IssuedNamesAnother' ? [object, since] : [])),
    );
    expect(objects[1]).toEqual(objects[0]);
    expect(objects[2]).toEqual(objects[0]);
  });

  it('by the end of a life of minutes', async () => {
    const short = ofAddress({ at: NOW - 2 * MINUTE, lifeMs: 10 * MINUTE });
    const [young, ended, over] = await audited(
      [0, clusterAnswers(FLEET, [short])],
      [30 * MINUTE, clusterAnswers(FLEET, [short])],
      [8 * DAY, clusterAnswers(FLEET)],
    );
    expect([young, ended, over].map(issuedIn)).toEqual([UNPROVEN, ANOTHER, []]);
  });

  it('by evidence that cannot be read', async () => {
    const lost = (path: string) => ({ ...clusterAnswers(FLEET), [path]: failure('timeout') });
    const all = await audited(
      [0, clusterAnswers(FLEET, [ofAddress()])],
      [HOUR, lost(MACHINES)],
      [2 * HOUR, lost(CLUSTERS)],
      [3 * HOUR, lost('/api/v1/nodes')],
      [4 * HOUR, lost(CSRS)],
      [5 * HOUR, clusterAnswers(FLEET)],
    );
    expect(all.map(issuedIn)).toEqual(all.map(() => ANOTHER));
  });

  it('by a node that no list has', async () => {
    const { 'node-1': _, ...others } = FLEET;
    const all = await audited(
      [0, clusterAnswers(others, [ofName()])],
      [HOUR, clusterAnswers(others)],
      [300 * DAY, clusterAnswers(others)],
    );
    expect(all.map(issuedIn)).toEqual(all.map(() => ANOTHER));
  });

  it('until its node is gone', async () => {
    const { 'node-1': _, ...others } = FLEET;
    const [, gone] = await audited([0, clusterAnswers(FLEET, [ofName()])], [HOUR, clusterAnswers(others)]);
    expect(issuedIn(gone)).toEqual([]);
    const anew = { ...FLEET, 'node-1': { address: '10.0.0.9', bornAt: NOW + 30 * MINUTE } };
    const [, replaced] = await audited([0, clusterAnswers(FLEET, [ofName()])], [HOUR, clusterAnswers(anew)]);
    expect(issuedIn(replaced)).toEqual([]);
    // Cluster API makes Machines anew when it is moved: when the certificate expires is not forgotten.
    expect(replaced?.observations).toContainEqual(expect.objectContaining({ kind: 'certificate', member: 'node-1' }));
  });
});

const garbageOf = (node: string, at = NOW - 30 * MINUTE) =>
  issuedRequest({
    node,
    addresses: [],
    at,
    certificate: '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n',
  });

describe('a certificate that cannot be read', () => {
  it('is not proven as long as its node is there, and since when is stored', async () => {
    const all = await audited(
      [0, clusterAnswers(FLEET, [garbageOf('node-1')])],
      [HOUR, clusterAnswers(FLEET, [garbageOf('node-1')])],
      [2 * HOUR, { ...clusterAnswers(FLEET), [CSRS]: failure('timeout') }],
      [30 * DAY, clusterAnswers(FLEET, [honest({ at: NOW + 30 * DAY - 30 * MINUTE })])],
    );
    expect(all.map(issuedIn)).toEqual(all.map(() => UNPROVEN));
    const since = all.flatMap(({ observations }) =>
      observations.flatMap((one) => (one.kind === 'unread' && one.issued?.since) || []),
    );
    expect(since).toEqual(all.map(() => new Date(NOW).toISOString()));
    expect(all[1]?.findings).toContainEqual(
      expect.objectContaining({
        object: 'kubelet-serving node-1 malformed',
        facts: expect.objectContaining({
          node: 'node-1',
          approvedBy: 'AutoApproved',
          why: expect.stringMatching(/^it cannot be read, .*: certificate to be signed/),
        }),
      }),
    );
    expect(all[1] === undefined || issuedSummaryOf(all[1].observations)?.counts['not-proven']).toBe(1);
  });

  it.each<[string, Fleet]>([
    ['its node is gone', { 'node-2': { address: '10.0.0.2' } }],
    ['a newer Machine has its name', { ...FLEET, 'node-1': { address: '10.0.0.9', bornAt: NOW + 30 * MINUTE } }],
  ])('until %s', async (_, fleet) => {
    const [, later] = await audited([0, clusterAnswers(FLEET, [garbageOf('node-1')])], [HOUR, clusterAnswers(fleet)]);
    expect(issuedIn(later)).toEqual([]);
  });

  it('of a machine that was replaced before anyone looked is only unreadable', async () => {
    const fleet = { ...FLEET, 'node-1': { address: '10.0.0.9', bornAt: NOW - 5 * MINUTE } };
    const [snapshot] = await audited([0, clusterAnswers(fleet, [garbageOf('node-1')])]);
    expect(issuedIn(snapshot)).toEqual([]);
    expect(snapshot?.findings).toContainEqual(expect.objectContaining({ code: 'CertificateUnreadable' }));
  });

  it('of a requester that is no node is forgotten after a week', async () => {
    const request = structuredClone(garbageOf('node-1')) as { spec: { username: string; groups: string[] } };
    Object.assign(request.spec, { username: 'system:serviceaccount:ops:signer', groups: [] });
    const all = await audited(
      [0, clusterAnswers(FLEET, [request])],
      [6 * DAY, clusterAnswers(FLEET)],
      [8 * DAY, clusterAnswers(FLEET)],
    );
    const told = ['warning IssuedUnproven system:serviceaccount:ops:signer,'];
    expect(all.map(issuedIn)).toEqual([told, told, []]);
  });
});

describe('what is approved and not issued', () => {
  const approved = (
    names: readonly string[],
    change: { readonly username?: string; readonly groups?: string[]; readonly signerName?: string } = {},
  ) => {
    const { pem } = makeRequest({ sans: names.map((value) => ({ kind: 'dNSName' as const, value })) });
    const { metadata, spec, status } = structuredClone(honest()) as { metadata: object; spec: object; status: object };
    return {
      metadata,
      spec: { ...spec, request: Buffer.from(pem).toString('base64'), ...change },
      status: { ...status, certificate: undefined },
    };
  };

  it.each<[string, object, readonly string[]]>([
    ['its own name', approved(['node-1']), []],
    ['the name of another node', approved(['node-1', 'node-2']), ANOTHER],
    ['a name that no one has', approved(['node-1', 'auth.evil.io']), UNPROVEN],
    ['by no node', approved(['node-1'], { username: 'mallory', groups: [] }), ['critical IssuedNamesAnother mallory,']],
    [
      'asked for by a user who is only called like its node',
      approved(['node-1'], { username: 'system:node:node-1', groups: [] }),
      ['critical IssuedNamesAnother system:node:node-1,'],
    ],
    ['the worst of two', [approved(['node-1', 'node-2']), approved(['node-1', 'auth.evil.io'])], ANOTHER],
    ['of another signer', approved(['node-1', 'node-2'], { signerName: 'example.com/x' }), []],
    ['no request at all', { ...approved([]), spec: { ...approved([]).spec, request: 'AAAA' } }, []],
  ])('is judged by its names: %s', async (_, request, expected) => {
    const [now, later] = await audited([0, clusterAnswers(FLEET, [request].flat())], [HOUR, clusterAnswers(FLEET)]);
    expect(issuedIn(now)).toEqual(expected);
    // It was never issued, or what was issued is judged itself.
    expect(issuedIn(later)).toEqual([]);
    expect(now && issuedSummaryOf(now.observations)).toBeUndefined();
    const waiting = now?.observations.filter((one) => one.kind === 'unread' && one.problem === NOT_ISSUED);
    expect(waiting).toHaveLength(expected.length);
  });
});

it('a requester that is no node has one place, whatever subjects it asks for', async () => {
  const requests = Array.from({ length: 40 }, (_, n) => {
    const request = structuredClone(issuedRequest({ node: `n${n}`, addresses: [] })) as { spec: object };
    Object.assign(request.spec, { username: 'mallory', groups: [] });
    return request;
  });
  const [snapshot] = await audited([0, clusterAnswers(FLEET, requests)]);
  const told = (snapshot?.observations ?? []).filter((one) => one.kind === 'certificate' && one.issued !== undefined);
  expect(told).toHaveLength(16);
  // Only the certificate says which node it is for.
  const facts = (snapshot?.findings ?? []).flatMap((one) => (one.code === 'IssuedNamesAnother' ? one.facts : []));
  expect(facts).toContainEqual(
    expect.objectContaining({
      where: expect.stringMatching(/^mallory,/),
      commonName: expect.stringMatching(/^system:node:n\d+$/),
    }),
  );
});

describe('evidence that stays unread', () => {
  const lasting = (snapshot: Snapshot | undefined) =>
    (snapshot?.findings ?? []).flatMap((one) =>
      one.code === 'SourceUnread' && one.object === 'evidence of kubelet-serving' ? [messageOf(one, NOW)] : [],
    );
  const lost = { ...clusterAnswers(FLEET, [honest()]), [CLUSTERS]: failure('forbidden') };
  const without = { ...lost, [CSRS]: [] };

  it('is told after a day, and no longer once it is read', async () => {
    const all = await audited(
      [0, lost],
      [HOUR, without],
      [DAY - HOUR, without],
      [DAY + HOUR, without],
      [DAY + 2 * HOUR, clusterAnswers(FLEET)],
    );
    expect(all.map((one) => lasting(one).length)).toEqual([0, 0, 0, 1, 0]);
    expect(lasting(all[3])[0]).toMatch(
      /^1 kubelet certificate could not be judged for .*: node-1: .*prove nothing now/,
    );
    expect(all.map(issuedIn)).toEqual(all.map(() => []));
  });

  it('is told where the service CIDRs are not known', async () => {
    const unknown = {
      ...clusterAnswers(FLEET),
      [CLUSTERS]: [{ metadata: { name: 'berlin', namespace: 'eksa-system' }, spec: {} }],
    };
    const all = await audited([0, { ...unknown, [CSRS]: [honest()] }], [2 * DAY, unknown]);
    expect(all.map((one) => lasting(one).length)).toEqual([0, 1]);
  });

  it('is no word about what no evidence can tell', async () => {
    const replaced = { ...FLEET, 'node-1': { address: '10.0.0.9', bornAt: NOW - 5 * MINUTE } };
    const all = await audited(
      [0, clusterAnswers(replaced, [honest()])],
      [2 * DAY, clusterAnswers(replaced)],
      // Not at once either.
      [2 * DAY + HOUR, { ...clusterAnswers(replaced), [CLUSTERS]: failure('forbidden') }],
    );
    expect(all.flatMap(lasting)).toEqual([]);
  });
});

describe('what was not proven once', () => {
  it('is judged again while nothing shows it', async () => {
    const moved = { ...FLEET, 'node-1': { address: '10.0.0.7' } };
    const [first, second] = await audited(
      [0, clusterAnswers(FLEET, [honest({ addresses: ['10.0.0.7'] })])],
      [HOUR, clusterAnswers(moved)],
    );
    expect([first, second].map(issuedIn)).toEqual([UNPROVEN, []]);
    expect(second === undefined || first === undefined || worthWriting(first, second)).toBe(true);
  });

  it('stays so for its key, whatever its names are, and without a name', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
    const odd = honest({ key: publicKey.export({ format: 'der', type: 'spki' }) });
    const all = await audited(
      [0, clusterAnswers(FLEET, [odd, honest({ dnsNames: [], addresses: [] })])],
      [HOUR, clusterAnswers(FLEET)],
      [2 * HOUR, clusterAnswers(FLEET)],
    );
    expect(all.map(issuedIn)).toEqual(all.map(() => [...UNPROVEN, ...UNPROVEN]));
  });

  it('with more names than are kept is never proven by those that are', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `10.0.5.${n}`);
    const forbidden = { ...clusterAnswers(FLEET, [honest({ addresses: names })]), [MACHINES]: failure('forbidden') };
    const first = { ...FLEET, 'node-1': { address: '10.0.5.0' } };
    const [, later] = await audited([0, forbidden], [HOUR, clusterAnswers(first)]);
    expect(later?.observations).toContainEqual(
      expect.objectContaining({ issued: expect.objectContaining({ verdict: 'not-proven' }) }),
    );
  });
});

describe('bad input', () => {
  const withoutPath = (path: string, requests: readonly object[]) => ({
    ...clusterAnswers(FLEET, requests),
    [path]: failure('forbidden'),
  });

  it.each(['/api/v1/nodes', MACHINES, CLUSTERS])(
    'evidence that cannot be read is no word against anything: %s',
    async (path) => {
      const [snapshot] = await audited([0, withoutPath(path, [ofAddress()])]);
      expect(issuedIn(snapshot)).toEqual(path === '/api/v1/nodes' ? ['critical IssuedNamesAnother node-1'] : []);
    },
  );

  it('an address that was handed on is never another’s', async () => {
    const handed = { 'node-1': { address: '10.0.0.3' }, 'node-2': { address: '10.0.0.1' } };
    const all = await audited(
      [0, clusterAnswers(FLEET, [honest()])],
      [HOUR, clusterAnswers(handed)],
      [DAY, clusterAnswers(handed)],
    );
    expect(all.map(issuedIn)).toEqual(all.map(() => []));
    // Nor where nothing could be read until then.
    const late = await audited(
      [0, withoutPath(MACHINES, [honest()])],
      [HOUR, clusterAnswers(handed)],
      [DAY, clusterAnswers(handed)],
    );
    expect(late.map(issuedIn)).toEqual([[], UNPROVEN, UNPROVEN]);
  });

  it('a Machine that was replaced five minutes ago, with the name and the address of another', async () => {
    const bornAt = NOW - 5 * MINUTE;
    const replaced = { 'node-1': { address: '10.0.0.8', bornAt }, 'node-9': { address: '10.0.0.1', bornAt } };
    const [snapshot] = await audited([
      0,
      clusterAnswers(replaced, [honest(), issuedRequest({ node: 'node-9', addresses: ['10.0.0.1'], at: NOW })]),
    ]);
    expect(issuedIn(snapshot)).toEqual([]);
  });

  it('a certificate that is none', async () => {
    const garbage = issuedRequest({
      node: 'node-2',
      addresses: [],
      certificate: '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n',
    });
    const [snapshot] = await audited([0, clusterAnswers(FLEET, [garbage, ofName()])]);
    expect(issuedIn(snapshot)).toEqual([...ANOTHER, 'warning IssuedUnproven node-2']);
    expect(snapshot?.findings.filter(({ code }) => code === 'CertificateUnreadable')).toEqual([]);
    expect(snapshot?.observations).toContainEqual(
      expect.objectContaining({ kind: 'unread', what: 'kubelet-serving', member: 'node-2', problem: 'malformed' }),
    );
  });

  it('100,000 requests: of each requester the newest first, and the others are counted', {
    timeout: 120_000,
  }, async () => {
    const certificate = servingCertificate({ node: 'flood', addresses: ['10.0.0.5'], at: NOW - HOUR / 2 });
    const flood = Array.from({ length: 100_000 }, (_, n) =>
      issuedRequest({ node: 'flood', addresses: [], certificate, at: NOW - n }),
    );
    const [snapshot] = await audited([0, clusterAnswers(FLEET, [...flood, ofName({ at: NOW - 50 * MINUTE })])]);
    expect(issuedIn(snapshot)).toEqual([...ANOTHER, 'warning IssuedUnproven flood', 'warning IssuedUnproven flood']);
    const tooMany = snapshot?.findings.find(({ object }) => object.endsWith('too-large'));
    expect(JSON.stringify(tooMany?.facts)).toMatch(/[^-]\b90001 certificates issued to system:node:flood /);
    expect(snapshot?.observations).toContainEqual(
      expect.objectContaining({
        kind: 'unread',
        problem: 'too-large',
        message: expect.stringMatching(/^90001 more than an audit keeps/),
      }),
    );
  });

  it('large ones hide no ordinary one, of the same requester or of another', async () => {
    const large = Array.from({ length: 400 }, (_, n) =>
      issuedRequest({ node: 'flood', addresses: [], certificate: 'A'.repeat(85_011), at: NOW - n }),
    );
    const own = issuedRequest({ node: 'flood', dnsNames: ['flood', 'node-2'], addresses: [], at: NOW - HOUR / 2 });
    const [snapshot] = await audited([0, clusterAnswers(FLEET, [...large, own, ofName({ at: NOW - 50 * MINUTE })])]);
    expect(issuedIn(snapshot).toSorted()).toEqual([
      'critical IssuedNamesAnother flood',
      ...ANOTHER,
      'warning IssuedUnproven flood',
      'warning IssuedUnproven flood',
    ]);
  });

  it('requesters that are cut are told, not more than a few hundred', async () => {
    const certificate = 'A'.repeat(80_000);
    const asked = (at: number) =>
      Array.from({ length: 300 }, (_, n) => issuedRequest({ node: `node-${n}`, addresses: [], certificate, at }));
    // The first of each was asked for by a machine that has been replaced since, and accuses no one.
    const requests = [...asked(NOW - 30 * MINUTE), ...asked(NOW), ...asked(NOW)];
    const fleet = Array.from({ length: 300 }, (_, n) => [
      `node-${n}`,
      { address: `10.1.0.${n}`, bornAt: NOW - 5 * MINUTE },
    ]);
    const [snapshot] = await audited([0, clusterAnswers(Object.fromEntries(fleet) as Fleet, requests)]);
    const cut = (snapshot?.observations ?? [])
      .filter((one) => one.kind === 'unread')
      .filter(({ problem, issued }) => problem === 'too-large' && issued !== undefined);
    expect(cut).toHaveLength(200);
    for (const { message } of cut) expect(message).toMatch(/^[23] certificates issued to/);
  });

  it('issued requests take no requests to the API server', async () => {
    const many = Array.from({ length: 800 }, (_, n) => honest({ at: NOW - n * 1000 }));
    const calls = async (answers: Answers) => {
      const client = fakeClient(answers);
      const { target, signal } = contextOf(client, { reach: { handshakes: false } });
      const { requests } = await audit(
        { ...target, management: client },
        {
          previous: undefined,
          thresholds: DEFAULT_THRESHOLDS,
          clock: () => NOW,
          signal,
          sources: [nodes, machines, signingRequests],
        },
      );
      return requests;
    };
    const [none, one, all] = [
      await calls(clusterAnswers(FLEET)),
      await calls(clusterAnswers(FLEET, [honest()])),
      await calls(clusterAnswers(FLEET, many)),
    ];
    // One for the Cluster, which Machines are believed by, and one for the ServiceCIDRs.
    expect(one - none).toBe(2);
    expect(all).toBe(one);
  });
});

it('a snapshot that knows nothing of verdicts is read, and told anew', async () => {
  const [first] = await audited([0, clusterAnswers(FLEET, [ofName()])]);
  if (first === undefined) throw new Error('no audit');
  const older = {
    ...first,
    observations: first.observations.map((one) => (one.kind === 'certificate' ? { ...one, issued: undefined } : one)),
  };
  expect(await decodeSnapshot(await encodeSnapshot(older))).toEqual(JSON.parse(JSON.stringify(older)));
  expect(worthWriting(older, first)).toBe(true);
  expect(worthWriting(first, first)).toBe(false);
});

it('verdicts are counted for each approver, those with most first, and for all others together', () => {
  const of = (approvedBy: string | undefined, count: number, verdict: IssuedVerdict = 'proven') =>
    Array.from({ length: count }, (_, n) =>
      observed({ fingerprint: `${approvedBy} ${n}`, issued: { verdict, approvedBy } }),
    );
  const waiting = { ...unread('signing-requests'), problem: NOT_ISSUED, issued: { verdict: 'not-proven' } } as const;
  const large = [...of('b', 2), ...of('c', 3), ...of('a', 2)];
  const small = 'j i h g f e d'.split(' ').flatMap((approver) => of(approver, 1));
  const summary = issuedSummaryOf([waiting, ...of(undefined, 4, 'names-another'), ...small, ...large]);
  expect(summary?.byApprover.map(({ approvedBy, counts }) => `${approvedBy} ${counts.proven}`)).toEqual([
    'c 3',
    'a 2',
    'b 2',
    'd 1',
    'e 1',
    'f 1',
    'g 1',
    'h 1',
    'undefined 2',
  ]);
  expect(summary?.counts).toEqual({ ...NONE, 'names-another': 4, proven: 14 });
  expect(issuedSummaryOf(of('a', 1))?.byApprover).toEqual([{ approvedBy: 'a', counts: { ...NONE, proven: 1 } }]);
  expect(issuedSummaryOf([...of('a', 1), ...of(undefined, 1)])?.byApprover).toHaveLength(2);
});

describe('what a kubelet shows', () => {
  const shown = (changes: Partial<CertificateObservation> = {}) =>
    observed({
      what: 'kubelet-serving',
      where: '10.0.1.43:10250',
      member: 'worker-3',
      fingerprint: 'f'.repeat(64),
      issuedByCluster: true,
      issued: { verdict: 'names-another', why: 'it is a CA' },
      ...changes,
    });
  const told = (assessment: Assessment) => found(assessment, 'IssuedNamesAnother').map(({ object }) => object);
  const before = assess([shown(), read('tls'), read('trust-configmaps'), member(), read('nodes')]);
  const untold = { issuedByCluster: undefined, issued: undefined };

  it('is as it was judged before while its authority cannot be read', () => {
    const now = [shown(untold), read('tls'), unread('trust-configmaps'), member(), read('nodes')];
    expect(told(before)).toEqual(['kubelet-serving worker-3 ffffffff']);
    const first = assess(now, before);
    expect(told(first)).toEqual(told(before));
    expect(told(assess(now, first))).toEqual(told(before));
    expect(told(assess([unread('tls'), unread('trust-configmaps'), unread('nodes')], first))).toEqual(told(before));
  });

  it('is another one when it is another certificate, or of another authority', () => {
    const sources = [read('tls'), read('trust-configmaps'), member(), read('nodes')];
    expect(told(assess([shown({ ...untold, fingerprint: 'e'.repeat(64) }), ...sources], before))).toEqual([]);
    expect(told(assess([shown({ ...untold, issuedByCluster: false }), ...sources], before))).toEqual([]);
  });
});
