import { describe, expect, it } from 'vitest';
import type { Assessment } from '../../../lambdas/audit/assess.ts';
import type { Observation } from '../../../lambdas/contracts/observation.ts';
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

describe('a server of a machine that answered at its second address', () => {
  const silent = (port: number, changes: Parameters<typeof unread>[1]) =>
    unread('tls', { where: `${FIRST}:${port}`, member: 'cp-1', ...changes });

  it('is missed when it usually hides', () => {
    const scheduler = certificate({ what: 'kube-scheduler', where: `${SECOND}:10259`, member: 'cp-1' });
    const hidden = silent(10_259, { what: 'kube-scheduler', usual: true });
    const [, lost] = audited([cp(), scheduler, ...lists], [cp(), hidden, ...lists]);
    expect(lost && codes(lost)).toContain('warning SourceLost tls kube-scheduler');
    expect(lost && found(lost, 'SourceLost')[0]).toMatchObject({ placeCount: 1, lastSeen: days(0) });
  });

  it('still sends along what has ended', () => {
    const leaf = certificate({ where: `${SECOND}:6443`, member: 'cp-1' });
    const along = { ...leaf, what: 'ca-bundle', position: 1, isAuthority: true, notAfter: days(-1) } as const;
    const results = audited(
      [cp(), leaf, along, ...lists],
      [cp(), silent(6443, { what: 'kube-apiserver' }), ...lists],
      // Its Node has another address by now, and none.
      [cp('cp-1', ['10.0.1.77']), silent(6443, { what: 'kube-apiserver', where: '10.0.1.77:6443' }), ...lists],
      [cp('cp-1', []), silent(6443, { what: 'kube-apiserver', where: 'cp-1:6443' }), ...lists],
    );
    for (const result of results)
      expect(codes(result)).toContain(`critical CertificateExpired ca-bundle ${SECOND}:6443 #2`);
    // Its addresses are one place.
    for (const result of results.slice(1)) expect(found(result, 'SourceLost')[0]).toMatchObject({ placeCount: 1 });
  });

  it('still has the certificate that its kubelet made', () => {
    const own = certificate({
      what: 'kubelet-self-signed',
      where: `${SECOND}:10250`,
      member: 'cp-1',
      notAfter: days(-1),
    });
    const results = audited(
      [cp(), own, ...lists],
      [cp(), silent(10_250, { what: 'kubelet-serving' }), ...lists],
      [cp('cp-1', ['10.0.1.77']), silent(10_250, { what: 'kubelet-serving', where: '10.0.1.77:10250' }), ...lists],
    );
    for (const result of results)
      expect(codes(result)).toContain('warning CertificateExpired kubelet-self-signed cp-1');
  });

  it('is well when another address of it answers', () => {
    const [, , back] = audited(
      [cp(), certificate({ where: `${SECOND}:6443`, member: 'cp-1', notAfter: days(-1) }), ...lists],
      [cp(), silent(6443, { what: 'kube-apiserver' }), ...lists],
      [cp(), certificate({ where: `${FIRST}:6443`, member: 'cp-1' }), ...lists],
    );
    expect(back && codes(back)).toEqual([]);
  });

  it('is not unreachable when it answers elsewhere with something that is no certificate', () => {
    const malformed = silent(6443, { what: 'kube-apiserver', where: `${SECOND}:6443`, problem: 'malformed' });
    const [, , answered] = audited(
      [cp(), certificate({ where: `${FIRST}:6443`, member: 'cp-1' }), ...lists],
      [cp(), silent(6443, { what: 'kube-apiserver' }), ...lists],
      [cp(), malformed, ...lists],
    );
    expect(answered && codes(answered)).toEqual(['warning CertificateUnreadable tls kube-apiserver']);
  });
});

it('an endpoint that is looked at no more is forgotten, although another one does not answer at the same port', () => {
  const ended = certificate({ what: 'endpoint', where: '10.0.2.1:443', notAfter: days(-1) });
  const other = unread('tls', { what: 'endpoint', where: '10.0.2.2:443' });
  const [before, after] = audited([ended, read('tls')], [other, read('tls')]);
  expect(before && codes(before)).toEqual(['critical CertificateExpired endpoint 10.0.2.1:443']);
  expect(after && codes(after)).toEqual(['warning Unreachable tls endpoint']);
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
  const [, after] = audited(
    [cp(), certificate({ where: 'cp-1', member: 'cp-1', notAfter: days(-1) }), ...lists],
    [cp(), unread('tls', { where: 'cp-1', what: 'kube-apiserver', member: 'cp-1' }), ...lists],
  );
  expect(after && codes(after)).toContain('critical CertificateExpired kube-apiserver cp-1');
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
    const results = audited(
      [cp(), issued, ...lists],
      [cp(), { ...other, ...lack }, ...lists],
      [cp('cp-1', [SECOND]), { ...other, ...lack, where: `${SECOND}:6443` }, ...lists],
      [cp(), other, ...lists],
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
    const results = audited([cp(), issued, ...lists], [cp(), unproven, ...lists], [cp(), other, ...lists]);
    expect(results.map(codes)).toEqual([[soon], [soon], []]);
  });

  it('is believed no more than what else is known of it', () => {
    const status = certificate({
      source: 'machines',
      where: 'Machine eksa-system/cp-1',
      member: 'cp-1',
      basis: 'status',
      notAfter: days(3),
    });
    const seen = (lack: object) => codes(assess([cp(), status, { ...other, ...lack }, ...lists, read('machines')]));
    expect(seen({ issuedByCluster: false })).toContain(soon);
    expect(seen({})).not.toContain(soon);
  });

  it('counts where it ends before what else is known of it', () => {
    const status = certificate({
      source: 'machines',
      where: 'Machine eksa-system/cp-1',
      member: 'cp-1',
      basis: 'status',
    });
    const shown = { ...issued, issuedByCluster: false };
    expect(codes(assess([cp(), status, shown, ...lists, read('machines')]))).toContain(soon);
  });

  it('is not believed beside another one that ends before it, whose end is the only one then', () => {
    const shown = { ...issued, issuedByCluster: false, notBefore: days(-20), notAfter: days(40) };
    const longer = { ...shown, where: `${SECOND}:6443`, notBefore: days(-900), notAfter: days(100) };
    expect(found(assess([cp(), shown, longer, ...lists]), 'CertificateExpiring')).toEqual([]);
  });

  it('is ordinary where none was proven before: it may be renewed', () => {
    const foreign = { ...issued, issuedByCluster: false };
    const results = audited(
      [cp(), foreign, ...lists],
      [cp(), { ...foreign, ...other, issuedByCluster: false }, ...lists],
    );
    expect(results.map((result) => codes(result).includes(soon))).toEqual([true, false]);
    // etcd of TLS 1.2 hangs up before its key is proven.
    const { keyProven: _, issuedByCluster: _issued, ...etcd } = { ...issued, what: 'etcd-server' as const };
    const renewed = { ...etcd, fingerprint: 'c', notAfter: days(300) };
    const [, after] = audited([cp(), etcd, ...lists], [cp(), renewed, ...lists]);
    expect(after && codes(after).filter((line) => line.includes('etcd'))).toEqual([]);
  });

  it('is told for as long as it is shown, also while its authorities cannot be read', () => {
    const { issuedByCluster: _, ...unknown } = other;
    const results = audited(
      [cp(), issued, ...lists, read('cluster-secrets')],
      [cp(), { ...unknown, issuedByCluster: false }, ...lists, read('cluster-secrets')],
      [cp(), unknown, ...lists, unread('cluster-secrets')],
    );
    expect(results.map((result) => codes(result).includes(warned))).toEqual([false, true, true]);
  });

  it('is told at the endpoint too, where the machine behind it shows its own', () => {
    const endpoint = { ...issued, member: undefined, where: 'api.example.com:6443' };
    const [, after] = audited(
      [cp(), issued, endpoint, ...lists],
      [cp(), issued, { ...endpoint, fingerprint: 'b', issuedByCluster: false }, ...lists],
    );
    expect(after && codes(after).toSorted()).toEqual([soon, warned]);
  });

  it('is gone with its machine', () => {
    const [, , after] = audited(
      [cp(), issued, ...lists],
      [cp(), { ...other, issuedByCluster: false }, ...lists],
      [cp('cp-2'), { ...other, member: 'cp-2' }, ...lists],
    );
    expect(after && codes(after)).toEqual([]);
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
    const results = audited(...audits.map((seen) => [worker, ...seen, ...lists]));
    expect(results.map((one) => codes(one).includes(warned))).toEqual([false, false, true, true, true, true, false]);
    const [finding] = found(results[2] as Assessment, 'IssuerUnknown');
    expect(finding?.facts).toMatchObject({ isIssuedBefore: true });
  });

  it('is another one when it is another machine', () => {
    const results = audited(
      [worker, issued, ...lists],
      [member({ name: 'Node worker-9', node: 'worker-9' }), { ...own, member: 'worker-9' }, ...lists],
    );
    expect(results.map(codes)[1]).toEqual([]);
  });

  it('never did: then its own is ordinary', () => {
    const results = audited([worker, own, ...lists], [worker, own, ...lists]);
    expect(results.map(codes)).toEqual([[], []]);
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
