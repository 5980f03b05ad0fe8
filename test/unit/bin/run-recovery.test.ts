import { mkdtempSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recoveryOf, runCommand } from '../../../bin/commands/run.ts';
import { createDirectoryState } from '../../../bin/directory-state.ts';
import { contextTarget } from '../../../bin/minute/contexts.ts';
import { createHome } from '../../../bin/minute/home.ts';
import { DEFAULT_FLEET } from '../../../lambdas/config/fleet.ts';
import { never } from '../journal/values.ts';
import { fakeCluster } from '../recovery/fake-cluster.ts';
import { clientCsr, NOW } from '../recovery/fixtures.ts';
import { recordedIo } from './io.ts';
import { kubeconfigOf } from './kubeconfigs.ts';

const MINUTE = 60_000;
const at = (ms: number) => new Date(NOW + ms).toISOString();

describe('--recover', () => {
  it('is for nodes, until a time within the hour, with the groups of kubeadm, by the user', () => {
    const by = `${userInfo().username} on ${hostname()}`;
    const until = at(60 * MINUTE);
    expect(recoveryOf({ recover: ['cp-1', 'cp-2', 'cp-1'], until }, NOW)).toEqual({
      nodes: ['cp-1', 'cp-2'],
      until,
      bootstrapGroups: ['system:bootstrappers:kubeadm:default-node-token'],
      by,
    });
    const bootstrapGroup = ['system:bootstrappers:x'];
    expect(recoveryOf({ recover: ['cp-1'], until, bootstrapGroup }, NOW)?.bootstrapGroups).toEqual(bootstrapGroup);
    expect(recoveryOf({}, NOW)).toBeUndefined();
  });

  const EXAMPLE = `--until takes a time at most an hour from now, for example ${at(30 * MINUTE)}; got `;
  it.each([
    ['no end', { recover: ['cp-1'] }, `${EXAMPLE}none`],
    ['an end that is over', { recover: ['cp-1'], until: at(0) }, EXAMPLE],
    ['more than an hour', { recover: ['cp-1'], until: at(60 * MINUTE + 1) }, EXAMPLE],
    ['a time without a zone', { recover: ['cp-1'], until: '2026-03-02T12:30:00' }, EXAMPLE],
    [
      'ten nodes',
      { recover: 'a b c d e f g h i j'.split(' '), until: at(1) },
      '--recover takes at most 9 names of Nodes; got 10',
    ],
    ['a name that is none', { recover: ['A_b'], until: at(1) }, '--recover "A_b" is not a name that a Node can have'],
    ['any node', { recover: ['*'], until: at(1) }, '--recover "*" is not a name'],
    [
      'groups of an administrator',
      { recover: ['cp-1'], until: at(1), bootstrapGroup: ['system:masters'] },
      '--bootstrap-group takes a group that a bootstrap token can have',
    ],
    ['an end alone', { until: at(1) }, '--until and --bootstrap-group go with --recover'],
    ['groups alone', { bootstrapGroup: ['system:bootstrappers:x'] }, '--until and --bootstrap-group go with --recover'],
  ])('refuses %s', (_, options, message) => {
    expect(() => recoveryOf(options, NOW)).toThrow(message);
  });

  it('names everything that is wrong at once', () => {
    expect(() => recoveryOf({ recover: ['A_b'] }, NOW)).toThrow(/--recover "A_b"[^]*\n--until takes/);
  });

  it.each([true, false])('approves what passes in a minute that may write: %s', async (writes) => {
    const cluster = fakeCluster();
    cluster.addCsr(clientCsr());
    const recovery = recoveryOf({ recover: ['cp-1'], until: at(20 * MINUTE) }, NOW) ?? { nodes: [], until: '' };
    const context = { context: 'c', id: 'berlin', name: 'berlin', server: undefined, also: [] };
    const home = createHome({
      fleet: DEFAULT_FLEET,
      clusters: {
        targets: [contextTarget(context, {}, DEFAULT_FLEET)],
        openContext: async () => ({ ...cluster.target(), close() {} }),
      },
      state: createDirectoryState(mkdtempSync(join(tmpdir(), 'certmarshal-recover-')), NOW),
      writes,
      recovery: [{ cluster: 'berlin', ...recovery }],
      clock: () => NOW,
      sleep: async () => {},
      onBug: () => {},
    });
    await home.tick(never);
    expect(cluster.approved()).toEqual(writes ? ['csr-1'] : []);
  });

  it('is refused for an EKS cluster, of which AWS runs the control plane', async () => {
    const kubeconfig = join(mkdtempSync(join(tmpdir(), 'certmarshal-recover-')), 'config');
    writeFileSync(kubeconfig, kubeconfigOf());
    const options = {
      kubeconfig,
      provider: 'eks',
      recover: ['cp-1'],
      until: at(1),
      output: 'json',
      program: 'x',
    } as const;
    const io = recordedIo({ now: NOW });
    await expect(runCommand(options, never, io)).rejects.toThrow('This is an EKS cluster');
    expect(io.stderr.text()).toContain(
      `! Client certificates of kubelets would be approved until ${at(1)} for cp-1: only`,
    );
  });
});
