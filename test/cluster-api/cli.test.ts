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

  /** Runs the command line; SIGINT as soon as its output has this text. */
  const run = async (args: string, interruptAt?: string): Promise<Outcome> =>
    new Promise((resolve, reject) => {
      const { PATH = '', NODE_COMPILE_CACHE } = process.env;
      const env = { PATH, HOME: directory, NODE_COMPILE_CACHE };
      const child = spawn(process.execPath, [ENTRY, ...args.split(' ')], { cwd: directory, env });
      let stdout = '';
      let stderr = '';
      let interrupted = interruptAt === undefined;
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
        if (interrupted || !stdout.includes(interruptAt ?? '')) return;
        interrupted = true;
        child.kill('SIGINT');
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
      .replaceAll(/ --namespace rollout-\d+-\d+/g, '')
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
    expect(stdout).toMatch(/^✖ berlin: its control plane could not be read: 5 problems\.\n/);
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
      "✔ berlin: nothing is due: the first certificate expires in 299 days, it is due in 254 days.
        10.0.1.10:6443, context certmarshal

        ◌ due: the first certificate expires in 299 days, it is due in 254 days  (passes without you; at rollout start you answer for it)
          → Wait until DAY CLOCK UTC, or begin earlier: rollouts.clusters.begin of fleet.yaml
        · for you to answer when it is due: opted-in-by-owner, spare-capacity, etcd-backup
        · not known here, 4 in all: opted-in-by-fleet, maintenance-window, loop-guard, fleet-budget
        ✔ 25 more passed; --verbose lists them

        schedule  leaves it alone: not opted in (no --fleet is given: the built-in times)
        by hand   rollout start --yes starts it now; you answer for: opted-in-by-owner, due, spare-capacity, etcd-backup

        It would write, in one patch of KubeadmControlPlane eksa-system/berlin:
          spec.rollout.after = INSTANT
          annotation certmarshal.dev/rollout = ID
        Workers are not rolled: kubelets renew their own certificates.

        DAY █░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░▒▒▒▒▒▒▒░░ DAY
        █ used  ░ left  ▒ time to start  · that of berlin-xxxxx expires first of 9 certificates seen

        First certificate expires DAY (in 299 d); due from DAY (in 254 d); latest safe start DAY (in 289 d).
        Next  nothing to do; certmarshal audit shows every certificate
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
    expect(alone.stdout).toContain('✖ authority-outlives: the CA of the cluster was not seen');
    expect(alone.stdout).toContain('--kubeconfig besides --management-kubeconfig');
  });

  it('plans a rollout when certificates end soon', async () => {
    for (const cluster of [berlin, paris])
      for (const machine of await cluster.machines())
        await endpoints.serve(nameOf(machine), { notBefore: AUTHORITY_BEGAN, notAfter: inDays(20) });
    const { status, stdout } = await run(`rollout plan ${ofBerlin}`);
    expect(status).toBe(0);
    expect(shown(stdout)).toMatchInlineSnapshot(`
      "◇ berlin: would roll 3 control plane machines, 19 days before their certificates expire.
        10.0.1.10:6443, context certmarshal

        ! opted-in-by-owner: no annotation certmarshal.dev/rollout-mode  (at rollout start you answer for it)
          → The owner of the cluster agrees with: kubectl -n eksa-system annotate kubeadmcontrolplanes.controlplane.cluster.x-k8s.io berlin certmarshal.dev/rollout-mode=auto --overwrite
        ! spare-capacity: room for one more machine is not vouched for, and without it a rollout waits forever  (at rollout start you answer for it)
          → Check that there are resources and an address for one more machine; then add spare-capacity to accepted in the entry of rollouts.clusters of fleet.yaml for berlin; on the command line, pass --accept spare-capacity
        ! etcd-backup: a backup of etcd that can be restored is not vouched for  (at rollout start you answer for it)
          → Back up etcd and test the backup (etcdctl snapshot save, etcdutl snapshot status); then add etcd-backup to accepted in the entry of rollouts.clusters of fleet.yaml for berlin; on the command line, pass --accept etcd-backup
        · not known here, 4 in all: opted-in-by-fleet, maintenance-window, loop-guard, fleet-budget
        ✔ 26 more passed; --verbose lists them

        schedule  leaves it alone: not opted in (no --fleet is given: the built-in times)
        by hand   rollout start --yes starts it now; you answer for: opted-in-by-owner, spare-capacity, etcd-backup

        It would write, in one patch of KubeadmControlPlane eksa-system/berlin:
          spec.rollout.after = INSTANT
          annotation certmarshal.dev/rollout = ID
        Workers are not rolled: kubelets renew their own certificates.

        DAY █▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ DAY
        █ used  ░ left  ▒ time to start  · that of berlin-xxxxx expires first of 9 certificates seen

        First certificate expires DAY (in 19 d); due since DAY (25 d ago); latest safe start DAY (in 9 d).
        Next  certmarshal rollout start --yes --watch --kubeconfig berlin.yaml --management-kubeconfig management.yaml --cluster berlin
      "
    `);
    const verbose = await run(`rollout plan --verbose ${ofBerlin}`);
    expect(verbose.stdout).toContain('✔  authority-outlives');

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
    expect(stderr).toBe(`Nothing was written: --yes starts it. certmarshal rollout start --yes ${ofBerlin}\n`);
    expect(await annotationsOf(berlin)).not.toHaveProperty(ROLLOUT_ANNOTATION);
  });

  it('rolls no cluster that manages itself and whose authority ends first', async () => {
    const { status, stdout, stderr } = await run(`rollout start --yes ${ofParis}`);
    expect(status).toBe(1);
    // The authority of these tests ends in a week.
    expect(stdout).toMatch(/✖ CN=certmarshal test cluster expires at .*, within a year {2}\(authority-outlives\)/);
    expect(stdout).toContain('by hand   refused: authority-outlives');
    expect(stderr).toContain('Nothing was written: a rollout of 3 control plane machines is refused');
    expect(await annotationsOf(paris)).not.toHaveProperty(ROLLOUT_ANNOTATION);
  });

  it('rolls, tells machine by machine, and ends when every new certificate was seen', async () => {
    const before = (await berlin.machines()).map(nameOf);
    const { status, stdout, stderr } = await run(`rollout start --yes --watch ${ofBerlin}`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/\n✔ berlin: rollout \d{8}-[0-9a-f]+ started\.\n/);
    const [, changes = ''] = stdout.split('Ctrl-C stops this view, never the rollout.\n');
    expect(changes).toMatch(/\d\d:\d\d:\d\d {2}\S \S+ /);
    // It looks every 15 s, and the last machine may go between the last two looks.
    const told = before.filter((machine) => new RegExp(`${machine} (?:gone|old → leaving)\n`).test(changes));
    expect(told.length).toBeGreaterThanOrEqual(2);
    expect(changes).toContain('verified, 1 of 3\n');
    expect(changes).toContain('\n✔ berlin: done: 3 control plane machines replaced');
    // What a machine says of itself while it is made is no news.
    expect(changes).not.toContain('Missing');
    const wide = changes.split('\n').filter((line) => /^\d\d:/.test(line) && Array.from(line).length > 80);
    expect(wide).toEqual([]);
    const after = (await berlin.machines()).map(nameOf);
    expect(after.filter((machine) => before.includes(machine))).toEqual([]);
    expect(await holder()).toBe('');

    const again = await run(`rollout plan ${ofBerlin}`);
    expect(again.status).toBe(0);
    expect(again.stdout).toMatch(/^✔ berlin: done: .*: nothing is due\.\n/);
    expect(again.stdout).toContain('by hand   not yet, and that passes without you: cool-down\n');
    expect(again.stdout).not.toContain('start --yes');
    const status2 = await run(`rollout status --output json ${ofBerlin}`);
    expect(JSON.parse(status2.stdout)).toMatchObject({ kind: 'status', step: { state: 'done' } });
  });

  it('can be watched, left alone, and aborted', async () => {
    const managed = `--kubeconfig paris.yaml --management-kubeconfig management.yaml --namespace ${paris.namespace} --cluster paris`;
    const early = await run(`rollout abort --yes ${ofParis}`);
    expect(early.status).toBe(1);
    expect(early.stdout).toMatch(/^✖ paris: nothing was written: there is no rollout of certmarshal to abort\.\n/);

    const begun = await run(`rollout start --yes ${managed}`);
    expect(begun.status).toBe(0);
    expect(begun.stdout).toContain(`Next  certmarshal rollout status --watch ${managed}\n`);
    const other = await run(`rollout start --yes ${managed}`);
    expect(other).toMatchObject({ status: 1, stderr: 'Nothing was written: a rollout is running.\n' });

    const status = await run(`rollout status ${ofParis}`);
    expect(status.status).toBe(0);
    expect(status.stdout).toMatch(/^↻ paris: rolling: \d of 3 control plane machines replaced/);
    expect(status.stdout).toContain(' by a person; ');
    const watched = await run(`rollout status --watch ${ofParis}`, 'Reading again every 5 s');
    expect(watched.status).toBe(1);
    expect(watched.stderr).toBe(
      `\nStopping: nothing is written. Ctrl-C again ends at once.\nStopped watching paris; its rollout continues, nothing was undone. certmarshal rollout status --watch ${ofParis}\n`,
    );

    const asked = await run(`rollout abort ${ofParis}`);
    expect(asked).toMatchObject({ status: 1, stderr: 'Nothing was written: --yes does it.\n' });
    expect(await holder()).toMatch(new RegExp(`^${paris.namespace}/paris `));
    const aborted = await run(`rollout abort --yes ${ofParis}`);
    expect(aborted.status).toBe(0);
    expect(aborted.stdout).toMatch(/^✔ paris: aborts the rollout that began .* ago: \d of 3 control plane machines/);
    expect((await paris.controlPlane()).spec.rollout?.after).toBeUndefined();
    expect(aborted.stdout).toContain(`Next  certmarshal rollout drive --yes ${ofParis}\n`);
    // Others wait until Cluster API has removed what is one too many.
    const drivenHolder = async () => {
      await run(`rollout drive --yes ${ofParis}`);
      return holder();
    };
    await expect.poll(drivenHolder, { interval: 2_000 }).toBe('');

    const after = await run(`rollout status ${ofParis}`);
    expect(after.status).toBe(1);
    expect(after.stdout).toMatch(/^✖ paris: aborted /);
    const twice = await run(`rollout abort --yes ${ofParis}`);
    expect(twice).toMatchObject({ status: 1, stdout: expect.stringContaining('it was aborted already') });
    const resumed = await run(`rollout resume --yes ${ofParis}`);
    expect(resumed.status).toBe(1);
    expect(resumed.stdout).toMatch(/^✖ paris: nothing was written: there is no hold to remove\.\n/);
  });
});

function nameOf({ metadata }: Machine): string {
  return metadata.name;
}
