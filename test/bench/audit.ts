import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { assessExpiry, assessInSteps } from '../../lambdas/audit/assess.ts';
import { audit } from '../../lambdas/audit/audit.ts';
import { certificatesAt } from '../../lambdas/audit/certificates-at.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import { decodeSnapshot, encodeSnapshot } from '../unit/audit/stored-snapshot.ts';
import { machines } from '../../lambdas/audit/sources/machines.ts';
import { nodes as nodesSource } from '../../lambdas/audit/sources/nodes.ts';
import { signingRequests } from '../../lambdas/audit/sources/signing-requests.ts';
import type { Observation } from '../../lambdas/contracts/observation.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { createCertificateAuthority, createCertificateRequest, createKeyPair, issueCertificate } from '../peculiar.ts';
import { lambdaNode } from '../support/lambda-node.ts';
import { clusterAnswers, issuedRequest } from '../unit/audit/issued-cluster.ts';
import { type Answers, contextOf, fakeClient } from '../unit/audit/sources/fake-cluster.ts';
import { bundled } from './bundled.ts';
import { type Figure, figure } from './statistics.ts';

const run = promisify(execFile);
const RUNS = 5;
const CERTIFICATES = 10_000;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** As the list of them asks for. */
const REQUESTS_A_PAGE = 1_000;

/** A whole audit with 500 handshakes of which 50 hang; what 10,000 certificates take; how often an idle cluster is asked. */
export async function benchAudit(say: (text: string) => void): Promise<Figure[]> {
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-bench-'));
  try {
    const program = await bundled('audit-process', directory);
    say('500 kubelets, every tenth silent');
    const large = await audits(program, directory, 500, 'silent');
    say('200 idle nodes');
    const idle = await audits(program, directory, 200, 'none');
    return [
      figure(
        'audit, 500 handshakes of which 50 hang',
        's',
        large.map(({ seconds }) => seconds),
        { text: '≤ 12', met: (value) => value <= 12 },
      ),
      figure(
        'its peak RSS',
        'MiB',
        large.map(({ maxRssMiB }) => maxRssMiB),
        { text: '< 512', met: (value) => value < 512 },
      ),
      figure(
        'API requests of an audit, 200 nodes',
        '',
        idle.map(({ requests }) => requests),
        { text: '≤ 25', met: (value) => value <= 25 },
      ),
      ...(await certificates(say)),
      ...(await issuedRequests(say)),
      ...hostileBundle(say),
    ];
  } finally {
    await rm(directory, { recursive: true });
  }
}

interface Measured {
  readonly seconds: number;
  readonly requests: number;
  readonly seen: number;
  readonly unread: number;
  readonly maxRssMiB: number;
}

async function audits(program: string, directory: string, nodes: number, silent: string): Promise<Measured[]> {
  const servers = new URL('./audit-servers.ts', import.meta.url).pathname;
  const child = spawn('taskset', ['-c', '1', process.execPath, servers, `${nodes}`, silent], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exit = new Promise((resolve) => child.once('exit', resolve));
  try {
    const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    const { kubeconfig, port } = JSON.parse(String(line.value));
    const file = join(directory, 'kubeconfig');
    await writeFile(file, kubeconfig, { mode: 0o600 });
    const measured: Measured[] = [];
    for (let count = 0; count < RUNS; count += 1) {
      const node = [process.execPath, ...lambdaNode(HUB_SIZES.sweep.memoryMiB), program, file, `${port}`];
      const { stdout } = await run('taskset', ['-c', '0', ...node]);
      const result: Measured = JSON.parse(stdout);
      const hanging = silent === 'silent' ? nodes / 10 : 0;
      if (result.seen !== nodes - hanging || result.unread !== hanging)
        throw new Error(`${result.seen} kubelets seen, ${result.unread} not`);
      measured.push(result);
    }
    return measured;
  } finally {
    child.stdin.end();
    await exit;
  }
}

async function certificates(say: (text: string) => void): Promise<Figure[]> {
  say(`making ${CERTIFICATES} certificates`);
  const pems = await makeCertificates();
  const now = Date.now();
  const observedAt = new Date(now).toISOString();
  const cluster = { id: 'bench', provider: 'eks-anywhere' } as const;
  const parsing: number[] = [];
  const storing: number[] = [];
  let bytes = 0;
  // The first one warms up.
  for (let count = 0; count <= RUNS; count += 1) {
    say(`run ${count} of ${RUNS}`);
    const startedAt = performance.now();
    const observations: Observation[] = pems.flatMap((pem, index) => [
      ...certificatesAt(
        {
          what: 'kubelet-serving',
          where: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}:10250`,
          source: 'tls',
          observedAt,
          member: `worker-${index}`,
        },
        pem,
        'eks-anywhere',
      ).observations,
    ]);
    const assessed = assessExpiry(cluster, observations, undefined, DEFAULT_THRESHOLDS, now);
    const parsedAt = performance.now();
    const file = await encodeSnapshot({
      version: 1,
      cluster: cluster.id,
      provider: cluster.provider,
      auditedAt: observedAt,
      ...assessed,
    });
    const read = await decodeSnapshot(file);
    const storedAt = performance.now();
    if (read?.observations.length !== CERTIFICATES) throw new Error(`${read?.observations.length} observations`);
    bytes = file.length;
    if (count === 0) continue;
    parsing.push((parsedAt - startedAt) / 1000);
    storing.push(storedAt - parsedAt);
  }
  return [
    figure('parse and assess 10,000 certificates', 's', parsing, { text: '≤ 1.5', met: (value) => value <= 1.5 }),
    figure('write and read their snapshot', 'ms', storing, { text: '≤ 300', met: (value) => value <= 300 }),
    figure('its size', 'MB', [bytes / 1e6], { text: '≤ 3', met: (value) => value <= 3 }),
  ];
}

/**
 * What 10,000 issued requests add to an audit of 5,000 nodes, each of which has a Machine and two of them; in processor time of this process, and in requests to
 * API servers.
 */
async function issuedRequests(say: (text: string) => void): Promise<Figure[]> {
  say(`judging ${CERTIFICATES} issued requests`);
  const now = Date.now();
  const count = CERTIFICATES / 2;
  const addressOf = (index: number) => `10.1.${index >> 8}.${index & 255}`;
  const requests = Array.from({ length: CERTIFICATES }, (_, index) => {
    const node = index % count;
    const at = now - Math.floor((index / CERTIFICATES) * HOUR_MS);
    return issuedRequest({ node: `worker-${node}`, addresses: [addressOf(node)], at });
  });
  const fleet = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `worker-${index}`,
      { address: addressOf(index), bornAt: now - DAY_MS },
    ]),
  );
  const [without, having] = [clusterAnswers(fleet), clusterAnswers(fleet, requests)];
  const sent = { without: 0, having: 0 };
  const added: number[] = [];
  for (let turn = 0; turn <= RUNS; turn += 1) {
    // oxlint-disable no-await-in-loop -- one after the other is what is measured
    const bare = await measuredAudit(without, now);
    const full = await measuredAudit(having, now);
    // oxlint-enable no-await-in-loop
    if (full.judged !== CERTIFICATES) throw new Error(`${full.judged} certificates are proven`);
    Object.assign(sent, { without: bare.requests, having: full.requests });
    if (turn > 0) added.push(full.seconds - bare.seconds);
  }
  return [
    figure('judge 10,000 issued requests', 's', added, { text: '≤ 1', met: (value) => value <= 1 }),
    figure(
      'requests to API servers that they add, beside the pages of their list',
      '',
      [sent.having - sent.without - (CERTIFICATES / REQUESTS_A_PAGE - 1)],
      { text: '≤ 1', met: (value) => value <= 1 },
    ),
  ];
}

async function measuredAudit(answers: Answers, now: number) {
  const client = fakeClient(answers);
  const { target, signal } = contextOf(client, { reach: { handshakes: false } });
  const startedAt = process.cpuUsage();
  const { snapshot, requests } = await audit(
    { ...target, management: client },
    {
      previous: undefined,
      thresholds: DEFAULT_THRESHOLDS,
      clock: () => now,
      signal,
      sources: [nodesSource, machines, signingRequests],
    },
  );
  const { user, system } = process.cpuUsage(startedAt);
  const judged = snapshot.observations.filter((one) => one.kind === 'certificate' && one.issued?.verdict === 'proven');
  return { seconds: (user + system) / 1e6, requests, judged: judged.length };
}

/** A caBundle, half of whose certificates are called as the issuer of the other half; what a webhook of 1 MiB has room for, ten times. */
function hostileBundle(say: (text: string) => void): Figure[] {
  say('a hostile bundle');
  const now = Date.now();
  const at = (days: number) => new Date(now + days * DAY_MS).toISOString();
  const observations = Array.from(
    { length: CERTIFICATES },
    (_, index): Observation => ({
      kind: 'certificate',
      source: 'webhooks',
      observedAt: at(0),
      what: 'ca-bundle',
      where: `webhook ${Math.floor(index / 1000)}`,
      position: index % 1000,
      basis: 'certificate',
      fingerprint: `${index}`,
      notBefore: at(-100),
      ...(index % 2 === 0
        ? { subject: 'CN=evil', issuer: 'CN=other', isAuthority: true, notAfter: at(400) }
        : { subject: `CN=${index}`, issuer: 'CN=evil', notAfter: at(500) }),
    }),
  );
  const totals: number[] = [];
  const longest: number[] = [];
  for (let count = 0; count <= RUNS; count += 1) {
    const steps = assessInSteps(
      { id: 'bench', provider: 'eks-anywhere' },
      observations,
      undefined,
      DEFAULT_THRESHOLDS,
      now,
    );
    const times: number[] = [];
    for (let done: boolean | undefined = false; done !== true; ) {
      const startedAt = process.threadCpuUsage();
      done = steps.next().done;
      const { user, system } = process.threadCpuUsage(startedAt);
      times.push((user + system) / 1000);
    }
    if (count === 0) continue;
    totals.push(times.reduce((sum, time) => sum + time, 0) / 1000);
    longest.push(Math.max(...times));
  }
  return [
    figure('assess 5,000 authorities of one name and 5,000 leaves', 's', totals, {
      text: '≤ 1.5',
      met: (value) => value <= 1.5,
    }),
    figure('its longest hold of the thread', 'ms', longest, { text: '≤ 50', met: (value) => value <= 50 }),
  ];
}

async function makeCertificates(): Promise<readonly string[]> {
  const notBefore = new Date(Date.now() - 10 * DAY_MS);
  const notAfter = new Date(Date.now() + 300 * DAY_MS);
  const authority = await createCertificateAuthority({
    commonName: 'kubernetes',
    notBefore,
    notAfter: new Date(Date.now() + 3_000 * DAY_MS),
  });
  const keys = await createKeyPair('P-256');
  const pems: string[] = [];
  for (let index = 0; index < CERTIFICATES; index += 1) {
    const name = `worker-${index}`;
    const request = await createCertificateRequest({
      commonName: `system:node:${name}`,
      organizations: ['system:nodes'],
      dnsNames: [name],
      ipAddresses: ['10.0.0.1'],
      keys,
    });
    pems.push(await issueCertificate(authority, request, { notBefore, notAfter }));
  }
  return pems;
}
