import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openAuditTarget } from '../../../bin/commands/audit/target.ts';
import { loadFleet } from '../../../bin/fleet.ts';
import { instancesOf } from '../../../bin/instances.ts';
import {
  kubeconfigFiles,
  openTarget,
  otherwiseNotice,
  repeatedFlags,
  repeatOptions,
  type TargetOptions,
} from '../../../bin/target.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { answer } from '../kubernetes/tls-server.ts';
import { createAuthority, createServing, listen } from '../tls/tls-servers.ts';
import { kubeconfigOf, kubeconfigOfSeveral } from './kubeconfigs.ts';

const LISTED = { provider: 'eks-anywhere', kubeconfigSecret: 'x', namespace: 'eksa-system', lane: 'default' } as const;

const FLEET: Fleet = {
  ...(await loadFleet(undefined)),
  clusters: [
    { ...LISTED, id: 'berlin', name: 'berlin', serviceCidrs: ['10.96.0.0/12'] },
    { ...LISTED, id: 'oslo', name: 'oslo' },
    { ...LISTED, id: 'oslo-2', name: 'oslo', serviceCidrs: ['10.97.0.0/16'] },
  ],
};

describe('the cluster of the command line', () => {
  let kubeconfig: string;

  beforeAll(async () => {
    kubeconfig = join(await mkdtemp(join(tmpdir(), 'certmarshal-target-')), 'config');
    await writeFile(kubeconfig, kubeconfigOf());
  });

  afterAll(() => rm(join(kubeconfig, '..'), { recursive: true }));

  it.each<[string, TargetOptions, readonly string[] | undefined]>([
    ['those of its entry in fleet.yaml', {}, ['10.96.0.0/12']],
    ['those of the entry it is told to be', { cluster: 'oslo' }, undefined],
    ['those of an entry that is named by its id', { cluster: 'oslo-2' }, ['10.97.0.0/16']],
    ['none of another cluster', { cluster: 'bergen' }, undefined],
    ['those of the command line', { cluster: 'oslo', serviceCidr: ['fd00::/112'] }, ['fd00::/112']],
    ['both, each once', { serviceCidr: ['fd00::/112', '10.96.0.0/12'] }, ['10.96.0.0/12', 'fd00::/112']],
  ])('has as service CIDRs %s', async (_, options, expected) => {
    const target = await openTarget({ kubeconfig, ...options }, FLEET);
    target.close();
    expect(target.cluster.serviceCidrs).toEqual(expected);
  });

  it.each<[string, TargetOptions, string | undefined]>([
    ['nothing', {}, undefined],
    ['its own name', { cluster: 'berlin' }, undefined],
    ['another name', { cluster: 'dublin' }, 'berlin'],
  ])('is the one whose server the kubeconfig names, told by %s', async (_, options, otherwise) => {
    const target = await openTarget({ kubeconfig, ...options }, FLEET);
    target.close();
    expect(target.server).toEqual({ context: 'c', address: '127.0.0.1:1', otherwise });
    expect(otherwiseNotice(target.cluster.name, target.server)).toBe(
      otherwise === undefined
        ? undefined
        : 'The kubeconfig calls the cluster at 127.0.0.1:1 berlin; --cluster dublin does not choose the server. Make sure that it is the cluster you mean.\n',
    );
  });

  it('may be called as it likes where its Machines are said to be elsewhere', async () => {
    const target = await openTarget({ kubeconfig, cluster: 'dublin', managementKubeconfig: kubeconfig }, FLEET);
    target.close();
    expect(target.server.otherwise).toBeUndefined();
  });

  it('has as management cluster a context of its own kubeconfig, or of another one', async () => {
    const file = join(kubeconfig, '..', 'both');
    const clusters = [{ cluster: 'berlin' }, { cluster: 'mgmt', server: 'https://127.0.0.1:2' }];
    await writeFile(file, kubeconfigOfSeveral(clusters));
    vi.stubEnv('KUBECONFIG', file);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const [options, otherwise] of [
      // The current context may be another cluster than the named one.
      [{ kubeconfig: file, managementContext: 'mgmt' }, 'berlin'],
      [{ kubeconfig: file, context: 'berlin', managementContext: 'mgmt' }, undefined],
      [{ kubeconfig, managementKubeconfig: file, managementContext: 'mgmt' }, undefined],
      [{ managementKubeconfig: file, managementContext: 'mgmt' }, 'berlin'],
    ] as const) {
      const target = await openTarget({ ...options, cluster: 'dublin' }, FLEET);
      target.close();
      expect(target.workload.server).toBe('https://127.0.0.1:1');
      expect(target.management?.server).toBe('https://127.0.0.1:2');
      expect(target.server.otherwise).toBe(otherwise);
    }
    await expect(openTarget({ kubeconfig: file, managementContext: 'munich' }, FLEET)).rejects.toThrow(
      /there is no context "munich".*Name one of: berlin, mgmt/s,
    );
  });

  it('is entered with an expired certificate where that is tolerated, and the cluster that proves its names never', async () => {
    const authority = await createAuthority('expired');
    const serving = await createServing(authority, { ipAddresses: ['127.0.0.1'], from: -90, to: -1 });
    const port = await listen(createServer(serving, (_request, response) => answer(response, 200, {})));
    const file = join(kubeconfig, '..', 'expired');
    await writeFile(file, kubeconfigOf({ server: `https://127.0.0.1:${port}`, caPem: authority.certificate }));
    const target = await openTarget(
      { kubeconfig: file, managementKubeconfig: file, tolerateExpired: 'authority' },
      FLEET,
    );
    const version = { method: 'GET', path: '/version' } as const;
    await expect(target.workload.request(version)).resolves.toEqual({});
    expect(target.workload.recovering?.pin).toBe('authority');
    await expect(target.management?.request(version)).rejects.toMatchObject({
      kind: 'certificate-expired',
      remedy: expect.stringContaining('Neither --tolerate-expired nor recovery'),
    });
    target.close();
  });

  it.each(['node', 'patterns'] as const)(
    'is not opened for a policy that trusts %s before its Services are known',
    async (source) => {
      const fleet = { ...FLEET, policies: [{ ...DEFAULT_POLICY, evidence: [source] }] };
      await expect(openTarget({ kubeconfig, cluster: 'oslo' }, fleet)).rejects.toThrow(
        'policy default trusts what a node says about itself, which may be the address of a Service; name the service CIDRs of oslo with --service-cidr',
      );
      for (const options of [{}, { cluster: 'oslo', serviceCidr: ['10.96.0.0/12'] }])
        (await openTarget({ kubeconfig, ...options }, fleet)).close();
      const others = { ...fleet, policies: [{ ...DEFAULT_POLICY, evidence: [source], clusters: ['bergen'] }] };
      (await openTarget({ kubeconfig, cluster: 'oslo' }, others)).close();
    },
  );

  it.each([
    ['ABC.gr7.eu-central-1.eks.amazonaws.com', true],
    ['abc.sk1.us-gov-west-1.eks.amazonaws.com', true],
    ['abc.yl4.cn-north-1.eks.amazonaws.com.cn', true],
    ['eu-central-1.eks.amazonaws.com.example.com', false],
    ['10.0.0.1', false],
  ])('of %s knows whose instances prove names: %s', (host, known) => {
    expect(instancesOf(host, 'dublin') !== undefined).toBe(known);
  });

  it.each([
    ['https://ABC.gr7.eu-central-1.eks.amazonaws.com', true],
    ['https://127.0.0.1:1', false],
  ])('at %s an audit is given the policies, and instances only of EKS', async (server, known) => {
    const file = join(kubeconfig, '..', 'audited');
    await writeFile(file, kubeconfigOf({ server }));
    const target = await openAuditTarget({ kubeconfig: file }, FLEET);
    target.close();
    expect(target.policies).toEqual(FLEET.policies);
    expect(target.listInstances !== undefined).toBe(known);
  });

  it('repeats its options for the next command', () => {
    const options = { kubeconfig: "it's", serviceCidr: ['10.96.0.0/12', 'fd00::/112'], policy: 'fleet.yaml' };
    expect(repeatOptions({ ...options, allowExec: true })).toBe(
      " --kubeconfig 'it'\\''s' --policy fleet.yaml --service-cidr 10.96.0.0/12 --service-cidr fd00::/112 --allow-exec",
    );
  });
});

describe('the files of the kubeconfig', () => {
  let directory: string;
  let a: string;
  let b: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-files-'));
    [a, b] = [join(directory, 'a'), join(directory, 'b')];
    for (const file of [a, b]) await writeFile(file, '');
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('are those that KUBECONFIG names, as for kubectl: without the missing ones, each once', () => {
    const files = (KUBECONFIG: string) => kubeconfigFiles({}, { KUBECONFIG });
    expect(files(b)).toEqual([b]);
    expect(files([b, '/nowhere/c', '', a, b].join(delimiter))).toEqual([b, a]);
    expect(kubeconfigFiles({ kubeconfig: '/nowhere/c' }, { KUBECONFIG: a })).toEqual(['/nowhere/c']);
    const missing = ['/nowhere/c', '/nowhere/d'].join(delimiter);
    expect(() => files(missing)).toThrow(
      `There is no file ${missing}, which KUBECONFIG names; name a kubeconfig with --kubeconfig, or unset KUBECONFIG.`,
    );
  });
});

describe('a command to paste', () => {
  it.each([
    ['a b', "'a b'"],
    ["it's", "'it'\\''s'"],
    ['-o', 'CONTEXT'],
    ['a\n    → rm -rf ~ #\u001b[2J', 'CONTEXT'],
  ])('has the context %j as %s', (context, word) => {
    expect(repeatedFlags([['--context', context]])).toBe(` --context ${word}`);
  });
});
