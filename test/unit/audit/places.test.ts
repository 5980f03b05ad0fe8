import { describe, expect, it } from 'vitest';
import type { Assessment } from '../../../lambdas/audit/assess.ts';
import type { CertificateObservation, Observation } from '../../../lambdas/contracts/observation.ts';
import { assess, certificate, codes, DAY, days, found, member, NOW, read, unread } from './fixtures.ts';

const FIRST = '10.0.1.31';
const SECOND = '10.0.1.32';
const cp = (name = 'cp-1', addresses = [FIRST, SECOND]) =>
  member({ role: 'control-plane', name: `Node ${name}`, node: name, addresses });
const lists = [read('nodes'), read('tls')];

/** One audit after the other, two days apart. */
function audited(...audits: readonly (readonly Observation[])[]): readonly Assessment[] {
  const results: Assessment[] = [];
  for (const [index, observations] of audits.entries()) {
    const now = NOW + index * 2 * DAY;
    const at = observations.map((seen): Observation => ({ ...seen, observedAt: new Date(now).toISOString() }));
    results.push(assess(at, results.at(-1), now));
  }
  return results;
}

/** Of the machine cp-1, unless there is another one. */
const machineAudited = (...audits: readonly (readonly Observation[])[]) =>
  audited(...audits.map((seen) => [...(seen.some(({ kind }) => kind === 'member') ? [] : [cp()]), ...seen, ...lists]));
const last = (results: readonly Assessment[]) => codes(results.at(-1) as Assessment).toSorted();

describe('a server of a machine that answered at its second address', () => {
  const silent = (port: number, changes: Parameters<typeof unread>[1]) =>
    unread('tls', { where: `${FIRST}:${port}`, member: 'cp-1', ...changes });
  const hidden = silent(6443, { what: 'kube-apiserver' });
  const leaf = certificate({ where: `${SECOND}:6443`, member: 'cp-1' });
  const atFirst = { ...leaf, where: `${FIRST}:6443` };
  const elsewhere = cp('cp-1', ['10.0.1.77']);

  it('is missed when it usually hides', () => {
    const scheduler = certificate({ what: 'kube-scheduler', where: `${SECOND}:10259`, member: 'cp-1' });
    const results = machineAudited([scheduler], [silent(10_259, { what: 'kube-scheduler', usual: true })]);
    expect(last(results)).toContain('warning SourceLost tls kube-scheduler');
    expect(results.map((one) => found(one, 'SourceLost'))[1]).toMatchObject([{ placeCount: 1, lastSeen: days(0) }]);
  });

  it('still sends along what has ended', () => {
    const along = { ...leaf, what: 'ca-bundle', position: 1, isAuthority: true, notAfter: days(-1) } as const;
    const results = machineAudited(
      [leaf, along],
      [hidden],
      // Its Node has another address by now, and none.
      [elsewhere, { ...hidden, where: '10.0.1.77:6443' }],
      [cp('cp-1', []), { ...hidden, where: 'cp-1:6443' }],
    );
    for (const result of results)
      expect(codes(result)).toContain(`critical CertificateExpired ca-bundle ${SECOND}:6443 #2`);
    // Its addresses are one place.
    for (const result of results.slice(1)) expect(found(result, 'SourceLost')[0]).toMatchObject({ placeCount: 1 });
  });

  it('still has the certificate that its kubelet made', () => {
    const own = { ...leaf, what: 'kubelet-self-signed', where: `${SECOND}:10250`, notAfter: days(-1) } as const;
    const kubelet = silent(10_250, { what: 'kubelet-serving' });
    const results = machineAudited([own], [kubelet], [elsewhere, { ...kubelet, where: '10.0.1.77:10250' }]);
    for (const result of results)
      expect(codes(result)).toContain('warning CertificateExpired kubelet-self-signed cp-1');
  });

  it('is well when another address of it answers', () => {
    expect(last(machineAudited([{ ...leaf, notAfter: days(-1) }], [hidden], [atFirst]))).toEqual([]);
  });

  it('is not unreachable when it answers elsewhere with something that is no certificate', () => {
    const malformed = { ...hidden, where: `${SECOND}:6443`, problem: 'malformed' } as const;
    const expected = ['warning CertificateUnreadable tls kube-apiserver'];
    expect(last(machineAudited([atFirst], [hidden], [malformed]))).toEqual(expected);
  });
});

it('an endpoint that is looked at no more is forgotten, although another one does not answer at the same port', () => {
  const ended = certificate({ what: 'endpoint', where: '10.0.2.1:443', notAfter: days(-1) });
  const other = unread('tls', { what: 'endpoint', where: '10.0.2.2:443' });
  expect(audited([ended, read('tls')], [other, read('tls')]).map(codes)).toEqual([
    ['critical CertificateExpired endpoint 10.0.2.1:443'],
    ['warning Unreachable tls endpoint'],
  ]);
});

it('a place that does not answer is told until it does, also as what it was looked at for before', () => {
  const place = unread('tls', { what: 'endpoint', where: '10.0.2.1:443' });
  const other = { ...place, what: 'kube-apiserver' } as const;
  const results = audited(
    ...[place, other, { ...other, problem: 'malformed' as const }].map((seen) => [seen, read('tls')]),
  );
  expect(results.map((result) => codes(result).toSorted())).toEqual([
    ['warning Unreachable tls endpoint'],
    ['warning Unreachable tls endpoint', 'warning Unreachable tls kube-apiserver'],
    ['warning CertificateUnreadable tls kube-apiserver'],
  ]);
});

it('a server of a machine whose place has no port is one place', () => {
  const ended = certificate({ where: 'cp-1', member: 'cp-1', notAfter: days(-1) });
  const silent = unread('tls', { where: 'cp-1', what: 'kube-apiserver', member: 'cp-1' });
  expect(last(machineAudited([ended], [silent]))).toContain('critical CertificateExpired kube-apiserver cp-1');
});

it('a Node that got another name while its server does not answer takes nothing with it', () => {
  const results = audited(
    [cp('cp-1', [FIRST]), certificate({ member: 'cp-1', notAfter: days(-1) }), ...lists],
    ...[1, 2].map(() => [
      cp('cp-one', [FIRST]),
      unread('tls', { where: `${FIRST}:6443`, what: 'kube-apiserver', member: 'cp-one' }),
      ...lists,
    ]),
    [cp('cp-one', [FIRST]), certificate({ member: 'cp-one', notAfter: days(400) }), ...lists],
  );
  for (const result of results.slice(0, 3))
    expect(codes(result)).toContain('critical CertificateExpired kube-apiserver cp-1');
  expect(codes(results[3] as Assessment)).toEqual([]);
});

describe('a server of the control plane that shows a certificate without proof', () => {
  const issued = certificate({
    member: 'cp-1',
    fingerprint: 'a',
    commonName: 'kube-apiserver',
    issuedByCluster: true,
    keyProven: true,
    notAfter: days(3),
  });
  const other = { ...issued, fingerprint: 'b', notAfter: days(300) };
  const soon = 'critical CertificateExpiring kube-apiserver cp-1';
  const warned = 'warning IssuerUnknown kube-apiserver cp-1';

  it.each([
    ['one that it made', { issuedByCluster: false }, [soon, warned]],
    ['one whose key it does not have', { keyProven: false }, [soon]],
    ['that of a kubelet', { commonName: 'system:node:worker-3' }, [soon, warned]],
    ['an authority', { isAuthority: true }, [soon, warned]],
  ])('still has the one before: %s', (_, lack, expected) => {
    const shown = { ...other, ...lack };
    const results = machineAudited(
      [issued],
      [shown],
      [cp('cp-1', [SECOND]), { ...shown, where: `${SECOND}:6443` }],
      [other],
    );
    const [before, ...later] = results.map((result) => codes(result).toSorted());
    expect(before).toEqual([soon]);
    expect(later.slice(0, 1)).toEqual([expected.toSorted()]);
    expect(later[1]?.filter((line) => line.includes('Issuer'))).toEqual(expected.slice(1));
    expect(later[1]?.join()).toContain('CertificateEx');
    // A new one that is proven takes its place.
    expect(later[2]).toEqual([]);
  });

  it('still has the one before: one whose key it hangs up before it proves', () => {
    const { keyProven: _, ...unproven } = other;
    const results = machineAudited([issued], [unproven], [other]);
    expect(results.map(codes)).toEqual([[soon], [soon], []]);
  });

  it('is believed no more than what else is known of it, and counts where it ends before that', () => {
    const where = 'Machine eksa-system/cp-1';
    const status = certificate({ source: 'machines', where, member: 'cp-1', basis: 'status' });
    const seen = (...both: readonly CertificateObservation[]) =>
      codes(assess([cp(), ...both, ...lists, read('machines')]));
    const soonSaid = { ...status, notAfter: days(3) };
    expect(seen(soonSaid, { ...other, issuedByCluster: false })).toContain(soon);
    expect(seen(soonSaid, other)).not.toContain(soon);
    expect(seen(status, { ...issued, issuedByCluster: false })).toContain(soon);
  });

  it('is not believed beside another one that ends before it, whose end is the only one then', () => {
    const shown = { ...issued, issuedByCluster: false, notBefore: days(-20), notAfter: days(40) };
    const longer = { ...shown, where: `${SECOND}:6443`, notBefore: days(-900), notAfter: days(100) };
    expect(found(assess([cp(), shown, longer, ...lists]), 'CertificateExpiring')).toEqual([]);
  });

  it('is ordinary where none was proven before: it may be renewed', () => {
    const foreign = { ...issued, issuedByCluster: false };
    const renewedOnce = machineAudited([foreign], [{ ...foreign, ...other, issuedByCluster: false }]);
    expect(renewedOnce.map((result) => codes(result).includes(soon))).toEqual([true, false]);
    // etcd of TLS 1.2 hangs up before its key is proven.
    const { keyProven: _, issuedByCluster: _issued, ...etcd } = { ...issued, what: 'etcd-server' as const };
    const renewed = { ...etcd, fingerprint: 'c', notAfter: days(300) };
    expect(last(machineAudited([etcd], [renewed])).filter((line) => line.includes('etcd'))).toEqual([]);
  });

  it('is told for as long as it is shown, also while its authorities cannot be read', () => {
    const { issuedByCluster: _, ...unknown } = other;
    const results = machineAudited(
      [issued, read('cluster-secrets')],
      [{ ...unknown, issuedByCluster: false }, read('cluster-secrets')],
      [unknown, unread('cluster-secrets')],
    );
    expect(results.map((result) => codes(result).includes(warned))).toEqual([false, true, true]);
  });

  it('is told at the endpoint too, where the machine behind it shows its own', () => {
    const endpoint = { ...issued, member: undefined, where: 'api.example.com:6443' };
    const forged = { ...endpoint, fingerprint: 'b', issuedByCluster: false };
    expect(last(machineAudited([issued, endpoint], [issued, forged]))).toEqual([soon, warned]);
  });

  it('is gone with its machine', () => {
    const forged = { ...other, issuedByCluster: false };
    expect(last(machineAudited([issued], [forged], [cp('cp-2'), { ...other, member: 'cp-2' }]))).toEqual([]);
  });
});

describe('a kubelet whose certificate the cluster issued', () => {
  const worker = member({ name: 'Node worker-3', node: 'worker-3' });
  const place = { where: '10.0.1.43:10250', member: 'worker-3' } as const;
  const issued = certificate({ ...place, what: 'kubelet-serving', issuedByCluster: true, notAfter: days(-1) });
  const own = certificate({ ...place, what: 'kubelet-self-signed' });
  const silent = unread('tls', { ...place, what: 'kubelet-serving' });
  const warned = 'warning IssuerUnknown kubelet-self-signed worker-3';

  it('and which shows a self-signed one now is told, for as long as it is so', () => {
    const audits = [[issued], [silent], [own], [own], [silent], [own], [{ ...issued, notAfter: days(300) }]];
    const results = machineAudited(...audits.map((seen) => [worker, ...seen]));
    expect(results.map((one) => codes(one).includes(warned))).toEqual([false, false, true, true, true, true, false]);
    const [finding] = found(results[2] as Assessment, 'IssuerUnknown');
    expect(finding?.facts).toMatchObject({ isIssuedBefore: true });
  });

  it('is another one when it is another machine', () => {
    const another = member({ name: 'Node worker-9', node: 'worker-9' });
    const results = machineAudited([worker, issued], [another, { ...own, member: 'worker-9' }]);
    expect(last(results)).toEqual([]);
  });

  it('never did: then its own is ordinary', () => {
    expect(machineAudited([worker, own], [worker, own]).map(codes)).toEqual([[], []]);
  });
});

it('a node that shows the certificate of another one does not take its name', () => {
  const nodes = ['a', 'b'].map((name) => member({ name: `Node ${name}`, node: name }));
  const of = (name: string, changes = {}) =>
    certificate({
      what: 'kubelet-serving',
      where: `10.0.1.${name.charCodeAt(0)}:10250`,
      member: name,
      fingerprint: name,
      commonName: `system:node:${name}`,
      ...changes,
    });
  const ended = { notAfter: days(-1), fingerprint: 'b' };
  const expired = (result: Assessment) =>
    found(result, 'CertificateExpired').map(({ object, since, placeCount }) => ({ object, since, placeCount }));
  const [first, second] = audited(
    [...nodes, of('a'), of('b', ended), ...lists],
    [...nodes, of('a', ended), of('b', ended), ...lists],
  );
  const own = { object: 'kubelet-serving b', since: days(0), placeCount: 1 };
  expect(first && expired(first)).toEqual([own]);
  expect(second && expired(second)).toContainEqual(own);
});
