import { describe, expect, it } from 'vitest';
import { type SweepOptions, sweepCommand } from '../../../bin/commands/sweep.ts';
import { ANY_AGE, type ApprovalPolicy, DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import type { ApiCall, KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { MINUTE_MS } from '../../../lambdas/time.ts';
import { csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import { entriesOf } from '../../support/journal-lines.ts';
import { outcomeOf, recordedIo } from './io.ts';
import { runCli } from './run-cli.ts';

const NOW = Date.UTC(2026, 0, 1, 0, 1);
const PROVEN = csrOf(1, requestOf(1), '2026-01-01T00:00:00Z');
/** Node 2 asks for what is of node 1. */
const STOLEN = requestOf(1);
const HOSTILE = csrOf(2, STOLEN, '2026-01-01T00:00:00Z');

const CLUSTER = {
  metadata: { name: 'bench', namespace: 'eksa-system' },
  spec: { clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/12'] } } },
};

const OBSERVING: ApprovalPolicy = { ...DEFAULT_POLICY, name: 'watch', mode: everywhere('observe') };
const LONG: ApprovalPolicy = { ...DEFAULT_POLICY, age: { ...DEFAULT_POLICY.age, 'eks-anywhere': ANY_AGE } };
const DENYING: ApprovalPolicy = { ...DEFAULT_POLICY, name: 'strict', onHostile: 'deny' };

/** A journal that keeps its lines here. */
function journalOf() {
  const lines: string[] = [];
  return { file: 'kept', lines, append: async (text: string) => void lines.push(text) };
}

/** Sweeps a cluster of two machines; `written` are the names of the requests that a condition was sent for. */
async function sweep(
  requests: readonly object[],
  { columns, ...given }: Partial<SweepOptions> & { readonly columns?: number } = {},
  policies: readonly ApprovalPolicy[] = [DEFAULT_POLICY],
) {
  const written: string[] = [];
  const client: KubernetesClient = {
    server: 'https://127.0.0.1:6443',
    stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
    request: async ({ method, path }: ApiCall) => {
      if (method === 'PUT') {
        written.push(path);
        return {};
      }
      if (path.includes('certificatesigningrequests')) return { items: structuredClone(requests), metadata: {} };
      if (path.endsWith('/cluster.x-k8s.io')) return { versions: [{ version: 'v1beta2' }] };
      if (path.endsWith('/clusters')) return { items: [CLUSTER], metadata: {} };
      return { items: path.endsWith('/machines') ? [machineOf(1), machineOf(2)] : [], metadata: {} };
    },
    close() {},
  };
  const recorded = recordedIo({ now: NOW, ...(columns === undefined ? {} : { columns }) });
  let now = NOW;
  const end = new AbortController();
  const sleep = async (ms: number): Promise<void> => {
    now += ms;
    if (now > NOW + 65 * MINUTE_MS) end.abort();
  };
  const io = { ...recorded, clock: () => now, sleep };
  const target = {
    id: 'bench',
    cluster: { name: 'bench', provider: 'eks-anywhere' },
    workload: client,
    management: client,
    machinesNamespace: 'eksa-system',
    server: { context: 'admin', address: '127.0.0.1:6443' },
    close() {},
  } as const;
  const options: SweepOptions = { output: 'table', program: 'certmarshal', repeat: '', repeatNames: '', ...given };
  const outcome = await outcomeOf(
    io,
    sweepCommand(async () => target, policies, options, end.signal, io),
  );
  return { ...outcome, written: written.length };
}

const PASSES = 'Exit status 0 despite a hostile request; for status 1: --fail-on hostile\n';
const MISSING = 'Nothing was written. To approve: add --yes\n';

describe('a sweep', () => {
  it('writes with --yes', async () => {
    const { stdout, ...rest } = await sweep([PROVEN], { yes: true });
    expect(rest).toEqual({ status: 0, stderr: '', written: 1 });
    expect(stdout).toContain('✔  1 approved');
  });

  it('writes nothing without it, and fails a job that would not notice', async () => {
    const { stdout, ...rest } = await sweep([PROVEN]);
    expect(rest).toEqual({ status: 1, stderr: MISSING, written: 0 });
    expect(stdout).toMatch(
      /dry run \(policy default\)[^]*◇ {2}1 would be approved +dry run: nothing is written without --yes/,
    );
    expect(JSON.parse((await sweep([PROVEN], { output: 'json' })).stdout)).toMatchObject({
      counts: { approved: 0, wouldWrite: 1 },
      rows: [{ verdict: 'approve', outcome: 'observed', mode: 'enforce' }],
    });
  });

  it('says the same to a person, who has looked', async () => {
    expect(await sweep([PROVEN], { columns: 120 })).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(MISSING),
      written: 0,
    });
  });

  it.each<[string, readonly object[], readonly ApprovalPolicy[], number]>([
    ['nothing waits', [], [DEFAULT_POLICY], 0],
    ['nothing is proven', [HOSTILE], [DEFAULT_POLICY], 0],
    ['the policy only observes', [PROVEN], [OBSERVING], 0],
    ['one of two policies approves', [PROVEN], [OBSERVING, DEFAULT_POLICY], 1],
    ['a hostile request would be denied', [HOSTILE], [DENYING], 1],
    ['one of two policies only observes, so that nothing is denied', [HOSTILE], [DENYING, OBSERVING], 0],
  ])('asks for --yes only where that writes: %s', async (_, requests, policies, status) => {
    const looked = await sweep(requests, {}, policies);
    const told = requests.includes(HOSTILE) ? PASSES : '';
    expect(looked).toMatchObject({ status, stderr: status === 1 ? MISSING : told, written: 0 });
    const swept = await sweep(requests, { yes: true }, policies);
    expect(swept).toMatchObject({ status: 0, stderr: told, written: status });
  });

  it('says that a hostile request does not fail it, unless --fail-on says so', async () => {
    expect(await sweep([HOSTILE], { yes: true })).toMatchObject({ status: 0, stderr: PASSES });
    expect(await sweep([PROVEN], { yes: true })).toMatchObject({ status: 0, stderr: '' });
    expect((await sweep([HOSTILE], { yes: true, columns: 120 })).stderr).not.toContain('Exit status');
    expect((await runCli(['sweep', '--help'])).stdout).toContain(
      '0  done; without --fail-on hostile also if a request is provably hostile\n',
    );
  });

  it('fails for a hostile request with --fail-on hostile, and only for one', async () => {
    for (const yes of [true, false]) {
      expect(await sweep([HOSTILE], { yes, failOn: 'hostile' })).toMatchObject({ status: 1, stderr: '' });
      expect(await sweep([HOSTILE], { yes })).toMatchObject({ status: 0 });
    }
    expect(await sweep([PROVEN], { yes: true, failOn: 'hostile' })).toMatchObject({ status: 0 });
  });

  it('appends what it wrote to the journal, and refusals at first and each hour', async () => {
    const journal = journalOf();
    await sweep([PROVEN, HOSTILE], { yes: true, journal, every: '1m' }, [LONG]);
    const entries = entriesOf(journal.lines.join(''));
    expect(entries.filter(({ outcome }) => outcome === 'written').length).toBeGreaterThan(60);
    const refusals = entries.filter(({ outcome }) => outcome === 'none').map(({ cluster, at }) => `${cluster} ${at}`);
    expect(refusals).toEqual(['bench 2026-01-01T00:01:00.000Z', 'bench 2026-01-01T01:00:00.000Z']);
  });

  it('says what is not journaled, and fails', async () => {
    const append = async () => Promise.reject(Object.assign(new Error('ENOSPC'), { errno: -28 }));
    const { status, stderr } = await sweep([PROVEN], { yes: true, journal: { file: 'kept', append } });
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^Not journaled: the journal kept could not be written: no space left on device.*\n\{"version":1/,
    );
    expect((await sweep([], { yes: true, journal: { file: 'kept', append } })).status).toBe(0);
  });
});
