import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AuditCommandOptions, auditCommand, trySnapshots } from '../../../bin/commands/audit/audit.ts';
import { auditRepeat } from '../../../bin/commands/audit/repeat.ts';
import { UsageError } from '../../../bin/exit-codes.ts';
import type { AuditSource } from '../../../lambdas/audit/audit-source.ts';
import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
import { directorySnapshots } from '../../../lambdas/audit/directory-snapshots.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import type { Observation } from '../../../lambdas/contracts/observation.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { certificateOf, NOW } from './audit/audits.ts';
import { outcomeOf, recordedIo } from './io.ts';
import { refusal, runCli } from './run-cli.ts';

const workload: KubernetesClient = {
  server: 'https://berlin',
  stats: { requests: 3, writes: 0, retries: 0, throttled: 0, bytes: 0 },
  close: () => {},
  request: () => Promise.reject(new Error('no source of these tests asks')),
  requestText: () => Promise.reject(new Error('no source of these tests asks')),
};
const TARGET: AuditTarget = {
  id: 'berlin',
  cluster: { name: 'berlin', provider: 'eks-anywhere' },
  workload,
  machinesNamespace: 'eksa-system',
  reach: { handshakes: true, secrets: false, kubeletMetrics: false },
};

const sourceOf = (observe: AuditSource['observe'], id: AuditSource['id'] = 'tls'): AuditSource => ({
  id,
  stage: 'first',
  deadlineMs: 1_000,
  off: () => undefined,
  observe,
});
const showing = (...observations: readonly Observation[]): AuditSource =>
  sourceOf(async () => ({ observations, count: observations.length }));
const failing = (kind: KubernetesError['kind'] = 'forbidden'): AuditSource =>
  sourceOf(async () => {
    throw new KubernetesError({ kind, object: 'list x', problem: 'answered 403', remedy: 'certmarshal rbac' });
  });
const observedAt = new Date(NOW).toISOString();
const ENDING = certificateOf({ observedAt });
const RUNNING_OUT = certificateOf({
  observedAt,
  notBefore: '2025-12-31T00:00:00.000Z',
  notAfter: '2026-12-31T00:00:00.000Z',
});
const NEARLY_OVER = certificateOf({ observedAt, notAfter: '2026-11-21T12:00:00.000Z' });
const WELL = certificateOf({ observedAt, notBefore: '2026-11-01T00:00:00.000Z', notAfter: '2027-11-01T00:00:00.000Z' });

async function run(
  sources: readonly AuditSource[],
  options: Partial<AuditCommandOptions> = {},
  {
    signal = new AbortController().signal,
    now = NOW,
    address,
  }: { signal?: AbortSignal; now?: number; address?: string } = {},
) {
  const io = recordedIo({ now });
  const command = auditCommand(
    address === undefined ? TARGET : { ...TARGET, server: { context: 'admin', address } },
    DEFAULT_THRESHOLDS,
    { output: 'json', program: 'certmarshal', ...auditRepeat({ kubeconfig: 'k' }), ...options },
    signal,
    { ...io, sources },
  );
  return outcomeOf(io, command);
}

const PASSES = 'Exit status 0 despite a critical finding; for status 1: --fail-on critical\n';

describe('certmarshal audit', () => {
  it('has the commands of the table for programs', async () => {
    const { stdout } = await run([showing(ENDING)]);
    const table = (await run([showing(ENDING)], { output: 'table' })).stdout;
    const { findings } = JSON.parse(stdout);
    expect(findings[0].command).toBe('certmarshal rollout plan --kubeconfig k');
    expect(table).toContain(`→ ${findings[0].command}\n`);
    expect(stdout).not.toMatch(/KUBECONFIG|MANAGEMENT/);
  });

  it('prints one object that has all that was found', async () => {
    const { status, stdout, stderr } = await run([showing(ENDING)]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: PASSES });
    expect(JSON.parse(stdout)).toEqual({
      version: 1,
      cluster: 'berlin',
      provider: 'eks-anywhere',
      auditedAt: observedAt,
      durationMs: 0,
      requests: 0,
      handshakes: 1,
      counts: { critical: expect.any(Number), warning: expect.any(Number), info: expect.any(Number) },
      findings: expect.arrayContaining([expect.objectContaining({ code: 'CertificateExpiring' })]),
      groups: [expect.objectContaining({ what: 'etcd-server', count: 1 })],
      sources: { read: [{ source: 'tls', count: 1 }], unread: [], off: [] },
      certificates: [ENDING],
    });
    const verbose = JSON.parse((await run([showing(ENDING)], { verbose: true })).stdout);
    expect(verbose.observations).toEqual([expect.objectContaining({ kind: 'read' })]);
  });

  it('has whose kubelet certificates are proven, where one was judged', async () => {
    const serving = certificateOf({
      observedAt,
      what: 'kubelet-serving',
      where: '10.0.1.23:10250',
      issued: { verdict: 'proven', approvedBy: 'AutoApproved' },
    });
    const counts = { 'names-another': 0, 'not-proven': 0, 'no-longer-proven': 0, unknown: 0, proven: 1 };
    const { issued, certificates } = JSON.parse((await run([showing(serving)])).stdout);
    expect(issued).toEqual({ counts, byApprover: [{ approvedBy: 'AutoApproved', counts }] });
    expect(certificates).toEqual([serving]);
    const { stdout } = await run([showing(serving)], { output: 'table' });
    expect(stdout).toContain('\n  ✔ 1 kubelet certificate, approved by AutoApproved: 1 proven\n');
  });

  it.each([
    ['table', /^✖ berlin · EKS Anywhere · 1 certificate: .+\n[^]*\n$/],
    ['csv', /^"cluster","class",[^]*\r\n$/],
    ['openmetrics', /^# TYPE [^]*\n# EOF\n$/],
  ] as const)('prints %s', async (output, expected) => {
    expect((await run([showing(ENDING)], { output })).stdout).toMatch(expected);
  });

  it('ends with status 1 where a source could not be read, and says which in every output', async () => {
    const { status, stdout } = await run([showing(WELL), { ...failing(), id: 'nodes' }]);
    expect(status).toBe(1);
    expect(JSON.parse(stdout).sources.unread).toEqual([
      { source: 'nodes', problem: 'forbidden', message: 'list x: answered 403', remedy: 'certmarshal rbac' },
    ]);
    const metrics = await run([{ ...failing(), id: 'nodes' }], { output: 'openmetrics' });
    expect(metrics.stdout).toContain('certmarshal_source_up{cluster="berlin",source="nodes"} 0\n');
    expect((await run([{ ...failing(), id: 'nodes' }], { output: 'table' })).stdout).toMatch(
      /^✖ berlin · EKS Anywhere · not readable/,
    );
  });

  it('ends with status 0 where a source is left out on purpose', async () => {
    const { status } = await run([showing(WELL), { ...failing(), id: 'tls-secrets', off: () => 'not opted in' }]);
    expect(status).toBe(0);
  });

  it.each([
    ['critical', 'critical', 1],
    ['critical', 'warning', 0],
    ['warning', 'critical', 1],
    ['warning', 'warning', 1],
    ['warning', 'info', 0],
    ['info', 'info', 1],
  ] as const)('with --fail-on %s and a finding that is %s ends with status %i', async (failOn, worst, expected) => {
    const certificate = { critical: NEARLY_OVER, warning: RUNNING_OUT, info: WELL }[worst];
    const { status, stdout, stderr } = await run([showing(certificate)], { failOn });
    expect(JSON.parse(stdout).findings[0].severity).toBe(worst);
    expect(status).toBe(expected);
    expect(stderr).toBe(expected === 1 ? `A finding is at least ${failOn}.\n` : '');
  });

  it('says off a terminal that a critical finding does not fail it, and nothing where it fails anyway', async () => {
    expect(await run([showing(NEARLY_OVER)], { output: 'table' })).toMatchObject({ status: 0, stderr: PASSES });
    expect(await run([showing(RUNNING_OUT)])).toMatchObject({ status: 0, stderr: '' });
    expect((await run([showing(NEARLY_OVER), { ...failing(), id: 'nodes' }])).stderr).not.toContain(PASSES);
    const io = recordedIo({ now: NOW, columns: 100 });
    const options = { output: 'table' as const, program: 'certmarshal', ...auditRepeat({ kubeconfig: 'k' }) };
    const { signal } = new AbortController();
    await auditCommand(TARGET, DEFAULT_THRESHOLDS, options, signal, { ...io, sources: [showing(NEARLY_OVER)] });
    expect(io.stderr.text()).not.toContain(PASSES);
  });

  describe('with --snapshots', () => {
    let directory: string;
    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'certmarshal-audit-'));
    });
    afterEach(() => rm(directory, { recursive: true }));

    it('refuses what was known of another cluster that is called alike, and leaves it as it is', async () => {
      const at = (address: string) => ({ address });
      expect((await run([showing(ENDING)], { snapshots: directory }, at('10.0.0.1:6443'))).status).toBe(0);
      const read = async () => directorySnapshots(directory).read('berlin', new AbortController().signal);
      const kept = await read();
      expect(kept?.snapshot).toMatchObject({ server: '10.0.0.1:6443' });
      const other = run([showing(WELL)], { snapshots: directory }, at('10.0.0.2:6443'));
      await expect(other).rejects.toThrow(UsageError);
      await expect(other).rejects.toThrow(
        `--snapshots ${directory}: its snapshot of berlin is of the API server 10.0.0.1:6443; this one is 10.0.0.2:6443.`,
      );
      expect(await read()).toEqual(kept);
      expect((await run([showing(WELL)], { snapshots: directory }, at('10.0.0.1:6443'))).status).toBe(0);
    });

    it('takes over a snapshot that names no server', async () => {
      await run([showing(ENDING)], { snapshots: directory });
      expect(await run([showing(WELL)], { snapshots: directory }, { address: '10.0.0.1:6443' })).toMatchObject({
        status: 0,
      });
    });

    it('knows what was seen before, and forgets nothing that cannot be read', async () => {
      expect((await run([showing(ENDING)], { snapshots: directory })).status).toBe(0);
      expect(await readdir(directory)).toEqual(['berlin.json.gz']);
      const later = { now: NOW + 3_600_000 };
      for (let round = 0; round < 2; round += 1) {
        const { status, stdout } = await run([failing()], { snapshots: directory }, later);
        expect(status).toBe(1);
        const { findings, certificates } = JSON.parse(stdout);
        expect(certificates).toEqual([ENDING]);
        expect(findings).toContainEqual(
          expect.objectContaining({ code: 'CertificateExpiring', since: observedAt, lastSeen: expect.any(String) }),
        );
      }
    });

    it('says that one is damaged, and writes a new one', async () => {
      await writeFile(join(directory, 'berlin.json.gz'), 'x');
      const { status, stderr } = await run([showing(WELL)], { snapshots: directory });
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: 'The earlier snapshot of berlin is damaged; this audit starts without it, and writes a new one.\n',
      });
      expect(await run([showing(WELL)], { snapshots: directory })).toMatchObject({ status: 0, stderr: '' });
    });

    it('goes on to say that one was lost, until everything was seen again', async () => {
      await writeFile(join(directory, 'berlin.json.gz'), 'x');
      for (let round = 0; round < 2; round += 1) await run([failing()], { snapshots: directory });
      const { status, stderr } = await run([failing()], { snapshots: directory });
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringContaining('A snapshot was lost, and not everything was seen again since'),
      });
      expect(await run([showing(WELL)], { snapshots: directory })).toMatchObject({ status: 0, stderr: '' });
      expect(await run([showing(WELL)], { snapshots: directory })).toMatchObject({ status: 0, stderr: '' });
    });

    it('ends with status 1 where it cannot be read, and overwrites nothing', async () => {
      await mkdir(join(directory, 'berlin.json.gz'));
      const { status, stderr, stdout } = await run([showing(WELL)], { snapshots: directory });
      expect(status).toBe(1);
      expect(stderr).toBe(
        'The earlier snapshot of berlin cannot be read: illegal operation on a directory. This audit starts without it, and writes none.\n',
      );
      expect(JSON.parse(stdout).certificates).toEqual([WELL]);
    });

    it('asks nothing where none can be written, and says where and why', async () => {
      const file = join(directory, 'file');
      await writeFile(file, '');
      await expect(trySnapshots(file)).rejects.toThrow(UsageError);
      // That there is no kubeconfig either would be said by whoever asks the cluster.
      const { status, stdout, stderr } = await runCli(['audit', '--kubeconfig', '/nowhere/x', '--snapshots', file]);
      expect({ status, stdout, stderr }).toEqual({
        status: 2,
        stdout: '',
        stderr: `--snapshots ${file}: no snapshot can be written there: it is not a directory. Name a directory that exists or can be made.\n`,
      });
    });

    it.runIf(process.platform === 'linux')('ends at once where the directory cannot be made', async () => {
      await expect(trySnapshots('/proc/x')).rejects.toThrow(
        '--snapshots /proc/x: no snapshot can be written there: no such file or directory.',
      );
    });

    it('shows on Ctrl-C what was read, and writes nothing', async () => {
      const controller = new AbortController();
      const slow = sourceOf(
        ({ signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () =>
              reject(new KubernetesError({ kind: 'aborted', object: 'list y', problem: 'stopped', remedy: 'r' })),
            );
            controller.abort();
          }),
        'nodes',
      );
      const { status, stdout, stderr } = await run([showing(WELL), slow], { snapshots: directory }, controller);
      expect(status).toBe(1);
      expect(stderr).toBe(
        'Interrupted: what was not read by then is listed as not read, and no snapshot was written.\n',
      );
      expect(JSON.parse(stdout).sources).toMatchObject({ read: [{ source: 'tls' }], unread: [{ source: 'nodes' }] });
      expect(await readdir(directory)).toEqual([]);
    });
  });

  it('says on a terminal which sources it waits for', async () => {
    const io = recordedIo({ columns: 100 });
    let now = NOW;
    const source = sourceOf(async () => {
      now += 5_000;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { observations: [], count: 0 };
    }, 'eks-cluster');
    const realNow = Date.now;
    try {
      Date.now = () => now;
      await auditCommand(
        TARGET,
        DEFAULT_THRESHOLDS,
        { output: 'json', program: 'certmarshal', ...auditRepeat({}) },
        new AbortController().signal,
        { ...io, clock: () => now, sources: [showing(WELL), source] },
      );
    } finally {
      Date.now = realNow;
    }
    expect(io.stderr.text()).toContain('berlin: 1 of 2 sources read, waiting for eks-cluster · 5 s');
  });

  it.each([
    [['--port', 'kubelet'], /^--port takes NAME=PORT/],
    [['--fail-on', 'bad'], /^error: option '--fail-on <severity>' argument 'bad' is invalid/],
    [['--output', 'xml'], /^error: option '-o, --output <format>' argument 'xml' is invalid/],
    [['--kubeconfig', '/nowhere/x'], /^There is no file \/nowhere\/x, which --kubeconfig names\.\n$/],
  ])('refuses %j', async (args, expected) => {
    expect(await runCli(['audit', ...args])).toEqual(refusal(expected));
  });
});
