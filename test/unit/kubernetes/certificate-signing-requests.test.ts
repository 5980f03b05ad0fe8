import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type ApprovalCondition,
  getSigningRequest,
  listSigningRequests,
  updateApproval,
} from '../../../lambdas/kubernetes/certificate-signing-requests.ts';
import { createKubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { approvalSubjectOf } from '../../../lambdas/resources/approval-subject.ts';
import { answer, serve, startTlsServer, statusBody } from './tls-server.ts';

const COLLECTION = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const { signal } = new AbortController();

const APPROVED: ApprovalCondition = {
  type: 'Approved',
  reason: 'CertMarshalApproved',
  message: 'policy default: every name is owned by Machine eksa-system/worker-1',
};

const READ = {
  metadata: {
    name: 'csr-x7k2p',
    generateName: 'csr-',
    uid: '0b5e1c5e-0000-4000-8000-000000000001',
    resourceVersion: '4711',
    creationTimestamp: '2026-11-21T11:59:00Z',
    labels: { team: 'a' },
    annotations: { note: 'b' },
    finalizers: ['example.com/keep'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }],
    managedFields: [{ manager: 'kubelet' }],
  },
  spec: { signerName: 'kubernetes.io/kubelet-serving', request: 'LS0t' },
  status: { conditions: [{ type: 'example.com/Seen', status: 'True', reason: 'r', message: 'm' }] },
};

test('listSigningRequests lets the server select the signer', async () => {
  const { server, client } = await serve((_, response) => answer(response, 200, { items: [READ], metadata: {} }));
  const pages: unknown[] = [];
  const signerName = 'kubernetes.io/kubelet-serving';
  for await (const page of listSigningRequests(client, { signerName, signal })) pages.push([...page]);
  expect(pages).toEqual([[READ]]);
  const url = new URL(server.received[0]?.url ?? '', 'https://host');
  expect(url.pathname).toBe(COLLECTION);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    fieldSelector: `spec.signerName=${signerName}`,
    limit: '500',
  });
});

test('a signal that aborts in the middle of the pages is always an abort', async () => {
  for (const second of [
    // The page never comes, comes whole, comes too large, or fails in a way that is otherwise tried again.
    () => {},
    (response) => answer(response, 200, { items: [], metadata: { continue: 'c' } }),
    (response) => answer(response, 200, { items: ['x'.repeat(9 * 1024 * 1024)] }),
    (response) => answer(response, 503, '{}', { 'retry-after': '20' }),
    (response) => response.destroy(),
  ] satisfies ((response: ServerResponse) => void)[]) {
    const stop = new AbortController();
    const server = await startTlsServer(({ url }, response) => {
      if (!url.includes('continue')) answer(response, 200, { items: [READ], metadata: { continue: 'b' } });
      else {
        stop.abort(new Error('enough'));
        second(response);
      }
    });
    const client = createKubernetesClient(server.connection);
    onTestFinished(() => client.close());
    const pages = listSigningRequests(client, { signerName: 's', signal: stop.signal });
    expect((await pages.next()).value).toEqual([READ]);
    await expect(pages.next()).rejects.toMatchObject({ kind: 'aborted', cause: new Error('enough') });
    expect(server.received).toHaveLength(2);
  }
});

test('a signal that aborts between two pages asks for no more', async () => {
  const { server, client } = await serve((_, response) =>
    answer(response, 200, { items: [READ], metadata: { continue: 'b' } }),
  );
  const stop = new AbortController();
  const pages = listSigningRequests(client, { signerName: 's', signal: stop.signal });
  await pages.next();
  stop.abort();
  await expect(pages.next()).rejects.toMatchObject({ kind: 'aborted' });
  expect(server.received).toHaveLength(1);
});

describe('getSigningRequest', () => {
  test('reads one object, its name encoded', async () => {
    const { server, client } = await serve((_, response) => answer(response, 200, READ));
    expect(await getSigningRequest(client, 'node csr:1?x#y', signal)).toEqual(READ);
    expect(server.received[0]?.url).toBe(`${COLLECTION}/node%20csr%3A1%3Fx%23y`);
  });

  test('no object is larger than a few megabytes', async () => {
    const { client } = await serve((_, response) => answer(response, 200, { padding: 'x'.repeat(5 * 1024 * 1024) }));
    await expect(getSigningRequest(client, 'a', signal)).rejects.toMatchObject({ kind: 'too-large' });
  });

  test.each(['', '.', '..', 'a/b', 'a%2fb', '\uD800'])('%j is no name', async (name) => {
    const { server, client } = await serve((_, response) => answer(response, 200, READ));
    await expect(getSigningRequest(client, name, signal)).rejects.toMatchObject({ kind: 'invalid' });
    expect(server.received).toEqual([]);
  });
});

/** As a cluster can send it: JSON.parse takes any depth. */
const nested = (levels: number): unknown => JSON.parse('{"a":'.repeat(levels) + 'null' + '}'.repeat(levels));

describe('approvalSubjectOf', () => {
  const metadata = { name: 'a', uid: 'u', resourceVersion: '1' };

  test('what it takes can be sent, however deep', () => {
    for (let levels = 0; levels < 40; levels += 1) {
      const subject = approvalSubjectOf({ metadata: { ...metadata, labels: nested(levels) } });
      expect(subject === undefined, `${levels} levels`).toBe(levels > 6);
    }
  });

  test('keeps who it is and what an update would remove, nothing else', () => {
    expect(approvalSubjectOf(READ)).toEqual({
      name: 'csr-x7k2p',
      uid: READ.metadata.uid,
      resourceVersion: '4711',
      metadata: {
        generateName: 'csr-',
        labels: { team: 'a' },
        annotations: { note: 'b' },
        finalizers: ['example.com/keep'],
        ownerReferences: READ.metadata.ownerReferences,
      },
      conditions: READ.status.conditions,
    });
  });

  test.each([
    ['no status', { metadata }],
    ['an empty status', { metadata, status: {} }],
    ['null where Go writes nothing', { metadata: { ...metadata, labels: null }, status: { conditions: null } }],
  ])('takes an object with %s', (_name, item) => {
    expect(approvalSubjectOf(item)).toEqual({ ...metadata, metadata: {}, conditions: [] });
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['text', 'x'],
    ['a list', [metadata]],
    ['no metadata', {}],
    ['no uid: the write would hit a replaced object', { metadata: { ...metadata, uid: '' } }],
    ['no resourceVersion: the write would be unconditional', { metadata: { ...metadata, resourceVersion: '' } }],
    ['a numeric resourceVersion', { metadata: { ...metadata, resourceVersion: 1 } }],
    ['a name that leaves the collection', { metadata: { ...metadata, name: '..' } }],
    ['a name with a path in it', { metadata: { ...metadata, name: 'a/approval' } }],
    ['a status of another shape', { metadata, status: [] }],
    ['conditions of another shape', { metadata, status: { conditions: {} } }],
    ['a uid that is none', { metadata: { ...metadata, uid: 'u'.repeat(129) } }],
    ['a resourceVersion that is none', { metadata: { ...metadata, resourceVersion: '1'.repeat(129) } }],
    ['labels nested without end', { metadata: { ...metadata, labels: nested(200_000) } }],
    ['conditions nested without end', { metadata, status: { conditions: [nested(200_000)] } }],
    ['too much to keep', { metadata: { ...metadata, annotations: { a: 'x'.repeat(17_000) } } }],
  ])('refuses %s', (_name, item) => {
    expect(approvalSubjectOf(item)).toBeUndefined();
  });
});

describe('updateApproval', () => {
  const subject = approvalSubjectOf(READ);
  if (subject === undefined) throw new Error('the example must be a subject');

  test('writes exactly the judged object: metadata as read, conditions and one more', async () => {
    const { server, client } = await serve((_, response) => answer(response, 200, {}));
    await updateApproval(client, subject, APPROVED, signal);
    const [put] = server.received;
    expect([put?.method, put?.url]).toEqual(['PUT', `${COLLECTION}/csr-x7k2p/approval`]);
    const { creationTimestamp: _time, managedFields: _managed, ...kept } = READ.metadata;
    expect(JSON.parse(put?.body ?? '')).toEqual({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: kept,
      status: { conditions: [...READ.status.conditions, { ...APPROVED, status: 'True' }] },
    });
    expect(client.stats).toMatchObject({ requests: 1, writes: 1 });
  });

  test('an answer that is larger than what was written is not read to its end', async () => {
    const { client } = await serve((_, response) => answer(response, 200, { padding: 'x'.repeat(2 * 1024 * 1024) }));
    await expect(updateApproval(client, subject, APPROVED, signal)).rejects.toMatchObject({ kind: 'too-large' });
    expect(client.stats.bytes).toBeLessThan(2 * 1024 * 1024);
  });

  test.each([
    ['the object changed', 409, 'Conflict', 'conflict'],
    ['the object is gone', 404, 'NotFound', 'not-found'],
    ['the signer may not be approved', 403, 'Forbidden', 'forbidden'],
  ])('%s', async (_name, status, reason, kind) => {
    const { server, client } = await serve((_, response) =>
      answer(response, status, statusBody(status, reason, 'Operation cannot be fulfilled')),
    );
    await expect(updateApproval(client, subject, APPROVED, signal)).rejects.toMatchObject({
      kind,
      reason,
      object: `update certificatesigningrequests/csr-x7k2p/approval on ${server.connection.server}`,
    });
    expect(server.received).toHaveLength(1);
  });
});
