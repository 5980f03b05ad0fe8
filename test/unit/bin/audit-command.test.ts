import { describe, expect, it } from 'vitest';
import { type AuditCommandOptions, auditCommand } from '../../../bin/commands/audit/audit.ts';
import { auditRepeat } from '../../../bin/commands/audit/repeat.ts';
import type { AuditSource } from '../../../lambdas/audit/audit-source.ts';
import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
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
  { signal = new AbortController().signal }: { signal?: AbortSignal } = {},
) {
  const io = recordedIo({ now: NOW });
  const command = auditCommand(
    TARGET,
    { thresholds: DEFAULT_THRESHOLDS },
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
    const counts = { 'names-another': 0, 'not-proven': 0, unknown: 0, proven: 1 };
    const { issued, certificates } = JSON.parse((await run([showing(serving)])).stdout);
    expect(issued).toEqual(counts);
    expect(certificates).toEqual([serving]);
    const { stdout } = await run([showing(serving)], { output: 'table' });
    expect(stdout).toContain('\n  ✔ 1 kubelet certificate: 1 proven\n');
  });

  it('prints a table', async () => {
    const { stdout } = await run([showing(ENDING)], { output: 'table' });
    expect(stdout).toMatch(/^✖ berlin · EKS Anywhere · 1 certificate: .+\n[^]*\n$/);
  });

  it('ends with status 1 where a source could not be read, and says which in every output', async () => {
    const { status, stdout } = await run([showing(WELL), { ...failing(), id: 'nodes' }]);
    expect(status).toBe(1);
    expect(JSON.parse(stdout).sources.unread).toEqual([
      { source: 'nodes', problem: 'forbidden', message: 'list x: answered 403', remedy: 'certmarshal rbac' },
    ]);
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
    await auditCommand(TARGET, { thresholds: DEFAULT_THRESHOLDS }, options, signal, {
      ...io,
      sources: [showing(NEARLY_OVER)],
    });
    expect(io.stderr.text()).not.toContain(PASSES);
  });

  it('shows on Ctrl-C what was read', async () => {
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
    const { status, stdout, stderr } = await run([showing(WELL), slow], {}, controller);
    expect(status).toBe(1);
    expect(stderr).toBe('Interrupted: what was not read by then is listed as not read.\n');
    expect(JSON.parse(stdout).sources).toMatchObject({ read: [{ source: 'tls' }], unread: [{ source: 'nodes' }] });
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
        { thresholds: DEFAULT_THRESHOLDS },
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
