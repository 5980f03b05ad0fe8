import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMPORT =
  /^\s*(?:import|export)\s+(?<types>type\s)?[^'";]*?from\s+'(?<from>[^']+)'|^import\s+'(?<bare>[^']+)'|import\('(?<lazy>[^']+)'\)/gm;

interface Import {
  readonly file: string;
  /** A package, or a path from the root. */
  readonly target: string;
  readonly typesOnly: boolean;
}

function importsBelow(...folders: readonly string[]): Import[] {
  return sourcesBelow(...folders).flatMap(({ file, text }) =>
    [...text.matchAll(IMPORT)].map(({ groups }) => {
      const from = groups?.['from'] ?? groups?.['bare'] ?? groups?.['lazy'] ?? '';
      const target = from.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), from)) : from;
      return { file, target, typesOnly: groups?.['types'] !== undefined };
    }),
  );
}

function sourcesBelow(...folders: readonly string[]): readonly { readonly file: string; readonly text: string }[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));
}

const room = (path: string) =>
  path.startsWith('lambdas/') && path.split('/').length > 2 ? path.split('/')[1] : undefined;

/** Of the whole product. Each may import of those before it, and of the files that stand in `lambdas` itself. */
const ROOMS = [
  'tables',
  'window',
  'x509',
  'contracts',
  'resources',
  'words',
  'kubernetes',
  'aws',
  'tls',
  'approval',
  'rollout',
  'recovery',
  'audit',
  'health',
  'config',
  'journal',
  'telemetry',
  'notify',
  'page',
  'fleet',
  'cluster',
  'functions',
  'lib',
  'bin',
];

const floorOf = (path: string) => {
  const [top = '', ...rest] = path.split('/');
  return top === 'lambdas' ? ROOMS.indexOf(rest.length > 1 ? (rest[0] ?? '') : '') : ROOMS.indexOf(top);
};

/** Imports of a room that stands above, types too; not of packages. */
function arrowsUp(imports: readonly Import[]): readonly Import[] {
  return imports.filter(
    ({ file, target }) => target.endsWith('.ts') && (floorOf(file) < floorOf(target) || !isKnown(target)),
  );
}

function isKnown(path: string): boolean {
  return floorOf(path) >= 0 || /^lambdas\/[^/]+$/.test(path);
}

/** Files that import each other, at whatever distance, and not only for types. */
function circles(imports: readonly Import[]): readonly (readonly string[])[] {
  const targets = Map.groupBy(
    imports.filter(({ typesOnly }) => !typesOnly),
    ({ file }) => file,
  );
  const done = new Set<string>();
  const found: string[][] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file]);
    if (done.has(file) || path.includes(file)) return;
    for (const { target } of targets.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return found;
}

const PURE = ['contracts', 'health', 'resources', 'tables', 'window', 'words', 'x509'];
/** Of the rooms that also read and write. */
const DECIDING =
  /^lambdas\/(?:approval\/(?:decide-approval|person|rules\/|evidence\/)|audit\/(?:assess|rules\/)|rollout\/(?:plan|checks|progress)|recovery\/policy)/;
const PURE_PACKAGES = new Set(['zod/mini', 'node:net', 'node:buffer', 'node:crypto']);
const IO_FILES = new Set(['lambdas/allowed-addresses.ts', 'lambdas/processor-time.ts']);

/** The files that decide, and all that they import, at whatever distance, and not only for types. */
function decidedBy(imports: readonly Import[]): ReadonlySet<string> {
  const targets = Map.groupBy(
    imports.filter(({ target, typesOnly }) => !typesOnly && target.endsWith('.ts')),
    ({ file }) => file,
  );
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const { target } of targets.get(file) ?? []) visit(target);
  };
  for (const { file } of imports)
    if ((PURE.includes(room(file) ?? '') && !IO_FILES.has(file)) || DECIDING.test(file)) visit(file);
  return seen;
}

function ioIn(imports: readonly Import[], files: ReadonlySet<string>): readonly Import[] {
  const io = (target: string) =>
    target.endsWith('.ts')
      ? ['kubernetes', 'aws', 'tls', 'telemetry', 'functions'].includes(room(target) ?? '') ||
        /^lambdas\/[a-z]+\/(?:sources\/|observe(?:-etcd)?\.ts|act\.ts)/.test(target) ||
        IO_FILES.has(target)
      : !PURE_PACKAGES.has(target);
  return imports.filter(({ file, target, typesOnly }) => files.has(file) && !typesOnly && io(target));
}

const READS_SENTENCE =
  /\b(?:message|story|sentence)\b\)?\??\.(?:includes|startsWith|endsWith|match|matchAll|search|split|replace|indexOf|slice)\(|\.(?:test|exec|includes)\([^()]*\b(?:message|story|sentence)\)/;

describe('imports go one way', () => {
  const all = importsBelow('bin', 'lib', 'lambdas');

  it('finds imports at all', () => {
    expect(all.length).toBeGreaterThan(150);
    expect(all).toContainEqual({
      file: 'lambdas/approval/decide-approval.ts',
      target: 'lambdas/printable.ts',
      typesOnly: false,
    });
  });

  it('holds for every room, and for types too', () => {
    expect(arrowsUp(all)).toEqual([]);
  });

  it('leads in no circle', () => {
    expect(circles(all)).toEqual([]);
  });

  it.each([
    ['a pure room takes a type of one above it', 'lambdas/approval/policy.ts', 'lambdas/audit/audit.ts'],
    ['a file that all rooms may import takes something of a room', 'lambdas/time.ts', 'lambdas/tables/alarms.ts'],
    ['a room of nobody is imported', 'lambdas/functions/sweep.ts', 'lambdas/new/file.ts'],
    ['a function imports what is deployed', 'lambdas/functions/sweep.ts', 'lib/hub-stack.ts'],
  ])('would fail where %s', (_, file, target) => {
    expect(arrowsUp([{ file, target, typesOnly: true }])).toHaveLength(1);
  });

  it('would fail where three files import each other, but not for a type alone', () => {
    const planted = [
      { file: 'a.ts', target: 'b.ts', typesOnly: false },
      { file: 'b.ts', target: 'c.ts', typesOnly: false },
      { file: 'c.ts', target: 'a.ts', typesOnly: false },
    ];
    expect(circles(planted)).toEqual([['a.ts', 'b.ts', 'c.ts', 'a.ts']]);
    expect(circles(planted.map((one, index) => ({ ...one, typesOnly: index === 2 })))).toEqual([]);
  });

  it('decides without I/O', () => {
    const seen = decidedBy(all);
    expect(seen.size).toBeGreaterThan(100);
    expect(ioIn(all, seen)).toEqual([]);
  });

  it.each([
    ['a rule reads a file', 'lambdas/approval/rules/rules.ts', 'node:fs'],
    ['a rule asks a cluster', 'lambdas/audit/rules/coverage.ts', 'lambdas/kubernetes/client.ts'],
    ['a plan imports what writes', 'lambdas/rollout/plan.ts', 'lambdas/rollout/act.ts'],
    ['something that a rule imports does', 'lambdas/names.ts', 'lambdas/aws/ec2-instances.ts'],
  ])('would fail where %s', (_, file, target) => {
    const planted = [...all, { file, target, typesOnly: false }];
    expect(ioIn(planted, decidedBy(planted))).not.toEqual([]);
  });

  it('keeps I/O out of the rooms that make of the index what people see', () => {
    const views = new Set(['health', 'page', 'notify']);
    const io = new Set(['kubernetes', 'aws', 'telemetry', 'tls', 'functions', 'journal']);
    // Run by hand, for what is committed.
    const scripts = new Set(['lambdas/page/write-script.ts']);
    const wrong = all.filter(
      ({ file, target, typesOnly }) =>
        views.has(room(file) ?? '') &&
        !scripts.has(file) &&
        !typesOnly &&
        (io.has(room(target) ?? '') || (target.startsWith('node:') && target !== 'node:crypto')),
    );
    expect(wrong).toEqual([]);
  });

  it('keeps decisions out of the rooms that do I/O', () => {
    const io = new Set(['kubernetes', 'aws', 'telemetry', 'tls']);
    const decisions = new Set(['approval', 'recovery', 'rollout', 'x509', 'audit', 'fleet', 'functions', 'config']);
    const wrong = all.filter(
      ({ file, target, typesOnly }) => io.has(room(file) ?? '') && decisions.has(room(target) ?? '') && !typesOnly,
    );
    // A handshake decodes what it was shown.
    const decodes = (file: string) => room(file) === 'tls' || file === 'lambdas/kubernetes/expired-server.ts';
    expect(wrong.filter(({ file, target }) => !decodes(file) || room(target) !== 'x509')).toEqual([]);
  });

  it('leaves @peculiar/x509 to the tests', () => {
    const users = all.filter(({ target }) => target.startsWith('@peculiar/') || target === 'reflect-metadata');
    expect(users).toEqual([]);
  });

  it('reads fleet.yaml where it is deployed or named, never in a function', () => {
    const users = all.filter(({ file, target }) => room(target) === 'config' && room(file) !== 'config');
    expect(users.filter(({ file, typesOnly }) => room(file) !== undefined && !typesOnly)).toEqual([]);
  });

  it('imports functions from nowhere, and commands only from the command line', () => {
    expect(all.filter(({ file, target }) => room(target) === 'functions' && room(file) !== 'functions')).toEqual([]);
    const intoBin = all.filter(({ file, target }) => target.startsWith('bin/') && !file.startsWith('bin/'));
    expect(intoBin).toEqual([]);
  });

  it('reads what leaves a process by its contract, and nothing else', () => {
    const parsers = new Map([
      ['lambdas/contracts/contract.ts', 'contracts'],
      ['lambdas/json-bytes.ts', 'gives unknown to a contract'],
      ['lambdas/functions/environment.ts', 'what synthesis validated and wrote'],
      ['lambdas/kubernetes/answer.ts', 'answers of API servers'],
      ['lambdas/page/browser/data.ts', 'what the page was made with'],
    ]);
    const parsing = sourcesBelow('lambdas').filter(({ text }) => /\bJSON\.parse\(/.test(text));
    expect(new Set(parsing.map(({ file }) => file))).toEqual(new Set(parsers.keys()));
    expect(parsing.filter(({ text }) => /JSON\.parse\([^;]*\bas [A-Z]/.test(text))).toEqual([]);
  });

  it('reads no sentence of its own: what code needs is a code or a fact', () => {
    // Messages of libraries.
    const foreign = new Set([
      'lambdas/aws/classify.ts',
      'lambdas/kubernetes/exchange.ts',
      'lambdas/kubernetes/kubeconfig-document.ts',
      'lambdas/kubernetes/local-kubeconfig.ts',
      'lambdas/yaml-fault.ts',
    ]);
    const readers = sourcesBelow('bin', 'lib', 'lambdas').filter(({ text }) => READS_SENTENCE.test(text));
    expect(readers.map(({ file }) => file).filter((file) => !foreign.has(file))).toEqual([]);
  });

  it.each([
    "finding.message.includes('x')",
    'worst?.message.split(x)',
    '/ends in/.test(signal.story)',
    'PATTERN.exec(message)',
    'worst.includes(problem.message)',
  ])('would fail for %s', (text) => {
    expect(text).toMatch(READS_SENTENCE);
  });
});
