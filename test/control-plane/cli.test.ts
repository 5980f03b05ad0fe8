import { execFile, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { csrOf, machineOf, requestOf } from '../bench/fixtures.ts';
import { makeRequest } from '../unit/x509/request-factory.ts';
import { type Admin, connectAdmin } from './admin.ts';
import { applyCrds } from './crds.ts';
import { CSRS, type Csr, createCsr, createMachine, signedCertificate } from './fixtures.ts';
import { applyPublishedCrds, publishedCrds } from './published-crds.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const run = promisify(execFile);
const ENTRY = fileURLToPath(new URL('../../bin/certmarshal.ts', import.meta.url));
const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
// What .ci/run does itself, or what needs an AWS account.
const COVERED_BY_CI: ReadonlySet<string> = new Set(['npm ci && npm run demo', 'npm test', 'npm run synth']);
const real = await realComponents(
  'the command line on a real control plane',
  'etcd',
  'kubeApiserver',
  'kubeControllerManager',
  'kubectl',
);

const definitions = await publishedCrds();

describe.skipIf(real.missing !== undefined || 'missing' in definitions)(
  'the command line on a real control plane',
  () => {
    let controlPlane: ControlPlane;
    let admin: Admin;
    /** A home, a working directory and a PATH as a user has them. */
    let home: string;
    let env: NodeJS.ProcessEnv;

    const shell = (command: string) => run('bash', ['--norc', '-euo', 'pipefail', '-c', command], { cwd: home, env });

    const request = (node: string, ...addresses: string[]) =>
      makeRequest({
        commonName: `system:node:${node}`,
        sans: [{ kind: 'dNSName', value: node }, ...addresses.map((value) => ({ kind: 'iPAddress' as const, value }))],
      }).pem.toString();

    beforeAll(async () => {
      controlPlane = await startControlPlane({ binaries: real.binaries, users: [{ name: 'nobody' }] });
      admin = connectAdmin(controlPlane);
      if ('missing' in definitions) throw new Error(definitions.missing);
      await applyCrds(controlPlane);
      // Ours takes Machines that name no infrastructure.
      const others = definitions.filter((text) => !text.includes('name: machines.cluster.x-k8s.io'));
      await applyPublishedCrds(controlPlane, others);
      for (const [node, address] of [
        ['worker-3', '10.0.1.23'],
        ['worker-8', '10.0.1.24'],
      ] as const)
        await createMachine(admin, {
          name: `md-0-${node}`,
          clusterName: 'berlin-prod',
          nodeName: node,
          addresses: [{ type: 'InternalIP', address }],
        });

      home = await mkdtemp(join(tmpdir(), 'certmarshal-home-'));
      const binaries = join(home, 'bin');
      await mkdir(binaries);
      await mkdir(join(home, '.kube'));
      await symlink(real.binaries.kubectl, join(binaries, 'kubectl'));
      await mkdir(join(home, 'package'));
      for (const name of ['certmarshal', 'kubectl-certmarshal']) {
        // npm links the names of a package to its one program.
        const program = join(home, 'package', name);
        await symlink(ENTRY, program);
        await writeFile(join(binaries, name), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
        await chmod(join(binaries, name), 0o755);
      }
      const { NODE_COMPILE_CACHE } = process.env;
      env = { HOME: home, PATH: `${binaries}:/usr/bin:/bin`, NODE_COMPILE_CACHE };

      const kubeconfig = parse(await readFile(controlPlane.kubeconfig('admin'), 'utf8'));
      kubeconfig.clusters[0].name = 'berlin-prod';
      kubeconfig.contexts[0].context.cluster = 'berlin-prod';
      kubeconfig.contexts.push({ ...structuredClone(kubeconfig.contexts[0]), name: 'management' });
      for (const file of ['.kube/config', 'berlin.yaml', 'management.yaml'])
        await writeFile(join(home, file), stringify(kubeconfig));
      await writeFile(join(home, 'fleet.yaml'), await readFile(join(REPOSITORY, 'fleet.yaml')));
      const recorded = {
        id: 1,
        cluster: { name: 'bench', provider: 'eks-anywhere' },
        machines: [machineOf(1)],
        now: '2026-01-01T00:01:00Z',
      };
      await writeFile(
        join(home, 'recorded.ndjson'),
        `${JSON.stringify({ ...recorded, csr: csrOf(1, requestOf(1), '2026-01-01T00:00:00Z') })}\n`,
      );
      await createCsr(admin, {
        name: 'csr-q77zt',
        nodeName: 'worker-3',
        requestPem: makeRequest({
          commonName: 'system:node:worker-3',
          sans: [
            { kind: 'dNSName', value: 'worker-3' },
            { kind: 'dNSName', value: 'worker-8' },
            { kind: 'iPAddress', value: '10.0.1.23' },
          ],
        }).pem.toString(),
      });
    });

    afterAll(async () => {
      admin?.close();
      await controlPlane?.stop();
      if (home !== undefined) await rm(home, { recursive: true });
    });

    const COMMANDS = ['run', 'audit', 'decide', 'explain', 'rbac', 'doctor'];

    it.each(COMMANDS)(
      'runs every example of %s --help',
      async (command) => {
        const { stdout } = await shell(`certmarshal ${command} --help`);
        const examples = stdout
          .slice(stdout.indexOf('Examples:'))
          .split('\n')
          .filter((line) => /^ {2}certmarshal /.test(line));
        expect(examples.length).toBeGreaterThanOrEqual(2);
        for (const example of examples) {
          // Those of a fleet need the clusters that are in its file, and a node has a kubelet.
          if (['--every', '--fleet', '--node'].some((option) => example.includes(option))) continue;
          // csr-q77zt is hostile.
          await shell(example.includes('--fail-on hostile') ? `${example} || test $? = 1` : example);
        }
      },
      120_000,
    );

    it('runs every command of the README and of pages that need one cluster', async () => {
      const ran: string[] = [];
      for (const page of [
        'README.md',
        'docs/command-line.md',
        'docs/deploy.md',
        'docs/doctor.md',
        'docs/runbooks/san-not-owned.md',
      ]) {
        const text = await readFile(join(REPOSITORY, page), 'utf8');
        // What a page sets, it sets for all that follows.
        let settings = '';
        for (const [, block = ''] of text.matchAll(/```sh\n([^]*?)```/g))
          for (const command of block.includes('<<') ? [block] : block.trim().split('\n')) {
            if (COVERED_BY_CI.has(command) || command.startsWith('#')) continue;
            // There is no Cluster API here: test/cluster-api/cli.test.ts. Nor is there AWS.
            if (/\bcertmarshal (?:-- )?rollout /.test(command) || /\baws \w+ /.test(command)) continue;
            if (/^(?:export )?[A-Z]+=\S+$/.test(command)) {
              settings += `${command}\n`;
              continue;
            }
            await shell(settings + command.replace(/^(?:npm run -s certmarshal --|npx certmarshal)/, 'certmarshal'));
            ran.push(command);
          }
      }
      expect(ran).toEqual(
        expect.arrayContaining(['npx certmarshal audit --all-contexts', 'certmarshal run --kubeconfig ~/.kube/config']),
      );
      expect(ran.length).toBeGreaterThanOrEqual(8);
    });

    it('deletes, by the command of docs/runbooks/replace-node.md, a worker and nothing else', async () => {
      const text = await readFile(join(REPOSITORY, 'docs/runbooks/replace-node.md'), 'utf8');
      const command = /^kubectl .* delete machines\.cluster\.x-k8s\.io .*$/m.exec(text)?.[0] ?? 'false';
      const left = async () =>
        (
          await shell('kubectl --kubeconfig management.yaml -n eksa-system get machines.cluster.x-k8s.io -o name')
        ).stdout
          .trim()
          .split('\n');
      const before = await left();
      const labels = { 'cluster.x-k8s.io/deployment-name': 'berlin-prod-md-0' };
      await createMachine(admin, { name: 'berlin-prod-md-0-q4zt9', clusterName: 'berlin-prod', labels });
      await createMachine(admin, { name: 'paris-md-0-q4zt9', clusterName: 'paris', labels });
      const all = await left();
      expect(all).toHaveLength(before.length + 2);
      const replace = (machine: string) =>
        shell(`CLUSTER=berlin-prod; MANAGEMENT=management.yaml; MACHINE='${machine}'; ${command}`);
      // One without a group of workers, as those of control plane and etcd are; one of another cluster; and a name that was forgotten.
      for (const machine of ['md-0-worker-3', 'paris-md-0-q4zt9', ''])
        expect((await replace(machine)).stdout).toBe('No resources found\n');
      expect(await left()).toEqual(all);
      await replace('berlin-prod-md-0-q4zt9');
      expect(await left()).toEqual(all.filter((name) => !name.endsWith('/berlin-prod-md-0-q4zt9')));
      await shell('kubectl -n eksa-system delete machines.cluster.x-k8s.io paris-md-0-q4zt9');
    });

    it('stops cleanly on Ctrl-C', async () => {
      const args = [
        'run',
        '--kubeconfig',
        'berlin.yaml',
        '--policy',
        'fleet.yaml',
        '--every',
        '1m',
        '--output',
        'json',
      ];
      const child = spawn('certmarshal', args, { cwd: home, env });
      let [stdout, stderr] = ['', ''];
      child.stdout.on('data', (data: Buffer) => {
        stdout += data.toString();
        if (stdout.includes('\n') && !child.killed) child.kill('SIGINT');
      });
      child.stderr.on('data', (data: Buffer) => {
        stderr += data.toString();
      });
      expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
      expect(stderr).toContain('Ctrl-C again ends at once');
      for (const line of stdout.trim().split('\n'))
        expect(JSON.parse(line)).toMatchObject({ clusters: [{ id: 'berlin-prod', readable: true }] });
    });

    it('gives access to one subject without taking it from another', async () => {
      await shell('certmarshal rbac | kubectl apply -f -');
      await shell("certmarshal rbac --user 'arn:aws:iam::111122223333:role/certmarshal' | kubectl apply -f -");
      await shell('certmarshal rbac --service-account kube-system/certmarshal | kubectl apply -f -');
      const { stdout } = await shell('kubectl get clusterrolebindings -o name | grep /certmarshal:');
      expect(stdout.split('\n')).toEqual(
        expect.arrayContaining([
          'clusterrolebinding.rbac.authorization.k8s.io/certmarshal:group:certmarshal',
          'clusterrolebinding.rbac.authorization.k8s.io/certmarshal:sa:kube-system:certmarshal',
          'clusterrolebinding.rbac.authorization.k8s.io/certmarshal:user:arn:aws:iam::111122223333:role=2Fcertmarshal',
        ]),
      );
      for (const as of [
        '--as x --as-group certmarshal',
        '--as arn:aws:iam::111122223333:role/certmarshal',
        '--as system:serviceaccount:kube-system:certmarshal',
      ])
        expect((await shell(`kubectl auth can-i list certificatesigningrequests -A ${as}`)).stdout).toBe('yes\n');
    });

    it('approves no address of a service', async () => {
      const { stdout } = await shell(
        'certmarshal explain csr-q77zt --kubeconfig berlin.yaml --service-cidr 10.0.1.0/24',
      );
      expect(stdout).toMatch(/✖ {2}san-reserved +.*10\.0\.1\.23.*in the service CIDR/);
    });

    it('writes nothing without --yes, and tells a job that something waits for it', async () => {
      await createCsr(admin, { name: 'csr-8xk2p', nodeName: 'worker-8', requestPem: request('worker-8', '10.0.1.24') });
      await expect(shell('certmarshal run --kubeconfig berlin.yaml')).rejects.toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/\n {2}berlin-prod +✖ critical +1 would +1 /),
        stderr: 'Nothing was written. To approve: add --yes\n',
      });
      // Its policies only observe, so --yes would write nothing either.
      expect(await shell('certmarshal run --kubeconfig berlin.yaml --policy fleet.yaml')).toMatchObject({
        stdout: expect.stringMatching(/\n {2}berlin-prod +✖ critical +1 would +1 /),
        stderr: 'Exit status 0 despite a hostile request; for status 1: --fail-on hostile\n',
      });
      expect((await admin.get<Csr>(`${CSRS}/csr-8xk2p`)).status.conditions).toBeUndefined();
    });

    it('shows what was approved and what was left, and why', async () => {
      const { stdout } = await shell('kubectl certmarshal run --kubeconfig berlin.yaml --yes');
      expect(stdout).toMatch(/\n {2}berlin-prod +✖ critical +1 +1 /);
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
        'worker-3 asked for worker-8, which belongs to worker-8 (Machine eksa-system/md-0-worker-8); not approved',
      );
      await signedCertificate(admin, 'csr-8xk2p');
      await expect(shell('certmarshal run --kubeconfig berlin.yaml --fail-on hostile')).rejects.toMatchObject({
        code: 1,
        stderr: '',
      });
      await shell('certmarshal run --kubeconfig berlin.yaml');
    });

    it('explains a request it left, and one that is decided', async () => {
      const { stdout } = await shell('certmarshal explain csr-q77zt --kubeconfig berlin.yaml');
      expect(stdout).toMatch(/^worker-3: DNS name worker-8 belongs to worker-8 .*\. Not approved\.$/m);
      expect(stdout).toMatch(/✖ {2}san-proven +DNS name worker-8 belongs to worker-8/);
      expect(stdout.match(/✔ {2}/g)).toHaveLength(17);
      expect(stdout).toMatch(/names +✖ worker-8 owned by worker-8[^\n]*\n +✔ worker-3/);
      expect(stdout).toContain('→ certmarshal runbook san-not-owned --kubeconfig berlin.yaml\n');
      await admin.put(`${CSRS}/csr-q77zt/approval`, {
        ...(await admin.get<Csr>(`${CSRS}/csr-q77zt`)),
        status: { conditions: [{ type: 'Denied', status: 'True', reason: 'ByHand', message: '' }] },
      });
      const decided = await shell('certmarshal explain csr-q77zt --kubeconfig berlin.yaml');
      expect(decided.stdout).toContain('AlreadyDenied');
      expect(decided.stdout).toMatch(/\n {2}denied +[^\n]*, reason ByHand\n/);
    });

    it('explains that a newer request of the node counts', async () => {
      for (const name of ['csr-old', 'csr-older-still'])
        await createCsr(admin, { name, nodeName: 'worker-9', requestPem: request('worker-9', '10.0.1.25') });
      const { stdout } = await shell('certmarshal explain csr-old --kubeconfig berlin.yaml');
      expect(stdout).toMatch(/csr-older-still is newer[^]*Superseded/);
    });

    it('says what to do when the request does not exist or access is missing', async () => {
      await expect(shell('certmarshal explain no-such-csr --kubeconfig berlin.yaml')).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining('kubectl get csr lists those that wait'),
      });
      await writeFile(join(home, 'powerless.yaml'), await readFile(controlPlane.kubeconfig('nobody')));
      await expect(shell('certmarshal run --kubeconfig powerless.yaml')).rejects.toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/403[^]*certmarshal rbac/),
      });
    });
  },
);
