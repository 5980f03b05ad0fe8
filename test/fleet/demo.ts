import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { viewOf } from '../../bin/commands/audit/groups.ts';
import { timelineLines } from '../../bin/commands/audit/view.ts';
import { draw, hang, type Lines, screenOf } from '../../bin/terminal/draw.ts';
import { approve } from '../../lambdas/approval/approve.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import type { SweepReport } from '../../lambdas/approval/report.ts';
import { audit } from '../../lambdas/audit/audit.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import { pasteable } from '../../lambdas/command.ts';
import { fastClock } from './clock.ts';
import { addControlPlane, addMachine, type DemoCluster, kubeconfigOfAll, startDemoCluster } from './demo-cluster.ts';
import { openScreen, type Standing } from './demo-screen.ts';
import { standingAfter } from './demo-standing.ts';
import { HOSTILE_CLAIMS } from './hostile.ts';
import { kubernetesTime, type StoredCsr } from './kube-object.ts';
import type { SimulatedNode } from './kubelet.ts';

// The demo: three simulated clusters behind real TLS, swept by the very code that runs in the Lambda function.
const SPEED = 15;
const TICK_MS = 60_000;
const TICKS = 3;
const WORKERS = 59;
const THIEF = 17;
const VICTIM = 18;
const CONTROL_PLANE = { name: 'control-plane-1', dnsNames: ['control-plane-1'], ipAddresses: ['192.0.2.201'] };

const USAGE = `Usage: npm run demo [-- --keep]

Plays three simulated clusters behind real TLS, in 15 seconds, and audits them. With --keep, clusters stay open until
Ctrl-C instead, with a kubeconfig to try the commands on.`;
const keep = readArguments();

// The clock reaches real time at the last sweep: later commands must see no request from the future.
const LENGTH_MS = TICKS * TICK_MS - TICK_MS / 2;
const start = Date.now() - LENGTH_MS * (1 - 1 / SPEED);
const clock = fastClock(start, SPEED, start + LENGTH_MS);
const minutes = () => {
  const seconds = Math.floor((clock.now() - start) / 1000);
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`;
};
// Addresses of documentation (RFC 5737): an audit with handshakes reaches no machine of the user's network.
const worker = (index: number): SimulatedNode => ({
  name: `worker-${index}`,
  dnsNames: [`worker-${index}`],
  ipAddresses: [`192.0.2.${index}`],
});

const terminal = { width: 120, ...screenOf(process.stdout, process.env) };
say(
  hang(
    '',
    `certmarshal demo · 3 simulated clusters behind real TLS · 1 second here is ${SPEED} seconds there · a sweep a minute`,
  ),
);
say(['']);
const screen = openScreen(process.stdout, minutes);
const berlin = await startDemoCluster({ name: 'berlin', provider: 'eks-anywhere', clock });
const dublin = await startDemoCluster({ name: 'dublin', provider: 'eks', clock, instances: dublinInstances() });
const oslo = await startDemoCluster({
  name: 'oslo',
  provider: 'eks-anywhere',
  clock,
  certificateNotAfter: new Date(Date.now() - 26 * 3_600_000),
});
const clusters = [berlin, dublin, oslo];
const told = new Set<string>();
const reports = new Map<string, SweepReport>();
let stopEks: () => void = () => {};

try {
  addControlPlane(berlin, CONTROL_PLANE);
  for (let index = 1; index <= WORKERS; index += 1) addMachine(berlin, worker(index), { madeAt: berlin.madeAt });
  screen.event('berlin', 'plain', `${WORKERS + 1} nodes restart at once; each asks for a serving certificate`);
  berlin.start(CONTROL_PLANE);
  for (let index = 1; index <= WORKERS; index += 1)
    berlin.start(
      worker(index),
      index === THIEF ? HOSTILE_CLAIMS.neighbourName(worker(THIEF), worker(VICTIM)) : undefined,
    );
  screen.event(
    'dublin',
    'plain',
    'EKS approves its own nodes within a minute, but leaves one that has a second network interface',
  );
  for (const instance of dublinNodes()) dublin.start(instance);
  stopEks = playEks(dublin);
  addControlPlane(oslo, CONTROL_PLANE);
  screen.event('oslo', 'plain', 'a cluster that no one has checked for a year');

  const ticker = setInterval(() => screen.standing(clusters.map(standingOf)), 250);
  for (let tick = 1; tick <= TICKS; tick += 1) {
    await clock.sleep(start + tick * TICK_MS - TICK_MS / 2 - clock.now());
    await Promise.all(clusters.map(sweepCluster));
  }
  clearInterval(ticker);
  await certificatesArrive();
  screen.standing(clusters.map(standingOf));
  screen.close();
  if (keep) await keepOpen();
  else {
    say(['', 'What expires when: an audit of each, 15 minutes apart in production']);
    for (const cluster of clusters) await auditCluster(cluster);
    adviseNext();
  }
} finally {
  screen.close();
  stopEks();
  await Promise.all(clusters.map((cluster) => cluster.stop()));
}
if (keep) say(['', 'The clusters are closed.']);

function adviseNext(): void {
  say(['', 'What you would do next']);
  for (const [cluster, ...sentences] of [
    [
      'berlin',
      `worker-${THIEF} asked for the name of worker-${VICTIM} and did not get it. If no one moved that name on purpose,`,
      'treat the node as compromised: npx certmarshal runbook san-not-owned',
    ],
    [
      'dublin',
      'find out why EKS does not approve the node with two network interfaces, which its EC2 instance proves.',
      'The answers of EC2 are simulated here; in your account they are read live.',
    ],
    [
      'oslo',
      'the certificate of its API server has expired. Nothing else in it can be read, so certmarshal does not call it healthy.',
      'Renew the control plane certificates by hand: npx certmarshal runbook recovery',
    ],
  ] as const)
    say(hang(`  ${(cluster ?? '').padEnd(8)}`, sentences.join(' ')));
  say(
    hang(
      '  yours   ',
      'audit shows what expires when, and which requests wait, in every cluster of your kubeconfig. It writes nothing to them:',
    ),
  );
  // Never wrapped: it is to be pasted.
  say(['', '  npx certmarshal audit --all-contexts']);
  say(['', 'No cluster at hand? These stay open until Ctrl-C with: npm run demo -- --keep']);
}

/**
 * Keeps the EKS Anywhere clusters open until Ctrl-C, and one more whose certificates expire soon. Three nodes of berlin
 * wait for an approval. Not dublin: its proof is in EC2, which only this process simulates.
 */
async function keepOpen(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-demo-'));
  const certificateNotAfter = new Date(Date.now() + 9.5 * 86_400_000);
  const madrid = await startDemoCluster({ name: 'madrid', provider: 'eks-anywhere', clock, certificateNotAfter });
  clusters.push(madrid);
  addControlPlane(madrid, CONTROL_PLANE);
  for (let index = WORKERS + 1; index <= WORKERS + 3; index += 1) {
    addMachine(berlin, worker(index));
    berlin.start(worker(index));
  }
  try {
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, kubeconfigOfAll([berlin, madrid, oslo]), { mode: 0o600 });
    // Never wrapped: it is to be pasted.
    say([
      '',
      'Open until Ctrl-C. In another terminal, in this directory:',
      '',
      `  export KUBECONFIG=${kubeconfig}`,
      '',
      `  berlin  three new nodes and worker-${THIEF} wait for an approval`,
      '          npx certmarshal audit --no-handshakes',
      '          npx certmarshal run --no-handshakes',
      '          npx certmarshal run --no-handshakes --yes',
      '  oslo    the certificate of its API server has expired',
      '          npx certmarshal audit --no-handshakes --context oslo',
      '  madrid  its control plane certificates expire in 9 days',
      '          npx certmarshal rollout plan --context madrid',
      '  all     npx certmarshal audit --all-contexts --no-handshakes',
      '          npx certmarshal run --all-contexts --no-handshakes --every 1m',
      '',
      'The machines are not real: no command reaches them by TLS. kubectl does not work either.',
    ]);
    await new Promise<void>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** @returns whether to keep the clusters open; exits on --help and on unknown arguments */
function readArguments(): boolean {
  try {
    const { values } = parseArgs({
      options: { keep: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help !== true) return values.keep === true;
    process.stdout.write(`${USAGE}\n`);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
    process.exit(2);
  }
}

function say(lines: Lines): void {
  process.stdout.write(`${draw(lines, terminal)}\n`);
}

async function sweepCluster(cluster: DemoCluster): Promise<void> {
  const report = await approve(cluster.target, [DEFAULT_POLICY], () => clock.now(), AbortSignal.timeout(10_000));
  reports.set(cluster.name, report);
  const approved = report.rows.filter(({ outcome }) => outcome === 'written');
  const [first] = approved;
  if (first !== undefined)
    screen.event(
      cluster.name,
      'good',
      approved.length === 1
        ? `approved ${first.message}`
        : `${approved.length} approved in ${report.durationMs / SPEED < 1000 ? `${Math.round(report.durationMs / SPEED)} ms` : 'one sweep'}, every name proven by its Machine`,
    );
  for (const row of report.rows.filter(({ verdict }) => verdict === 'leave'))
    tellOnce(cluster, row.hostile ? 'bad' : 'warn', `${row.node} not approved: ${row.message}  ${row.reason}`);
  for (const { message } of report.rows.filter(({ outcome }) => outcome === 'observed'))
    tellOnce(cluster, 'plain', `only observed, because EKS decides there: ${message}`);
  for (const { message, remedy } of report.problems)
    tellOnce(cluster, 'bad', `not readable: ${message}\n→ ${pasteable(remedy, 'npx certmarshal')}`);
}

/** Seen from outside: the simulated kubelets do not listen. */
async function auditCluster({ name, target }: DemoCluster): Promise<void> {
  const reach = { handshakes: false, secrets: false, kubeletMetrics: false };
  const report = await audit(
    { ...target, id: name, reach },
    {
      previous: undefined,
      thresholds: DEFAULT_THRESHOLDS,
      clock: () => clock.now(),
      signal: AbortSignal.timeout(10_000),
    },
  );
  const now = clock.now();
  say(['', timelineLines(viewOf(report, now), now)]);
}

function tellOnce(cluster: DemoCluster, mood: 'plain' | 'warn' | 'bad', text: string): void {
  const key = `${cluster.name} ${text}`;
  if (told.has(key)) return;
  told.add(key);
  screen.event(cluster.name, mood, text);
}

/** After the last sweep: until every approved request has its certificate, a second at most. */
async function certificatesArrive(): Promise<void> {
  const arrived = () =>
    clusters.every(({ kubelets, server }) => {
      const open = server.api.csrs.all().filter(({ status }: StoredCsr) => (status.conditions ?? []).length === 0);
      return kubelets.filter(({ certificate }) => certificate === undefined).length <= open.length;
    });
  for (let tries = 0; tries < 20 && !arrived(); tries += 1) await setTimeout(50);
}

function standingOf({ name, kubelets }: DemoCluster): Standing {
  const served = kubelets.filter(({ certificate }) => certificate !== undefined).length;
  return standingAfter(reports.get(name), { cluster: name, served, nodes: kubelets.length });
}

/** Six ordinary nodes, and one that was launched with a second interface on another subnet. */
function dublinNodes(): readonly SimulatedNode[] {
  return Array.from({ length: 7 }, (_, index) => {
    const name = `ip-10-30-0-${index + 1}.eu-west-1.compute.internal`;
    const second = index === 6 ? ['10.30.128.7'] : [];
    return { name, dnsNames: [name], ipAddresses: [`10.30.0.${index + 1}`, ...second] };
  });
}

function dublinInstances(): readonly object[] {
  const launched = new Date(start - 86_400_000);
  return dublinNodes().map(({ name, ipAddresses }, index) => ({
    InstanceId: `i-0${index + 1}`.padEnd(19, '0'),
    State: { Name: 'running' },
    PrivateDnsName: name,
    PrivateIpAddress: ipAddresses[0],
    Tags: [{ Key: 'kubernetes.io/cluster/dublin', Value: 'owned' }],
    NetworkInterfaces: ipAddresses.map((address, device) => ({
      Attachment: { DeviceIndex: device, Status: 'attached', AttachTime: launched },
      PrivateIpAddresses: [{ Primary: true, PrivateIpAddress: address }],
    })),
  }));
}

/** What the approver of EKS does: nodes with one address within a minute, the others never. */
function playEks(cluster: DemoCluster): () => void {
  const { csrs } = cluster.server.api;
  const timer = setInterval(() => {
    for (const object of csrs.all()) {
      const csr: StoredCsr = object;
      const age = clock.now() - Date.parse(csr.metadata.creationTimestamp);
      if (age < 45_000 || (csr.status.conditions ?? []).length > 0) continue;
      if (csr.spec.username.includes('ip-10-30-0-7.')) continue;
      const time = kubernetesTime(clock.now());
      const approved = {
        type: 'Approved',
        status: 'True',
        reason: 'AutoApproved',
        message: 'played by the demo',
        lastUpdateTime: time,
        lastTransitionTime: time,
      } as const;
      csrs.put({ ...csr, status: { ...csr.status, conditions: [approved] } });
    }
  }, 200);
  return () => clearInterval(timer);
}
