import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLLOUT_ANNOTATION } from '../../lambdas/resources/annotations.ts';
import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import { type ApiserverEndpoints, openApiserverEndpoints } from './apiserver-endpoints.ts';
import { type ControlPlaneCluster, createControlPlaneCluster, type Machine } from './control-plane-cluster.ts';
import { clusterApiParts } from './parts.ts';
import { AUTHORITY_BEGAN, grantTemplates, holderOf, inDays, yearAfter } from './rolling.ts';
import { type ClusterApi, startClusterApi } from './stack.ts';

const ENTRY = fileURLToPath(new URL('../../bin/certmarshal.ts', import.meta.url));

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const parts = await clusterApiParts('certmarshal rollout at the keyboard');

describe.skipIf(parts.missing)('certmarshal rollout at the keyboard', () => {
  let directory: string;
  let stack: ClusterApi;
  let endpoints: ApiserverEndpoints;
  let berlin: ControlPlaneCluster;
  let paris: ControlPlaneCluster;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-cli-'));
    stack = await startClusterApi(parts);
    endpoints = await openApiserverEndpoints();
    [berlin, paris] = await Promise.all([
      createControlPlaneCluster(stack, { name: 'berlin' }),
      createControlPlaneCluster(stack, { name: 'paris' }),
    ]);
    ofBerlin = `--kubeconfig berlin.yaml --management-kubeconfig management.yaml --namespace ${berlin.namespace} --cluster berlin`;
    ofParis = `--kubeconfig management.yaml --namespace ${paris.namespace} --cluster paris`;
    await grantTemplates(stack);
    const { server, caPem } = stack;
    const token = stack.tokenFor('certmarshal');
    // A cluster that manages itself has one authority; here those of its machines have another than its API server.
    const both = `${caPem}\n${endpoints.authority.certPem}`;
    await file('management.yaml', kubeconfigYaml(server, both, 'certmarshal', { token }));
    // Their API servers are not asked: the files tell which authority the clusters have.
    for (const name of ['berlin', 'paris'])
      await file(
        `${name}.yaml`,
        kubeconfigYaml(`https://127.0.0.1:${endpoints.port}`, endpoints.authority.certPem, name, { token: 'none' }),
      );
    for (const cluster of [berlin, paris]) {
      const old = new Set((await cluster.machines()).map(nameOf));
      const end = (machine: Machine) => (old.has(nameOf(machine)) ? inDays(300) : yearAfter(machine));
      await endpoints.follow(cluster, (machine) => ({ notBefore: AUTHORITY_BEGAN, notAfter: end(machine) }));
      // No option of the command line says at which port the API servers are; the Cluster does.
      await stack.admin.patch(
        `/apis/cluster.x-k8s.io/v1beta2/namespaces/${cluster.namespace}/clusters/${cluster.name}`,
        { spec: { clusterNetwork: { apiServerPort: endpoints.port } } },
      );
    }
  });
  afterAll(async () => {
    await endpoints?.stop();
    await stack?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const file = (name: string, text: string) => writeFile(join(directory, name), text, { mode: 0o600 });

  const run = async (args: string): Promise<Outcome> =>
    new Promise((resolve, reject) => {
      const { PATH = '', NODE_COMPILE_CACHE } = process.env;
      const env = { PATH, HOME: directory, NODE_COMPILE_CACHE };
      const child = spawn(process.execPath, [ENTRY, ...args.split(' ')], { cwd: directory, env });
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      child.on('error', reject);
      child.on('close', (status) => resolve({ status, stdout, stderr }));
      child.stdin.end();
    });

  let ofBerlin = '';
  let ofParis = '';

  /** Without what is another one each time: names of machines and namespaces, times, addresses. */
  const shown = (text: string): string =>
    text
      .replaceAll(/rollout-\d+-\d+/g, 'eksa-system')
      .replaceAll(/(?<name>berlin|paris)-[a-z0-9]{5}\b/g, '$<name>-xxxxx')
      .replaceAll(/127\.0\.0\.1:\d+/g, '10.0.1.10:6443')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'INSTANT')
      .replaceAll(/\d{4}-\d\d-\d\d/g, 'DAY')
      .replaceAll(/\d\d:\d\d UTC/g, 'CLOCK UTC')
      .replaceAll(/\d{8}-[0-9a-f]{10}/g, 'ID');

  const annotationsOf = async (cluster: ControlPlaneCluster): Promise<object> =>
    (await cluster.controlPlane()).metadata.annotations ?? {};

  const holder = () => holderOf(stack.admin);

  it('says which rights are missing, and takes those that rbac prints', async () => {
    const { status, stdout } = await run(`rollout plan ${ofBerlin}`);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^✖ berlin: its control plane could not be read: 5 problems\n/);
    expect(stdout).toContain(
      'certmarshal rbac --management --rollouts --service-account kube-system/certmarshal | kubectl apply -f -',
    );
    const of = [berlin, paris].map(({ namespace, name }) => `--rollout-of ${namespace}/${name}`).join(' ');
    const manifests = await run(`rbac --management --no-audit --user certmarshal --rollouts ${of}`);
    expect(manifests.status).toBe(0);
    await stack.admin.apply(manifests.stdout);
    // The authorizer learns of rules a moment after they are written.
    await expect.poll(async () => (await run(`rollout plan ${ofBerlin}`)).status).toBe(0);
  });

  it('plans nothing while nothing is due', async () => {
    const { status, stdout, stderr } = await run(`rollout plan ${ofBerlin}`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(shown(stdout)).toMatchInlineSnapshot(`
      "✔ berlin: nothing is due: the first certificate expires in 299 days, it is due in 254 days
        10.0.1.10:6443, context certmarshal

        ◌ waits  due  the first certificate expires in 299 days, it is due in 254 days
        25 checks passed, 4 not read here, 3 for you to accept when it is due; --verbose lists them, and what to do

        rollout start --yes would write KubeadmControlPlane eksa-system/berlin: annotation certmarshal.dev/rollout = {"id":"ID","start":"INSTANT","reason":"certificates expire DAY CLOCK UTC","trigger":"person"}, spec.rollout.after = INSTANT
        First certificate expires DAY (in 299 d); due from DAY (in 254 d); latest safe start DAY (in 289 d)

        MACHINE       NODE          EXPIRES     LEFT   CONDITION
        berlin-xxxxx  berlin-xxxxx  DAY  299 d
        berlin-xxxxx  berlin-xxxxx  DAY  299 d
        berlin-xxxxx  berlin-xxxxx  DAY  299 d
      "
    `);
  });

  it('says what is wrong with what was typed', async () => {
    const unknown = await run('rollout plan --management-kubeconfig management.yaml --cluster oslo');
    expect(unknown.status).toBe(1);
    expect(unknown.stdout).toMatch(/^✖ oslo: there is no Cluster oslo of Cluster API there;/);
    const nameless = await run('rollout plan --management-kubeconfig management.yaml');
    expect(nameless).toMatchObject({ status: 2, stdout: '' });
    expect(nameless.stderr).toContain('--cluster');
    // Nobody can know its authority so.
    const alone = await run(
      `rollout plan --management-kubeconfig management.yaml --namespace ${berlin.namespace} --cluster berlin`,
    );
    expect(alone.stdout).toMatch(/✖ fails +authority-outlives +the CA of the cluster was not seen/);
  });

  it('plans a rollout when certificates end soon', async () => {
    for (const cluster of [berlin, paris])
      for (const machine of await cluster.machines())
        await endpoints.serve(nameOf(machine), { notBefore: AUTHORITY_BEGAN, notAfter: inDays(20) });
    const { status, stdout } = await run(`rollout plan ${ofBerlin}`);
    expect(status).toBe(0);
    expect(shown(stdout)).toMatchInlineSnapshot(`
      "! berlin: would roll 3 control plane machines, 19 days before their certificates expire
        10.0.1.10:6443, context certmarshal

        ! accept  opted-in-by-owner  no annotation certmarshal.dev/rollout-mode
        ! accept  spare-capacity     room for one more machine is not vouched for, and without it a rollout waits forever
        ! accept  etcd-backup        a backup of etcd that can be restored is not vouched for
        26 checks passed, 4 not read here; --verbose lists them, and what to do

        rollout start --yes would write KubeadmControlPlane eksa-system/berlin: annotation certmarshal.dev/rollout = {"id":"ID","start":"INSTANT","reason":"certificates expire DAY CLOCK UTC","trigger":"person"}, spec.rollout.after = INSTANT
        First certificate expires DAY (in 19 d); due since DAY (25 d ago); latest safe start DAY (in 9 d)

        MACHINE       NODE          EXPIRES     LEFT  CONDITION
        berlin-xxxxx  berlin-xxxxx  DAY  19 d
        berlin-xxxxx  berlin-xxxxx  DAY  19 d
        berlin-xxxxx  berlin-xxxxx  DAY  19 d
      "
    `);
    const verbose = await run(`rollout plan --verbose ${ofBerlin}`);
    expect(verbose.stdout).toMatch(/✔ +authority-outlives/);
    expect(verbose.stdout).toContain('on the command line, pass --accept spare-capacity');

    const { stdout: json } = await run(`rollout plan --output json ${ofBerlin}`);
    expect(JSON.parse(json)).toMatchObject({
      version: 1,
      kind: 'plan',
      cluster: { name: 'berlin', managesItself: false },
      schedule: { state: 'off' },
      person: { kind: 'act', state: 'ready', write: { kind: 'roll-control-plane' } },
      unread: [],
    });
  });

  it('writes nothing without --yes', async () => {
    const { status, stderr } = await run(`rollout start ${ofBerlin}`);
    expect(status).toBe(1);
    expect(stderr).toBe(`Nothing was written: --yes does it. certmarshal rollout start --yes ${ofBerlin}\n`);
    expect(await annotationsOf(berlin)).not.toHaveProperty(ROLLOUT_ANNOTATION);
  });

  it('rolls no cluster that manages itself and whose authority ends first', async () => {
    const { status, stdout, stderr } = await run(`rollout start --yes ${ofParis}`);
    expect(status).toBe(1);
    // The authority of these tests ends in a week.
    expect(stdout).toMatch(/✖ fails +authority-outlives +CN=certmarshal test cluster: .*expires at .*, within a year/);
    expect(stderr).toContain('Nothing was written: a rollout of 3 control plane machines is refused');
    expect(await annotationsOf(paris)).not.toHaveProperty(ROLLOUT_ANNOTATION);
  });

  it('rolls after one write, and status shows every machine until its certificate was seen', async () => {
    const before = (await berlin.machines()).map(nameOf);
    const { status, stdout, stderr } = await run(`rollout start --yes ${ofBerlin}`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/\n✔ berlin: rollout \d{8}-[0-9a-f]+ started\n/);
    expect(stdout).toContain(`  Progress: certmarshal rollout status ${ofBerlin}\n`);
    const other = await run(`rollout start --yes ${ofBerlin}`);
    expect(other).toMatchObject({ status: 1, stderr: 'Nothing was written: a rollout is running.\n' });

    const first = await run(`rollout status ${ofBerlin}`);
    expect(first.status).toBe(0);
    expect(first.stdout).toMatch(/^· berlin: rolling: \d of 3 control plane machines replaced/);
    expect(first.stdout).toContain(' by a person; ');
    const shownMachines = new Set<string>();
    const stateNow = async (): Promise<unknown> => {
      const { step } = JSON.parse((await run(`rollout status --output json ${ofBerlin}`)).stdout);
      for (const { name, state } of step.progress.machines) shownMachines.add(`${name} ${state}`);
      return step.state;
    };
    await expect.poll(stateNow, { interval: 3_000 }).toBe('done');
    const after = (await berlin.machines()).map(nameOf);
    expect(after.filter((machine) => before.includes(machine))).toEqual([]);
    expect([...before.map((name) => `${name} old`), ...after.map((name) => `${name} verified`)]).toSatisfy(
      (states: readonly string[]) => states.every((state) => shownMachines.has(state)),
    );

    const again = await run(`rollout plan ${ofBerlin}`);
    expect(again.status).toBe(0);
    expect(again.stdout).toMatch(/^✔ berlin: done: .*: nothing is due\n/);
    expect(again.stdout).not.toContain('would write');
    // The person did not watch it: others wait for the Lease, or take it over.
    expect(await holder()).toMatch(new RegExp(`^${berlin.namespace}/berlin `));
  });

  it('takes the Lease over when the person accepts it, and can be aborted', async () => {
    const managed = `--kubeconfig paris.yaml --management-kubeconfig management.yaml --namespace ${paris.namespace} --cluster paris`;
    const early = await run(`rollout abort --yes ${ofParis}`);
    expect(early.status).toBe(1);
    expect(early.stdout).toMatch(/^✖ paris: There is no rollout of certmarshal to abort; nothing was written\n/);

    const waits = await run(`rollout start --yes ${managed}`);
    expect(waits.status).toBe(1);
    expect(waits.stdout).toMatch(/◌ waits +one-of-its-management-cluster +Lease /);
    const begun = await run(`rollout start --yes --accept one-of-its-management-cluster ${managed}`);
    expect(begun.status).toBe(0);

    const asked = await run(`rollout abort ${ofParis}`);
    expect(asked).toMatchObject({ status: 1, stderr: 'Nothing was written: --yes does it.\n' });
    expect(await holder()).toMatch(new RegExp(`^${paris.namespace}/paris `));
    const aborted = await run(`rollout abort --yes ${ofParis}`);
    expect(aborted.status).toBe(0);
    expect(aborted.stdout).toMatch(/^✔ paris: aborts the rollout that began .* ago: \d of 3 control plane machines/);
    expect((await paris.controlPlane()).spec.rollout?.after).toBeUndefined();

    const after = await run(`rollout status ${ofParis}`);
    expect(after.status).toBe(1);
    expect(after.stdout).toMatch(/^✖ paris: aborted /);
    const twice = await run(`rollout abort --yes ${ofParis}`);
    expect(twice).toMatchObject({ status: 1, stdout: expect.stringContaining('it was aborted already') });
  });
});

function nameOf({ metadata }: Machine): string {
  return metadata.name;
}
