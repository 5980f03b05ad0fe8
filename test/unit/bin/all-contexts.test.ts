import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ContextWork, clustersOf, eachCluster, printContexts } from '../../../bin/all-contexts.ts';
import { UsageError } from '../../../bin/exit-codes.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { recordedIo } from './io.ts';
import { kubeconfigOf } from './kubeconfigs.ts';
import { refusal, runCli } from './run-cli.ts';

describe('the clusters of a kubeconfig', () => {
  const arn = (region: string, name: string) => `arn:aws:eks:${region}:111122223333:cluster/${name}`;

  it('are each there once, whatever contexts lead to them', () => {
    expect(
      clustersOf([
        { context: 'admin', cluster: 'berlin', server: 'https://berlin.example:443' },
        { context: 'viewer', cluster: 'berlin', server: 'https://berlin.example' },
        { context: 'other', cluster: 'the-same', server: 'https://BERLIN.example/' },
        { context: 'proxied', cluster: 'c-1', server: 'https://rancher.example/k8s/clusters/c-1' },
        { context: 'proxied-2', cluster: 'c-2', server: 'https://rancher.example/k8s/clusters/c-2' },
      ]),
    ).toEqual([
      { context: 'admin', id: 'berlin', server: 'https://berlin.example:443', also: ['viewer'] },
      // Behind one URL may be a proxy to many.
      { context: 'other', id: 'the-same', server: 'https://BERLIN.example/', also: [] },
      { context: 'proxied', id: 'c-1', server: 'https://rancher.example/k8s/clusters/c-1', also: [] },
      { context: 'proxied-2', id: 'c-2', server: 'https://rancher.example/k8s/clusters/c-2', also: [] },
    ]);
  });

  it('are told apart where EKS calls several alike', () => {
    const listed = [arn('eu-central-1', 'prod'), arn('us-east-1', 'prod'), arn('us-east-1', 'dev'), 'prod'].map(
      (cluster, index) => ({ context: `c${index}`, cluster, server: `https://${index}.example` }),
    );
    expect(clustersOf(listed).map(({ id }) => id)).toEqual([
      '111122223333/eu-central-1/prod',
      '111122223333/us-east-1/prod',
      'dev',
      'prod',
    ]);
  });

  it('are told apart where an entry is called like the long name of another', () => {
    const eks = (region: string) => ({
      context: region,
      cluster: arn(region, 'dublin'),
      server: `https://${'0'.repeat(32)}.gr7.${region}.eks.amazonaws.com`,
    });
    const like = { context: 'c', cluster: '111122223333/eu-west-1/dublin', server: 'https://10.0.0.1:6443' };
    const ids = clustersOf([eks('eu-west-1'), eks('eu-central-1'), like]).map(({ id }) => id);
    expect(ids).toEqual([
      '111122223333/eu-west-1/dublin',
      '111122223333/eu-central-1/dublin',
      '111122223333/eu-west-1/dublin (context c)',
    ]);
  });

  it('are there too where a context leads nowhere', () => {
    expect(
      clustersOf([
        { context: 'x', cluster: undefined, server: undefined },
        { context: 'typo', cluster: 'x', server: 'htps://x' },
        { context: 'typo-2', cluster: 'y', server: 'htps://x' },
      ]).map(({ id, also }) => [id, also]),
    ).toEqual([
      ['context x', []],
      ['x', []],
      ['y', []],
    ]);
  });
});

describe('the lines of several clusters', () => {
  it('are in the order of the page, after those of clusters that were not opened', () => {
    const io = recordedIo();
    const read = ['berlin', 'madrid', 'gone', 'oslo'].map((id) => ({
      cluster: { context: id, id, server: undefined, also: id === 'oslo' ? ['viewer'] : [] },
      lines: `! ${id}`,
    }));
    printContexts(read, ['oslo', 'madrid', 'berlin'], io);
    expect(io.stdout.text()).toBe(
      '! gone\n! oslo\n    the same API server: 1 more context, viewer\n! madrid\n! berlin\n',
    );
  });

  it('are finished and printed before an unexpected error ends the program', async () => {
    const io = recordedIo();
    const clusters = ['berlin', 'oslo'].map((id) => ({ context: id, id, server: undefined, also: [] }));
    const read = async ({ id }: { readonly id: string }) => {
      if (id === 'oslo') throw new TypeError('a bug');
      await setImmediate();
      return { status: 1, lines: '✖ berlin expired', document: {} };
    };
    const work = { read, skip: () => Promise.reject(new Error('not skipped')) };
    await expect(eachCluster(clusters, work, 'table', new AbortController().signal, io)).rejects.toThrow('a bug');
    expect(io.stdout.text()).toBe('✖ berlin expired\n');
  });

  it('are on the page also where a cluster cannot be opened, and where an interruption cut it off', async () => {
    const io = recordedIo();
    // Six at once; two of these end before the interruption, and the next two begin.
    const ids = ['usage', 'key', 'fine', 'cut', 'thrown', 'done', 'fine-1', 'fine-2', 'late-1', 'late-2'];
    const clusters = ids.map((id) => ({ context: id, id, server: undefined, also: [] }));
    const stop = new AbortController();
    const result = { status: 0, lines: '', document: {} };
    const skipped: Record<string, string> = {};
    const work: ContextWork = {
      async read({ id }) {
        if (id === 'usage') throw new UsageError('no such file');
        if (id === 'key') throw new KubernetesError({ kind: 'invalid', object: 'key', problem: 'is bad', remedy: 'r' });
        await setImmediate();
        stop.abort();
        if (id === 'thrown') throw new KubernetesError({ kind: 'aborted', object: 'x', problem: 'y', remedy: 'z' });
        return id === 'cut' ? undefined : { ...result, status: id === 'done' ? 1 : 0 };
      },
      async skip({ id }, problem) {
        skipped[id] = problem;
        return { ...result, status: 1 };
      },
    };
    const { status, read, isNothingRead } = await eachCluster(clusters, work, 'table', stop.signal, io);
    const stopped = 'you stopped certmarshal before it was read';
    expect(skipped).toEqual({
      usage: 'no such file',
      key: 'key: is bad. r',
      cut: stopped,
      thrown: stopped,
      'late-1': stopped,
      'late-2': stopped,
    });
    expect(read.map((one) => one.cluster.id).toSorted()).toEqual(['done', 'fine', 'fine-1', 'fine-2', 'key', 'usage']);
    const said = 'Interrupted: 4 clusters not read: cut, thrown, late-1, late-2.\n';
    expect([status, isNothingRead, io.stderr.text()]).toEqual([1, false, said]);

    const none = await eachCluster(clusters, work, 'table', AbortSignal.abort(), recordedIo());
    expect(none).toMatchObject({ status: 1, read: [], isNothingRead: true });
  });
});

describe('--all-contexts', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-all-contexts-'));
    await writeFile(join(directory, 'k'), kubeconfigOf());
    await writeFile(join(directory, 'notes.html'), '<p>mine</p>');
  });
  afterAll(() => rm(directory, { recursive: true }));

  it.each<[string, readonly string[], string]>([
    ['audit', ['--context', 'c'], '--context names one cluster, --all-contexts takes all: leave out one of them.'],
    ['sweep', ['--cluster', 'berlin'], '--cluster names one cluster, --all-contexts takes all: leave out one of them.'],
    ['audit', ['--provider', 'eks'], '--provider names one cluster, --all-contexts takes all: leave out one of them.'],
    ['sweep', ['--every', '30s'], '--every sweeps one cluster, --all-contexts takes all: leave out one of them.'],
    [
      'sweep',
      ['--yes'],
      '--all-contexts only reads: leave out --yes. To approve, sweep one cluster: --context NAME --yes',
    ],
    ['audit', ['--report', 'fleet.pdf'], '--report takes a file that ends in .html; got fleet.pdf.'],
    [
      'sweep',
      ['--report', 'DIR/notes.html'],
      'notes.html exists and is not a report of certmarshal: it is not overwritten.',
    ],
    [
      'audit',
      ['--report', '/nowhere/fleet.html'],
      '--report /nowhere/fleet.html: no file can be written in /nowhere: no such file or directory. Name a file in another directory.',
    ],
    ['audit', ['--kubeconfig', '/nowhere/k'], 'There is no file /nowhere/k, which --kubeconfig names.'],
  ])('%s refuses %j before anything is read', async (command, args, reason) => {
    const given = args.map((arg) => arg.replace('DIR', directory));
    const env = { KUBECONFIG: join(directory, 'k') };
    expect(await runCli([command, '--all-contexts', ...given], '', env)).toEqual(refusal(reason));
  });

  it.each(['audit', 'sweep'])('%s of one cluster refuses --report', async (command) => {
    const { status, stdout, stderr } = await runCli([command, '--report', 'fleet.html'], '', {
      KUBECONFIG: join(directory, 'k'),
    });
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: '',
      stderr: '--report needs --all-contexts: add it, or leave out --report.\n',
    });
  });
});
