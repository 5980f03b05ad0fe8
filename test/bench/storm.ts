import { Agent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { act } from '../../lambdas/approval/act.ts';
import { approve } from '../../lambdas/approval/approve.ts';
import { decide } from '../../lambdas/approval/decide.ts';
import { observe, type SweepTarget } from '../../lambdas/approval/observe.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import type { Admin } from '../control-plane/admin.ts';
import { CSRS, type Csr, createCsr } from '../control-plane/fixtures.ts';
import type { ControlPlane } from '../control-plane/start.ts';
import { localClient } from '../support/local-client.ts';
import { nodeName, requestOf } from './fixtures.ts';
import { inParallel } from './in-parallel.ts';
import { CREATORS, startMachinesCluster } from './machines-cluster.ts';
import { type Figure, figure } from './statistics.ts';

const RUNS = 5;
const VALID = 5_000;
const HOSTILE = 500;
const STORM = { valid: VALID, hostile: HOSTILE };

/** How many writes the plain client keeps in flight: the plateau of a kube-apiserver on two cores. */
const PLAIN_IN_FLIGHT = 32;

/**
 * A storm on a real kube-apiserver: 5,000 valid requests and 500 that ask for a neighbour's address. In every run the same storm is first
 * approved by a plain keep-alive client that knows the verdicts, then by a whole sweep.
 */
export async function benchStorm(say: (text: string) => void): Promise<Figure[]> {
  await using cluster = await startMachinesCluster(VALID, say);
  const { controlPlane, admin } = cluster;
  const client = localClient(controlPlane, controlPlane.tokenFor('certmarshal'));
  const target: SweepTarget = {
    cluster: { name: 'bench', provider: 'eks-anywhere' },
    workload: client,
    management: client,
    machinesNamespace: 'default',
  };
  try {
    const plain: number[] = [];
    const whole: number[] = [];
    const ratios: number[] = [];
    const writing: number[] = [];
    const writingRatios: number[] = [];
    const reads: number[] = [];
    for (let run = 1; run <= RUNS; run += 1) {
      say(`run ${run} of ${RUNS}: storm for the plain client`);
      await createStorm(admin, STORM);
      const plainRate = await approvePlainly(controlPlane, admin);
      await clear(admin);

      say(`run ${run} of ${RUNS}: storm for writing alone`);
      await createStorm(admin, STORM);
      const writingRate = await writeDecisions(target);
      await clear(admin);

      say(`run ${run} of ${RUNS}: storm for the sweep`);
      await createStorm(admin, STORM);
      const startedAt = performance.now();
      const report = await approve(target, [DEFAULT_POLICY], Date.now, AbortSignal.timeout(120_000));
      const finishedAt = performance.now();
      if (report.counts.approved !== VALID || report.counts.left !== HOSTILE || report.requests.writes !== VALID)
        throw new Error(`not the expected outcome: ${JSON.stringify({ ...report, rows: undefined })}`);
      const wholeRate = VALID / ((finishedAt - startedAt) / 1000);
      plain.push(plainRate);
      writing.push(writingRate);
      writingRatios.push(writingRate / plainRate);
      whole.push(wholeRate);
      ratios.push(wholeRate / plainRate);
      reads.push(report.requests.sent - report.requests.writes);
      if (run < RUNS) await clear(admin);
    }

    const figures = [
      figure('plain client, verdicts precomputed', 'approvals/s', plain),
      figure('certmarshal writing, verdicts precomputed', 'approvals/s', writing),
      figure('certmarshal writing : plain client', '×', writingRatios, { text: '≥ 0.9', met: (ratio) => ratio >= 0.9 }),
      figure('sweep, whole (read, judge, write)', 'approvals/s', whole),
      figure('whole sweep : plain client', '×', ratios, { text: '≥ 0.9', met: (ratio) => ratio >= 0.9 }),
      figure('writes for one hostile request', 'writes', [0], { text: '0', met: (writes) => writes === 0 }),
      figure('reads', 'requests', reads, {
        text: `≤ ${Math.ceil((VALID + HOSTILE) / 500) + Math.ceil(VALID / 500) + 1}`,
        met: (count) => count <= Math.ceil((VALID + HOSTILE) / 500) + Math.ceil(VALID / 500) + 1,
      }),
    ];
    say('issuing, signer at 1,000 requests/s');
    figures.push(figure('all issued, signer at 1,000 requests/s', 's', [await issued(controlPlane, admin, 1_000)]));
    await clear(admin);
    say('storm for the default signer');
    await createStorm(admin, STORM);
    await approve(target, [DEFAULT_POLICY], Date.now, AbortSignal.timeout(120_000));
    say('issuing, signer at its default 20 requests/s: about 4 min');
    figures.push(figure('all issued, signer at its default 20 requests/s', 's', [await issued(controlPlane, admin)]));
    return figures;
  } finally {
    client.close();
  }
}

/** Pending requests: `valid` ones of nodes with a Machine, and `hostile` ones of further nodes that ask for the addresses of the first. */
export async function createStorm(
  admin: Admin,
  { valid, hostile }: { readonly valid: number; readonly hostile: number },
): Promise<void> {
  await inParallel(valid + hostile, CREATORS, async (index) => {
    const pem = index < valid ? requestOf(index) : requestOf(index, { steals: index - valid });
    await createCsr(admin, { name: `storm-${index}`, nodeName: nodeName(index), requestPem: pem.toString() });
  });
}

/** What certmarshal's own writing reaches: every decision is made before the clock starts. */
async function writeDecisions(target: SweepTarget): Promise<number> {
  const signal = AbortSignal.timeout(120_000);
  const policies = [DEFAULT_POLICY];
  const observed = await observe(target, policies, signal);
  const decisions = [...decide(observed.cluster, observed, policies, Date.now())];
  const startedAt = performance.now();
  const acted = await act(decisions, {
    client: target.workload,
    evidence: observed.evidence,
    policies,
    now: Date.now,
    signal,
  });
  const written = acted.filter(({ outcome }) => outcome.kind === 'written').length;
  if (written !== VALID) throw new Error(`${written} of ${VALID} written`);
  return VALID / ((performance.now() - startedAt) / 1000);
}

async function clear(admin: Admin): Promise<void> {
  await admin.delete(CSRS);
}

/** What an approver reaches that has nothing to decide: every PUT prepared, a fixed number of them in flight. */
async function approvePlainly(controlPlane: ControlPlane, admin: Admin): Promise<number> {
  const { items } = await admin.get<{ items: Csr[] }>(CSRS);
  const bodies = items
    .filter(({ metadata }) => Number(metadata.name.slice('storm-'.length)) < VALID)
    .map(({ metadata }) => ({
      path: `${CSRS}/${metadata.name}/approval`,
      body: JSON.stringify({
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion },
        status: { conditions: [{ type: 'Approved', status: 'True', reason: 'Plain', message: 'precomputed' }] },
      }),
    }));
  const agent = new Agent({ keepAlive: true, maxSockets: PLAIN_IN_FLIGHT, ca: controlPlane.caPem });
  const headers = {
    authorization: `Bearer ${controlPlane.tokenFor('certmarshal')}`,
    'content-type': 'application/json',
  };
  const startedAt = performance.now();
  await inParallel(bodies.length, PLAIN_IN_FLIGHT, async (index) => {
    const { path, body } = bodies[index] ?? { path: '', body: '' };
    await new Promise<void>((resolve, reject) => {
      const call = httpsRequest(`${controlPlane.server}${path}`, { method: 'PUT', agent, headers }, (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`${path}: ${response.statusCode}`)),
        );
      });
      call.on('error', reject);
      call.end(body);
    });
  });
  const seconds = (performance.now() - startedAt) / 1000;
  agent.destroy();
  return bodies.length / seconds;
}

/** Seconds from the start of the signer until every approved request has its certificate. */
async function issued(controlPlane: ControlPlane, admin: Admin, qps?: number): Promise<number> {
  const startedAt = performance.now();
  await controlPlane.restartControllerManager(qps === undefined ? {} : { kubeApiQps: qps, kubeApiBurst: qps * 2 });
  for (;;) {
    await sleep(qps === undefined ? 5_000 : 1_000);
    const { items } = await admin.get<{ items: Csr[] }>(CSRS);
    const count = items.filter(({ status }) => status.certificate !== undefined).length;
    if (count >= VALID) {
      await controlPlane.stopControllerManager();
      return (performance.now() - startedAt) / 1000;
    }
    if (performance.now() - startedAt > 600_000) throw new Error(`only ${count} of ${VALID} were issued in 10 min`);
  }
}
