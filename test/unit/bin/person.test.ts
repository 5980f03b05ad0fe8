import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PersonAsked, type PersonSettings, personCommand } from '../../../bin/commands/person/command.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { ApiCall, KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError, type KubernetesErrorKind } from '../../../lambdas/kubernetes/errors.ts';
import type { JsonObject } from '../../../lambdas/resources/fields.ts';
import { addressOf, BENCH_CLUSTER, csrOf, machineOf, nodeName, requestOf } from '../../bench/fixtures.ts';
import { runs } from '../../runs.ts';
import { outcomeOf, recordedIo } from './io.ts';
import { runCli } from './run-cli.ts';

const NOW = Date.parse('2026-01-01T00:03:00Z');
const BECAUSE = 'second NIC, ticket 4711';
/** What a terminal obeys, or turns around; a line end is ours. */
const OBEYED = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Colours of our own: `paint.ts`. */
const PAINT = new RegExp(String.raw`\u001b\[\d+m`, 'g');

const failure = (kind: KubernetesErrorKind, status?: number): KubernetesError =>
  new KubernetesError({ kind, status, object: 'call', problem: 'it failed', remedy: 'certmarshal rbac helps.' });

interface World {
  readonly csr?: Made;
  readonly machines?: readonly object[] | KubernetesError;
  /** What SelfSubjectReview answers. */
  readonly self?: JsonObject | KubernetesError;
  readonly put?: KubernetesError;
  readonly columns?: number;
}

interface Made {
  readonly metadata: { readonly name: string };
  readonly spec: object;
  readonly status: object;
}

function made(pem: Buffer, index = 8, changed: Partial<Record<keyof Made, object>> = {}): Made {
  const { metadata, spec, ...rest }: Made = JSON.parse(JSON.stringify(csrOf(index, pem, '2026-01-01T00:00:00Z')));
  return { ...rest, ...changed, metadata: { ...metadata, ...changed.metadata }, spec: { ...spec, ...changed.spec } };
}

const STOLEN = made(requestOf(8, { steals: 9 }));
const UNKNOWN = made(requestOf(7), 7);
const ADA = { status: { userInfo: { username: 'ada' } } };

/** Runs the command in a cluster with the Machines of nodes 8 and 9 and one request. */
async function decide(
  { csr = UNKNOWN, machines = [machineOf(8), machineOf(9)], self = ADA, put, columns }: World = {},
  asked: Partial<PersonAsked> = {},
  settings: Partial<PersonSettings> = {},
) {
  const calls: string[] = [];
  const bodies: unknown[] = [];
  const answer = ({ method, path, body }: ApiCall): unknown => {
    calls.push(`${method} ${path.split('/').at(-1)?.split('?')[0]}`);
    if (method === 'PUT') {
      bodies.push(body);
      return put ?? {};
    }
    if (path.endsWith('/selfsubjectreviews')) return self;
    if (path === '/apis/cluster.x-k8s.io') return { versions: [{ version: 'v1beta2' }] };
    if (path.includes('/machines')) return machines instanceof Error ? machines : { items: machines, metadata: {} };
    if (path.split('?')[0]?.endsWith('/clusters') === true) return { items: [BENCH_CLUSTER], metadata: {} };
    if (path.includes('/certificatesigningrequests/')) return csr;
    return { items: [csr], metadata: {} };
  };
  const client = {
    server: 'https://127.0.0.1',
    stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
    async request(call: ApiCall) {
      const answered = answer(call);
      if (answered instanceof Error) throw answered;
      return structuredClone(answered);
    },
  } as unknown as KubernetesClient;
  // With colours nothing is stripped on the way to the terminal.
  const io = { ...recordedIo({ now: NOW, columns }), env: {} };
  const target = {
    id: 'bench',
    cluster: { name: 'bench', provider: 'eks-anywhere', serviceCidrs: ['10.96.0.0/16'] },
    workload: client,
    management: client,
    machinesNamespace: 'eksa-system',
  } as const;
  const command = personCommand(
    target,
    [DEFAULT_POLICY],
    { csr: csr.metadata.name, decision: 'approve', because: BECAUSE, yes: true, names: [], ...asked },
    {
      output: 'table',
      program: 'certmarshal',
      version: '1.2.3',
      repeat: '',
      repeatNames: '',
      localUser: 'root on host',
      ...settings,
    },
    new AbortController().signal,
    io,
  );
  return { ...(await outcomeOf(io, command)), calls, bodies };
}

/** A journal that keeps its lines here. @param fault of every append */
function journalOf(fault?: Error) {
  const kept: string[] = [];
  const append = async (lines: string) => {
    if (fault !== undefined) throw fault;
    kept.push(lines);
  };
  return { kept, journal: { file: 'kept', append } };
}

describe('certmarshal approve', () => {
  it('shows every check, says what it would write, and how to go on with exactly this request', async () => {
    const { status, stdout, stderr, bodies } = await decide({}, { yes: false }, { repeat: ' --kubeconfig x.yaml' });
    expect({ status, bodies }).toEqual({ status: 1, bodies: [] });
    expect(stdout).toMatch(/^worker-7: [^]*✖ {2}san-proven[^]*EvidenceMissing: /);
    expect(stdout).toContain(`  It would write, to the object with uid 00000000-0000-4000-8000-000000000007:
    condition Approved, reason CertMarshalApprovedByPerson
    ada: ${BECAUSE}\n`);
    expect(stderr).toBe(
      `Nothing was written: --yes does it. certmarshal approve csr-7 --uid 00000000-0000-4000-8000-000000000007 --because '${BECAUSE}' --kubeconfig x.yaml --yes\n`,
    );
  });

  it('asks who it is before it writes, and reads the evidence as a sweep does', async () => {
    const { status, calls } = await decide();
    expect(status).toBe(0);
    expect(calls[0]).toBe('GET csr-7');
    expect(calls.slice(-2)).toEqual(['POST selfsubjectreviews', 'PUT approval']);
    expect(calls.slice(1, -2).toSorted()).toEqual([
      'GET certificatesigningrequests',
      'GET cluster.x-k8s.io',
      'GET clusters',
      'GET machines',
      'GET servicecidrs',
    ]);
  });

  it('writes nothing where the API server does not say who it is', async () => {
    await expect(decide({ self: failure('forbidden', 403) })).rejects.toThrow(KubernetesError);
    await expect(decide({ self: {} })).rejects.toThrow('not a review');
  });

  it('says that the user is not proven before Kubernetes 1.28', async () => {
    const { status, bodies } = await decide({ self: failure('not-found', 404) });
    expect(status).toBe(0);
    expect(bodies).toMatchObject([
      { status: { conditions: [{ message: `root on host (not proven: the API server does not say): ${BECAUSE}` }] } },
    ]);
  });

  it.each<[string, World, readonly string[]]>([
    ['it is provably hostile', { csr: STOLEN }, ['worker-9']],
    ['evidence could not be read', { machines: failure('forbidden', 403) }, [nodeName(7), addressOf(7)]],
  ])('wants the names that are not proven where %s', async (why, world, names) => {
    const { status, stdout, stderr, calls } = await decide(world);
    expect({ status, puts: calls.filter((call) => call.startsWith('PUT')) }).toEqual({ status: 1, puts: [] });
    expect(stderr).toContain(`Nothing was written: ${why}`);
    expect(stdout).toContain(`\n     ${names.map((name) => ` --name ${name}`).join('')}`);
    expect((await decide(world, { names })).status).toBe(0);
    expect((await decide(world, { decision: 'deny' })).status).toBe(0);
  });

  it('refuses another request than the one that was looked at before, and a denial of it', async () => {
    for (const decision of ['approve', 'deny'] as const)
      expect(await decide({}, { decision, uid: '00000000-0000-4000-8000-000000000008' })).toMatchObject({
        status: 1,
        bodies: [],
        stderr: expect.stringMatching(/^Nothing was written: it is not the request of --uid: .*000000000007\.\n$/),
      });
  });

  it('refuses what the API server shows under another name, or what cannot be written back', async () => {
    expect(await decide({}, { csr: 'csr-1' })).toMatchObject({ status: 1, bodies: [] });
    const large = made(requestOf(7), 7, { metadata: { annotations: { a: 'x'.repeat(20_000) } } });
    for (const decision of ['approve', 'deny'] as const)
      expect(await decide({ csr: large }, { decision })).toMatchObject({
        status: 1,
        bodies: [],
        stderr: expect.stringContaining('too much metadata'),
      });
  });

  it.each<[string, KubernetesError, string, number]>([
    ['was refused', failure('forbidden', 403), 'not approved. Nothing was written.', 1],
    ['was sent without an answer', failure('timeout'), 'no answer says whether it was written', 1],
    ['met an object that is gone', failure('not-found', 404), 'it was changed, and is still pending', 0],
  ])('tells that the write %s', async (_, put, words, kept) => {
    const { journal, ...record } = journalOf();
    const { status, stdout } = await decide({ put }, {}, { journal });
    expect({ status, kept: record.kept.length }).toEqual({ status: 1, kept });
    expect(stdout).toContain(words);
  });

  it('says what is not journaled', async () => {
    const full = Object.assign(new Error('ENOSPC'), { errno: -28, code: 'ENOSPC' });
    const { status, stdout, stderr } = await decide({}, {}, { journal: journalOf(full).journal });
    expect({ status, isWritten: stdout.includes('approved by ada') }).toEqual({ status: 1, isWritten: true });
    expect(stderr).toContain('Not journaled: the journal kept could not be written: no space left on device');
    expect(stderr).toContain('"because":"second NIC, ticket 4711"');
    expect((await decide()).stderr).toContain('--journal FILE keeps a record');
  });

  it('prints one object as JSON: what was judged, what would be, or was, or could not be written', async () => {
    const json = async (...given: Parameters<typeof decide>) => {
      const { stdout, status } = await decide(given[0], given[1], { ...given[2], output: 'json' });
      return { status, ...JSON.parse(stdout) };
    };
    const looked = await json({}, { yes: false });
    expect(looked).toMatchObject({
      status: 1,
      version: 1,
      kind: 'approve',
      at: '2026-01-01T00:03:00.000Z',
      cluster: 'bench',
      csr: 'csr-7',
      because: BECAUSE,
      by: 'ada',
      judged: { verdict: 'leave', reason: 'EvidenceMissing', hostile: false },
      sweep: { verdict: 'leave', reason: 'EvidenceMissing' },
      condition: { type: 'Approved', reason: 'CertMarshalApprovedByPerson', message: `ada: ${BECAUSE}` },
      unread: [],
    });
    expect(looked).not.toHaveProperty('written');
    expect(await json()).toMatchObject({ status: 0, written: { kind: 'written' }, journaled: false });
    const refused = await json({ csr: STOLEN });
    expect(refused).toMatchObject({ status: 1, refused: { names: ['worker-9'] } });
    expect(refused).not.toHaveProperty('by');
  });

  it('prints nothing that a terminal obeys, whatever the cluster says', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    const hostile = fc.record({
      name: text.filter((name) => name !== '' && !/[/%]/.test(name) && name.isWellFormed() && !/^\.\.?$/.test(name)),
      uid: text,
      username: text.map((name) => `system:node:${name}`),
      group: text,
      signerName: fc.oneof({ weight: 4, arbitrary: fc.constant('kubernetes.io/kubelet-serving') }, text),
      self: text,
      reason: fc.option(text),
      because: fc.constant(BECAUSE),
      san: text,
    });
    await fc.assert(
      fc.asyncProperty(hostile, fc.boolean(), fc.constantFrom('table', 'json'), async (given, yes, output) => {
        const sans = [{ kind: 'dNSName' as const, value: given.san }];
        const { name, uid, username, group, signerName, reason } = given;
        const csr = made(requestOf(8, { sans }), 8, {
          metadata: { name, uid },
          spec: { username, groups: [group], signerName },
          status:
            reason === null ? {} : { conditions: [{ type: 'Approved', status: 'True', reason, message: reason }] },
        });
        const self = { status: { userInfo: { username: given.self } } };
        const { stdout, stderr } = await decide({ csr, self, columns: 80 }, { yes }, { output });
        expect((stdout + stderr).replaceAll(PAINT, '')).not.toMatch(OBEYED);
      }),
      { numRuns: runs(300), seed: 20_261_123 },
    );
  });
});

describe('the command line', () => {
  it.each(['approve', 'deny'])('%s needs a reason, and says what is wrong with it', async (command) => {
    const named = 'the name of a request, which kubectl get csr lists';
    const reason = '--because with your reason';
    for (const [given, missing] of [
      [[], `${named}; ${reason}`],
      [['csr-1'], reason],
      [['--because', BECAUSE], named],
    ] as const)
      expect(await runCli([command, ...given])).toEqual({
        status: 2,
        stdout: '',
        stderr: `error: missing: ${missing}\nAdd --help for options and examples.\n`,
      });
    expect(await runCli([command, 'csr-1', '--because', 'no'])).toEqual({
      status: 2,
      stdout: '',
      stderr: '--because takes 10 to 500 characters; got 2.\n',
    });
    expect((await runCli([command, 'csr-1', '--because', 'moved\u001b[2J by hand'])).stderr).toBe(
      '--because takes printable characters on one line, no control characters, and none that change the direction of text.\n',
    );
  });

  it('has names to type for an approval alone', async () => {
    expect(await runCli(['deny', 'csr-1', '--because', BECAUSE, '--name', 'x'])).toMatchObject({ status: 2 });
  });
});
