import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import type { ClusterDetails } from '../../lambdas/page/cluster-details.ts';
import { freePorts, listening } from '../support/loopback.ts';
import { runCli } from '../unit/bin/run-cli.ts';
import { fastClock } from './clock.ts';
import { addMachine, type DemoCluster, startDemoCluster } from './demo-cluster.ts';
import { kubeconfigOf } from './kubeconfig.ts';

const ENTRY = fileURLToPath(new URL('../../bin/certmarshal.ts', import.meta.url));
const ALIVE = ['berlin', 'bern', 'bonn', 'kyiv', 'lima', 'oslo', 'paris', 'riga', 'rome'];

interface Place {
  readonly name: string;
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly user: object;
}

/** JSON is YAML. */
const documentOf = (places: readonly Place[], contexts: readonly object[] = [], current?: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': current,
    clusters: places.map(({ name, cluster }) => ({ name, cluster })),
    users: places.map(({ name, user }) => ({ name, user })),
    contexts: [
      ...contexts,
      ...places.map(({ name }) => ({ name: `admin@${name}`, context: { cluster: name, user: name } })),
    ],
  });

/** Every command of a page, with the cluster that it is about. */
const commandsOf = (html: string): readonly { readonly command: string; readonly id: string }[] => {
  const { clusters } = JSON.parse(/id="data">(.*?)<\/script>/s.exec(html)?.[1] ?? '');
  return clusters.flatMap((cluster: ClusterDetails) =>
    [...(cluster.signals ?? []), ...(cluster.findings ?? [])]
      .map(({ command = '' }) => command)
      .concat(cluster.problems?.map(({ remedy }) => remedy) ?? [])
      .map((command) => ({ command, id: cluster.id })),
  );
};

describe('--all-contexts', () => {
  let directory: string;
  let clusters: readonly DemoCluster[];
  let hole: Server;
  let alive: readonly Place[];
  /** Accepts connections and answers nothing. */
  let silent: Readonly<Record<string, unknown>>;
  let KUBECONFIG: string;
  /** Nothing is kept that no one asked for. */
  const TMPDIR = '/nowhere/tmp';

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-contexts-'));
    const clock = fastClock(Date.now(), 1);
    clusters = await Promise.all(ALIVE.map((name) => startDemoCluster({ name, provider: 'eks-anywhere', clock })));
    alive = clusters.map(({ name, server }) => {
      const {
        clusters: [{ cluster }],
        users: [{ user }],
      } = parse(kubeconfigOf(server, 'certmarshal'));
      return { name, cluster, user };
    });
    hole = createServer();
    const [refusing] = await freePorts(1);
    const ca = alive[0]?.cluster['certificate-authority-data'];
    silent = { server: `https://127.0.0.1:${await listening(hole)}`, 'certificate-authority-data': ca };
    const dead = [
      { name: 'silent', cluster: silent, user: { token: 'not-a-secret' } },
      { name: 'refusing', cluster: { server: `https://127.0.0.1:${refusing}` }, user: { token: 'not-a-secret' } },
      {
        name: 'exec',
        cluster: { server: 'https://127.0.0.1:1' },
        user: { exec: { command: 'touch', args: [join(directory, 'ran')] } },
      },
    ];
    const [a, b] = [join(directory, 'a.yaml'), join(directory, 'b.yaml')];
    await writeFile(a, documentOf(alive.slice(0, 4)));
    const viewer = { name: 'viewer@berlin', context: { cluster: 'berlin', user: 'bern' } };
    await writeFile(b, documentOf([...alive.slice(4), ...dead], [viewer], 'admin@rome'));
    KUBECONFIG = `${a}:${b}`;
  });

  afterAll(async () => {
    await Promise.all(clusters.map((cluster) => cluster.stop()));
    hole.close();
    await rm(directory, { recursive: true });
  });

  it.each(['audit', 'sweep'])(
    "%s goes through a laptop's fleet, says and skips what is dead, and ends in one page",
    async (command) => {
      const page = join(directory, `${command}.html`);
      const { status, stdout, stderr } = await runCli([command, '--all-contexts', '--report', page], '', {
        KUBECONFIG,
        TMPDIR,
      });
      expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
      for (const name of ALIVE) expect(stdout).toMatch(new RegExp(`^[!✔] ${name} · EKS Anywhere · `, 'm'));
      expect(stdout).toMatch(/^✖ silent · skipped: https:\/\/127\.0\.0\.1:\d+ does not answer within 5 s$/m);
      expect(stdout).toMatch(
        /^✖ refusing · skipped: https:\/\/127\.0\.0\.1:\d+: the connection was refused\n {4}→ certmarshal doctor --context admin@refusing$/m,
      );
      expect(stdout).toMatch(
        /^✖ exec · skipped: .*b\.yaml: users\[7\]\.user\.exec: it runs a command .* pass --allow-exec/m,
      );
      expect(stdout).toContain('\n    the same API server: 1 more context, viewer@berlin\n');
      expect(stdout).toMatch(/\n\n\S+\.html: 12 clusters, /);
      // Each mark that is no tick is one of the last line.
      const marked = (mark: string) => stdout.match(new RegExp(`^${mark} `, 'gm'))?.length ?? 0;
      const warnings = marked('!');
      expect(stdout).toContain(
        `: 12 clusters, 0 critical, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, 3 not read, `,
      );
      const html = await readFile(page, 'utf8');
      // The first to need a person in front, on both.
      const data = JSON.parse(/id="data">(.*?)<\/script>/s.exec(html)?.[1] ?? '');
      expect([...stdout.matchAll(/^[!✔✖] (\S+) · /gm)].map(([, name]) => name)).toEqual(
        data.clusters.map(({ id }: { readonly id: string }) => id),
      );
      for (const { command: shown, id } of commandsOf(html))
        expect(shown).toMatch(
          new RegExp(`^(?:certmarshal|kubectl) .*--context admin@${id}\\b|^certmarshal (?:probe|runbook) `),
        );
      // A cluster is only called healthy by what looked at all of it.
      expect(html.match(/✔ certificates healthy/g) ?? []).toHaveLength(
        command === 'audit' ? ALIVE.length - warnings : 0,
      );
      for (const name of [...ALIVE, 'silent', 'refusing', 'exec']) expect(html).toContain(name);
      // A command that was not allowed did not run.
      expect(await readdir(directory)).not.toContain('ran');
    },
  );

  it('prints one document a cluster for programs', async () => {
    const page = join(directory, 'json.html');
    const args = ['audit', '--all-contexts', '-o', 'json', '--report', page];
    const { status, stdout, stderr } = await runCli(args, '', { KUBECONFIG });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^\S+json\.html: 12 clusters, .+\n$/);
    const documents = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const names = [...ALIVE, 'silent', 'refusing', 'exec'].toSorted();
    expect(new Set(documents.map(({ cluster }) => cluster))).toEqual(new Set(names));
    const skipped = documents.filter((document) => document.skipped !== undefined);
    expect(new Set(skipped.map(({ context }) => context))).toEqual(
      new Set(['admin@exec', 'admin@refusing', 'admin@silent']),
    );

    // A cluster that cannot be opened is on the page, with the reason.
    const file = join(directory, 'later.yaml');
    const [berlin] = alive.filter(({ name }) => name === 'berlin');
    await writeFile(
      file,
      documentOf([{ name: 'berlin', cluster: berlin?.cluster ?? {}, user: { token: 'not a token' } }]),
    );
    await runCli([...args, '--kubeconfig', file]);
    const shown = JSON.parse(/id="data">(.*?)<\/script>/s.exec(await readFile(page, 'utf8'))?.[1] ?? '');
    const why = expect.objectContaining({ message: expect.stringMatching(/token/) as unknown });
    expect(shown.clusters).toEqual([expect.objectContaining({ id: 'berlin', problems: [why] })]);
  });

  it('sweep writes to no cluster, although the policy is to', async () => {
    const [berlin] = clusters;
    if (berlin === undefined) throw new Error('there is no cluster');
    const node = { name: 'worker-1', ipAddresses: ['10.0.1.20'], dnsNames: ['worker-1'] };
    addMachine(berlin, node);
    berlin.start(node);
    const requests = () => [...berlin.server.api.csrs.all()];
    await vi.waitFor(() => expect(requests()).toHaveLength(1));
    const args = ['sweep', '--all-contexts', '-o', 'json', '--report', join(directory, 'observed.html')];
    const { stdout } = await runCli(args, '', { KUBECONFIG });
    const documents = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(documents.find(({ cluster }) => cluster === 'berlin')).toMatchObject({
      counts: { approved: 0, wouldWrite: 1 },
      rows: [{ verdict: 'approve', outcome: 'observed', mode: 'enforce' }],
    });
    expect(requests()[0]?.status?.conditions ?? []).toEqual([]);
    const html = await readFile(join(directory, 'observed.html'), 'utf8');
    expect(html).toContain('1 would be approved, 0 not approved');
    expect(html).toContain('"words":"◇ would approve"');
  });

  it('sweep says that a hostile request does not fail it, unless --fail-on says so', async () => {
    const [, bern] = clusters;
    if (bern === undefined) throw new Error('there is no second cluster');
    addMachine(bern, { name: 'worker-1', ipAddresses: ['10.0.1.20'], dnsNames: ['worker-1'] });
    addMachine(bern, { name: 'thief', ipAddresses: ['10.0.1.66'], dnsNames: ['thief'] });
    bern.start({ name: 'thief', ipAddresses: ['10.0.1.66'], dnsNames: ['thief', 'worker-1'] });
    await vi.waitFor(() => expect([...bern.server.api.csrs.all()]).toHaveLength(1));
    const file = join(directory, 'bern.yaml');
    await writeFile(file, documentOf(alive.filter(({ name }) => name === 'bern')));
    const args = ['sweep', '--all-contexts', '--kubeconfig', file, '--report', join(directory, 'hostile.html')];
    expect(await runCli(args)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^✖ bern .* 1 not approved \(1 provably hostile\)\n/),
      stderr: 'Exit status 0 despite a hostile request; for status 1: --fail-on hostile\n',
    });
    expect(await runCli([...args, '--fail-on', 'hostile'])).toMatchObject({ status: 1, stderr: '' });
  });

  it('Ctrl-C shows what was read by now, and names what was not read', async () => {
    const file = join(directory, 'slow.yaml');
    const user = { token: 'not-a-secret' };
    // Not one API server: each is asked by itself.
    const holes = Array.from({ length: 30 }, (_, index) => {
      const server = `${String(silent['server'])}/${index}`;
      return { name: `hole-${index}`, cluster: { ...silent, server }, user };
    });
    // Without a node: none of its addresses is dialled.
    const empty = alive.filter(({ name }) => name === 'oslo');
    await writeFile(file, documentOf([...empty, ...holes]));
    const page = join(directory, 'interrupted.html');
    const child = spawn(process.execPath, [ENTRY, 'audit', '--all-contexts', '--kubeconfig', file, '--report', page], {
      env: { ...process.env, npm_lifecycle_event: '', TMPDIR },
    });
    let stderr = '';
    let stdout = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    // Six at once: the first five are asked beside oslo, the sixth when oslo was read.
    let asked = 0;
    const count = () => {
      asked += 1;
      if (asked === 6) child.kill('SIGINT');
    };
    hole.on('connection', count);
    const [status] = await once(child, 'close');
    hole.off('connection', count);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.any(String) });
    expect(stdout).toMatch(/^! oslo · EKS Anywhere · /);
    expect(stdout).toMatch(/interrupted\.html: \d+ clusters?, /);
    expect(stderr).toContain('Stopping: what was read so far is shown. Ctrl-C again ends at once.');
    expect(stderr).toMatch(/Interrupted: 30 clusters not read: hole-\d+, /);
    const data = JSON.parse(/id="data">(.*?)<\/script>/s.exec(await readFile(page, 'utf8'))?.[1] ?? '');
    const told = data.clusters.flatMap(({ problems = [] }) => problems.map(({ message }) => message));
    expect(told).toEqual(Array.from({ length: 30 }, () => 'you stopped certmarshal before it was read'));
  });
});
