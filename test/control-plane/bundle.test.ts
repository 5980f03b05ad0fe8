import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { awsEnvironment } from '../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { fastClock } from '../fleet/clock.ts';
import { journalLines } from '../support/journal-lines.ts';
import { createShards, type Shards } from '../support/shards.ts';
import { type JsonService, refusal, type ServiceAnswer, startJsonService } from '../unit/aws/json-service.ts';
import { type LoadedBundle, loadBundle, SWEEP_ENVIRONMENT } from '../unit/functions/invoke-bundle.ts';
import { reachingLoopback } from '../unit/functions/reach-loopback.ts';
import { type Synthesized, synthesize } from '../unit/lib/synthesize.ts';
import { emfRecords } from '../unit/telemetry/emf.ts';
import { type Admin, connectAdmin } from './admin.ts';
import { applyCrds } from './crds.ts';
import { CSRS, type Csr, createCsr, createMachine, signedCertificate } from './fixtures.ts';
import { createKubeletRequest } from './pki.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const real = await realComponents('the bundle of the sweep function', 'etcd', 'kubeApiserver', 'kubeControllerManager');

const arnOf = (secret: string) => `arn:aws:secretsmanager:eu-west-1:123456789012:secret:certmarshal/${secret}-AbCdEf`;
const CLUSTERS = ['berlin', 'unreachable', 'stranger', 'broken', 'unavailable', 'missing'];
const FLEET = `
version: 1
clusters:
${CLUSTERS.map((name) => `  - { name: ${name}, provider: eks-anywhere, kubeconfigSecret: '${arnOf(name)}' }`).join('\n')}
`;

const HUB = { account: '123456789012', region: 'eu-west-1' } as const;

describe.skipIf(real.missing)('the bundle of the sweep function', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;
  let synthesized: Synthesized;
  let secretsManager: JsonService;
  let aws: SimulatedAws;
  let shards: Shards;
  let bundle: LoadedBundle;
  const secrets = new Map<string, ServiceAnswer>();

  beforeAll(async () => {
    [controlPlane, synthesized] = await Promise.all([
      startControlPlane({ binaries: real.binaries }),
      synthesize(FLEET),
    ]);
    admin = connectAdmin(controlPlane);
    await applyCrds(controlPlane);
    await admin.apply(rbacManifests({ user: 'certmarshal' }, [DEFAULT_POLICY]));
    await admin.apply(rbacManifests({ user: 'certmarshal', management: true }, [DEFAULT_POLICY]));

    const kubeconfig = await readFile(controlPlane.kubeconfig('certmarshal'), 'utf8');
    const holding = (text: string): ServiceAnswer => ({ body: { SecretString: text } });
    secrets.set(arnOf('berlin'), holding(kubeconfig));
    secrets.set(arnOf('unreachable'), holding(kubeconfig.replace(controlPlane.server, 'https://127.0.0.1:1')));
    secrets.set(arnOf('stranger'), holding(kubeconfig.replace(controlPlane.tokenFor('certmarshal'), 'wrong-token')));
    secrets.set(arnOf('broken'), holding(`${kubeconfig}\nusers: [{ name: x, user: { exec: {} } }]`));
    secrets.set(arnOf('unavailable'), refusal('InternalServiceError', 500));
    secretsManager = await startJsonService(
      ({ input }) => secrets.get(String(input['SecretId'])) ?? refusal('ResourceNotFoundException'),
    );
    aws = await startSimulatedAws({ clock: fastClock(Date.now(), 1) });
    aws.s3.createBucket(HUB, 'journal');
    shards = createShards(aws, HUB);
    bundle = await loadBundle(await reachingLoopback(synthesized.bundles.sweep), {
      ...awsEnvironment(aws, HUB),
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      ...SWEEP_ENVIRONMENT,
    });
  });

  afterAll(async () => {
    await bundle?.[Symbol.asyncDispose]();
    await secretsManager?.[Symbol.asyncDispose]();
    await aws?.[Symbol.asyncDispose]();
    await synthesized?.[Symbol.asyncDispose]();
    admin?.close();
    await controlPlane?.stop();
  });

  /** A node that asks for its own name and address; with a Machine that proves both, or without. */
  async function nodeAsks(nodeName: string, address: string, proven: boolean): Promise<string> {
    if (proven)
      await createMachine(admin, {
        name: `machine-${nodeName}`,
        clusterName: 'berlin',
        nodeName,
        addresses: [
          { type: 'Hostname', address: nodeName },
          { type: 'InternalIP', address },
        ],
      });
    const { requestPem } = await createKubeletRequest({ nodeName, dnsNames: [nodeName], ipAddresses: [address] });
    await createCsr(admin, { name: `csr-${nodeName}`, nodeName, requestPem });
    return `csr-${nodeName}`;
  }

  async function sweep(...orders: readonly object[]) {
    const before = bundle.output().length;
    const reads = secretsManager.calls.length;
    const event = await shards.order(...orders);
    expect(await bundle.invoke(event)).toEqual({ result: { shard: event.item.shard } });
    const output = bundle.output().slice(before);
    const emf = emfRecords(output);
    expect(emf).toHaveLength(1);
    const outcomes = (await shards.outcomes(event)).toSorted((a, b) => a.id.localeCompare(b.id));
    return { output, outcomes, emf: emf[0], reads: secretsManager.calls.length - reads };
  }

  it('approves what the Machines prove, and the signer issues it', async () => {
    const [proven, unproven] = await Promise.all([
      nodeAsks('worker-1', '10.0.0.11', true),
      nodeAsks('worker-2', '10.0.0.12', false),
    ]);
    // RBAC takes effect a moment after it was written.
    await expect
      .poll(async () => {
        const { emf } = await sweep({ id: 'berlin' });
        return emf?.metrics['SweepsCompleted'];
      })
      .toEqual([1]);

    const certificate = new X509Certificate(await signedCertificate(admin, proven));
    expect(certificate.subject).toBe('O=system:nodes\nCN=system:node:worker-1');
    expect(certificate.subjectAltName).toBe('DNS:worker-1, IP Address:10.0.0.11');
    const approved = await admin.get<Csr>(`${CSRS}/${proven}`);
    expect(approved.status.conditions).toMatchObject([{ type: 'Approved', reason: 'CertMarshalApproved' }]);
    expect((await admin.get<Csr>(`${CSRS}/${unproven}`)).status).toEqual({});
    expect(bundle.output()).toContain('"cluster":"berlin","decision":{"csr":"csr-worker-1"');
    expect(bundle.output()).not.toContain('reserved key');
  });

  it('keeps its connection, and reads the secret no second time', async () => {
    const { reads, emf } = await sweep({ id: 'berlin' });
    expect(reads).toBe(0);
    expect(emf).toMatchObject({
      namespace: 'certmarshal',
      dimensions: { service: 'sweep' },
      metrics: { SweepsCompleted: [1], CsrLeft: [1] },
    });
    for (const zero of ['SweepsIncomplete', 'CsrApproved', 'CsrWriteFailed'])
      expect(emf?.metrics).not.toHaveProperty(zero);
  });

  it('sweeps a cluster whatever the other orders are', async () => {
    const csr = await nodeAsks('worker-3', '10.0.0.13', true);
    const others = ['unreachable', 'stranger', 'broken', 'missing'].map((id) => ({ id }));
    const { output, emf } = await sweep({ id: 1 }, ...others, { id: 'berlin' });
    await signedCertificate(admin, csr);
    const sum = (metric: string) => emf?.metrics[metric]?.reduce((total, value) => total + value, 0);
    expect(sum('CsrApproved')).toBe(1);
    expect(sum('SweepsCompleted')).toBe(1);
    expect(sum('SweepsIncomplete')).toBe(4);
    expect(sum('OrdersRefused')).toBe(1);
    expect(emf?.metrics['SweepDuration']).toHaveLength(5);

    const incomplete = output
      .split('\n')
      .filter((line) => line.includes('"sweep incomplete"'))
      .map((line): { cluster: string; problems: { kind: string; remedy: string }[] } => JSON.parse(line));
    expect(Object.fromEntries(incomplete.map(({ cluster, problems }) => [cluster, problems[0]?.kind]))).toEqual({
      unreachable: 'unreachable',
      stranger: 'unauthorized',
      broken: 'kubeconfig',
      missing: 'secret',
    });
    for (const { problems } of incomplete) expect(problems[0]?.remedy).toMatch(/\.$/);
  });

  it('tells the outcome of every cluster that an order names', async () => {
    const { outcomes } = await sweep({ id: 'poison', tick: 'soon' }, { id: 'unreachable' }, { id: 'berlin' });
    expect(outcomes).toMatchObject([
      { id: 'berlin', readable: true, complete: true, problems: [] },
      { id: 'poison', readable: false, problemCount: 1 },
      { id: 'unreachable', readable: false, problems: [{ kind: 'unreachable' }] },
    ]);
  });

  it('keeps every decision in the journal', () => {
    const lines = journalLines(aws, 'journal').map((line) =>
      line.kind === 'decision' ? `${line.csr} ${line.verdict} ${line.outcome}` : line.kind,
    );
    const written = lines.filter((line) => line.endsWith(' written'));
    // Each once, however often it was swept.
    expect(written.toSorted()).toEqual(['csr-worker-1 approve written', 'csr-worker-3 approve written']);
    expect(new Set(lines)).toEqual(new Set([...written, 'csr-worker-2 leave none']));
  });

  it('answers also when AWS kept it from a cluster, and tells of that', async () => {
    const { output, outcomes } = await sweep({ id: 'unavailable' }, { id: 'berlin' });
    expect(outcomes).toMatchObject([
      { id: 'berlin', complete: true },
      { id: 'unavailable', untried: true },
    ]);
    expect(output).toContain('"message":"approval failed"');
  });

  it('never prints a credential', () => {
    const token = controlPlane.tokenFor('certmarshal');
    const ca = Buffer.from(controlPlane.caPem).toString('base64');
    expect(bundle.output()).not.toBe('');
    for (const secret of [token, 'wrong-token', ca.slice(100, 160), 'certificate-authority-data'])
      expect(bundle.output()).not.toContain(secret);
  });
});
