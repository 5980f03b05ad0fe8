import { expect, it } from 'vitest';
import { audit } from '../../../lambdas/audit/audit.ts';
import { issuedSummaryOf } from '../../../lambdas/audit/rules/issued.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { machines } from '../../../lambdas/audit/sources/machines.ts';
import { nodes } from '../../../lambdas/audit/sources/nodes.ts';
import { signingRequests } from '../../../lambdas/audit/sources/signing-requests.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import { say } from './fixtures.ts';
import { CLUSTERS, CSRS, clusterAnswers, type Fleet, issuedRequest, MACHINES } from './issued-cluster.ts';
import { type ServingCertificate, servingCertificate } from './serving-certificate.ts';
import { type Answers, contextOf, failure, fakeClient, NOW } from './sources/fake-cluster.ts';
import { decodeSnapshot, encodeSnapshot } from './stored-snapshot.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Two machines, made ten days ago. */
const FLEET: Fleet = { 'node-1': { address: '10.0.0.1' }, 'node-2': { address: '10.0.0.2' } };
const honest = (more: Partial<ServingCertificate> = {}) =>
  issuedRequest({ node: 'node-1', addresses: ['10.0.0.1'], ...more });
const ofAddress = (more: Partial<ServingCertificate> = {}) =>
  issuedRequest({ node: 'node-1', addresses: ['10.0.0.1', '10.0.0.2'], ...more });
const ofName = (more: Partial<ServingCertificate> = {}) =>
  issuedRequest({ node: 'node-1', dnsNames: ['node-1', 'node-2'], addresses: [], ...more });

type Audited = Snapshot & { readonly requests: number };

/** One audit after the other, each with the snapshot of the one before as it is stored. */
async function audited(...given: readonly (readonly [afterMs: number, Answers])[]): Promise<readonly Audited[]> {
  const snapshots: Audited[] = [];
  for (const [afterMs, answers] of given) {
    const client = fakeClient(answers);
    const { target, signal } = contextOf(client, { reach: { handshakes: false } });
    const last = snapshots.at(-1);
    const { snapshot, requests } = await audit(
      { ...target, management: client },
      {
        previous: last && (await decodeSnapshot(await encodeSnapshot(last))),
        thresholds: DEFAULT_THRESHOLDS,
        clock: () => NOW + afterMs,
        signal,
        sources: [nodes, machines, signingRequests],
      },
    );
    snapshots.push({ ...snapshot, requests });
  }
  return snapshots;
}

const issuedIn = (snapshot: Snapshot | undefined) =>
  (snapshot?.findings ?? []).flatMap(({ code, severity, object }) =>
    code.startsWith('Issued') ? [`${severity} ${code} ${object.split(' ')[1]}`] : [],
  );
const NONE = { 'names-another': 0, 'not-proven': 0, unknown: 0, proven: 0 };
const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
const ANOTHER = ['critical IssuedNamesAnother node-1'];
const UNPROVEN = ['warning IssuedUnproven node-1'];
const QUARTER = 15 * MINUTE;
const lost = (path: string, requests: readonly object[] = []) => ({
  ...clusterAnswers(FLEET, requests),
  [path]: failure('timeout'),
});

it.each<[string, readonly object[], hostile?: number]>([
  ['a newer certificate of the same node', [ofAddress(), honest({ at: NOW - 10 * MINUTE })]],
  ['many newer ones', [ofAddress(), ...Array.from({ length: 40 }, (_, n) => honest({ at: NOW - n * 1000 }))]],
  [
    'those of other requesters',
    [...Array.from({ length: 30 }, (_, n) => issuedRequest({ node: `node-${n + 10}`, addresses: [] })), ofAddress()],
  ],
  [
    'requests of another signer',
    [
      ofAddress(),
      ...Array.from({ length: 3_000 }, (_, n) =>
        issuedRequest({ node: `node-${n}`, addresses: [], at: NOW, certificate: '-', signer: CLIENT_SIGNER }),
      ),
    ],
  ],
  ['its own number', [ofName(), ofName({ at: NOW - MINUTE }), ofAddress()], 3],
])('what names another is not hidden by %s, and ends with its request', async (_, requests, hostile = 1) => {
  const [, second, over] = await audited(
    [0, clusterAnswers(FLEET, requests)],
    [QUARTER, clusterAnswers(FLEET, requests)],
    [HOUR, clusterAnswers(FLEET)],
  );
  expect(issuedIn(second).filter((told) => told.startsWith('critical'))).toEqual(
    Array.from({ length: hostile }, () => ANOTHER[0]),
  );
  expect(issuedIn(over)).toEqual([]);
  // When it expires is not forgotten.
  expect(over?.observations).toContainEqual(expect.objectContaining({ kind: 'certificate', member: 'node-1' }));
});

it('an address that was handed on is another’s from the second audit on, until its certificate is gone', async () => {
  const handed: Fleet = { 'node-1': { address: '10.0.0.3' }, 'node-2': { address: '10.0.0.1' } };
  const old = honest();
  const all = await audited(
    [0, clusterAnswers(FLEET, [old])],
    [QUARTER, clusterAnswers(handed, [old])],
    [2 * QUARTER, clusterAnswers(handed, [old])],
    [3 * QUARTER, clusterAnswers(handed, [honest({ addresses: ['10.0.0.3'] })])],
  );
  expect(all.map(issuedIn)).toEqual([[], UNPROVEN, ANOTHER, []]);
  expect(say(all[1]?.findings.find(({ code }) => code === 'IssuedUnproven'))).toMatch(
    /10\.0\.0\.1 belongs to node-2 .*; if the next audit sees that too, it is critical/,
  );
});

it('an address that each audit sees in a new certificate is another’s too', async () => {
  const all = await audited(
    ...[0, 1, 2].map((n) => [n * QUARTER, clusterAnswers(FLEET, [ofAddress({ at: NOW + n * QUARTER })])] as const),
  );
  expect(all.map(issuedIn)).toEqual([UNPROVEN, ANOTHER, ANOTHER]);
});

it('a list that is cut short ends no finding, whatever it has', async () => {
  const pages = [{ items: [honest({ at: NOW + QUARTER })], metadata: { continue: 'next' } }];
  const cut = async () => {
    const page = pages.shift();
    if (page === undefined) throw failure('timeout');
    return page;
  };
  const [, second] = await audited(
    [0, clusterAnswers(FLEET, [ofName()])],
    [QUARTER, { ...clusterAnswers(FLEET), [CSRS]: cut }],
  );
  expect(issuedIn(second)).toEqual(ANOTHER);
});

it.each([MACHINES, CLUSTERS, '/api/v1/nodes', CSRS])('no failed read ends a finding: %s', async (path) => {
  const requests = [ofAddress()];
  const all = await audited(
    [0, clusterAnswers(FLEET, requests)],
    [QUARTER, clusterAnswers(FLEET, requests)],
    [2 * QUARTER, lost(path, requests)],
    [3 * QUARTER, lost(path, requests)],
  );
  expect(all.map(issuedIn)).toEqual([UNPROVEN, ANOTHER, ANOTHER, ANOTHER]);
});

it('evidence that cannot be read is no word against anything, and is told until it is read', async () => {
  const unjudged = (snapshot: Snapshot | undefined) =>
    (snapshot?.findings ?? []).flatMap((one) =>
      one.code === 'SourceUnread' && one.object === 'evidence of kubelet-serving' ? say(one) : [],
    );
  const noServices = {
    ...clusterAnswers(FLEET, [honest()]),
    [CLUSTERS]: [{ metadata: { name: 'berlin', namespace: 'eksa-system' }, spec: {} }],
  };
  const all = await audited(
    [0, lost(CLUSTERS, [ofAddress()])],
    [QUARTER, clusterAnswers(FLEET, [honest()])],
    [2 * QUARTER, noServices],
  );
  expect(all.map(issuedIn)).toEqual([[], [], []]);
  expect(all.map((one) => unjudged(one).length)).toEqual([1, 0, 1]);
  expect(unjudged(all[0])[0]).toMatch(/^1 kubelet certificate could not be judged, .*: node-1: .*prove nothing now/);
});

it('a certificate that cannot be read is not proven, and one of no node has one place', async () => {
  const garbage = issuedRequest({
    node: 'node-2',
    addresses: [],
    certificate: '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n',
  });
  const ofMallory = Array.from({ length: 40 }, (_, n) => {
    const request = structuredClone(issuedRequest({ node: `n${n}`, addresses: [] })) as { spec: object };
    Object.assign(request.spec, { username: 'mallory', groups: [] });
    return request;
  });
  const [snapshot] = await audited([0, clusterAnswers(FLEET, [garbage, ofName(), ...ofMallory])]);
  expect(issuedIn(snapshot).filter((one) => !one.includes('mallory'))).toEqual([
    ...ANOTHER,
    'warning IssuedUnproven node-2',
  ]);
  expect(snapshot?.findings.filter(({ code }) => code === 'CertificateUnreadable')).toEqual([]);
  expect(snapshot && issuedSummaryOf(snapshot.observations)).toEqual({ ...NONE, 'names-another': 17, 'not-proven': 1 });
  // Only the certificate says which node it is for.
  const messages = (snapshot?.findings ?? []).map((one) => say(one)).filter((text) => text.includes('of mallory'));
  expect(messages).toHaveLength(16);
  expect(messages).toContainEqual(
    expect.stringMatching(/^the certificate of mallory, .*, for system:node:n\d+, issued .*, approved by AutoApproved/),
  );
});

it.each([-MINUTE, MINUTE])(
  'a certificate that is too long is critical beside an unreadable one made %i ms later',
  async (age) => {
    const request = { node: 'node-2', addresses: [] };
    const large = issuedRequest({ ...request, certificate: 'A'.repeat(85_011), at: NOW - HOUR / 2 });
    const garbage = issuedRequest({ ...request, certificate: 'A', at: NOW - HOUR / 2 + age });
    const [snapshot] = await audited([0, clusterAnswers(FLEET, [large, garbage])]);
    expect(issuedIn(snapshot)).toEqual(['critical IssuedNamesAnother node-2']);
  },
);

it('20,000 requests of one requester hide none of another, and the others are counted', async () => {
  const certificate = servingCertificate({ node: 'flood', addresses: ['10.0.0.5'], at: NOW - HOUR / 2 });
  const flood = Array.from({ length: 20_000 }, (_, n) =>
    issuedRequest({ node: 'flood', addresses: [], certificate, at: NOW - n }),
  );
  const large = issuedRequest({ node: 'node-2', addresses: [], certificate: 'A'.repeat(85_011) });
  const [snapshot] = await audited([0, clusterAnswers(FLEET, [...flood, large, ofName({ at: NOW - 50 * MINUTE })])]);
  expect(issuedIn(snapshot).toSorted()).toEqual([
    'critical IssuedNamesAnother flood',
    ...ANOTHER,
    'critical IssuedNamesAnother node-2',
  ]);
  expect(say(snapshot?.findings.find(({ object }) => object.endsWith('too-large')))).toMatch(
    /\b18000 more certificates issued to system:node:flood /,
  );
});

it('issued requests take no requests to the API server', async () => {
  const calls = async (issued: number) => {
    const requests = Array.from({ length: issued }, (_, n) => honest({ at: NOW - n * 1000 }));
    const [report] = await audited([0, clusterAnswers(FLEET, requests)]);
    return report?.requests ?? 0;
  };
  const [none, one, many] = [await calls(0), await calls(1), await calls(800)];
  // One for the Cluster, which Machines are believed by, and one for the ServiceCIDRs.
  expect([one - none, many - one]).toEqual([2, 0]);
});
