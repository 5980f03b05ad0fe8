import { describe, expect, it } from 'vitest';
import { type Acted, act, conditionByPerson, writeForPerson } from '../../../lambdas/approval/act.ts';
import { approverName } from '../../../lambdas/approval/condition-reasons.ts';
import type { Decision } from '../../../lambdas/approval/decide.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { report } from '../../../lambdas/approval/report.ts';
import { createDecisionCollector } from '../../../lambdas/journal/decisions.ts';
import type { ApiCall, KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError, type KubernetesErrorDetails } from '../../../lambdas/kubernetes/errors.ts';
import { isJsonObject, type JsonObject } from '../../../lambdas/resources/fields.ts';

const STARTED = Date.UTC(2026, 10, 21, 10);
const OURS = { type: 'Approved', status: 'True', reason: 'CertMarshalApproved', message: 'policy default: all proven' };

function decision(name = 'csr-1', changed: Partial<Decision['verdict']> = {}): Decision {
  const csr: Decision['csr'] = {
    name,
    uid: `uid of ${name}`,
    resourceVersion: '1',
    createdAt: STARTED - 5_000,
    deleting: false,
    signerName: 'kubernetes.io/kubelet-serving',
    username: 'system:node:worker-3',
    groups: ['system:nodes', 'system:authenticated'],
    credentials: [],
    usages: ['digital signature', 'server auth'],
    expirationSeconds: undefined,
    request: undefined,
    conditions: [],
    issued: false,
  };
  return {
    csr,
    subject: { name, uid: csr.uid, resourceVersion: '1', metadata: {}, conditions: [] },
    request: { cluster: { name: 'berlin', provider: 'eks-anywhere' }, csr, siblings: { pending: 1 } },
    verdict: {
      verdict: 'approve',
      mode: 'enforce',
      reason: 'Proven',
      facts: { cause: 'fault', problem: 'all proven' },
      hostile: false,
      policy: 'default',
      checks: [],
      names: [],
      ...changed,
    },
  };
}

/** `csr-1` as the API server has it. */
function stored(conditions: readonly object[] = [], metadata: object = {}): JsonObject {
  return {
    metadata: {
      name: 'csr-1',
      uid: 'uid of csr-1',
      resourceVersion: '2',
      creationTimestamp: new Date(STARTED - 5_000).toISOString(),
      ...metadata,
    },
    spec: {
      signerName: 'kubernetes.io/kubelet-serving',
      username: 'system:node:worker-3',
      groups: ['system:nodes', 'system:authenticated'],
      usages: ['digital signature', 'server auth'],
      request: '',
    },
    status: { conditions },
  };
}

const error = (details: Partial<KubernetesErrorDetails>): KubernetesError =>
  new KubernetesError({ kind: 'server', object: 'put', problem: 'it broke', remedy: 'Mend it.', ...details });
const conflict = error({ kind: 'conflict', status: 409 });

interface World {
  /** What becomes of each write, in turn; the last one of all that follow. */
  readonly put: () => JsonObject | Promise<JsonObject>;
  readonly get?: () => JsonObject;
  readonly stats?: { retries: number };
  readonly signal?: AbortSignal;
}

async function carryOut(
  { put, get = () => stored(), stats = { retries: 0 }, signal }: World,
  ...decisions: Decision[]
) {
  const calls: string[] = [];
  const client: Partial<KubernetesClient> = {
    server: 'https://10.0.0.1',
    stats: Object.assign(stats, { requests: 0, writes: 0, throttled: 0, bytes: 0 }),
    request: async ({ method }: ApiCall) => {
      calls.push(method);
      return method === 'GET' ? get() : put();
    },
  };
  const context = { cluster: 'berlin', startedAt: STARTED, policyHash: '', program: '' };
  const collector = createDecisionCollector(context, () => true);
  const bugs: unknown[] = [];
  const acted = await act(decisions.length === 0 ? [decision()] : decisions, {
    client: client as KubernetesClient,
    evidence: { readings: [] } as never,
    policies: [DEFAULT_POLICY],
    now: () => STARTED,
    signal: signal ?? new AbortController().signal,
    onActed: (entry) => collector.take(entry),
    onBug: (bug) => void bugs.push(bug),
  });
  const journal = collector.collected().map(({ outcome }) => outcome);
  return { acted, outcomes: acted.map(({ outcome }) => outcome.kind), journal, calls, bugs };
}

function reportOf(acted: readonly Acted[]) {
  const requests = { sent: 0, writes: 0, retries: 0 };
  return report({ cluster: 'berlin', provider: 'eks', startedAt: STARTED, finishedAt: STARTED, acted, requests });
}

const throwing = (thrown: unknown) => () => {
  throw thrown;
};

describe('a decision that was sent', () => {
  it.each<[string, Partial<KubernetesErrorDetails>]>([
    ['the connection broke', { kind: 'unreachable', code: 'ECONNRESET' }],
    ['the connection broke without a code', { kind: 'unreachable' }],
    ['no answer came in time', { kind: 'timeout' }],
    ['the client was closed', { kind: 'aborted' }],
    ['the server failed', { kind: 'server', status: 500 }],
    ['something before the server gave up', { kind: 'not-kubernetes', status: 504 }],
    ['the answer is no JSON', { kind: 'not-kubernetes', status: 200 }],
    ['the answer is too large', { kind: 'too-large', status: 200 }],
    ['the answer is no HTTP', { kind: 'not-kubernetes', code: 'HPE_INVALID_CONSTANT' }],
  ])('is not known to be written when %s', async (_, details) => {
    const { acted, outcomes, journal, calls } = await carryOut({ put: throwing(error(details)) });
    expect(outcomes).toEqual(['unknown']);
    expect(journal).toEqual(['unknown']);
    expect(calls).toEqual(['PUT']);
    const { counts, complete, problems } = reportOf(acted);
    expect(counts).toMatchObject({ approved: 0, failed: 1 });
    expect(complete).toBe(false);
    expect(problems).toMatchObject([
      {
        object: 'CertificateSigningRequest csr-1',
        message: expect.stringContaining('no answer says whether it was written'),
        remedy: expect.stringMatching(/^The next sweep shows whether it was written\./),
      },
    ]);
    // Whoever ends the time of a sweep tells another story of what was aborted.
    expect(problems[0]?.kind).not.toBe('aborted');
  });

  it.each<[string, Partial<KubernetesErrorDetails>, string]>([
    ['it was refused', { kind: 'forbidden', status: 403 }, 'failed'],
    ['it was throttled to the end', { kind: 'throttled', status: 429 }, 'failed'],
    ['a redirect came', { kind: 'not-kubernetes', status: 300 }, 'failed'],
    ['no connection was made', { kind: 'unreachable', code: 'ECONNREFUSED' }, 'failed'],
    ['the name of the server is unknown', { kind: 'unreachable', code: 'ENOTFOUND' }, 'failed'],
    ['no name server answers', { kind: 'unreachable', code: 'EAI_AGAIN' }, 'failed'],
    ['it cannot be sent', { kind: 'invalid' }, 'failed'],
    ['the server is not the right one', { kind: 'certificate', code: 'CERT_HAS_EXPIRED' }, 'failed'],
    ['there is no token', { kind: 'credentials' }, 'failed'],
    ['the client certificate is refused', { kind: 'unauthorized' }, 'failed'],
    ['it is gone', { kind: 'not-found', status: 404 }, 'overtaken'],
  ])('was not written when %s', async (_, details, outcome) => {
    expect((await carryOut({ put: throwing(error(details)) })).outcomes).toEqual([outcome]);
  });

  it('is not known to be written when the time is over before the answer, and not sent when it was over before', async () => {
    const end = new AbortController();
    const put = () => {
      end.abort();
      throw error({ kind: 'aborted' });
    };
    const { outcomes, acted } = await carryOut({ put, signal: end.signal });
    expect(outcomes).toEqual(['unknown']);
    expect(reportOf(acted).problems[0]?.message).toContain('the sweep ran out of time');
    expect((await carryOut({ put, signal: end.signal })).calls).toEqual([]);
  });
});

describe('a conflict', () => {
  const afterRetry = () => {
    const stats = { retries: 0 };
    const put = () => {
      stats.retries += 1;
      throw conflict;
    };
    return { stats, put };
  };

  it('after a retry, with our own condition, is a write that was done', async () => {
    const { outcomes, journal, calls } = await carryOut({
      ...afterRetry(),
      get: () => stored([{ ...OURS, type: 'Other' }, OURS]),
    });
    expect([outcomes, journal, calls]).toEqual([['written'], ['written'], ['PUT', 'GET']]);
  });

  it('of a write that was sent once, with our own condition, is one of another sweep, which tells of it', async () => {
    const { outcomes, journal } = await carryOut({ put: throwing(conflict), get: () => stored([OURS]) });
    expect([outcomes, journal]).toEqual([['overtaken'], []]);
  });

  it.each<[string, JsonObject]>([
    ['of somebody else', stored([{ ...OURS, reason: 'KubectlApprove' }])],
    ['that says something else', stored([{ ...OURS, message: 'policy default: other' }])],
    ['against it', stored([{ ...OURS, type: 'Denied' }])],
    ['on another object of the same name', stored([OURS], { uid: 'another' })],
  ])('with a condition %s is not ours', async (_, object) => {
    const { outcomes, journal } = await carryOut({ ...afterRetry(), get: () => object });
    expect([outcomes, journal]).toEqual([['overtaken'], []]);
  });

  it.each<[number, KubernetesErrorDetails['kind'], boolean, string, string[]?]>([
    [0, 'timeout', false, 'failed'],
    [1, 'timeout', false, 'unknown'],
    [0, 'aborted', false, 'failed'],
    [0, 'timeout', true, 'failed'],
    [0, 'aborted', true, 'unfinished', []],
  ])('after %d retries, met by %s (time over: %s), is %s', async (retries, kind, isOver, outcome, kept = [outcome]) => {
    const [stats, end] = [{ retries: 0 }, new AbortController()];
    const put = () => {
      stats.retries += retries;
      throw conflict;
    };
    const get = () => {
      if (isOver) end.abort();
      throw error({ kind });
    };
    const { outcomes, journal } = await carryOut({ put, stats, get, signal: end.signal });
    expect([outcomes, journal]).toEqual([[outcome], kept]);
  });

  it('after which the look fails with a bug tells the bug', async () => {
    const bug = new TypeError('oh');
    expect(await carryOut({ put: throwing(conflict), get: throwing(bug) })).toMatchObject({ bugs: [bug] });
  });
});

describe('what a person decided', () => {
  const condition = conditionByPerson({ decision: 'approve', by: 'ada', because: 'ticket 4711' });
  const THEIRS = { ...condition, status: 'True' };
  const refusal = conditionByPerson({ decision: 'deny', by: 'ada', because: 'not ours' });
  const subject = { name: 'csr-1', uid: 'uid of csr-1', resourceVersion: '1', metadata: {}, conditions: [] };

  async function write(put: World['put'], get: () => JsonObject = () => stored(), signal?: AbortSignal) {
    const bodies: unknown[] = [];
    const stats = { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 };
    const client: Partial<KubernetesClient> = {
      stats,
      request: async ({ method, body }: ApiCall) => {
        if (method === 'GET') return get();
        bodies.push(body);
        // What follows a 'retried' was sent before.
        if (put === retried) stats.retries += 1;
        return put();
      },
    };
    const context = { client: client as KubernetesClient, signal: signal ?? new AbortController().signal };
    return { ...(await writeForPerson(subject, condition, context)), bodies };
  }
  const retried = throwing(conflict);

  it('is sent once, bound to the object that was shown', async () => {
    expect(refusal).toEqual({ type: 'Denied', reason: 'CertMarshalDeniedByPerson', message: 'ada: not ours' });
    expect(await write(() => stored())).toEqual({
      kind: 'written',
      bodies: [
        expect.objectContaining({
          metadata: { name: 'csr-1', uid: 'uid of csr-1', resourceVersion: '1' },
          status: { conditions: [THEIRS] },
        }),
      ],
    });
  });

  it.each<[string, () => JsonObject]>([
    ['undecided', () => stored()],
    ['decided in the same words', () => stored([THEIRS])],
    ['another of its name', () => stored([], { uid: 'another' })],
    ['gone', throwing(error({ kind: 'not-found', status: 404 }))],
  ])('is not sent again after a conflict with what is %s', async (_, get) => {
    expect(await write(throwing(conflict), get)).toMatchObject({ kind: 'overtaken', bodies: [{}] });
  });

  it('is known to be written where a write that was sent again met itself', async () => {
    expect(await write(retried, () => stored([THEIRS]))).toMatchObject({ kind: 'written', bodies: [{}] });
    expect(await write(retried, () => stored([THEIRS], { uid: 'another' }))).toMatchObject({ kind: 'overtaken' });
    expect(await write(retried, throwing(error({ kind: 'not-found' })))).toMatchObject({ kind: 'unknown' });
  });

  it('is not sent after Ctrl-C', async () => {
    expect(await write(() => stored(), undefined, AbortSignal.abort())).toEqual({ kind: 'unfinished', bodies: [] });
  });
});

it('is by certmarshal, or by whoever the condition names', () => {
  expect(['CertMarshalApproved', 'AutoApproved'].map(approverName)).toEqual(['certmarshal', 'AutoApproved']);
});

describe('a bug in one write', () => {
  const bug = new TypeError('oh');
  const failing = () => {
    let count = 0;
    return () => {
      count += 1;
      if (count === 2) throw bug;
      return {};
    };
  };
  const three = [decision('csr-1'), decision('csr-2'), decision('csr-3')];

  it('loses nothing of what was done, nor of itself', async () => {
    const { acted, outcomes, journal, bugs } = await carryOut({ put: failing() }, ...three);
    expect(outcomes.toSorted()).toEqual(['unknown', 'written', 'written']);
    expect(journal.toSorted()).toEqual(['unknown', 'written', 'written']);
    expect(bugs).toEqual([bug]);
    expect(reportOf(acted)).toMatchObject({ counts: { approved: 2, failed: 1 }, problems: [{ kind: 'bug' }] });
  });

  it('counts no age of a request that tells none', async () => {
    const { acted } = await carryOut({ put: () => stored() });
    const ageless = acted.map((entry) => ({ ...entry, csr: { ...entry.csr, createdAt: undefined } }));
    expect(reportOf(ageless).rows).toMatchObject([{ csr: 'csr-1', ageSeconds: 0 }]);
  });

  it('ends the writes under way when it is in judging', async () => {
    function* broken() {
      yield decision();
      throw bug;
    }
    let isDone = false;
    const client = {
      stats: { throttled: 0, retries: 0 },
      request: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        isDone = true;
        return {};
      },
    } as unknown as KubernetesClient;
    const signal = new AbortController().signal;
    const context = { client, evidence: { readings: [] } as never, policies: [], now: () => STARTED, signal };
    await expect(act(broken(), context)).rejects.toBe(bug);
    expect(isDone).toBe(true);
  });
});

it.each<[Partial<Decision['verdict']>, object]>([
  [{}, OURS],
  [
    { verdict: 'deny', reason: 'SanNotOwned', facts: { cause: 'fault', problem: 'of node-2' } },
    { ...OURS, type: 'Denied', reason: 'CertMarshalDenied', message: 'policy default: SanNotOwned: of node-2' },
  ],
])('sends what it says it sent: %j', async (verdict, condition) => {
  const bodies: unknown[] = [];
  const client = {
    stats: { throttled: 0, retries: 0 },
    request: async ({ body }: ApiCall) => {
      bodies.push(isJsonObject(body) ? body['status'] : body);
      return {};
    },
  } as unknown as KubernetesClient;
  const signal = new AbortController().signal;
  await act([decision('csr-1', verdict)], {
    client,
    evidence: { readings: [] } as never,
    policies: [],
    now: () => STARTED,
    signal,
  });
  expect(bodies).toEqual([{ conditions: [condition] }]);
});
