import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { cacheBase } from '../control-plane/cache.ts';
import { EQUIVALENT_MUTANTS } from './equivalent-mutants.ts';
import { type ImportGraph, readImportGraph } from './import-graph.ts';
import { MutantRunner } from './mutant-runner.ts';
import { type Mutation, mutationsOf } from './mutations.ts';
import { type Figure, figure } from './statistics.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
/** The rooms where things are decided, with the share of mutants that their tests must kill, in percent. */
const GOALS: Readonly<Record<string, number>> = {
  approval: 95,
  x509: 95,
  recovery: 95,
  audit: 90,
  rollout: 90,
  health: 90,
  fleet: 90,
  cluster: 90,
  journal: 90,
  contracts: 90,
  resources: 90,
};
const MUTANTS = 320;
const LEAST_OF_ROOM = 20;
/** The tests of a file that are run on its mutants: of so many of the nearest those that fit this time unchanged. */
const NEAREST = 40;
const BUDGET_MS = 25_000;
/** Of one mutant; what takes longer counts as killed. */
const LIMIT_MS = 60_000;

/** A mutation of one file of one room. */
interface Mutant extends Mutation {
  readonly room: string;
  readonly file: string;
  /** Tells it from every other one, also after lines have moved. */
  readonly id: string;
}

type Outcome = 'killed' | 'timed out' | 'survived';

/** One line of what is kept between runs: valid as long as the hash of the files it depends on is the same. */
interface Kept {
  readonly id: string;
  readonly hash: string;
  readonly outcome: Outcome;
  /** The test file that killed it; of a mutant that survived, all. */
  readonly tests: readonly string[];
  readonly ms: number;
}

type Result = Omit<Kept, 'id' | 'hash'>;

/** How many small changes of the deciding code make a unit test fail: `[room …] [number] [--seed number]`. */
export async function benchMutants(say: (text: string) => void, options: readonly string[]): Promise<Figure[]> {
  const { rooms, count, seed } = parseOptions(options);
  const graph = readImportGraph(ROOT);
  const mutants = sample(rooms, count, seed);
  const outcomes = new Map<Mutant, Outcome | 'equivalent'>();
  const kept = openKept(graph);
  await using runners = new Runners();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      runners.end();
      process.exit(1);
    });
  let saidAt = performance.now();
  const progress = (text: () => string) => {
    if (performance.now() - saidAt < 2_000) return;
    say(text());
    saidAt = performance.now();
  };
  const nearest = (file: string) => graph.testsOf(file).slice(0, NEAREST);
  const durations = new Map<string, number>();
  const tests = [...new Set(mutants.flatMap(({ file }) => nearest(file)))];
  await runners.each(tests, async (test, runner) => {
    const { outcome, ms } = await kept.get(`unchanged ${test}`, [test], () => runTests(runner, [test]));
    durations.set(test, outcome === 'survived' ? ms : Number.POSITIVE_INFINITY);
    if (outcome === 'killed') say(`${test} fails without a mutant, and is left out`);
    progress(() => `${durations.size} of ${tests.length} test files unchanged`);
  });
  await runners.each(mutants, async (mutant, runner) => {
    const isEquivalent = EQUIVALENT_MUTANTS[mutant.file]?.some(([, ...changes]) =>
      changes.some(([before, after]) => before === mutant.before && after === mutant.after),
    );
    const related = withinBudget(nearest(mutant.file), durations);
    const run = () => runTests(runner, related, mutant);
    outcomes.set(mutant, isEquivalent ? 'equivalent' : (await kept.get(mutant.id, related, run)).outcome);
    const survived = [...outcomes.values()].filter((outcome) => outcome === 'survived').length;
    progress(() => `${mutant.room}: ${outcomes.size} of ${mutants.length} mutants, ${survived} survived`);
  });
  return rooms.map((room) => figureOf(room, new Map([...outcomes].filter(([mutant]) => mutant.room === room))));
}

/** One process a core, each with its own Vitest. */
class Runners implements AsyncDisposable {
  private readonly runners = Array.from({ length: availableParallelism() }, () => new MutantRunner());

  /** In the order of the list, each by the next one that is free. */
  async each<T>(items: readonly T[], run: (item: T, runner: MutantRunner) => Promise<void>): Promise<void> {
    const left = items.values();
    await Promise.all(
      this.runners.map(async (runner) => {
        for (const item of left) await run(item, runner);
      }),
    );
  }

  end(): void {
    for (const runner of this.runners) runner.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
  }
}

function parseOptions(options: readonly string[]) {
  const at = options.indexOf('--seed');
  const seed = at === -1 ? '1' : (options[at + 1] ?? '1');
  const rest = options.filter((_, index) => at === -1 || (index !== at && index !== at + 1));
  const count = rest.find((option) => /^\d+$/.test(option));
  const rooms = rest.filter((option) => option !== count);
  const unknown = rooms.find((room) => !(room in GOALS));
  if (unknown !== undefined) throw new Error(`no room ${unknown}: one of ${Object.keys(GOALS).join(', ')}`);
  return { rooms: rooms.length === 0 ? Object.keys(GOALS) : rooms, count: Number(count ?? MUTANTS), seed };
}

/** Of each room by its size; which ones depends on the seed and on their text, not on where they are. */
function sample(rooms: readonly string[], count: number, seed: string): Mutant[] {
  const all = new Map(rooms.map((room) => [room, mutantsOf(room)]));
  const rank = ({ id }: Mutant) => createHash('sha256').update(`${seed} ${id}`).digest('hex');
  const total = [...all.values()].reduce((sum, mutants) => sum + mutants.length, 0);
  return [...all.values()].flatMap((mutants) =>
    mutants
      .toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
      .slice(0, Math.max(LEAST_OF_ROOM, Math.round((count * mutants.length) / total)))
      .toSorted((a, b) => (a.file === b.file ? a.start - b.start : a.file < b.file ? -1 : 1)),
  );
}

function mutantsOf(room: string): Mutant[] {
  return globSync(`lambdas/${room}/**/*.ts`, { cwd: ROOT }).flatMap((file) => {
    const times = new Map<string, number>();
    return mutationsOf(readFileSync(join(ROOT, file), 'utf8')).map((mutation) => {
      const name = [file, mutation.before, mutation.after].join('\0');
      times.set(name, (times.get(name) ?? 0) + 1);
      const id = createHash('sha256')
        .update(`${name}\0${times.get(name)}`)
        .digest('hex')
        .slice(0, 20);
      return { ...mutation, room, file, id };
    });
  });
}

/** The nearest one, however long it takes, and of the others the shortest that fit: one that takes long keeps no other out. */
function withinBudget(tests: readonly string[], durations: ReadonlyMap<string, number>): string[] {
  const [nearest, ...others] = tests.filter((test) => Number.isFinite(durations.get(test)));
  const msOf = (test: string) => durations.get(test) ?? 0;
  let left = BUDGET_MS;
  const chosen = new Set([
    nearest,
    ...others
      .toSorted((a, b) => msOf(a) - msOf(b))
      .filter((test) => {
        left -= msOf(test);
        return left >= 0;
      }),
  ]);
  return tests.filter((test) => chosen.has(test));
}

async function runTests(runner: MutantRunner, tests: readonly string[], mutant?: Mutant): Promise<Result> {
  if (tests.length === 0) return { outcome: 'survived', tests, ms: 0 };
  const trial = { tests: tests.map((test) => join(ROOT, test)), ...(mutant === undefined ? {} : changed(mutant)) };
  const result = await runner.run(trial, LIMIT_MS);
  if (result === 'timed out') return { outcome: 'timed out', tests, ms: 0 };
  const { failed, ms } = result;
  if (failed === undefined) return { outcome: 'survived', tests, ms };
  return { outcome: 'killed', tests: [relative(ROOT, failed)], ms };
}

function changed({ file, start, end, replacement }: Mutant) {
  const path = join(ROOT, file);
  const text = readFileSync(path, 'utf8');
  return { file: path, text: text.slice(0, start) + replacement + text.slice(end) };
}

/** Results of runs before, one JSON line each, so that an interrupted run continues. */
function openKept(graph: ImportGraph) {
  const path = join(cacheBase(process.env), 'mutants', 'results.ndjson');
  mkdirSync(dirname(path), { recursive: true });
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  const entries = lines.filter((line) => line !== '').map((line): Kept => JSON.parse(line));
  const results = new Map(entries.map((entry) => [entry.id, entry]));
  return {
    get: async (id: string, tests: readonly string[], run: () => Promise<Result>): Promise<Kept> => {
      const before = results.get(id);
      const sameTests = before?.outcome === 'killed' || before?.tests.join() === tests.join();
      if (before !== undefined && sameTests && before.hash === graph.hashOf(before.tests)) return before;
      const result = await run();
      const entry = { id, hash: graph.hashOf(result.tests), ...result };
      // An unchanged test that took too long on a busy machine is asked again.
      if (!id.startsWith('unchanged') || result.outcome === 'survived')
        appendFileSync(path, `${JSON.stringify(entry)}\n`);
      return entry;
    },
  };
}

function figureOf(room: string, outcomes: ReadonlyMap<Mutant, Outcome | 'equivalent'>): Figure {
  const of = (outcome: string) => [...outcomes].flatMap(([mutant, value]) => (value === outcome ? [mutant] : []));
  const [killed, timedOut, survived, equivalent] = ['killed', 'timed out', 'survived', 'equivalent'].map(of);
  const counts = Object.entries({ killed, 'timed out': timedOut, survived, equivalent })
    .filter(([, mutants = []]) => mutants.length > 0)
    .map(([name, mutants = []]) => `${mutants.length} ${name}`);
  const judged = outcomes.size - (equivalent?.length ?? 0);
  const score = (100 * (judged - (survived?.length ?? 0))) / judged;
  const goal = GOALS[room] ?? 0;
  return {
    ...figure(`${room}: ${counts.join(', ')}`, '%', [score], { text: `≥ ${goal}`, met: (value) => value >= goal }),
    runs: outcomes.size,
    details: (survived ?? []).map(({ file, line, before, after }) => `${file}:${line}  ${before} → ${after}`),
  };
}
