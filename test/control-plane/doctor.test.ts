import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { doctorLines } from '../../bin/commands/doctor-view.ts';
import { type GroupResult, runGroup } from '../../bin/doctor/check.ts';
import { localGroups } from '../../bin/doctor/local-groups.ts';
import { draw } from '../../bin/terminal/draw.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import { freePorts } from '../support/loopback.ts';
import { type Admin, connectAdmin, type KubeObject } from './admin.ts';
import { applyCrds } from './crds.ts';
import { approveCsr, CSRS, createCsr, createMachine } from './fixtures.ts';
import { createAuthority, createKubeletRequest } from './pki.ts';
import type { DaemonGroup } from './processes.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';
import { makeUserHome, startTokenController, type UserHome } from './user-home.ts';

const real = await realComponents(
  'the doctor on a real control plane',
  'etcd',
  'kubeApiserver',
  'kubeControllerManager',
  'kubectl',
);

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}
/** A kubeconfig as tests break it. */
interface Kubeconfig {
  readonly clusters: { cluster: Record<string, string> }[];
  readonly users: { user: Record<string, unknown> }[];
}

const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const WORKLOAD = 'certmarshal';
const MANAGEMENT = 'certmarshal-management';

describe.skipIf(real.missing)('certmarshal doctor on a real control plane', () => {
  let controlPlane: ControlPlane;
  let controller: DaemonGroup;
  let admin: Admin;
  let home: UserHome;
  const create =
    'certmarshal credentials create --kubeconfig ADMIN.yaml --cluster berlin-prod --management --policy node.yaml --store stdout --yes > certmarshal.yaml';
  const doctor = (options = '') =>
    home.shell(`certmarshal doctor --kubeconfig certmarshal.yaml --policy node.yaml ${options}`);
  /** The same without a process of its own. */
  const examine = async (cluster = 'berlin-prod'): Promise<readonly GroupResult[]> => {
    const kubeconfig = join(home.directory, 'certmarshal.yaml');
    const groups = await localGroups(
      { kubeconfig, cluster },
      {
        policies: [{ ...DEFAULT_POLICY, evidence: ['machine', 'node'] }],
        policyFile: 'node.yaml',
        program: 'certmarshal',
        thresholds: DEFAULT_THRESHOLDS,
        now: Date.now,
      },
      { clusters: [], managementClusters: [] },
    );
    return Promise.all(groups.map((group) => runGroup(group, new AbortController().signal)));
  };
  const printed = (groups: readonly GroupResult[]) => draw(doctorLines(groups));
  const failed = (groups: readonly GroupResult[]) =>
    groups.flatMap(({ checks }) => checks).flatMap(({ id, status }) => (status === 'failed' ? id : []));

  beforeAll(async () => {
    controlPlane = await startControlPlane({ binaries: real.binaries, controllerManager: false });
    controller = await startTokenController(real.binaries.kubeControllerManager, controlPlane);
    admin = connectAdmin(controlPlane);
    await applyCrds(controlPlane);
    await createMachine(admin, { name: 'md-0-worker-3', clusterName: 'berlin-prod', nodeName: 'worker-3' });
    home = await makeUserHome(real.binaries.kubectl, await readFile(controlPlane.kubeconfig('admin'), 'utf8'));
    await writeFile(
      join(home.directory, 'node.yaml'),
      'version: 1\npolicies: [{ name: nodes, evidence: [machine, node] }]\n',
    );
    const { status, stderr } = await home.shell(create);
    if (status !== 0) throw new Error(stderr);
  });

  afterAll(async () => {
    admin?.close();
    await controller?.stop();
    await controlPlane?.stop();
    await home?.remove();
  });

  it('finds nothing to mend after credentials create', async () => {
    const { status, stdout } = await doctor();
    // Of the two certificates that live for a week here.
    expect(stdout).toMatch(
      /^Everything works, 2 warnings\.\n\nberlin-prod\n {2}✔ {2}kubeconfig +certmarshal\.yaml +https:/,
    );
    expect(stdout).toMatch(/! {2}ca-bundle +\S+ +valid until \d{4}-\d\d-\d\d\n/);
    expect(stdout).toMatch(/! {2}certificate +\S+ +trusted, valid until \d{4}-\d\d-\d\d: warning in an audit\n/);
    expect(stdout).toMatch(
      /✔ {2}authentication +\S+ +authenticated as system:serviceaccount:kube-system:certmarshal\n/,
    );
    expect(stdout).toMatch(/✔ {2}approve-signers +kubernetes\.io\/kubelet-serving +granted\n/);
    expect(stdout).not.toMatch(/✖|·/);
    expect(status).toBe(0);
  });

  const withoutRight = (role: string, resource: string, verb: string) => async () => {
    const live = await admin.get<KubeObject & { rules: readonly Rule[] }>(`${ROLES}/${role}`);
    const rules = live.rules
      .map((rule) =>
        rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((one) => one !== verb) } : rule,
      )
      .filter(({ verbs }) => verbs.length > 0);
    await admin.put(`${ROLES}/${role}`, { ...live, rules });
  };
  const withKubeconfig = (change: (kubeconfig: Kubeconfig) => unknown) => async () => {
    const file = join(home.directory, 'certmarshal.yaml');
    const kubeconfig: Kubeconfig = parse(await readFile(file, 'utf8'));
    await change(kubeconfig);
    await writeFile(file, stringify(kubeconfig));
  };
  const clusterOf = ({ clusters }: Kubeconfig) => clusters[0]?.cluster ?? {};
  const userOf = ({ users }: Kubeconfig) => users[0]?.user ?? {};

  it.each<[broken: string, check: string, break_: () => Promise<unknown>]>([
    [
      'requests may not be listed',
      'list-certificatesigningrequests',
      withoutRight(WORKLOAD, 'certificatesigningrequests', 'list'),
    ],
    [
      'a request may not be read',
      'get-certificatesigningrequests',
      withoutRight(WORKLOAD, 'certificatesigningrequests', 'get'),
    ],
    [
      'approvals may not be written',
      'update-certificatesigningrequests-approval',
      withoutRight(WORKLOAD, 'certificatesigningrequests/approval', 'update'),
    ],
    ['the signer may not be approved for', 'approve-signers', withoutRight(WORKLOAD, 'signers', 'approve')],
    ['Nodes may not be listed, and a policy reads them', 'list-nodes', withoutRight(WORKLOAD, 'nodes', 'list')],
    ['Machines may not be listed', 'list-machines', withoutRight(MANAGEMENT, 'machines', 'list')],
    ['Clusters may not be listed', 'list-clusters', withoutRight(MANAGEMENT, 'clusters', 'list')],
    ['the role is gone', 'list-certificatesigningrequests', () => admin.delete(`${ROLES}/${WORKLOAD}`)],
    ['a binding is gone', 'list-machines', () => admin.delete(`${BINDINGS}/${MANAGEMENT}:sa:kube-system:certmarshal`)],
    ['the token is wrong', 'authentication', withKubeconfig((file) => Object.assign(userOf(file), { token: 'wrong' }))],
    [
      'the CA is that of another cluster',
      'certificate',
      withKubeconfig(async (file) => {
        const { certPem } = await createAuthority('another');
        clusterOf(file)['certificate-authority-data'] = Buffer.from(certPem).toString('base64');
      }),
    ],
    [
      'the CA has expired',
      'ca-bundle',
      withKubeconfig(async (file) => {
        const { certPem } = await createAuthority('expired', new Date(Date.now() - 1_000));
        clusterOf(file)['certificate-authority-data'] = Buffer.from(certPem).toString('base64');
      }),
    ],
    [
      'the port is closed',
      'connect',
      withKubeconfig(async (file) =>
        Object.assign(clusterOf(file), { server: `https://127.0.0.1:${(await freePorts(1))[0]}` }),
      ),
    ],
    [
      'the name does not resolve',
      'resolve',
      withKubeconfig((file) => Object.assign(clusterOf(file), { server: 'https://berlin.invalid:6443' })),
    ],
    [
      'TLS is wanted for another name',
      'certificate',
      withKubeconfig((file) => Object.assign(clusterOf(file), { 'tls-server-name': 'kubernetes' })),
    ],
    [
      'the kubeconfig runs a command',
      'kubeconfig',
      withKubeconfig((file) => {
        const user = userOf(file);
        for (const key of Object.keys(user)) Reflect.deleteProperty(user, key);
        Object.assign(user, { exec: { command: 'aws' } });
      }),
    ],
    [
      'the kubeconfig turns TLS verification off',
      'kubeconfig',
      withKubeconfig((file) => Object.assign(clusterOf(file), { 'insecure-skip-tls-verify': 'true' })),
    ],
    ['the kubeconfig is no YAML', 'kubeconfig', () => writeFile(join(home.directory, 'certmarshal.yaml'), '{')],
  ])('%s: %s fails, and its printed fix repairs it', async (_broken, check, breakIt) => {
    await breakIt();
    const broken = await until(
      () => examine(),
      (groups) => failed(groups).includes(check),
    );
    expect(await home.shell(commandFor(check, printed(broken)))).toMatchObject({ status: 0 });
    await until(
      () => examine(),
      (groups) => failed(groups).length === 0,
    );
  });

  it('skips what a failure makes pointless, and says why', async () => {
    await withKubeconfig((file) => Object.assign(clusterOf(file), { server: 'https://berlin.invalid:6443' }))();
    const { status, stdout } = await doctor();
    expect(status).toBe(1);
    expect(stdout).toMatch(/^1 of \d+ checks failed, 1 warning, \d+ not tried\.\n/);
    const notTried = /^1 of \d+ checks failed, 1 warning, (\d+) not tried\./.exec(stdout)?.[1];
    expect(stdout).toMatch(
      new RegExp(`✖ {2}resolve +berlin\\.invalid:6443 .*\\n {2}· {2}${notTried} checks need it\\n`),
    );
    expect(await home.shell(commandFor('resolve', stdout))).toMatchObject({ status: 0 });
  });

  it('finds that no Machine names the cluster', async () => {
    const output = printed(await examine('berlin'));
    expect(output).toContain('no Machine of cluster berlin is in namespace eksa-system');
    expect(commandFor('machines', output)).toBe('kubectl get clusters.cluster.x-k8s.io -A');
  });

  it('warns of rights that nobody should have', async () => {
    const { status, stdout } = await home.shell('certmarshal doctor --kubeconfig ADMIN.yaml --cluster berlin-prod');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Everything works, 3 warnings\.\n/);
    expect(stdout).toMatch(/! {2}excess-rights +.*these credentials may do everything\n/);
  });

  it('warns of approved requests that nobody signs', async () => {
    const { requestPem } = await createKubeletRequest({ nodeName: 'worker-3', dnsNames: ['worker-3'] });
    await createCsr(admin, { name: 'csr-unsigned', nodeName: 'worker-3', requestPem });
    const approved = await approveCsr(admin, 'csr-unsigned');
    const results = async () => (await examine())[0]?.checks.find(({ id }) => id === 'signer');
    expect(await results()).toMatchObject({ status: 'passed', found: 'nothing to see yet' });
    const before = new Date(Date.now() - 10 * 60_000).toISOString().replace(/\.\d+Z/, 'Z');
    await admin.put(`${CSRS}/csr-unsigned/approval`, {
      ...approved,
      status: {
        conditions: [{ type: 'Approved', status: 'True', reason: 'Test', message: '', lastUpdateTime: before }],
      },
    });
    expect(await results()).toMatchObject({
      status: 'warning',
      found: '1 request approved over 5 min ago and not signed',
    });
  });
});

/** The command that is printed for a check: the line after its own. */
function commandFor(check: string, output: string): string {
  const lines = output.split('\n');
  const at = lines.findIndex(
    (line) => line.startsWith('  → ') && line.slice(4).split(':', 1)[0]?.split(', ').includes(check),
  );
  const next = lines[at + 1] ?? '';
  if (at === -1 || !/^ {6}\S/.test(next)) throw new Error(`no command for ${check} in\n${output}`);
  return next.trim();
}

/** RBAC takes effect a moment after it is written. */
async function until<T>(look: () => Promise<T>, is: (seen: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const seen = await look();
    if (is(seen)) return seen;
    if (tries === 20) throw new Error(`still so: ${JSON.stringify(seen)}`);
    await sleep(50);
  }
}
