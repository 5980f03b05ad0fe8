import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PersonAsked, type PersonSettings, personCommand } from '../../bin/commands/person/command.ts';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { openKeyboardJournal } from '../../bin/keyboard-journal.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { createKubernetesClient, type KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { loadLocalKubeconfig } from '../../lambdas/kubernetes/local-kubeconfig.ts';
import { entriesOf } from '../support/journal-lines.ts';
import { outcomeOf, recordedIo } from '../unit/bin/io.ts';
import { runCli } from '../unit/bin/run-cli.ts';
import { makeRequest } from '../unit/x509/request-factory.ts';
import { type Admin, connectAdmin } from './admin.ts';
import { applyCrds } from './crds.ts';
import { approveCsr, CSRS, type Csr, createCsr, createMachine, signedCertificate } from './fixtures.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const real = await realComponents(
  'decisions of a person on a real control plane',
  'etcd',
  'kubeApiserver',
  'kubeControllerManager',
);

const CLUSTER = 'berlin-prod';
const BECAUSE = 'second NIC of the node, ticket 4711';
const signal = new AbortController().signal;

/** All that a person needs, but the right to approve for the signer. */
const WITHOUT_THE_SIGNER = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: alan }
rules:
  - { apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests], verbs: [get, list] }
  - { apiGroups: [networking.k8s.io], resources: [servicecidrs], verbs: [list] }
  - { apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests/approval], verbs: [update] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: alan }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: alan }
subjects:
  - { apiGroup: rbac.authorization.k8s.io, kind: User, name: alan }
`;

describe.skipIf(real.missing)('a decision of a person on a real control plane', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;
  let client: KubernetesClient;
  let directory: string;
  let serial = 0;

  /** A node with its Machine; every test has nodes of its own. */
  async function joined(): Promise<{ node: string; address: string }> {
    serial += 1;
    const node = `worker-${serial}`;
    const address = `10.0.0.${serial}`;
    await createMachine(admin, {
      name: `md-0-${serial}`,
      clusterName: CLUSTER,
      nodeName: node,
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: node },
      ],
    });
    return { node, address };
  }

  async function ask(name: string, node: string, ...addresses: readonly string[]): Promise<Csr> {
    const sans = [
      { kind: 'dNSName' as const, value: node },
      ...addresses.map((value) => ({ kind: 'iPAddress' as const, value })),
    ];
    const requestPem = makeRequest({ commonName: `system:node:${node}`, sans }).pem.toString();
    return createCsr(admin, { name, nodeName: node, requestPem });
  }

  const conditionsOf = async (name: string) => (await admin.get<Csr>(`${CSRS}/${name}`)).status.conditions ?? [];

  /** @param beforeWrite what happens after the request was shown */
  async function decide(
    csr: string,
    asked: Partial<PersonAsked> = {},
    {
      beforeWrite,
      ...settings
    }: Partial<PersonSettings> & { readonly beforeWrite?: () => Promise<unknown> | undefined } = {},
  ) {
    const io = { ...recordedIo(), clock: () => Date.now() };
    const workload: KubernetesClient = {
      ...client,
      get stats() {
        return client.stats;
      },
      async request(call) {
        if (call.method === 'PUT') await beforeWrite?.();
        return client.request(call);
      },
    };
    const target = {
      id: CLUSTER,
      cluster: { name: CLUSTER, provider: 'eks-anywhere' },
      workload,
      management: client,
      machinesNamespace: 'eksa-system',
    } as const;
    const command = personCommand(
      target,
      [DEFAULT_POLICY],
      { csr, decision: 'approve', because: BECAUSE, yes: true, names: [], ...asked },
      {
        output: 'table',
        program: 'certmarshal',
        version: '1.2.3',
        repeat: '',
        repeatNames: '',
        localUser: 'x',
        ...settings,
      },
      signal,
      io,
    );
    return outcomeOf(io, command);
  }

  beforeAll(async () => {
    controlPlane = await startControlPlane({
      binaries: real.binaries,
      users: [{ name: 'ada' }, { name: 'alan' }, { name: 'grace' }],
    });
    admin = connectAdmin(controlPlane);
    await applyCrds(controlPlane);
    // What the help says a person needs, and no more.
    await admin.apply(rbacManifests({ user: 'ada', audit: false }, [DEFAULT_POLICY]));
    await admin.apply(rbacManifests({ user: 'ada', management: true, audit: false }, [DEFAULT_POLICY]));
    await admin.apply(rbacManifests({ user: 'alan', management: true, audit: false }, [DEFAULT_POLICY]));
    await admin.apply(WITHOUT_THE_SIGNER);
    const kubeconfig = await readFile(controlPlane.kubeconfig('ada'), 'utf8');
    client = createKubernetesClient({ ...(await loadLocalKubeconfig(kubeconfig)), addresses: 'local' });
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-person-'));
  });

  afterAll(async () => {
    client?.close();
    admin?.close();
    await controlPlane?.stop();
    if (directory !== undefined) await rm(directory, { recursive: true });
  });

  it('approves what nothing proves, with who and why on the request, and the signer issues it', async () => {
    const { node, address } = await joined();
    const { metadata } = await ask('unproven', node, address, '10.9.9.9');

    const looked = await decide('unproven', { yes: false });
    expect(looked.status).toBe(1);
    expect(looked.stdout).toMatch(/✖ 10\.9\.9\.9\n[^]*✖ {2}san-proven[^]*It would write/);
    expect(looked.stderr).toBe(
      `Nothing was written: --yes does it. certmarshal approve unproven --uid ${metadata.uid} --because '${BECAUSE}' --yes\n`,
    );
    expect(await conditionsOf('unproven')).toEqual([]);

    const { status, stdout, stderr } = await decide('unproven', { uid: metadata.uid });
    expect(status).toBe(0);
    expect(stdout).toContain('✔ unproven: approved by ada.');
    expect(stdout.indexOf('san-proven')).toBeLessThan(stdout.indexOf('approved by ada'));
    expect(stderr).toContain('Only this output and the condition record');
    expect(await conditionsOf('unproven')).toMatchObject([
      { type: 'Approved', status: 'True', reason: 'CertMarshalApprovedByPerson', message: `ada: ${BECAUSE}` },
    ]);
    const certificate = new X509Certificate(await signedCertificate(admin, 'unproven'));
    expect(certificate.subjectAltName).toBe(`DNS:${node}, IP Address:${address}, IP Address:10.9.9.9`);
  });

  it('denies', async () => {
    const { node, address } = await joined();
    await ask('denied', node, address);
    const { status, stdout } = await decide('denied', { decision: 'deny' });
    expect({ status, last: stdout.trim().split('\n').at(-2) }).toEqual({ status: 0, last: '✔ denied: denied by ada.' });
    expect(await conditionsOf('denied')).toMatchObject([
      { type: 'Denied', reason: 'CertMarshalDeniedByPerson', message: `ada: ${BECAUSE}` },
    ]);
  });

  it('approves a request for an address of another only when every name that is not proven is typed', async () => {
    const victim = await joined();
    const { node, address } = await joined();
    await ask('hostile', node, address, victim.address, '10.9.9.8');

    for (const names of [[], [victim.address], [victim.address, '10.9.9.8', address], ['10.9.9.7', '10.9.9.8']]) {
      const { status, stdout, stderr } = await decide('hostile', { names });
      expect(status).toBe(1);
      expect(stderr).toMatch(/^Nothing was written: (?:a name in it belongs to another node|the typed names)/);
      expect(stdout).toContain(`      --name ${victim.address} --name 10.9.9.8`);
    }
    expect(await conditionsOf('hostile')).toEqual([]);

    expect((await decide('hostile', { names: ['10.9.9.8', victim.address] })).status).toBe(0);
    expect(await conditionsOf('hostile')).toMatchObject([{ type: 'Approved' }]);
  });

  it('approves a name that no node may have only when it is typed, whatever a Machine lists', async () => {
    const address = '127.0.0.99';
    await createMachine(admin, {
      name: 'md-0-loop',
      clusterName: CLUSTER,
      nodeName: 'worker-loop',
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: 'worker-loop' },
      ],
    });
    await ask('reserved', 'worker-loop', address);
    const { status, stdout, stderr } = await decide('reserved');
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'Nothing was written: it has a name that no node may have.\n',
    });
    expect(stdout).toContain(`      --name ${address}\n`);
    expect((await decide('reserved', { names: [address] })).status).toBe(0);
  });

  it('is not fooled by a hostile request that a newer one of its node hides from sweeps', async () => {
    const victim = await joined();
    const { node, address } = await joined();
    await ask('hidden', node, victim.address);
    await ask('hiding-it', node, address);
    const { status, stdout } = await decide('hidden');
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /No sweep judges it\.[^]*✖ {2}san-proven[^]*Superseded[^]*a name in it belongs to another node/,
    );
    expect(await conditionsOf('hidden')).toEqual([]);
  });

  it.each<[string, (name: string) => Promise<unknown>, RegExp]>([
    ['was swapped', async (name) => swap(name), /another request has its name now, uid [-0-9a-f]{36}/],
    // An approved one may be issued by now.
    ['was approved', async (name) => approveCsr(admin, name), /condition Approved, reason Test|certificate is issued/],
    ['was denied', denied, /condition Denied, reason ByHand/],
    ['was deleted', async (name) => admin.delete(`${CSRS}/${name}`), /it was deleted/],
    [
      'was changed',
      async (name) => admin.patch(`${CSRS}/${name}`, { metadata: { labels: { some: 'label' } } }),
      /it was changed, and is still pending/,
    ],
  ])('writes nothing where the request %s after it was shown', async (what, beforeWrite, why) => {
    const name = what.replace(' ', '-');
    const { node, address } = await joined();
    await ask(name, node, address);
    const journal = await openKeyboardJournal(join(directory, name));
    const { status, stdout } = await decide(name, {}, { beforeWrite: () => beforeWrite(name), journal });
    expect(status).toBe(1);
    expect(stdout).toMatch(why);
    expect(stdout).toContain('Nothing was written.');
    const left = what === 'was deleted' ? [] : await conditionsOf(name);
    expect(left.map(({ reason }) => reason)).toEqual(
      { 'was approved': ['Test'], 'was denied': ['ByHand'] }[what] ?? [],
    );
    // Nothing was decided.
    expect(await readFile(journal.file, 'utf8')).toBe('');
  });

  async function denied(name: string): Promise<unknown> {
    return admin.put(`${CSRS}/${name}/approval`, {
      ...(await admin.get<Csr>(`${CSRS}/${name}`)),
      status: { conditions: [{ type: 'Denied', status: 'True', reason: 'ByHand', message: '' }] },
    });
  }

  async function swap(name: string): Promise<void> {
    const { node } = await joined();
    await admin.delete(`${CSRS}/${name}`);
    await ask(name, node, '10.7.7.7');
  }

  it('refuses another request than the one that was looked at before', async () => {
    const { node, address } = await joined();
    const { metadata } = await ask('looked-at', node, address);
    await swap('looked-at');
    const { status, stderr } = await decide('looked-at', { uid: metadata.uid });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^Nothing was written: it is not the request of --uid/),
    });
    expect(await conditionsOf('looked-at')).toEqual([]);
  });

  it('keeps the decision in the journal, with who, why, and what the checks said', async () => {
    const victim = await joined();
    const { node } = await joined();
    const { metadata } = await ask('journaled', node, victim.address);
    const journal = await openKeyboardJournal(join(directory, 'journal'));
    const { status, stdout } = await decide('journaled', { names: [victim.address] }, { journal, output: 'json' });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      kind: 'approve',
      csr: 'journaled',
      uid: metadata.uid,
      by: 'ada',
      because: BECAUSE,
      judged: { verdict: 'leave', reason: 'SanNotOwned', hostile: false },
      written: { kind: 'written' },
      journaled: true,
    });

    expect((await stat(journal.file)).mode & 0o777).toBe(0o600);
    expect(entriesOf(await readFile(journal.file, 'utf8'))).toMatchObject([
      {
        kind: 'person',
        cluster: CLUSTER,
        csr: 'journaled',
        uid: metadata.uid,
        requester: `system:node:${node}`,
        names: [node, victim.address],
        verdict: 'approve',
        judged: 'leave',
        reason: 'SanNotOwned',
        hostile: false,
        failed: ['san-proven'],
        outcome: 'written',
        by: 'ada',
        because: BECAUSE,
        program: '1.2.3',
      },
    ]);
  });

  it('has the exit status of its help, and refuses other signers with the command that does it', async () => {
    const { node, address } = await joined();
    await ask('by-command', node, address);
    await admin.post(CSRS, {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'other' },
      spec: {
        request: makeRequest({ commonName: 'x', sans: [] }).pem.toString('base64'),
        signerName: 'example.com/signer',
        usages: ['digital signature', 'server auth'],
      },
    });
    const run = (user: string, command: string, csr: string, ...more: readonly string[]) =>
      runCli([command, csr, '--kubeconfig', controlPlane.kubeconfig(user), '--cluster', CLUSTER, ...more]);
    const because = ['--because', BECAUSE];

    expect(await run('ada', 'approve', 'by-command')).toMatchObject({ status: 2, stdout: '' });
    expect(await run('ada', 'approve', 'by-command', '--because', 'too short')).toMatchObject({
      status: 2,
      stdout: '',
    });
    expect(await run('ada', 'approve', 'by-command', ...because)).toMatchObject({ status: 1 });
    expect(await run('ada', 'approve', 'gone', ...because, '--yes')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('has no CertificateSigningRequest gone'),
    });
    expect(await run('grace', 'approve', 'by-command', ...because, '--yes')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/403[^]*certmarshal rbac/),
    });
    // Who may write the subresource and not approve for the signer may not deny either.
    for (const command of ['approve', 'deny'])
      expect(await run('alan', command, 'by-command', ...because, '--yes')).toMatchObject({
        status: 1,
        stdout: expect.stringMatching(/Nothing was written\.[^]*403[^]*certmarshal rbac/),
      });
    expect(await run('ada', 'approve', 'other', ...because, '--yes')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('Next  kubectl certificate approve other\n'),
      stderr: expect.stringContaining('Nothing was written: signer is example.com/signer.\n'),
    });
    expect(await conditionsOf('by-command')).toEqual([]);
    const kept = ['--journal', join(directory, 'by-command'), '--yes'];
    expect(await run('ada', 'approve', 'by-command', ...because, ...kept)).toMatchObject({ status: 0 });
    await signedCertificate(admin, 'by-command');
    expect(await run('ada', 'deny', 'by-command', ...because, '--yes')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Nothing was written: the certificate is issued.\n'),
    });
  });
});
