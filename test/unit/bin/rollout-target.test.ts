import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  acceptances,
  openSubject,
  type RolloutTargetOptions,
  repeatRollout,
} from '../../../bin/commands/rollout/target.ts';
import { UsageError } from '../../../bin/exit-codes.ts';
import { expiredServerOf, repeatOptions, toleranceNotice, toleratedNotice } from '../../../bin/target.ts';
import { createAuthority } from '../../control-plane/pki.ts';
import { kubeconfigOf, kubeconfigOfSeveral } from './kubeconfigs.ts';

describe('the cluster of a rollout', () => {
  let directory: string;
  const file = (name: string) => join(directory, name);
  const authorities = new Map<string, string>();
  const write = (cluster: string, server: string, caPem?: string) =>
    writeFile(file(cluster), kubeconfigOf({ cluster, server, caPem, context: 'admin' }));

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-rollout-'));
    for (const name of ['mgmt', 'berlin']) authorities.set(name, (await createAuthority(name)).certPem);
    await write('mgmt', 'https://127.0.0.1:1', authorities.get('mgmt'));
    await write('berlin', 'https://127.0.0.1:2', authorities.get('berlin'));
    await write('public', 'https://127.0.0.1:2');
    await write('eks', 'https://abc.gr7.eu-central-1.eks.amazonaws.com');
    await writeFile(
      file('fleet.yaml'),
      `version: 1
clusters:
  - { id: berlin-prod, name: berlin, provider: eks-anywhere, eksAnywhereNamespace: team-a, kubeconfigSecret: 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:berlin-AbCdEf' }
rollouts:
  clusters:
    - clusters: ['berlin-*', '*/eksa-system/munich']
      accepted: [etcd-backup]
`,
    );
  });
  afterAll(() => rm(directory, { recursive: true }));

  const opened = async (options: RolloutTargetOptions) => {
    const subject = await openSubject(options);
    subject.target.close();
    return subject;
  };

  /** With the paths of its kubeconfigs. */
  const named = (options: Record<string, string>): RolloutTargetOptions =>
    Object.fromEntries(
      Object.entries(options).map(([name, value]) => [name, name === 'cluster' ? value : file(value)]),
    );

  it.each<[string, Record<string, string>, object]>([
    [
      'manages itself where a kubeconfig is all there is',
      { kubeconfig: 'mgmt' },
      { name: 'mgmt', managesItself: true, server: { context: 'admin', address: '127.0.0.1:1' } },
    ],
    [
      'is in a management cluster, by its name',
      { managementKubeconfig: 'mgmt', cluster: 'berlin' },
      { name: 'berlin', managesItself: false, server: { address: '127.0.0.1:1' } },
    ],
    [
      'is in a management cluster, by its kubeconfig',
      { managementKubeconfig: 'mgmt', kubeconfig: 'berlin' },
      { name: 'berlin', managesItself: false, server: { address: '127.0.0.1:1' } },
    ],
    ['is the management cluster, by name', { managementKubeconfig: 'mgmt', cluster: 'mgmt' }, { managesItself: true }],
    [
      'is the management cluster itself, by its server',
      { managementKubeconfig: 'mgmt', kubeconfig: 'mgmt', cluster: 'x' },
      { name: 'x', managesItself: true },
    ],
  ])('%s', async (_, options, expected) => {
    const { target } = await opened(named(options));
    expect(target).toMatchObject(expected);
  });

  it('is in a management cluster that is a context of its own kubeconfig', async () => {
    const [berlin, mgmt] = ['berlin', 'mgmt'].map((name, port) => ({
      cluster: name,
      server: `https://127.0.0.1:${port + 1}`,
      caPem: authorities.get(name),
    }));
    await writeFile(file('both'), kubeconfigOfSeveral([mgmt, berlin]));
    const { target } = await opened({ kubeconfig: file('both'), context: 'berlin', managementContext: 'mgmt' });
    expect(target).toMatchObject({ name: 'berlin', managesItself: false, server: { address: '127.0.0.1:2' } });
    expect(await target.authorities?.()).toBe(authorities.get('berlin'));
  });

  it('has no name and CA of the current context of a kubeconfig of several clusters', async () => {
    const several = ['oslo', 'mgmt'].map((name, port) => ({
      cluster: name,
      server: `https://127.0.0.1:${port + 1}`,
      caPem: authorities.get(name === 'oslo' ? 'berlin' : name),
    }));
    await writeFile(file('oslo-first'), kubeconfigOfSeveral(several));
    const { target } = await opened({ kubeconfig: file('oslo-first'), managementContext: 'mgmt', cluster: 'berlin' });
    expect(target).toMatchObject({ name: 'berlin', managesItself: false, server: { address: '127.0.0.1:2' } });
    expect(await target.authorities?.()).toBeUndefined();
    // It may be dublin that is meant, or another name of oslo.
    await expect(
      opened({ kubeconfig: file('oslo-first'), managementContext: 'oslo', cluster: 'dublin' }),
    ).rejects.toThrow('calls oslo: name the context of dublin with --context.');
    // kubeadm calls every cluster kubernetes.
    await writeFile(
      file('kubeadm'),
      kubeconfigOf({ cluster: 'kubernetes', caPem: authorities.get('mgmt'), context: 'admin' }),
    );
    // Several contexts of one cluster.
    const users = {
      ...JSON.parse(
        kubeconfigOf({ cluster: 'kubernetes', server: 'https://127.0.0.1:2', caPem: authorities.get('berlin') }),
      ),
    };
    users.contexts.push({ ...users.contexts[0], name: 'reader' });
    await writeFile(file('users'), JSON.stringify(users));
    const two = await opened({ kubeconfig: file('users'), managementKubeconfig: file('mgmt'), cluster: 'berlin' });
    expect(await two.target.authorities?.()).toBe(authorities.get('berlin'));
    // A management cluster may be one of EKS.
    const cloud = await opened({ managementKubeconfig: file('eks'), cluster: 'berlin' });
    expect(cloud.target).toMatchObject({ name: 'berlin', managesItself: false });
    const own = await opened({ kubeconfig: file('kubeadm'), managementContext: 'admin', cluster: 'mgmt' });
    expect(own.target).toMatchObject({ name: 'mgmt', managesItself: true });
    expect(await own.target.authorities?.()).toBe(authorities.get('mgmt'));
  });

  it.each<[string, Record<string, string>, string | undefined]>([
    ['those of its kubeconfig', { managementKubeconfig: 'mgmt', kubeconfig: 'berlin' }, 'berlin'],
    ['those of its kubeconfig, where it manages itself', { kubeconfig: 'mgmt' }, 'mgmt'],
    ['of the management cluster, where it is that', { managementKubeconfig: 'mgmt', cluster: 'mgmt' }, 'mgmt'],
    ['unknown, where only its management cluster is', { managementKubeconfig: 'mgmt', cluster: 'berlin' }, undefined],
    ['unknown, where its kubeconfig has none', { managementKubeconfig: 'mgmt', kubeconfig: 'public' }, undefined],
  ])('has authorities: %s', async (_, options, expected) => {
    const { target } = await opened(named(options));
    expect(await target.authorities?.()).toBe(expected === undefined ? undefined : authorities.get(expected));
  });

  it('is no EKS cluster', async () => {
    await expect(opened({ kubeconfig: file('eks') })).rejects.toThrow(
      /AWS renews the certificates of its control plane/,
    );
  });

  it('has the built-in times without a fleet.yaml, and what is vouched for', async () => {
    const { policy, ofFleet } = await opened({ kubeconfig: file('berlin'), accept: ['spare-capacity'] });
    expect(policy).toMatchObject({ clusters: ['*'], begin: { days: 45 }, accepted: ['spare-capacity'] });
    expect(ofFleet).toBe(false);
  });

  it.each([
    ['the first entry of its id', 'berlin', ['etcd-backup', 'spare-capacity']],
    ['the first entry of its name, where it is found', 'munich', ['etcd-backup', 'spare-capacity']],
    ['none', 'oslo', undefined],
  ])('has of a fleet.yaml %s', async (_, cluster, accepted) => {
    const { policy, target, ofFleet } = await opened({
      kubeconfig: file('berlin'),
      cluster,
      fleet: file('fleet.yaml'),
      accept: ['spare-capacity'],
    });
    expect(policy?.accepted).toEqual(accepted);
    expect(target.id).toBe(cluster === 'berlin' ? 'berlin-prod' : cluster);
    expect(target.eksAnywhereNamespace).toBe(cluster === 'berlin' ? 'team-a' : undefined);
    expect(ofFleet).toBe(true);
  });

  it.each([
    [{ accept: ['luck,spare-capacity', 'faith'] }, 'got luck, faith'],
    [{ namespace: 'Eksa' }, '--namespace takes'],
    [{ tolerateExpired: 'yes' }, '--tolerate-expired takes'],
  ])('refuses %j', async (options, message) => {
    const refusal = opened({ kubeconfig: file('berlin'), ...options });
    await expect(refusal).rejects.toThrow(UsageError);
    await expect(refusal).rejects.toThrow(message);
  });

  it('is named again in the next command', () => {
    expect(
      repeatRollout({
        kubeconfig: 'k',
        namespace: 'eksa-system',
        fleet: 'my fleet.yaml',
        accept: ['no-surge'],
        secrets: true,
      }),
    ).toBe(" --kubeconfig k --namespace eksa-system --fleet 'my fleet.yaml' --accept no-surge --secrets");
  });

  it('takes each acceptance once', () => {
    expect(acceptances([' spare-capacity ,management-cluster-last', 'spare-capacity,'])).toEqual({
      accepted: ['spare-capacity'],
      waivers: ['management-cluster-last'],
    });
  });
});

describe('an expired certificate that is tolerated', () => {
  const digits = 'AB'.repeat(32);

  it.each([
    [undefined, undefined],
    ['authority', { pin: 'authority' }],
    [`sha256:${digits}`, { pin: 'fingerprint', sha256: digits.toLowerCase() }],
    [`SHA256:${digits.match(/../g)?.join(':')}`, { pin: 'fingerprint', sha256: digits.toLowerCase() }],
  ])('%s', (given, expected) => {
    expect(expiredServerOf(given === undefined ? {} : { tolerateExpired: given })).toEqual(expected);
  });

  it.each(['', 'any', 'sha256:', `sha256:${digits}00`, `sha1:${digits}`, `sha256:${'xy'.repeat(32)}`])(
    'is not "%s"',
    (given) => {
      expect(() => expiredServerOf(given === undefined ? {} : { tolerateExpired: given })).toThrow(UsageError);
    },
  );

  it('is said loudly, and again in the next command', () => {
    const notice = toleranceNotice('10.0.1.10:6443', 'admin', { pin: 'authority' });
    expect(notice).toMatch(/^! 10\.0\.1\.10:6443, context admin: an expired certificate is tolerated if a CA/);
    expect(repeatOptions({ tolerateExpired: 'authority' })).toBe(' --tolerate-expired authority');
    const older = { tolerateExpired: 'authority', expiredAtMost: '180d' };
    expect(repeatOptions(older)).toBe(' --tolerate-expired authority --expired-at-most 180d');
  });

  it('may have ended 90 days ago, or as long as is said', () => {
    const older = expiredServerOf({ tolerateExpired: 'authority', expiredAtMost: '180d' });
    expect(older).toEqual({ pin: 'authority', expiredAtMostMs: 180 * 86_400_000 });
    expect(toleranceNotice('a:443', 'x', { pin: 'authority' })).toContain('expired at most 90d ago');
    expect(older && toleranceNotice('a:443', 'x', older)).toContain('expired at most 180d ago');
    for (const expiredAtMost of ['0d', '367d', '-1d', 'long', ''])
      expect(() => expiredServerOf({ tolerateExpired: 'authority', expiredAtMost })).toThrow('--expired-at-most takes');
    for (const options of [{}, { tolerateExpired: `sha256:${digits}` }])
      expect(() => expiredServerOf({ ...options, expiredAtMost: '90d' })).toThrow(
        'goes with --tolerate-expired authority',
      );
  });

  it('is said again where it was met, and only there', () => {
    const server = 'https://10.0.1.10:6443';
    const recovering = {
      notBefore: Date.parse('2025-11-21T00:00:00Z'),
      notAfter: Date.parse('2026-11-21T00:00:00Z'),
      sha256: 'ab'.repeat(32),
      pin: 'authority',
    } as const;
    expect(toleratedNotice({ server, recovering })).toBe(
      `! The certificate of ${server} expired 2026-11-21 00:00 UTC and was tolerated: sha256:${'ab'.repeat(32)}\n`,
    );
    expect(toleratedNotice({ server })).toBe('');
  });
});
