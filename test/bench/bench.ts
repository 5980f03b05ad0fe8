import { cpus, totalmem } from 'node:os';
import { draw, screenOf, table } from '../../bin/terminal/draw.ts';
import { bad, good } from '../../bin/terminal/paint.ts';
import type { Figure } from './statistics.ts';

type Bench = (say: (text: string) => void, options: readonly string[]) => Promise<Figure[]>;

const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  latency: async () => (await import('./latency.ts')).benchLatency,
  fleet: async () => {
    const { benchFleet } = await import('./fleet.ts');
    return (say) => benchFleet(say);
  },
  scale: async () => (await import('./scale.ts')).benchScale,
  page: async () => (await import('./page.ts')).benchPage,
  cost: async () => (await import('./cost/cost.ts')).benchCost,
  mutants: async () => (await import('./mutants.ts')).benchMutants,
};

const TAKES_OPTIONS = ['latency', 'scale', 'mutants'];

const USAGE = `npm run bench -- ${Object.keys(BENCHES).join('|')} [--output json]

latency    500 kubelets, or another number, that ask at once on a real kube-apiserver: by the webhook, by the tick, beside an approver in the cluster (about 4 min; needs Go once)
fleet      1,000 idle clusters in one process on one core; from a request to its approval, by tick; beside clusters that misbehave (about 6 min)
scale      a minute of 1,000 and of 10,000 clusters, or of one of these, in 20 accounts and Regions, each function with what it has in Lambda (about 10 min)
page       the report page of 1,000 clusters: its size, the time to make it, and until Chromium lets a reader use it
cost       what a month costs in AWS, counted from what a minute does; calculated, not measured
mutants    small changes of the deciding code that make a unit test fail; [room …] [how many] [--seed number] (about 10 min)
`;

const [name = '', ...given] = process.argv.slice(2);
const load = BENCHES[name];
const json = given.slice(-2).join(' ') === '--output json';
const options = json ? given.slice(0, -2) : given;
if (load === undefined || (options.length > 0 && !TAKES_OPTIONS.includes(name))) {
  process.stderr.write(USAGE);
  process.exit(2);
}

const bench = await load();
const figures = await bench((text) => process.stderr.write(`  ${text}\n`), options);
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  openssl: process.versions.openssl,
  platform: `${process.platform} ${process.arch}`,
};

if (json) process.stdout.write(`${JSON.stringify({ bench: name, machine, figures })}\n`);
else {
  const number = (value: number) => value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : 0 });
  const rows = figures.map((entry) => [
    entry.name,
    number(entry.median),
    entry.unit,
    entry.runs > 1 ? `${number(entry.min)} – ${number(entry.max)}` : '',
    `${entry.runs}`,
    entry.goal ?? '',
    entry.met === undefined ? '' : entry.met ? good('✔ met') : bad('✖ missed'),
  ]);
  process.stdout.write(
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Node.js ${machine.node}, OpenSSL ${machine.openssl}, ${machine.platform}\n\n`,
  );
  const lines = table([['FIGURE', 'MEDIAN', 'UNIT', 'RANGE', 'RUNS', 'GOAL', ''], ...rows]);
  const { colours } = screenOf(process.stdout, process.env);
  process.stdout.write(`${draw(lines, { colours })}\n`);
  const details = figures.flatMap((entry) => entry.details ?? []);
  if (details.length > 0) process.stdout.write(`\n${details.map((line) => `  ${line}\n`).join('')}`);
}
process.exitCode = figures.every(({ met }) => met !== false) ? 0 : 1;
