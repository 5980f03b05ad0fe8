import { expect, it } from 'vitest';
import { keepObservations } from '../../../lambdas/audit/keep-observations.ts';
import type { CertificateObservation, Observation } from '../../../lambdas/contracts/observation.ts';
import type { IssuedVerdict } from '../../../lambdas/tables/issued-verdicts.ts';
import { certificate, days, member, NOW, read, unread } from './fixtures.ts';

type Changes = Partial<CertificateObservation>;
const worker = member();
const server = (changes: Changes = {}) => certificate({ member: 'cp-1', keyProven: true, ...changes });
const kubelet = (changes: Changes = {}) => certificate({ what: 'kubelet-serving', member: 'worker-3', ...changes });
const requested = (changes: Changes = {}) =>
  certificate({ source: 'signing-requests', what: 'kubelet-client', where: 'r', member: 'worker-3', ...changes });
const client = (changes: Changes) =>
  requested({ what: 'issued-client', member: undefined, fingerprint: 'a', ...changes });
const judged = (verdict: IssuedVerdict, changes: Changes = {}) =>
  requested({ what: 'kubelet-serving', notBefore: days(-9), fingerprint: verdict, issued: { verdict }, ...changes });
const place = (changes: Parameters<typeof unread>[1]) =>
  unread('signing-requests', { where: 'r', problem: 'malformed', ...changes });
const status = certificate({ source: 'machines', where: 'Machine eksa-system/cp-1', member: 'cp-1', basis: 'status' });
const silent = unread('tls');
const newer = judged('proven', { notBefore: days(0) });
const requests = [read('signing-requests')];
const nodes = [...requests, read('nodes'), worker];
const gone = [...requests, read('nodes')];
const tls = [read('tls')];
const b = { fingerprint: 'b', notBefore: days(-1) };
const clock = { kind: 'clock', source: 'signing-requests', observedAt: days(0), server: 's', skewMs: 0 } as const;
const ofNode = { member: 'worker-3' };
const malformed = unread('tls', { where: '10.0.1.31:6443', member: 'cp-1', problem: 'malformed' });
const at = { where: '10.0.1.32:6443' };

it.each<[title: string, before: readonly Observation[], now: readonly Observation[], kept: number]>([
  ['a server is not what its Machine says of it', [server()], [status, read('machines'), ...tls], 0],
  ['what a Machine said is no server', [status], [server({ keyProven: false }), read('machines'), ...tls], 0],
  ['one of two addresses proves it', [server()], [server(at), server({ keyProven: false }), ...tls], 0],
  ['another address of a lost machine shows it', [server(), member({ name: 'cp-1' })], [server(at), ...tls], 0],
  ['a machine whose list fails', [server(), member({ name: 'cp-1' })], [unread('nodes'), silent], 1],
  ['a place of no machine is in every list', [certificate(), member({ name: 'cp-1' })], tls, 0],
  ['a place of no machine that is gone', [certificate(), member({ node: undefined })], [silent, read('nodes')], 1],
  ['a source that nobody reads', [silent], [], 1],
  ['a source that fails otherwise', [silent], [unread('tls', { problem: 'missing' })], 0],
  ['a source that is read and fails', [server()], [silent, ...tls], 1],
  ['a place with another one', [certificate({ fingerprint: 'a' })], [certificate(b), silent], 0],
  ['a place with an older one', [certificate(b)], [certificate(), silent], 0],
  ['a kubelet with another one', [kubelet({ fingerprint: 'a' })], [kubelet({ fingerprint: 'b' }), silent], 0],
  ['two of one place', [server({ notAfter: days(-1) }), server({ notBefore: days(-1) })], [silent], 2],
  ['an end of a place that is malformed now', [server()], [malformed, ...tls], 1],
  ['a malformed one that is silent now', [malformed], [{ ...malformed, problem: 'timeout' }, ...tls], 1],
  ['a silent one that is malformed now', [{ ...malformed, problem: 'timeout' }], [malformed, ...tls], 0],
  ['another silent place', [unread('tls', { where: 'a' })], [unread('tls', { where: 'b' }), silent], 1],
  ['the same request', [requested()], [requested(), ...nodes], 0],
  ['two requests of one kubelet', [requested(), requested({ notBefore: days(-1) })], nodes, 1],
  ['the later of two ends', [requested({ notBefore: undefined, notAfter: days(9) })], [requested(), ...nodes], 1],
  ['a request of another', [requested({ member: undefined })], [requested({ member: undefined, where: 's' })], 1],
  ['a request of a node, whenever it ended', [requested({ notAfter: days(-30) })], nodes, 1],
  ['… while nodes are not read', [requested({ notAfter: days(-30) })], requests, 1],
  ['… that is no node, but a machine', [requested()], [...gone, member({ source: 'machines' })], 0],
  ['… that is no node, for another, a week ago', [judged('names-another', { notAfter: days(-7) })], gone, 0],
  ['a client for six days', [client({ notAfter: days(-6) })], requests, 1],
  ['a client for a week', [client({ notAfter: days(-7) })], requests, 0],
  ['a client until a newer one', [client({ notAfter: days(0) })], [client(b)], 0],
  ['a node has one', [client(ofNode)], [client({ ...ofNode, fingerprint: 'b' }), ...nodes], 0],
  ['a request that cannot be read', [place({})], requests, 0],
  ['an older one that is not proven', [judged('not-proven')], [newer, ...nodes], 0],
  ['a CA that is sent along is of the same place', [certificate()], [certificate({ position: 1 }), silent], 0],
  ['a kubelet at another address', [kubelet()], [kubelet(at), silent], 0],
  ['a clock', [clock], requests, 0],
])('what is kept: %s', (_, before, now, count) => {
  const others = (all: Iterable<Observation>) => [...all].filter(({ kind }) => kind !== 'member');
  const { kept } = keepObservations(now, before, NOW);
  expect(others(kept)).toEqual(others(before).slice(others(before).length - count));
});

it('what is remembered of a request that is gone has no verdict; of a list that failed it keeps it', () => {
  const before = judged('not-proven');
  const issuedIn = (now: readonly Observation[]) =>
    [...keepObservations(now, [before], NOW).kept].map((one) => one.kind === 'certificate' && one.issued?.verdict);
  expect(issuedIn(nodes)).toEqual([undefined]);
  expect(issuedIn([unread('signing-requests'), read('nodes'), worker])).toEqual(['not-proven']);
});

it('who signed a certificate, and its verdict, stay while authorities are off or not read', () => {
  const before = kubelet({ fingerprint: 'a', issuedByCluster: true, issued: { verdict: 'proven' } });
  const { issuedByCluster: _, issued: __, ...bare } = before;
  const off = { kind: 'off', source: 'eks-cluster', observedAt: days(0), why: '' } as const;
  const all = (now: CertificateObservation, ...more: Observation[]) =>
    keepObservations([now, ...more, ...tls], [before], NOW).all[0];
  const other = { ...bare, issuedByCluster: false };
  const next = { ...bare, fingerprint: 'b' };
  expect([bare, other, next].map((now) => all(now, unread('cluster-secrets')))).toEqual([before, before, next]);
  expect(all(other, read('eks-cluster'), unread('cluster-secrets'))).toEqual(before);
  expect([all(other, read('eks-cluster')), all(bare), all(other, off)]).toEqual([other, before, before]);
});
