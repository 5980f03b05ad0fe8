import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { awsEnvironment } from '../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { fastClock } from '../fleet/clock.ts';
import { type Admin, connectAdmin, type KubeObject } from './admin.ts';
import { applyCrds } from './crds.ts';
import type { DaemonGroup } from './processes.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';
import { makeUserHome, startTokenController, type UserHome } from './user-home.ts';

const real = await realComponents(
  'credentials on a real control plane',
  'etcd',
  'kubeApiserver',
  'kubeControllerManager',
  'kubectl',
);
const ACCOUNT = '111122223333';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const SECRET = '/api/v1/namespaces/kube-system/secrets/certmarshal-token';

describe.skipIf(real.missing)('certmarshal credentials create on a real control plane', () => {
  let controlPlane: ControlPlane;
  let controller: DaemonGroup;
  let admin: Admin;
  let home: UserHome;
  let aws: SimulatedAws;

  beforeAll(async () => {
    controlPlane = await startControlPlane({
      binaries: real.binaries,
      controllerManager: false,
      users: [{ name: 'nobody' }],
    });
    controller = await startTokenController(real.binaries.kubeControllerManager, controlPlane);
    admin = connectAdmin(controlPlane);
    await applyCrds(controlPlane);
    home = await makeUserHome(real.binaries.kubectl, await readFile(controlPlane.kubeconfig('admin'), 'utf8'));
    await writeFile(join(home.directory, 'nobody.yaml'), await readFile(controlPlane.kubeconfig('nobody')));
    aws = await startSimulatedAws({ clock: fastClock(Date.now(), 1) });
  });

  afterAll(async () => {
    admin?.close();
    await controller?.stop();
    await controlPlane?.stop();
    await home?.remove();
    await aws?.[Symbol.asyncDispose]();
  });

  const create = (options: string, env = {}) =>
    home.shell(`certmarshal credentials create --kubeconfig ADMIN.yaml --cluster berlin-prod --yes ${options}`, env);
  const token = async () =>
    Buffer.from((await admin.get<KubeObject & { data: { token: string } }>(SECRET)).data.token, 'base64').toString();

  it('shows what it would make, and makes nothing without --yes', async () => {
    const shown = await home.shell('certmarshal credentials create --kubeconfig ADMIN.yaml --store stdout');
    expect(shown).toMatchObject({ status: 1, stdout: '' });
    expect(shown.stderr.match(/ would be created\n/g)).toHaveLength(8);
    expect(shown.stderr).toMatch(/\nNothing was written: --yes does it\.\n$/);
    await expect(admin.get(SECRET)).rejects.toMatchObject({ status: 404 });
  });

  it('prints a kubeconfig that works, and nothing else', async () => {
    const { status, stdout, stderr } = await create('--store stdout');
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: `ServiceAccount kube-system/certmarshal created
ClusterRole certmarshal created
ClusterRoleBinding certmarshal:sa:kube-system:certmarshal created
Role kube-system/certmarshal-audit:sa:kube-system:certmarshal created
RoleBinding kube-system/certmarshal-audit:sa:kube-system:certmarshal created
Role kube-public/certmarshal-audit:sa:kube-system:certmarshal created
RoleBinding kube-public/certmarshal-audit:sa:kube-system:certmarshal created
Secret kube-system/certmarshal-token created
tried: 14 rights are granted
`,
    });
    expect(parse(stdout)).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'certmarshal',
      contexts: [{ name: 'certmarshal', context: { cluster: 'berlin-prod', user: 'certmarshal' } }],
      clusters: [
        {
          name: 'berlin-prod',
          cluster: {
            server: controlPlane.server,
            'certificate-authority-data': Buffer.from(controlPlane.caPem).toString('base64'),
          },
        },
      ],
      users: [{ name: 'certmarshal', user: { token: await token() } }],
    });
    await writeFile(join(home.directory, 'certmarshal.yaml'), stdout);
    expect(
      await home.shell(
        'kubectl --kubeconfig certmarshal.yaml auth whoami -o name; kubectl --kubeconfig certmarshal.yaml get csr',
      ),
    ).toMatchObject({ status: 0 });
    expect(
      await home.shell('certmarshal run --no-handshakes --kubeconfig certmarshal.yaml --provider eks'),
    ).toMatchObject({
      status: 0,
    });
  });

  it('changes nothing the second time, and prints JSON that is a kubeconfig too', async () => {
    const before = await token();
    const { status, stdout, stderr } = await create('--store stdout --output json');
    expect(status).toBe(0);
    expect(stderr.match(/unchanged/g)).toHaveLength(8);
    expect(JSON.parse(stdout).users[0].user.token).toBe(before);
    await writeFile(join(home.directory, 'json.yaml'), stdout);
    expect(await home.shell('kubectl --kubeconfig json.yaml get csr')).toMatchObject({ status: 0 });
  });

  it('makes what certmarshal rbac prints, repairs it, and keeps what else is on the objects', async () => {
    const printed = await home.shell('certmarshal rbac --service-account kube-system/certmarshal');
    const [, role, binding] = parseAllDocuments(printed.stdout).map((document) => document.toJS());
    await admin.patch(`${RBAC}/clusterroles/certmarshal`, { metadata: { labels: { team: 'platform' } }, rules: [] });
    await admin.delete(`${RBAC}/clusterrolebindings/${binding.metadata.name}`);
    const { status, stderr } = await create('--store stdout');
    expect(status).toBe(0);
    expect(stderr).toMatch(/ClusterRole certmarshal changed\nClusterRoleBinding \S+ created\n/);
    const live = await admin.get(`${RBAC}/clusterroles/certmarshal`);
    expect(live['rules']).toEqual(role.rules);
    expect(live.metadata.labels).toEqual({ team: 'platform' });
    expect(await admin.get(`${RBAC}/clusterrolebindings/${binding.metadata.name}`)).toMatchObject({
      roleRef: binding.roleRef,
      subjects: binding.subjects,
    });
  });

  it('grants what a management cluster and a policy take', async () => {
    await writeFile(join(home.directory, 'node.yaml'), 'version: 1\npolicies: [{ name: nodes, evidence: [node] }]\n');
    const { status } = await create(
      '--management --policy node.yaml --namespace default --name marshal --store stdout',
    );
    expect(status).toBe(0);
    for (const right of ['list nodes', 'list machines.cluster.x-k8s.io'])
      expect(
        await home.shell(`kubectl auth can-i ${right} -A --as system:serviceaccount:default:marshal 2>/dev/null`),
      ).toMatchObject({ stdout: 'yes\n' });
  });

  it('stores the kubeconfig in Secrets Manager, and a new version the second time', async () => {
    const env = awsEnvironment(aws, { account: ACCOUNT });
    const store = '--store secretsmanager:certmarshal/berlin-prod';
    const first = await create(store, env);
    expect(first.status).toBe(0);
    const [arn = ''] = first.stdout.split('\n');
    expect(first.stdout).toMatch(/\n\nFor fleet\.yaml:\n\nclusters:\n/);
    expect(parse(first.stdout.slice(first.stdout.indexOf('clusters:'), first.stdout.lastIndexOf('\nFor ')))).toEqual({
      clusters: [{ name: 'berlin-prod', provider: 'eks-anywhere', kubeconfigSecret: arn }],
    });
    expect(first.stdout).toContain('\n    # lane: NAME');
    expect(first.stdout).toMatch(/\nFor a cluster that nothing finds; .*\.\n$/);
    expect(arn).toMatch(/^arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal\/berlin-prod-\w{6}$/);
    expect(first.stderr).toContain('secret certmarshal/berlin-prod created\n');
    const second = await create(`${store} --management --output json`, env);
    expect(JSON.parse(second.stdout)).toEqual({
      version: 1,
      secret: arn,
      created: false,
      fleet: { managementClusters: [{ name: 'berlin-prod', kubeconfigSecret: arn }] },
    });
    const third = await create(`${store} --workload-of mgmt --output json`, env);
    expect(JSON.parse(third.stdout).fleet).toEqual({
      managementClusters: [{ name: 'mgmt', workloadClusters: { kubeconfigSecrets: { 'berlin-prod': arn } } }],
    });
    for (const { stdout, stderr } of [first, second, third]) expect(stdout + stderr).not.toContain(await token());
  });

  it('stores nothing that AWS refuses, and shows no token', async () => {
    aws.deny('secretsmanager:CreateSecret');
    const { status, stdout, stderr } = await create(
      '--store secretsmanager:other',
      awsEnvironment(aws, { account: ACCOUNT }),
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/secretsmanager:CreateSecret other: access is denied \(AccessDeniedException\)\. Allow /);
    expect(stderr).not.toContain(await token());
  });

  it('says that it takes an administrator', async () => {
    expect(
      await home.shell('certmarshal credentials create --kubeconfig nobody.yaml --store stdout --yes'),
    ).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /serviceaccounts\/certmarshal in kube-system on https:[^]*403[^]*Use the kubeconfig of an administrator/,
      ),
    });
  });

  it('takes no Secret that is something else', async () => {
    await admin.post('/api/v1/namespaces/kube-system/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'taken-token', namespace: 'kube-system' },
      stringData: { token: 'not-a-token', 'ca.crt': 'none' },
    });
    expect(await create('--name taken --store stdout')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('choose another --name'),
    });
  });
});
