import { hostname, userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { sweepCommand } from '../../../bin/commands/sweep.ts';
import { recoveryOf } from '../../../bin/commands/sweep-recovery.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { Recovery } from '../../../lambdas/recovery/recovery.ts';
import { never } from '../journal/values.ts';
import { apiError, CSRS, fakeCluster } from '../recovery/fake-cluster.ts';
import { clientCsr, NOW } from '../recovery/fixtures.ts';
import { outcomeOf, recordedIo } from './io.ts';

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
});

describe('a sweep with --recover', () => {
  const recovery: Recovery = { nodes: ['cp-1'], until: at(20 * MINUTE), bootstrapGroups: [], by: 'mia on laptop' };
  const csr = () => clientCsr({ groups: ['system:bootstrappers', 'system:authenticated'] });

  async function sweep(yes: boolean, provider: 'eks' | 'eks-anywhere' = 'eks-anywhere', cluster = fakeCluster()) {
    cluster.addCsr(csr());
    const io = recordedIo({ now: NOW });
    const target = {
      ...cluster.target({ cluster: { name: 'berlin', provider } }),
      id: 'berlin',
      server: { context: 'admin', address: '127.0.0.1:6443' },
      close() {},
    };
    const options = { output: 'json', program: 'certmarshal', repeat: '', repeatNames: '', yes, recovery } as const;
    const outcome = await outcomeOf(
      io,
      sweepCommand(async () => target, [DEFAULT_POLICY], options, never, io),
    );
    return { ...outcome, approved: cluster.approved() };
  }

  it('approves what passes, and says so before', async () => {
    const { status, stderr, stdout, approved } = await sweep(true);
    expect({ status, approved }).toEqual({ status: 0, approved: ['csr-1'] });
    expect(stderr).toContain(
      `! Client certificates of kubelets are approved until ${recovery.until} for cp-1: only where`,
    );
    expect(JSON.parse(stdout)).toMatchObject({
      complete: true,
      counts: { approved: 1 },
      rows: [
        {
          csr: 'csr-1',
          node: 'cp-1',
          reason: 'Recovered',
          message: `recovery until ${recovery.until}, by mia on laptop: cp-1 ← Machine eksa-system/berlin-cp-1`,
        },
      ],
    });
  });

  it('writes nothing without --yes, and says what it would do', async () => {
    const { status, stderr, stdout, approved } = await sweep(false);
    expect({ status, approved }).toEqual({ status: 1, approved: [] });
    expect(stderr).toMatch(/would be approved until [^]*Nothing was written\. To approve: add --yes\n$/);
    expect(JSON.parse(stdout)).toMatchObject({ counts: { wouldWrite: 1 }, rows: [{ outcome: 'observed' }] });
  });

  it('is refused for an EKS cluster, of which AWS runs the control plane', async () => {
    await expect(sweep(true, 'eks')).rejects.toThrow('This is an EKS cluster');
  });

  it('is incomplete if the requests cannot be listed', async () => {
    const cluster = fakeCluster();
    cluster.before = ({ path, query }) => {
      if (path === CSRS && query?.['fieldSelector']?.includes('client')) throw apiError('forbidden', 403);
    };
    const { status, stdout } = await sweep(true, 'eks-anywhere', cluster);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ readable: true, problems: [{ kind: 'recovery-forbidden' }] });
  });
});
