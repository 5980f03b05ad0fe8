import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { probeCommand } from '../../bin/commands/probe/probe.ts';
import { decideApproval } from '../../lambdas/approval/decide-approval.ts';
import { indexEvidence } from '../../lambdas/approval/evidence/evidence.ts';
import { ownerFromMachine } from '../../lambdas/approval/evidence/machine.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { parseFleet } from '../../lambdas/config/load-fleet.ts';
import { VerdictFacts } from '../../lambdas/contracts/verdict-facts.ts';
import { readSigningRequest } from '../../lambdas/resources/signing-request.ts';
import { totalOf } from '../bench/cost/cost.ts';
import { csrOf, machineOf, requestOf } from '../bench/fixtures.ts';
import { recordedIo } from './bin/io.ts';
import { threeClusters } from './page/fleets.ts';
import { createAuthority, createServing, listenTls } from './tls/tls-servers.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const page = (name: string) => readFileSync(`${ROOT}${name}`, 'utf8');

/** Names of all fields of a value, however deep; maps by reason have no names of their own. */
function fieldsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(fieldsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...(key === 'ignored' ? [] : fieldsOf(inner))]);
}

describe('docs/output.md', () => {
  const documented = page('docs/output.md');
  const mentions = (field: string) => new RegExp(`[\`.\\]]${field}(?:\\[\\])?\``).test(documented);

  const verdictOf = (steals?: number) => {
    const read = readSigningRequest(
      csrOf(1, requestOf(1, steals === undefined ? {} : { steals }), '2026-01-01T00:00:00Z'),
    );
    if (!read.ok) throw new Error(read.problem);
    const owners = [1, 2].flatMap((index) => ownerFromMachine(machineOf(index), 'bench') ?? []);
    const evidence = indexEvidence([{ source: 'machine', ok: true, lookedAt: 2, owners }]);
    const request = {
      cluster: { name: 'bench', provider: 'eks-anywhere' as const },
      csr: read.csr,
      siblings: { pending: 1 },
    };
    const verdict = decideApproval(request, evidence, [DEFAULT_POLICY], Date.parse('2026-01-01T00:01:00Z'));
    return { csr: read.csr, evidence, verdict };
  };

  it('names every field of a verdict', () => {
    const fields = new Set([...fieldsOf(verdictOf().verdict), ...fieldsOf(verdictOf(2).verdict)]);
    expect(fields).toContain('ownedBy');
    expect([...fields].filter((field) => !mentions(field))).toEqual([]);
  });

  it('names every cause of a verdict, and its values', () => {
    const rows = documented.split('\n').filter((line) => line.startsWith('| `'));
    for (const { shape } of VerdictFacts.def.options) {
      const { cause, ...values } = shape;
      for (const one of 'values' in cause.def ? cause.def.values : Object.values(cause.def.entries)) {
        const row = rows.find((line) => line.split('|')[1]?.includes(`\`${one}\``)) ?? '';
        expect([
          one,
          Object.keys(values).filter((value) => !row.includes(`\`${value}\``) && !row.includes(`\`${value}[]\``)),
        ]).toEqual([one, []]);
        expect(row).not.toBe('');
      }
    }
  });

  it('names every field of a minute', () => {
    const { clusters, ...fleet } = { ...threeClusters(), rebuiltAt: 'now', undiscoveredSince: 'now' };
    const inner = clusters.flatMap((cluster) => [cluster, ...cluster.signals, ...cluster.verdicts]);
    const fields = new Set([fleet, ...inner].flatMap((part) => Object.keys(part)));
    expect(fields).toContain('story');
    expect([...fields].filter((field) => !mentions(field))).toEqual([]);
  });
});

describe('docs/output.md on a probe', () => {
  const [, section = ''] = page('docs/output.md').split(/^## `certmarshal probe .*$/m);
  const [documented = ''] = section.split('\n## ');

  /** An expired server, one that answers nothing, and one of another name. */
  async function probed(): Promise<string> {
    const authority = await createAuthority('Test CA');
    const expired = await listenTls(await createServing(authority, { ipAddresses: ['127.0.0.1'], from: -20, to: -1 }));
    const other = await listenTls(await createServing(authority, { dnsNames: ['other'] }));
    const io = recordedIo({ now: Date.now() });
    const endpoints = [`127.0.0.1:${expired}`, `localhost:${other}`, '127.0.0.1:1'];
    await probeCommand(endpoints, { output: 'json', program: 'certmarshal' }, new AbortController().signal, io);
    return io.stdout.text();
  }

  it('names every field', async () => {
    const lines = (await probed())
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    const fields = new Set(fieldsOf(lines));
    for (const field of ['protocol', 'names', 'due', 'remedy', 'fingerprint']) expect(fields).toContain(field);
    const ofCertificates = page('docs/output.md').split('| field of a certificate |')[1]?.split('\n## ')[0] ?? '';
    const missing = [...fields].filter(
      (field) => !new RegExp(`[\`.\\]]${field}(?:\\[\\])?\``).test(documented + ofCertificates),
    );
    expect(missing).toEqual([]);
  });
});

describe('fleet.yaml in the pages', () => {
  // What is in the runbooks besides is for eksctl anywhere.
  const pages = [
    'README.md',
    ...readdirSync(fileURLToPath(new URL('../../docs', import.meta.url))).flatMap((name) =>
      name.endsWith('.md') ? `docs/${name}` : [],
    ),
  ];
  const blocks = pages.flatMap((name) =>
    [...page(name).matchAll(/^```ya?ml\n([^]*?)^```$/gm)].map(([, text = ''], index) => ({
      name: `${name} ${index + 1}`,
      text,
    })),
  );

  it('is there', () => expect(blocks.map(({ name }) => name)).toContain('docs/deploy.md 1'));

  it.each(blocks)('of $name is one, or sections of one', ({ name, text }) => {
    const parsed = parseFleet(text.startsWith('version:') ? text : `version: 1\n${text}`, name);
    expect(parsed.ok ? [] : parsed.problems).toEqual([]);
  });
});

/** Every page that people read. */
const PAGES = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT }).toSorted();
const wordsOf = (name: string) => page(name).split(/\s+/).filter(Boolean).length;

describe('README.md', () => {
  const readme = page('README.md');

  it('has 900 words at most', () => expect(wordsOf('README.md')).toBeLessThanOrEqual(900));

  it('tells what the first deploy costs, before its commands', () => {
    const cost = readme.indexOf(`costs about $${totalOf(10, 0.02).toFixed(0)} a month for 10 clusters`);
    expect(cost).toBeGreaterThan(0);
    expect(readme.indexOf('npx cdk deploy')).toBeGreaterThan(cost);
  });
});

describe('docs/command-line.md', () => {
  const [, block = ''] = /^```sh\n(CLONE=[^]*?)^```$/m.exec(page('docs/command-line.md')) ?? [];

  it('makes certmarshal a command of the shell, which all pages use', () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'certmarshal-shell-'));
    const script = `${block}cd '${elsewhere}' && certmarshal run --help`;
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-euc', script], { cwd: ROOT, encoding: 'utf8' });
    rmSync(elsewhere, { recursive: true });
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^Usage: certmarshal run /), stderr: '' });
    const clones = PAGES.filter((name) => name.startsWith('docs/') && page(name).includes('n a clone, `certmarshal`'));
    expect(clones.length).toBeGreaterThan(3);
    const unlinked = clones.filter(
      (name) => !page(name).includes(`(${'../'.repeat(name.split('/').length - 2)}command-line.md#in-a-clone)`),
    );
    expect(unlinked).toEqual([]);
    for (const name of PAGES) expect(page(name)).not.toContain('npm run -s certmarshal --`');
  });

  it('names every command, and no other', () => {
    const { stdout } = spawnSync(process.execPath, [join(ROOT, 'bin/certmarshal.ts'), '--help'], { encoding: 'utf8' });
    const commands = [...stdout.matchAll(/^ {2}(\w+)(?: \[options\])?(?: [<[]\S+)? {2,}[A-Z]/gm)].map(
      ([, name]) => name,
    );
    expect(commands).toContain('rollout');
    expect(commands.pop()).toBe('help');
    const rows = [...page('docs/command-line.md').matchAll(/^\| (`certmarshal .*?) \|/gm)].map(([, cell = '']) => cell);
    const named = rows.flatMap((cell) => [...cell.matchAll(/`(?:certmarshal )?([a-z]+)/g)].map(([, name]) => name));
    expect(commands.filter((name) => !named.includes(name))).toEqual([]);
  });
});

it('ARCHITECTURE.md begins with five files, and has 3,000 words at most', () => {
  const [, first = ''] = page('ARCHITECTURE.md').split('\n## ');
  expect(first).toMatch(/^Read these five files\n/);
  expect([...first.matchAll(/^\d\. \[`(lambdas\/\S+\.ts)`\]/gm)]).toHaveLength(5);
  expect(wordsOf('ARCHITECTURE.md')).toBeLessThanOrEqual(3_000);
});

/** Kinds of Cluster API, of EKS Anywhere, and how kubectl lets them be shortened. */
const SHARED_KINDS =
  /^(?:cl|ma|md|ms|mhc|kcp|(?:machine|machinedeployment|machineset|machinehealthcheck|kubeadmcontrolplane|kubeadmconfig|etcdadmcluster|cluster)s?)$/;
const KUBECTL = /\bkubectl ([^\n`|;]*)/g;
const OF_OBJECTS = /(?:^| )(?:get|describe|delete|annotate|label|patch|edit|wait) (?!-)["']?([\w.,/-]+)/;

// On bare metal `machines` are those of bmc.tinkerbell.org, and EKS Anywhere has a `clusters` beside that of Cluster API.
it('no command of kubectl leaves open whose kind it means', () => {
  const files = globSync(['*.md', 'docs/**/*.md', 'examples/**/*', '{bin,lambdas,lib}/**/*.ts'], { cwd: ROOT });
  const kinds = files.flatMap((name) =>
    [...page(name).matchAll(KUBECTL)].flatMap(([, words = '']) =>
      (OF_OBJECTS.exec(words)?.[1]?.split(',') ?? []).map((kind) => ({ name, words, kind: kind.split('/')[0] ?? '' })),
    ),
  );
  expect(kinds.filter(({ kind }) => kind === 'machines.cluster.x-k8s.io').length).toBeGreaterThan(10);
  expect(kinds.filter(({ kind }) => SHARED_KINDS.test(kind))).toEqual([]);
});

interface Link {
  /** From the root of the project; a folder where the link is to one. */
  readonly target: string;
  readonly anchor: string | undefined;
}

/** Links of a page to files of the project. */
function linksOf(name: string): readonly Link[] {
  const prose = page(name).replaceAll(/^```[^]*?^```$/gm, '');
  return [...prose.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map(([, path = '', anchor]) => ({
    target: path === '' ? name : posix.join(posix.dirname(name), path),
    anchor,
  }));
}

/** Anchors that GitHub makes of the headings of a page. */
const anchorsOf = (name: string) =>
  [...page(name).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );

describe('links between pages', () => {
  it.each(PAGES)('of %s lead to files and headings that exist', (name) => {
    const broken = linksOf(name).filter(
      ({ target, anchor }) =>
        !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor)),
    );
    expect(broken).toEqual([]);
  });

  it('reach every page from docs/README.md', () => {
    const reached = new Set(['docs/README.md']);
    // A set is walked with what is added meanwhile.
    for (const name of reached)
      for (const { target } of linksOf(name))
        if (target.endsWith('.md') && existsSync(join(ROOT, target))) reached.add(target);
    expect(PAGES.filter((name) => !reached.has(name))).toEqual([]);
  });
});
