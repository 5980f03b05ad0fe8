import { describe, expect, it } from 'vitest';
import { act } from '../../../lambdas/approval/act.ts';
import { decide } from '../../../lambdas/approval/decide.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { ApiCall, KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { approvalSubjectOf } from '../../../lambdas/resources/approval-subject.ts';
import { BERLIN, csrObject, dns, evidenceFor, ips, machine, NOW, signingRequest } from './fixtures.ts';

// A node may delete its request and make another one of the same name, or have one judged and send other names, between the LIST and the write.

const JUDGED = csrObject();
const EVIDENCE = evidenceFor(BERLIN, {
  machines: [machine('node-1', { InternalIP: ['10.0.0.1'] }), machine('node-2', { InternalIP: ['10.0.0.2'] })],
});

type Stored = ReturnType<typeof csrObject>;

const withMetadata = (object: Stored, metadata: object): Stored => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: '43', ...metadata },
});

/** Judges `JUDGED`, answers the first write with a conflict and the look that follows with `now`. */
async function writeWhile(now: object, { conflicts = 1, isOver = false, retries = 0 } = {}) {
  const writes: object[] = [];
  const stats = { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 };
  const end = new AbortController();
  const request = async ({ method, body }: ApiCall) => {
    if (method === 'GET') {
      if (isOver) end.abort();
      return stats.retries === 0 ? now : writes.at(-1);
    }
    writes.push(body as object);
    if (writes.length > conflicts) return {};
    if (writes.length === 2) stats.retries += retries;
    throw new KubernetesError({ kind: 'conflict', status: 409, object: 'put', problem: 'modified', remedy: 'Again.' });
  };
  const client: Partial<KubernetesClient> = {
    server: 'https://10.0.0.1',
    stats,
    request: async (call) => ({ ...(await request(call)) }),
  };
  const csr = signingRequest(JUDGED);
  const open = [{ csr, subject: approvalSubjectOf(JUDGED), askedAt: [csr.createdAt ?? 0] }];
  const decisions = decide(BERLIN, { open, evidence: EVIDENCE }, [DEFAULT_POLICY], NOW);
  const acted = await act(decisions, {
    client: client as KubernetesClient,
    evidence: EVIDENCE,
    policies: [DEFAULT_POLICY],
    now: () => NOW,
    signal: end.signal,
  });
  return { outcomes: acted.map(({ outcome }) => outcome.kind), acted, second: writes.slice(1) };
}

describe('a request that changed between the look and the write', () => {
  it('is not approved when it is another object of that name, however good', async () => {
    expect(await writeWhile(withMetadata(JUDGED, { uid: 'another' }))).toMatchObject({
      outcomes: ['overtaken'],
      second: [],
    });
  });

  it.each<[string, object]>([
    ['a name of another node', { request: { sans: dns('node-1', 'node-2') } }],
    ['an address of another node', { request: { sans: [...dns('node-1'), ...ips('10.0.0.2')] } }],
    ['another requester', { username: 'system:node:node-2' }],
    ['other groups', { groups: ['system:authenticated'] }],
    ['other usages', { usages: ['digital signature', 'client auth'] }],
  ])('is judged again: %s is not approved', async (_, fields) => {
    const { outcomes, acted, second } = await writeWhile(withMetadata(csrObject(fields), {}));
    expect([outcomes, second]).toEqual([['none'], []]);
    expect(acted[0]?.verdict.verdict).toBe('leave');
  });

  it.each<[string, object]>([
    ['without a uid', { uid: undefined }],
    ['without a resourceVersion', { resourceVersion: undefined }],
  ])('is not approved %s: the write would hit whatever is there', async (_, metadata) => {
    expect(await writeWhile(withMetadata(JUDGED, metadata))).toMatchObject({ outcomes: ['overtaken'], second: [] });
  });

  it.each([
    ['changes once more, is left to the next sweep', 0, 'overtaken'],
    ['meets its own second write is written', 1, 'written'],
  ])('that %s', async (_, retries, outcome) => {
    const { outcomes, second } = await writeWhile(withMetadata(JUDGED, {}), { conflicts: 2, retries });
    expect([outcomes, second.length]).toEqual([[outcome], 1]);
  });

  it('is not written once the time of the sweep is over', async () => {
    expect(await writeWhile(withMetadata(JUDGED, {}), { isOver: true })).toMatchObject({
      outcomes: ['unfinished'],
      second: [],
    });
  });

  it('that is still good is approved as it was seen the second time', async () => {
    const { outcomes, second } = await writeWhile(withMetadata(JUDGED, { labels: { by: 'another' } }));
    expect(outcomes).toEqual(['written']);
    expect(second).toMatchObject([
      { metadata: { name: 'csr-1', uid: 'uid-of-csr-1', resourceVersion: '43', labels: { by: 'another' } } },
    ]);
  });
});
