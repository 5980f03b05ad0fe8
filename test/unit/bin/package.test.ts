import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { bundledPackages, thirdPartyNotices } from '../../../.ci/bundle.ts';
import { unpublishable } from '../../../.ci/publishable.ts';
import { shippedOnly } from '../../../.ci/sbom.ts';
import { csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import { kubeconfigOf } from './kubeconfigs.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

describe('the package that npm pack makes', () => {
  let directory: string;
  let tarball: string;
  let program: string;
  let plugin: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-package-'));
    await run('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: ROOT });
    const [name = ''] = await readdir(directory);
    tarball = join(directory, name);
    await run('tar', ['-xzf', tarball], { cwd: directory });
    const manifest = JSON.parse(await readFile(join(directory, 'package', 'package.json'), 'utf8'));
    program = join(directory, 'package', manifest.bin.certmarshal);
    plugin = manifest.bin['kubectl-certmarshal'];
  });

  afterAll(() => rm(directory, { recursive: true }));

  // Nothing is installed beside it: it has to stand alone.
  const packed = (command: string) =>
    run('sh', ['-c', `"${process.execPath}" "${program}" ${command}`], { cwd: directory });

  it('runs without any dependency, also as a plugin of kubectl', async () => {
    expect(join(directory, 'package', plugin)).toBe(program);
    expect((await packed('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await packed('rbac')).stdout).toContain('kind: ClusterRoleBinding');
    expect((await packed('runbook certificate-critical')).stdout).toMatch(/^# /);
    const line = JSON.stringify({
      id: 1,
      cluster: { name: 'bench', provider: 'eks-anywhere' },
      csr: csrOf(1, requestOf(1), '2026-01-01T00:00:00Z'),
      machines: [machineOf(1)],
      now: '2026-01-01T00:01:00Z',
    });
    const { stdout } = await packed(`decide --policy "${ROOT}/fleet.yaml" <<'END'\n${line}\nEND`);
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, verdict: 'approve' });
  });

  it('loads a kubeconfig file, with the library that does it', async () => {
    const kubeconfig = `'{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"n","user":"u"}}],"clusters":[{"name":"n","cluster":{"server":"https://127.0.0.1:1"}}],"users":[{"name":"u","user":{"token":"t"}}]}'`;
    const failed = await packed(
      `run --output json --kubeconfig /dev/stdin <<END\n${kubeconfig.slice(1, -1)}\nEND`,
    ).catch((error: { stdout: string }) => error);
    expect(JSON.parse(failed.stdout)).toMatchObject({ clusters: [{ findings: [{ kind: 'unreachable' }] }] });
  });

  it('is installed in an empty folder, where npx runs it', async () => {
    const cwd = join(directory, 'empty');
    await mkdir(cwd);
    await run('npm', ['install', '--silent', '--offline', '--no-audit', '--no-fund', '--prefix', cwd, tarball], {
      cwd,
    });
    const npx = (...args: readonly string[]) =>
      run('npx', ['--no', '--', 'certmarshal', ...args], { cwd }).catch(
        (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error,
      );
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    // npm has a --version of its own, so that any version would not do.
    expect((await npx('--version')).stdout).toBe(`${version}\n`);
    await writeFile(join(cwd, 'berlin.json'), kubeconfigOf());
    expect(await npx('audit', '--kubeconfig', 'berlin.json')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('✖ berlin · EKS Anywhere · not readable'),
    });
  });
});

describe('in a clone', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-clone-'));
    await writeFile(join(directory, 'berlin.json'), kubeconfigOf());
  });
  afterAll(() => rm(directory, { recursive: true }));

  // npm sets these for what it runs; those of the npm that runs the tests are another's.
  const env = { ...process.env, INIT_CWD: undefined, npm_lifecycle_event: undefined };

  it('npm run takes relative paths as they are typed, from any directory', async () => {
    const failed = await run(
      'npm',
      ['--prefix', ROOT, 'run', '-s', 'certmarshal', '--', 'audit', '--kubeconfig', 'berlin.json'],
      { cwd: directory, env },
    ).catch((error: { readonly stdout: string }) => error);
    expect(failed.stdout).toContain('✖ berlin · EKS Anywhere · not readable');
  });

  it('npx runs what npm ci built, in the directory where it is typed', async () => {
    const cwd = join(ROOT, 'docs', 'runbooks');
    const failed = await run('npx', ['--no', '--', 'certmarshal', 'audit', '--kubeconfig', 'alarms/README.md'], {
      cwd,
      env,
    }).catch((error: { readonly stderr: string }) => error);
    expect(failed.stderr).toContain('alarms/README.md: kubeconfig: not');
  });

  it('says with which Node.js the package runs as it is', async () => {
    const { engines, scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const { version, engines: needed } = JSON.parse(
      await readFile(join(ROOT, 'node_modules/undici/package.json'), 'utf8'),
    );
    expect({ version, engines: needed }).toEqual({ version, engines });
    // `npm pack` runs prepare too, so that a prepack of its own would build twice.
    expect(Object.keys(scripts).filter((name) => /^(?:pre|post)?(?:pack|prepare|publish)/.test(name))).toEqual([
      'prepare',
      'prepublishOnly',
    ]);
  });
});

describe('a publication', () => {
  const CHANGELOG = '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n';
  const FIELDS = {
    version: '1.2.3',
    repository: { type: 'git', url: 'git+https://git.example/team/certmarshal.git' },
    homepage: 'https://git.example/team/certmarshal#readme',
    bugs: { url: 'https://git.example/team/certmarshal/issues' },
  };

  it('needs the addresses of the project, and what is new', () => {
    expect(unpublishable(FIELDS, CHANGELOG)).toEqual([]);
    expect(unpublishable({ ...FIELDS, bugs: 'https://git.example/team/certmarshal/issues' }, CHANGELOG)).toEqual([]);
  });

  it.each([
    ['no repository', { repository: undefined }, 'package.json: write repository'],
    ['an empty homepage', { homepage: '' }, 'package.json: write homepage'],
    ['a host alone', { homepage: 'https://git.example/' }, 'package.json: write homepage'],
    ['an address without https', { bugs: { url: 'http://git.example/team' } }, 'package.json: write bugs'],
    ['no address', { bugs: { email: 'team@git.example' } }, 'package.json: write bugs'],
    ['null', { repository: null }, 'package.json: write repository'],
    ['a version that is not in the changelog', { version: '1.2' }, 'CHANGELOG.md: write "## [1.2] - YYYY-MM-DD"'],
  ])('is refused with %s', (_, changes, message) => {
    expect(unpublishable({ ...FIELDS, ...changes }, CHANGELOG)).toEqual([expect.stringContaining(message)]);
  });

  it('is refused by npm itself, before anything is sent', async () => {
    const { private: isPrivate, ...manifest } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    expect(isPrivate).toBeUndefined();
    // Off a CI with OIDC npm can make no provenance, and refuses: ensureProvenanceGeneration of libnpmpublish.
    expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true });
    const why = unpublishable(manifest, await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8'));
    const tried = await run('npm', ['publish', '--dry-run', '--offline'], { cwd: ROOT }).then(
      () => '',
      (error: { readonly stderr: string }) => error.stderr,
    );
    for (const line of why) expect(tried).toContain(line);
    expect(tried === '').toBe(why.length === 0);
  });
});

describe('what the package contains of others', () => {
  const OWN = { name: 'a', version: '1.0.0' };
  const component = (name: string) => ({ 'bom-ref': `${name}@1.0.0`, name, version: '1.0.0' });
  const ALL = {
    components: ['a', 'b', 'tool'].map(component),
    dependencies: [
      { ref: 'certmarshal@0.1.0', dependsOn: ['a@1.0.0', 'tool@1.0.0'] },
      { ref: 'a@1.0.0', dependsOn: ['b@1.0.0', 'tool@1.0.0'] },
      { ref: 'tool@1.0.0', dependsOn: ['b@1.0.0'] },
    ],
  };

  it('is all that its bill of materials lists', () => {
    expect(shippedOnly(ALL, [OWN])).toEqual({
      components: [component('a')],
      dependencies: [
        { ref: 'certmarshal@0.1.0', dependsOn: ['a@1.0.0'] },
        { ref: 'a@1.0.0', dependsOn: [] },
      ],
    });
    expect(() => shippedOnly(ALL, [{ name: 'a', version: '2.0.0' }])).toThrow('npm sbom has no a 2.0.0');
  });

  it('comes with its licenses, each text once', () => {
    const text = 'Do what you like.';
    const notices = thirdPartyNotices([
      { ...OWN, license: 'MIT', text },
      { name: 'b', version: '2.0.0', license: 'MIT', text },
      { name: 'c', version: '3.0.0', license: 'ISC', text: 'Do that.' },
    ]);
    expect(notices).toContain('a 1.0.0 (MIT)\nb 2.0.0 (MIT)\nc 3.0.0 (ISC)\n');
    expect(notices.split(text)).toHaveLength(2);
  });

  it('is known from what esbuild put into the bundle', () => {
    const input = (bytesInOutput: number) => ({ bytesInOutput });
    const outputs = {
      'dist/certmarshal.mjs': {
        bytes: 1,
        imports: [],
        exports: [],
        inputs: {
          'bin/certmarshal.ts': input(9),
          'node_modules/yaml/dist/index.js': input(9),
          'node_modules/@smithy/types/dist-es/index.js': input(9),
          'node_modules/zod/unused.js': input(0),
          'node_modules/@aws-lambda-powertools/logger/lib/esm/Logger.js': input(1),
        },
      },
    };
    expect(bundledPackages({ inputs: {}, outputs })).toMatchObject([
      { name: '@aws-lambda-powertools/logger', license: 'MIT-0', text: '' },
      { name: '@smithy/types', license: 'Apache-2.0', text: expect.stringContaining('Apache License') },
      { name: 'yaml', license: 'ISC', text: expect.stringContaining('Copyright') },
    ]);
  });
});

describe('.github', () => {
  const workflow = async (name: string) => parse(await readFile(join(ROOT, '.github/workflows', name), 'utf8'));

  it('runs only actions that are pinned to a commit, and gives an identity to the publishing job alone', async () => {
    const names = await readdir(join(ROOT, '.github/workflows'));
    expect(names.toSorted()).toEqual(['ci.yml', 'release.yml']);
    for (const name of names) {
      const { permissions, jobs } = await workflow(name);
      expect(permissions).toEqual({ contents: 'read' });
      for (const [job, { steps, permissions: own }] of Object.entries<{
        readonly steps: readonly { readonly uses?: string }[];
        readonly permissions?: object;
      }>(jobs)) {
        expect(own).toEqual(job === 'publish' ? { contents: 'read', 'id-token': 'write' } : undefined);
        const loose = steps
          .flatMap(({ uses }) => uses ?? [])
          .filter((uses) => !/^actions\/[a-z-]+@[0-9a-f]{40}$/.test(uses));
        expect(loose).toEqual([]);
      }
    }
  });

  it('updates every go.mod that the tests build, and the packages of npm', async () => {
    const { updates } = parse(await readFile(join(ROOT, '.github/dependabot.yml'), 'utf8'));
    const directoriesOf = (ecosystem: string) =>
      updates.flatMap((update: { 'package-ecosystem': string; directory?: string; directories?: readonly string[] }) =>
        update['package-ecosystem'] === ecosystem ? (update.directories ?? [update.directory]) : [],
      );
    expect(directoriesOf('npm')).toEqual(['/']);
    const modules = globSync('test/**/go.mod', { cwd: ROOT }).map((file) => `/${dirname(file)}`);
    expect(directoriesOf('gomod').toSorted()).toEqual(modules.toSorted());
  });
});
