import { describe, expect, it } from 'vitest';
import { type RecoveryPorts, recoveryOpenCommand } from '../../../bin/commands/recovery/open.ts';
import { type RecoveryWindowOptions, recoveryWindow } from '../../../bin/commands/recovery/window.ts';
import { UsageError } from '../../../bin/exit-codes.ts';
import type { KeyboardJournal } from '../../../bin/keyboard-journal.ts';
import { EXPIRED } from '../../../lambdas/expired-endpoint.ts';
import type { RecoveryReport, RecoveryRow } from '../../../lambdas/recovery/sweep-recovery.ts';
import { apiError } from '../recovery/fake-cluster.ts';
import { outcomeOf, recordedIo } from './io.ts';
import { OPTIONS, SUBJECT } from './rollouts.ts';

const NOW = Date.parse('2026-11-22T05:00:00Z');
const GIVEN: RecoveryWindowOptions = { nodes: 'cp-1, cp-2,cp-1', for: '1m', by: 'ada' };
const OPENING = { id: 'w-1', cluster: 'berlin', now: NOW + 999 };
const WINDOW = recoveryWindow(GIVEN, OPENING);

describe('the window that options describe', () => {
  it('opens now, in whole seconds, for each node once', () => {
    expect(WINDOW).toEqual({
      id: 'w-1',
      cluster: 'berlin',
      nodes: ['cp-1', 'cp-2'],
      openedAt: '2026-11-22T05:00:00Z',
      until: '2026-11-22T05:01:00Z',
      by: 'ada',
      approvals: 2,
      bootstrapGroups: ['system:bootstrappers:kubeadm:default-node-token'],
    });
  });

  it.each<[string, Partial<RecoveryWindowOptions>]>([
    ['--nodes', { nodes: '' }],
    ['--nodes', { nodes: '1,2,3,4,5,6,7,8,9,10' }],
    ['--nodes', { nodes: 'cp-1,CP' }],
    ['--for', { for: '61m' }],
    ['--for', { for: '0s' }],
    ['--for', { for: 'long' }],
    ['--approvals', { approvals: '0' }],
    ['--approvals', { approvals: '1.5' }],
    ['--by', { by: ' ' }],
    ['bootstrapGroups', { bootstrapGroup: ['system:masters'] }],
  ])('refuses %s of %j', (word, changes) => {
    expect(() => recoveryWindow({ ...GIVEN, ...changes }, OPENING)).toThrow(UsageError);
    expect(() => recoveryWindow({ ...GIVEN, ...changes }, OPENING)).toThrow(word);
  });
});

const row = (node: string, changes: Partial<RecoveryRow> = {}): RecoveryRow => ({
  csr: `csr-${node}`,
  uid: `uid-${node}`,
  node,
  requester: 'system:bootstrap:abcdef',
  verdict: 'approve',
  reason: 'Recovered',
  message: `${node} ← Machine eksa-system/${node}`,
  hostile: false,
  outcome: 'written',
  ...changes,
});
const report = (...rows: readonly RecoveryRow[]): RecoveryReport => ({
  version: 1,
  cluster: 'berlin',
  window: 'w-1',
  startedAt: '2026-11-22T05:00:00.000Z',
  complete: true,
  rows,
  ignored: {},
  approved: [],
  problems: [],
});
const LEFT = row('cp-2', { verdict: 'leave', reason: 'EvidenceMissing', message: 'none says so', outcome: 'none' });
const TARGET = {
  clusterId: 'berlin',
  cluster: { name: 'berlin', provider: 'eks-anywhere' },
  workload: SUBJECT.target.management,
  machinesNamespace: 'eksa-system',
  server: SUBJECT.target.server,
} as const;

const REPEAT = 'certmarshal recovery open --nodes cp-1,cp-2';

interface Opening {
  readonly output?: 'table' | 'json';
  readonly abortAfter?: number;
  readonly journal?: KeyboardJournal['append'];
  readonly end?: RecoveryPorts['end'];
  readonly yes?: boolean;
  readonly repeat?: string;
}

async function open(
  reports: readonly RecoveryReport[],
  {
    output = 'table',
    abortAfter = Infinity,
    journal,
    end = async () => 'ended',
    yes = true,
    repeat = REPEAT,
  }: Opening = {},
) {
  const controller = new AbortController();
  let now = NOW;
  const slept: number[] = [];
  let sweeps = 0;
  const ended: string[] = [];
  const io = recordedIo();
  const ports: RecoveryPorts = {
    ...io,
    clock: () => now,
    sleep: async (ms) => {
      slept.push(ms);
      now += ms;
    },
    sweep: async (_target, _window, { dryRun = false }) => {
      expect(dryRun).toBe(!yes);
      sweeps += 1;
      if (sweeps >= abortAfter) controller.abort();
      return reports[Math.min(sweeps, reports.length) - 1] ?? report();
    },
    end: async (client, window, at, signal) => {
      ended.push(`${window.id} ${at} ${signal.aborted}`);
      return end(client, window, at, signal);
    },
  };
  const options = {
    ...OPTIONS,
    yes,
    output,
    version: '0.0.0',
    repeat,
    repeatCluster: ' --kubeconfig berlin.yaml',
    ...(journal === undefined ? {} : { journal: { file: 'kept', append: journal } }),
  };
  const command = recoveryOpenCommand(TARGET, WINDOW, options, controller.signal, ports);
  return { ...(await outcomeOf(io, command)), slept, sweeps, ended };
}

describe('certmarshal recovery open', () => {
  it('says loudly what it is, sweeps every 10 s until the window closes, and tells each verdict once', async () => {
    const { status, stdout, stderr, slept } = await open([
      report(row('cp-1'), LEFT),
      report(LEFT),
      report(row('cp-2')),
    ]);
    expect(stderr).toContain('! Recovery window w-1 of berlin (10.0.1.10:6443, context admin) is open for 1 min, ');
    expect(stderr).toContain('until 2026-11-22 05:01 UTC, by ada.');
    expect(stderr).toContain('approved for cp-1, cp-2: 2 each');
    expect(slept).toEqual([10_000, 10_000, 10_000, 10_000, 10_000, 10_000]);
    expect(stdout.match(/csr-cp-1 {2}cp-1 {2}approved/g)).toHaveLength(1);
    expect(stdout.match(/not approved {2}none says so/g)).toHaveLength(1);
    expect(stdout).toContain('2 of 2 nodes got a certificate approved; window w-1 is closed.');
    expect(status).toBe(0);
  });

  it('without --yes looks once, and shows what it would do', async () => {
    const seen = [report(row('cp-1', { outcome: 'observed' }), LEFT)];
    const { status, stdout, stderr, sweeps, slept, ended } = await open(seen, { yes: false });
    expect({ status, sweeps, slept, ended }).toEqual({ status: 1, sweeps: 1, slept: [], ended: [] });
    expect(stderr).toContain(
      '! Recovery window w-1 of berlin (10.0.1.10:6443, context admin) would be open for 1 min, ',
    );
    expect(stderr).toContain('kubelets would be approved for cp-1, cp-2: 2 each');
    expect(stderr).not.toContain('Ctrl-C');
    expect(stderr).toMatch(
      /Nothing was written: --yes opens the window\. certmarshal recovery open --nodes cp-1,cp-2 --yes\n$/,
    );
    expect(stdout).toMatch(/◇ csr-cp-1 {2}cp-1 {2}would be approved[^]*csr-cp-2 {2}cp-2 {2}not approved/);
    const json = await open([report()], { yes: false, output: 'json' });
    expect([...json.stdout.matchAll(/"kind":"([a-z-]+)"/g)].map(([, kind]) => kind)).toEqual(['would-open', 'sweep']);
    expect(json.stderr).toContain('No request is pending there now.');
  });

  const expired = { kind: 'certificate', message: EXPIRED };
  it.each([
    [expired, '', '. The certificate of the API server has expired; to accept it: OPEN --tolerate-expired authority\n'],
    [
      expired,
      ' --tolerate-expired authority',
      '. What is refused, and why: certmarshal doctor --kubeconfig berlin.yaml\n',
    ],
    [
      { kind: 'forbidden', message: '403' },
      '',
      '. What is refused, and why: certmarshal doctor --kubeconfig berlin.yaml\n',
    ],
    [
      { kind: 'timeout', message: 'no answer' },
      '',
      '. First start etcd and the API server, steps 2 and 3 of certmarshal runbook recovery.\n',
    ],
    [{ kind: 'unreadable', message: 'no Node' }, '', ': --yes opens the window. OPEN --yes\n'],
  ])('without --yes names what comes before: %j%s', async (problem, given, next) => {
    const failed = { ...report(), complete: false, problems: [{ object: 'list', remedy: 'Do it.', ...problem }] };
    const repeat = `certmarshal recovery open --nodes cp-1,cp-2${given}`;
    const { stderr } = await open([failed], { yes: false, repeat });
    expect(stderr.endsWith(`\nNothing was written${next.replace('OPEN', repeat)}`)).toBe(true);
  });

  it('ends with status 1 when a node was not approved, and shows why', async () => {
    const { status, stdout } = await open([report(row('cp-1'), LEFT)]);
    expect(status).toBe(1);
    expect(stdout).toContain('◌  cp-2  0 of 2    csr-cp-2: none says so (EvidenceMissing)');
  });

  it('takes a node for well that has a valid certificate', async () => {
    const valid = row('cp-2', { verdict: 'leave', reason: 'StillValid', outcome: 'none' });
    expect((await open([report(row('cp-1'), valid)])).status).toBe(0);
  });

  it('counts nothing that was not written', async () => {
    const { status, stdout } = await open([report(row('cp-1', { outcome: 'unknown' }), row('cp-2'))]);
    expect(status).toBe(1);
    expect(stdout).toContain('approve: unknown');
  });

  it('is closed by Ctrl-C, in the cluster too, so that another one may be opened at once', async () => {
    const { sweeps, stderr, status, ended } = await open([report()], { abortAfter: 2 });
    expect({ sweeps, status, ended }).toEqual({ sweeps: 2, status: 1, ended: [`w-1 ${NOW + 20_000} false`] });
    expect(stderr).toContain('Another one for this cluster may be opened at once.');
  });

  it.each<[string, RecoveryPorts['end']]>([
    ['busy', async () => 'busy'],
    [
      'out of reach',
      async () => {
        throw apiError('unreachable');
      },
    ],
  ])('says what another one needs where the Lease is %s', async (_, end) => {
    const { stderr } = await open([report()], { abortAfter: 1, end });
    expect(stderr).toContain(
      'before 2026-11-22 05:01 UTC needs: kubectl -n kube-system delete lease certmarshal-recovery',
    );
  });

  it('leaves the Lease alone at the end of its time', async () => {
    expect((await open([report()])).ended).toEqual([]);
  });

  it('says how to keep a record where nothing does', async () => {
    const { stderr } = await open([report()]);
    expect(stderr).toContain('Only this output records');
    expect(stderr).toContain(
      'certmarshal recovery open --nodes cp-1,cp-2 --yes --output json | tee recovery-w-1.ndjson',
    );
  });

  it('keeps every decision in the journal that it is given', async () => {
    const kept: string[] = [];
    const journal = async (lines: string) => void kept.push(lines);
    const { stderr } = await open([report(row('cp-1'), LEFT), report()], { journal });
    const entries = kept
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries.map(({ csr, verdict, window, by, outcome }) => [csr, verdict, window, by, outcome])).toEqual([
      ['csr-cp-1', 'approve', 'w-1', 'ada', 'written'],
      ['csr-cp-2', 'leave', 'w-1', 'ada', 'none'],
    ]);
    expect(stderr).toContain('Every decision is kept in kept.');
    expect(stderr).not.toContain('Only this output');
  });

  it('closes where the journal cannot be written, and shows what is not in it', async () => {
    const journal = async () => {
      throw Object.assign(new Error('ENOSPC'), { errno: -28, code: 'ENOSPC' });
    };
    const { sweeps, status, stderr, ended } = await open([report(row('cp-1'), row('cp-2'))], { journal });
    expect({ sweeps, status, ended: ended.length }).toEqual({ sweeps: 1, status: 1, ended: 1 });
    expect(stderr).toContain('The window is closed: the journal kept could not be written: no space left on device');
    expect(stderr).toContain('"csr":"csr-cp-1"');
  });

  it('tells the expired certificate that it tolerates, once, and every problem once', async () => {
    const problem = {
      kind: 'forbidden',
      object: 'list nodes',
      message: 'answered 403',
      remedy: 'certmarshal rbac --recovery',
    };
    const recovering = { notAfter: '2026-11-21T00:00:00.000Z', sha256: 'ab'.repeat(32), pin: 'authority' };
    const { stdout } = await open([{ ...report(), recovering, problems: [problem] }]);
    expect(stdout.match(/tolerated: the certificate of the API server expired 2026-11-21/g)).toHaveLength(1);
    expect(stdout.match(/list nodes: answered 403/g)).toHaveLength(1);
  });

  describe('where the cluster is not reached', () => {
    const unreached = (kind: string): RecoveryReport => ({
      ...report(),
      complete: false,
      problems: [{ kind, object: 'list requests', message: 'the connection was refused', remedy: 'Check it.' }],
    });

    it.each(['unreachable', 'timeout'])(
      'by the first look (%s) closes at once and says what comes first',
      async (kind) => {
        const { status, sweeps, slept, stdout, stderr, ended } = await open([unreached(kind)]);
        expect({ status, sweeps, slept, ended }).toEqual({ status: 1, sweeps: 1, slept: [], ended: [] });
        expect(stdout).toContain('list requests: the connection was refused');
        expect(stdout).not.toContain('it did not ask');
        expect(stderr).toContain(
          'steps 2 and 3 of certmarshal runbook recovery. Then again: certmarshal recovery open',
        );
      },
    );

    it('says so as JSON, too', async () => {
      const { stdout } = await open([unreached('unreachable')], { output: 'json' });
      const kinds = [...stdout.matchAll(/"kind":"(window|sweep|closed)"/g)].map(([, kind]) => kind);
      expect(kinds).toEqual(['window', 'sweep', 'closed']);
    });

    it.each([
      ['a later look', [report(), unreached('unreachable'), report(row('cp-1'), row('cp-2'))]],
      ['what a look may not read', [unreached('forbidden'), report(row('cp-1'), row('cp-2'))]],
    ])('by %s goes on', async (_, reports) => {
      const { status, sweeps } = await open(reports);
      expect({ status, sweeps }).toEqual({ status: 0, sweeps: 6 });
    });
  });

  it('ends when the sweep says that it is closed', async () => {
    expect((await open([{ ...report(), closed: 'it closed' }])).sweeps).toBe(1);
  });

  it('keeps what a cluster says from the terminal', async () => {
    const { stdout } = await open([report(row('cp-1', { csr: 'x\u001b[2J', requester: 'a\nb' }))]);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toContain('a\nb');
  });

  it('is window, sweeps and end as JSON', async () => {
    const { stdout } = await open([report(row('cp-1'))], { output: 'json' });
    const kinds = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).kind);
    expect(kinds).toEqual(['window', ...Array.from({ length: 6 }, () => 'sweep'), 'closed']);
  });
});
