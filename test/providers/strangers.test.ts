import { describe, expect, it } from 'vitest';
import { audit } from '../../lambdas/audit/audit.ts';
import type { AuditSource } from '../../lambdas/audit/audit-source.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import { eksAnywhere } from '../../lambdas/audit/sources/eks-anywhere.ts';
import { machines } from '../../lambdas/audit/sources/machines.ts';
import { tlsSource } from '../../lambdas/audit/sources/tls.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { missingRight } from '../../lambdas/kubernetes/missing-right.ts';
import { observeRollout } from '../../lambdas/rollout/observe.ts';
import { planRollout } from '../../lambdas/rollout/plan.ts';
import { messageOf } from '../../lambdas/words/findings.ts';
import { contextOf } from '../unit/audit/sources/fake-cluster.ts';
import { born, bornEtcd, history, NAME, NAMESPACE, NOW, policy } from '../unit/rollout/fixtures.ts';
import { healthyWorld, type World, withEtcd } from '../unit/rollout/world.ts';
import { verdictOn } from './asked.ts';
import { servingNames } from './objects.ts';
import { PROVIDERS, type Provider } from './table.ts';

const { signal } = new AbortController();
const VSPHERE = PROVIDERS['vSphere, 0.26'];
const OPT_IN = { metadata: { annotations: { 'certmarshal.dev/rollout-mode': 'auto' } } };

const planned = async ({ target }: World) => {
  const observed = await observeRollout(target, signal);
  return { observed, step: planRollout(observed, policy(), history(), NOW) };
};

/** What does not pass, with what a person does about it. */
const failing = ({ step }: Awaited<ReturnType<typeof planned>>) =>
  step.checks.flatMap((check) => (check.passed ? [] : [{ id: check.id, object: check.object, remedy: check.remedy }]));

async function audited({ management }: World, ...sources: readonly AuditSource[]) {
  // Nothing listens there.
  const workload = { ...management.client, server: 'https://127.0.0.1:1' };
  const { target } = contextOf(workload);
  const { snapshot } = await audit(
    { ...target, id: NAME, cluster: { name: NAME, provider: 'eks-anywhere' }, management: management.client },
    { previous: undefined, thresholds: DEFAULT_THRESHOLDS, clock: () => NOW, signal, sources },
  );
  return snapshot.findings;
}

describe('a provider that nobody knows', () => {
  const stranger: Provider = {
    ...VSPHERE,
    datacenter: { ...VSPHERE.datacenter, value: 'ProxmoxDatacenterConfig' },
    infrastructure: { ...VSPHERE.infrastructure, value: { kinds: 'Proxmox', version: 'v1alpha7' } },
  };

  it('is believed for what its Machines say, as any other', async () => {
    expect(await verdictOn(healthyWorld('v1beta2', stranger), servingNames(stranger, born(1))!)).toMatchObject({
      reason: 'Proven',
    });
    expect((await planned(healthyWorld('v1beta2', stranger))).step).toMatchObject({ kind: 'act' });
  });

  it('is not rolled where the template of its machines may not be read, and the command that grants it names its kind', async () => {
    const world = healthyWorld('v1beta2', stranger);
    world.management.before = ({ path, right }) => {
      if (!path.includes('machinetemplates')) return;
      const details = { object: 'get the template', problem: '403', status: 403, remedy: missingRight(right) };
      throw new KubernetesError({ kind: 'forbidden', ...details });
    };
    const { observed, step } = await planned(world);
    expect(step).toMatchObject({ kind: 'hold', state: 'refused' });
    expect(observed.unread).toMatchObject([
      {
        kind: 'forbidden',
        remedy: expect.stringContaining('--resource=proxmoxmachinetemplates.infrastructure.cluster.x-k8s.io'),
      },
    ]);
  });
});

describe('an EKS Anywhere of the future', () => {
  /** Its Cluster forbids rollouts, in a version that nobody here reads. */
  const future = (): World => {
    const world = healthyWorld('v1beta2', VSPHERE, { 'anywhere.eks.amazonaws.com': ['v1beta1'] });
    world.management.change(world.paths.controlPlane, OPT_IN);
    return world;
  };
  const OBJECT = 'list clusters.anywhere.eks.amazonaws.com on https://management.test:6443';
  const REMEDY = 'Upgrade certmarshal: this one reads v1alpha1 and no newer version.';

  it('is no cluster without EKS Anywhere: nothing is rolled, whatever its KubeadmControlPlane says', async () => {
    const seen = await planned(future());
    expect(seen.step).toMatchObject({ kind: 'hold', state: 'refused' });
    expect(failing(seen)).toEqual([{ id: 'everything-read', object: OBJECT, remedy: REMEDY }]);
    expect(seen.observed.unread[0]).toMatchObject({
      kind: 'invalid',
      object: OBJECT,
      message: 'anywhere.eks.amazonaws.com is served in v1beta1, and not in v1alpha1',
    });
  });

  it('is a finding of its audit', async () => {
    expect(await audited(future(), machines, eksAnywhere)).toContainEqual(
      expect.objectContaining({
        code: 'SourceUnread',
        object: 'source eks-anywhere',
        facts: expect.objectContaining({
          message: expect.stringMatching(/is served in v1beta1, and not in v1alpha1/),
          remedy: expect.stringMatching(/upgrade certmarshal/i),
        }),
      }),
    );
  });

  it('is read as any other where it still has the version', async () => {
    const world = healthyWorld('v1beta2', VSPHERE);
    world.management.change(world.paths.eksAnywhere, { spec: { eksaVersion: 'v1.42.0' } });
    expect((await planned(world)).step).toMatchObject({ kind: 'act' });
    expect(await audited(world, machines, eksAnywhere)).toContainEqual(
      expect.objectContaining({
        code: 'SourcePartial',
        facts: expect.objectContaining({ message: expect.stringContaining(`machine ${born(1).name}`) }),
      }),
    );
  });

  it('is absent where its group is', async () => {
    const world = healthyWorld('v1beta2', VSPHERE, { 'anywhere.eks.amazonaws.com': [] });
    world.management.change(world.paths.controlPlane, OPT_IN);
    expect((await planned(world)).observed.unread).toEqual([]);
  });
});

describe('a Machine without an address of a type that is known', () => {
  const strange = (etcd: 'stacked' | 'external' = 'stacked'): World => {
    const world = healthyWorld('v1beta2', VSPHERE);
    if (etcd === 'external') withEtcd(world);
    for (const { name, address } of [1, 2, 3].flatMap((number) =>
      etcd === 'external' ? [born(number), bornEtcd(number)] : [born(number)],
    ))
      world.management.change(world.paths.machine(name), {
        status: { addresses: [{ type: 'IPv4', address }, { type: 'toString', address }, { address }, null, 7] },
      });
    return world;
  };
  const MACHINE = `Machine ${NAMESPACE}/${born(1).name}`;

  it('proves no address', async () => {
    expect(await verdictOn(strange(), servingNames(VSPHERE, born(1))!)).toMatchObject({
      verdict: 'leave',
      reason: 'EvidenceMissing',
      message: `${MACHINE} has no addresses yet, or none of a known type`,
    });
  });

  it('is not rolled: nobody can look at it', async () => {
    const seen = await planned(strange());
    expect(seen.step).toMatchObject({ kind: 'hold', state: 'refused' });
    expect(failing(seen)).toContainEqual({
      id: 'handshakes',
      object: MACHINE,
      remedy: expect.stringContaining('see what its infrastructure provider says'),
    });
  });

  it.each([
    ['stacked', born(1).name],
    ['external', `Machine ${NAMESPACE}/${bornEtcd(1).name}`],
  ] as const)('is a finding of its audit, %s etcd', async (etcd, server) => {
    const findings = await audited(strange(etcd), machines, tlsSource);
    const finding = findings.find(({ object }) => object === 'tls etcd-server');
    const message = finding && messageOf(finding, 0);
    expect(message).toContain(`${server}:2379`);
    expect(message).toContain('check status.addresses of the Node, kubectl get nodes -o wide, and of its Machine');
  });
});
