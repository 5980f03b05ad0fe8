import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
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

describe('--all-contexts', () => {
  let directory: string;
  let clusters: readonly DemoCluster[];
  let hole: Server;
  let alive: readonly Place[];
  /** Accepts connections and answers nothing. */
  let silent: Readonly<Record<string, unknown>>;
  let KUBECONFIG: string;

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

  it.each(['audit', 'run'])(
    "%s goes through a laptop's fleet, says what is dead, and ends in one page",
    async (command) => {
      const page = join(directory, `${command}.html`);
      const { status, stdout, stderr } = await runCli(
        [command, '--all-contexts', '--no-handshakes', '--report', page],
        '',
        { KUBECONFIG },
      );
      expect({ status, stderr }).toEqual({ status: 1, stderr: `The page of all: ${page}\n` });
      expect(stdout).toMatch(/^\d\d:\d\d UTC · 12 clusters, .*3 not read, \d+ read in part\n/);
      for (const name of ALIVE) expect(stdout).toMatch(new RegExp(`^  ${name} +[!✔○] `, 'm'));
      const text = stdout.replaceAll(/\n {4}(?!→)/g, ' ');
      expect(text).toMatch(/silent +○ not read .*https:\/\/127\.0\.0\.1:\d+ does not answer within 5 s$/m);
      expect(text).toMatch(/refusing +○ not read .*the connection was refused$/m);
      expect(text).toMatch(/exec +○ not read .*it runs a command .*--allow-exec/m);
      expect(stdout).toContain('→ Run certmarshal doctor --context admin@refusing\n');
      expect(stdout).toContain('    the same API server: viewer@berlin\n');
      const html = await readFile(page, 'utf8');
      for (const name of [...ALIVE, 'silent', 'refusing', 'exec']) expect(html).toContain(name);
      // A command that was not allowed did not run.
      expect(await readdir(directory)).not.toContain('ran');
    },
  );

  it('run writes to no cluster without --yes, although the policy is to, and to it with --yes', async () => {
    const [berlin] = clusters;
    if (berlin === undefined) throw new Error('there is no cluster');
    const node = { name: 'worker-1', ipAddresses: ['10.0.1.20'], dnsNames: ['worker-1'] };
    addMachine(berlin, node);
    berlin.start(node);
    const requests = () => [...berlin.server.api.csrs.all()];
    await vi.waitFor(() => expect(requests()).toHaveLength(1));
    const file = join(directory, 'berlin.yaml');
    await writeFile(
      file,
      documentOf(
        alive.filter(({ name }) => name === 'berlin'),
        [],
        'admin@berlin',
      ),
    );
    const args = ['run', '--kubeconfig', file, '--no-handshakes', '--output', 'json'];
    const dry = await runCli(args);
    expect(dry).toMatchObject({ status: 1, stderr: 'Nothing was written. To approve: add --yes\n' });
    expect(JSON.parse(dry.stdout).clusters).toMatchObject([{ id: 'berlin', requests: { approved: 0, wouldWrite: 1 } }]);
    expect(requests()[0]?.status?.conditions ?? []).toEqual([]);
    const done = await runCli([...args, '--yes']);
    expect({ ...done, clusters: JSON.parse(done.stdout).clusters }).toMatchObject({
      status: 0,
      stderr: '',
      clusters: [{ id: 'berlin', requests: { approved: 1, wouldWrite: 0 } }],
    });
  });

  it('Ctrl-C ends run cleanly, and gives up its directory', async () => {
    const oslo = clusters.find(({ name }) => name === 'oslo');
    if (oslo !== undefined) addMachine(oslo, { name: 'worker-1', ipAddresses: ['10.0.1.20'], dnsNames: ['worker-1'] });
    const file = join(directory, 'oslo.yaml');
    await writeFile(
      file,
      documentOf(
        alive.filter(({ name }) => name === 'oslo'),
        [],
        'admin@oslo',
      ),
    );
    const state = join(directory, 'state');
    const args = ['run', '--kubeconfig', file, '--no-handshakes', '--state', state, '--every', '1m', '-o', 'json'];
    const child = spawn(process.execPath, [ENTRY, ...args], { env: { ...process.env, npm_lifecycle_event: '' } });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    await once(child.stdout, 'data');
    expect(await readdir(state)).toContain('lock.json');
    child.kill('SIGINT');
    const [status] = await once(child, 'close');
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: '\nStopping: nothing is written. Ctrl-C again ends at once.\n',
    });
    expect(await readdir(state)).not.toContain('lock.json');
  });
});
