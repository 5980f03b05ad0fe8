import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listening } from '../../support/loopback.ts';
import { kubeconfigOf } from './kubeconfigs.ts';
import { refusal, runCli, runShell, startCli } from './run-cli.ts';

describe('the command line', () => {
  it.each([
    [['frobnicate']],
    [['run', '--provider', 'gke']],
    [['run', '--output', 'xml']],
    [['explain']],
    [['explain', 'csr-1', '--node', 'worker-3']],
  ])('ends with status 2 for %j, says why on stderr and nothing on stdout', async (args) => {
    expect(await runCli(args)).toEqual(refusal(/^error: .+\nAdd --help for options and examples\.\n$/));
  });

  it('says that options follow the command', async () => {
    const { status, stderr } = await runCli(['--kubeconfig', 'x', 'audit']);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(
        /^error: unknown option '--kubeconfig'\nAdd --help .+\nOptions follow the command: certmarshal audit --kubeconfig FILE\n$/,
      ),
    });
  });

  it.each([
    [['cost', '--clusters', '10'], 'certmarshal cost is gone: docs/cost.md has what certmarshal costs a month.'],
    [['assess'], 'certmarshal assess is gone: certmarshal audit --output json prints the findings of a cluster.'],
    [
      ['help', 'journal', 'verify'],
      'certmarshal journal is gone: read the journal with jq or Athena: docs/journal.md.',
    ],
    [['recovery', 'open'], 'certmarshal recovery is gone: use certmarshal run --yes --recover NODE '],
    [['sweep', '--yes'], 'certmarshal sweep is gone: certmarshal run takes its options'],
    [
      ['report', '--bucket', 'b'],
      'certmarshal report is gone: the page of a hub is report.html in its state bucket: aws ',
    ],
    [['rollout', 'start', '--yes', '--watch'], '--watch is gone: certmarshal rollout status '],
    [['rollout', 'status', '--watch'], '--watch is gone: certmarshal rollout status '],
    [['rollout', 'drive', '--yes'], 'certmarshal rollout drive is gone: a hub continues '],
    [['rollout', 'resume'], 'certmarshal rollout resume is gone: kubectl removes '],
    [['audit', '--kubeconfig', 'k', '--snapshots', 'd'], '--snapshots is gone: certmarshal audit --state DIRECTORY '],
    [['audit', '--output', 'csv'], '--output csv is gone: certmarshal audit --output json | jq '],
    [['audit', '-o', 'openmetrics'], '--output openmetrics is gone: the hub publishes metrics to CloudWatch '],
    [['audit', '--output=openmetrics'], '--output openmetrics is gone: the hub publishes metrics to CloudWatch '],
  ])('says what replaces %j', async (args, message) => {
    const { status, stdout, stderr } = await runCli(args);
    expect({ status, stdout, lines: stderr.split('\n').length }).toEqual({ status: 2, stdout: '', lines: 2 });
    expect(stderr.startsWith(message)).toBe(true);
  });

  it.each(
    Object.entries({
      'run, audit, decide, explain, rbac, probe, credentials create': '',
      'rollout plan, rollout start, rollout status, rollout abort': ' --kubeconfig berlin.yaml',
      'approve, deny': " csr-q77zt --kubeconfig berlin.yaml --because '",
    }).flatMap(([commands, example]) => commands.split(', ').map((command) => [command, example] as const)),
  )('documents examples and exit status of %s', async (command, example) => {
    const { status, stdout } = await runCli([...command.split(' '), '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain(`Examples:\n  certmarshal ${command}${example}`);
    expect(stdout).toMatch(/Exit status:\n {2}0 {2}(?:done|everything was read)[,:;\n]/);
  });

  it('takes --tolerate-expired with every command that connects by a kubeconfig', async () => {
    const helpOf = async (...command: readonly string[]) => (await runCli([...command, '--help'])).stdout;
    const namesIn = (help: string) =>
      [...help.matchAll(/^ {2}([a-z]+)(?: \[options\])?(?: [<[]\S+)* {2,}[A-Z]/gm)].flatMap(([, name]) => name ?? []);
    const names = namesIn(await helpOf()).filter((name) => name !== 'help');
    const helps = await Promise.all(
      names.map(async (name) => {
        const help = await helpOf(name);
        const below = namesIn(help).filter((verb) => verb !== 'help');
        const commands = below.length === 0 ? [[name]] : below.map((verb) => [name, verb]);
        return Promise.all(commands.map(async (words) => ({ command: words.join(' '), help: await helpOf(...words) })));
      }),
    );
    const connecting = helps
      .flat()
      .filter(({ command, help }) => command !== 'runbook' && help.includes('--kubeconfig <file>'));
    expect(connecting.map(({ command }) => command)).toEqual(
      expect.arrayContaining(['run', 'credentials create', 'rollout abort', 'doctor']),
    );
    for (const { command, help } of connecting)
      expect({ command, tolerates: help.includes('--tolerate-expired <pin>') }).toEqual({ command, tolerates: true });
  });

  it.each([['nope'], ['help', 'nope']])('names the command that is unknown: %j %j', async (...args) => {
    expect(await runCli(args)).toEqual(refusal("error: unknown command 'nope'"));
  });

  it('has no line over 100 columns in a help but commands to be pasted', async () => {
    for (const command of ['', 'audit', 'approve', 'deny', 'rbac', 'run', 'rollout start']) {
      const { stdout } = await runCli([...command.split(' '), '--help'].filter((word) => word !== ''));
      const long = stdout.split('\n').filter((line) => line.length > 100 && !/^ {2}(?:certmarshal|aws) /.test(line));
      expect({ command, long }).toEqual({ command, long: [] });
    }
  });

  it('shows examples as they are typed where they are read', async () => {
    const { stdout } = await runCli(['run', '--help'], '', { npm_lifecycle_event: 'certmarshal' });
    expect(stdout).toMatch(/^Usage: npm run -s certmarshal -- run/);
    expect(stdout).toContain('\n  npm run -s certmarshal -- run --kubeconfig ~/.kube/config\n');
  });

  it('ends quietly when its reader has seen enough', async () => {
    const { stdout, stderr } = await runShell('{ certmarshal rbac; echo "status $?" >&2; } | true');
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'status 0\n' });
  });

  it.skipIf(!existsSync('/dev/full'))('says that its output cannot be written', async () => {
    const { status, stderr } = await runShell('certmarshal rbac > /dev/full');
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'Standard output cannot be written: no space left on device.\n',
    });
  });

  it.each([
    [
      ['rollout', 'plan', '--accept', 'spare-capacity,luck'],
      '--accept takes single-replica, no-surge, spare-capacity, etcd-backup, one-of-its-management-cluster, management-cluster-last; got luck\n',
    ],
    [
      ['run', '--tolerate-expired', 'sha256:ab', '--kubeconfig', 'x'],
      '--tolerate-expired takes authority, or sha256: and the 64 hexadecimal digits of the fingerprint; got sha256:ab\n',
    ],
    [
      ['run', '--until', '2026-11-22T05:30:00Z'],
      '--until and --bootstrap-group go with --recover: name the Nodes, or leave them out.\n',
    ],
    [
      ['run', '--all-contexts', '--recover', 'cp-1', '--until', new Date(Date.now() + 1_200_000).toISOString()],
      '--recover is about one cluster: leave out --all-contexts or --fleet.\n',
    ],
    [['rbac', '--policy', tmpdir()], `${tmpdir()} is a directory; name a file in it.\n`],
    [['rbac', '--policy', `${import.meta.filename}/x`], `${import.meta.filename}/x cannot be read: not a directory.\n`],
    [
      ['explain', 'csr-1', '--service-cidr', '10.96.0.1/12', '--service-cidr', '10.96.0.0'],
      `--service-cidr "10.96.0.1/12" names a host, not a network; clear the bits after the first 12, or end it in /32
--service-cidr "10.96.0.0" is not a CIDR; write a network and the length of its prefix, for example 10.0.0.0/16 or fd00:12::/48
`,
    ],
  ])('says in words what is wrong with %j', async (args, expected) => {
    const { status, stdout, stderr } = await runCli(args);
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: expected });
  });

  it.each([
    [
      ['explain', 'csr-1'],
      /^\nStopping: nothing is written\. .+\nInterrupted before it was answered: get certificatesigningrequests\/csr-1 on https:\S+\.\n$/,
    ],
    [['run'], /^\nStopping: nothing is written\. .+\nInterrupted: what was not read by then is not judged\.\n$/],
    [
      ['run', '--yes'],
      /^\nStopping: running writes are finished, .+\nInterrupted: what was not read by then is not judged\.\n$/,
    ],
    [
      ['audit'],
      /^\nStopping: what was read so far is shown\. .+\nInterrupted: what was not read by then is listed as not read\.\n$/,
    ],
  ])('Ctrl-C ends %j while the API server is silent, with one sentence and status 1', async (args, reason) => {
    const directory = await mkdtemp(join(tmpdir(), 'certmarshal-cli-'));
    const silent = createServer();
    try {
      const file = join(directory, 'config');
      await writeFile(file, kubeconfigOf({ server: `https://127.0.0.1:${await listening(silent)}` }));
      const [command = '', ...rest] = args;
      const running = startCli([command, ...rest, '--kubeconfig', file]);
      silent.once('connection', () => running.child.kill('SIGINT'));
      expect(await running.result).toMatchObject({ status: 1, stderr: expect.stringMatching(reason) });
    } finally {
      silent.close();
      await rm(directory, { recursive: true });
    }
  });

  it('says which kubeconfig it looked for', async () => {
    const { status, stderr } = await runCli(['run'], '', { KUBECONFIG: '/nowhere/config' });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr:
        'There is no file /nowhere/config, which KUBECONFIG names; name a kubeconfig with --kubeconfig, or unset KUBECONFIG.\n',
    });
  });

  it('tells a cluster that does not answer, with status 1', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'certmarshal-cli-'));
    try {
      const file = join(directory, 'config');
      await writeFile(file, kubeconfigOf({ cluster: 'nowhere' }));
      const { status, stdout } = await runCli(['run', '--kubeconfig', file, '--output', 'json']);
      expect(status).toBe(1);
      expect(JSON.parse(stdout).clusters).toMatchObject([
        { id: 'nowhere', complete: false, findings: [{ kind: 'unreachable' }] },
      ]);
      expect(stdout).not.toContain('not-a-secret');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
