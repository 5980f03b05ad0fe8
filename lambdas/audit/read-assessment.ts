import type * as z from 'zod/mini';
import { type Contract, readWhole } from '../contracts/contract.ts';
import { ExpiryFinding } from '../contracts/finding.ts';
import { AnyTime, NAME_LIMIT, OBSERVATIONS, type Observation } from '../contracts/observation.ts';
import { MAX_FINDINGS, MAX_OBSERVATIONS, type Snapshot } from '../contracts/snapshot.ts';
import { didYouMean } from '../did-you-mean.ts';
import { PROVIDERS } from '../identifiers.ts';
import { printable } from '../printable.ts';
import { isJsonObject } from '../resources/fields.ts';
import { entryOf } from '../tables/keys.ts';
import { isoOf } from '../words.ts';
import type { AssessedCluster } from './assess.ts';

/** Problems listed for one line; the others are counted. */
const MAX_PROBLEMS = 20;

/** One line of `certmarshal assess`. */
export interface AssessmentInput {
  readonly cluster: AssessedCluster;
  readonly observations: readonly Observation[];
  readonly previous: Pick<Snapshot, 'observations' | 'findings'> | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export type ReadAssessment =
  | { readonly ok: true; readonly input: AssessmentInput }
  /** Each with its path: `observations[3].notAfter is missing: …`. */
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * Reads `{"cluster","observations":[…],"previous":…,"now"}`. The cluster is a name, or an object with `id` or `name`,
 * and `provider` (default eks-anywhere). Defaults of an observation: `kind` certificate, `source` tls, `basis` what its
 * source usually has, `what` endpoint, `observedAt` now. `previous` is a snapshot, an earlier answer, or null. People
 * write these lines, so an unknown field is a problem; inside observations only if a required one is missing, since a
 * newer audit may have written them. Never throws.
 *
 * @param clock for a line without `now`; milliseconds since the epoch
 */
export function readAssessment(value: unknown, clock: () => number): ReadAssessment {
  const problems = problemList();
  const { report } = problems;
  if (!isJsonObject(value)) return { ok: false, problems: ['the line is not a JSON object'] };
  reportUnknown(value, ['cluster', 'observations', 'previous', 'now'], report);
  const cluster = readCluster(entryOf(value, 'cluster'), report);
  const now = readNow(entryOf(value, 'now'), clock, report);
  const observedAt = isoOf(now ?? 0);
  const observations = readObservations(entryOf(value, 'observations'), 'observations', { observedAt }, report);
  const previous = readPrevious(entryOf(value, 'previous'), report);
  const found = problems.all();
  if (found.length > 0 || cluster === undefined || now === undefined) return { ok: false, problems: found };
  return { ok: true, input: { cluster, observations, previous, now } };
}

type Fields = Readonly<Record<string, unknown>>;

/** Reports the value at a path. The text is built only when needed: there may be as many problems as values. */
type Report = (path: string, problem: () => string) => void;

function problemList(): { readonly report: Report; readonly all: () => readonly string[] } {
  const problems: string[] = [];
  let more = 0;
  return {
    report: (path, problem) => {
      if (problems.length < MAX_PROBLEMS) problems.push(`${path} ${problem()}`);
      else more += 1;
    },
    all: () => (more === 0 ? problems : [...problems, `and ${more} more problems`]),
  };
}

function readCluster(value: unknown, report: Report): AssessedCluster | undefined {
  if (typeof value === 'string' && value !== '' && value.length <= NAME_LIMIT)
    return { id: printable(value, NAME_LIMIT), provider: 'eks-anywhere' };
  if (!isJsonObject(value)) {
    report('cluster', () => wrongValue(value, 'is not a name, or an object with a name or an id'));
    return undefined;
  }
  reportUnknown(value, ['id', 'name', 'provider'], (field, problem) => report(`cluster.${field}`, problem));
  const name = entryOf(value, 'name');
  const id = entryOf(value, 'id') ?? name;
  const isName = typeof id === 'string' && id !== '' && id.length <= 16 * NAME_LIMIT;
  if (!isName) report('cluster.id', () => 'is missing: text, or a name');
  const said = entryOf(value, 'provider') ?? 'eks-anywhere';
  const provider = PROVIDERS.find((other) => other === said);
  if (provider === undefined)
    report('cluster.provider', () => wrongValue(said, `is not one of ${PROVIDERS.join(', ')}`, PROVIDERS));
  if (!isName || provider === undefined) return undefined;
  return {
    id: printable(id, NAME_LIMIT),
    provider,
    name: typeof name === 'string' && name !== '' ? printable(name, NAME_LIMIT) : undefined,
  };
}

function readNow(value: unknown, clock: () => number, report: Report): number | undefined {
  if (value === undefined || value === null) return clock();
  const at = readWhole(AnyTime, value);
  if (at.ok) return Date.parse(at.value);
  for (const { problem } of at.wrong) report('now', () => problem);
  return undefined;
}

function readPrevious(value: unknown, report: Report): Pick<Snapshot, 'observations' | 'findings'> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) {
    report('previous', () => 'is not an object with observations and findings');
    return undefined;
  }
  return {
    observations: readObservations(entryOf(value, 'observations') ?? [], 'previous.observations', {}, report),
    findings: readList(entryOf(value, 'findings') ?? [], 'previous.findings', MAX_FINDINGS, report, readFinding),
  };
}

function readObservations(value: unknown, path: string, defaults: Fields, report: Report): readonly Observation[] {
  return readList(value, path, MAX_OBSERVATIONS, report, (entry, told) => readObservation(entry, defaults, told));
}

function readList<T>(
  value: unknown,
  path: string,
  most: number,
  report: Report,
  read: (entry: unknown, report: Report) => T | undefined,
): readonly T[] {
  if (!Array.isArray(value)) {
    report(path, () => (value === undefined || value === null ? 'is missing: a list' : 'is not a list'));
    return [];
  }
  if (value.length > most) {
    report(path, () => `has ${value.length} entries: at most ${most} are read`);
    return [];
  }
  return value.flatMap((entry: unknown, index) => {
    const told: Report = (field, problem) =>
      report(field === '' ? `${path}[${index}]` : `${path}[${index}].${field}`, problem);
    const item = read(entry, told);
    return item === undefined ? [] : [item];
  });
}

function readFinding(value: unknown, report: Report): ExpiryFinding | undefined {
  if (isJsonObject(value)) return readFields(ExpiryFinding, value, {}, report);
  report('', () => 'is not an object');
  return undefined;
}

function readObservation(value: unknown, defaults: Fields, report: Report): Observation | undefined {
  if (!isJsonObject(value)) {
    report('', () => 'is not an object');
    return undefined;
  }
  const kind = entryOf(value, 'kind') ?? 'certificate';
  const schema =
    typeof kind === 'string'
      ? entryOf<(typeof OBSERVATIONS)[keyof typeof OBSERVATIONS]>(OBSERVATIONS, kind)
      : undefined;
  if (schema === undefined) {
    const kinds = Object.keys(OBSERVATIONS);
    report('kind', () => wrongValue(kind, `is not one of ${kinds.join(', ')}`, kinds));
    return undefined;
  }
  const source = entryOf(value, 'source') ?? 'tls';
  const basis = typeof source === 'string' ? (entryOf(USUAL_BASES, source) ?? 'certificate') : 'certificate';
  const usual =
    kind === 'certificate' ? { ...defaults, kind, source, basis, what: 'endpoint' } : { ...defaults, kind, source };
  return readFields<z.ZodMiniType<Observation>>(schema, value, usual, report);
}

/**
 * null counts as absent. Unknown fields are reported only if a required one is missing: each may be its misspelling.
 */
function readFields<S extends z.ZodMiniType>(
  schema: S & { readonly shape: object },
  value: Fields,
  defaults: Fields,
  report: Report,
): Contract<S> | undefined {
  const present = Object.entries(value).filter(([, one]) => one !== null && one !== undefined);
  const given: Fields = { ...defaults, ...Object.fromEntries(present) };
  const whole = readWhole(schema, given);
  if (whole.ok) return whole.value;
  for (const { field, problem, choices } of whole.wrong)
    report(field, () => wrongValue(entryOf(given, field), problem, choices));
  if (whole.wrong.some(({ field }) => entryOf(given, field) === undefined))
    reportUnknown(value, Object.keys(schema.shape), report);
  return undefined;
}

/** What is wrong with a value: `is not a whole number`. */
function wrongValue(value: unknown, problem: string, choices: readonly string[] = []): string {
  if (value === undefined) return problem.replace(/^is not /, 'is missing: ');
  const meant = typeof value === 'string' ? didYouMean(value, choices) : undefined;
  return meant === undefined ? problem : `is not known: did you mean ${meant}?`;
}

function reportUnknown(from: Fields, known: readonly string[], report: Report): void {
  for (const field of Object.keys(from))
    if (!known.includes(field)) report(printable(field, 60), () => unknownField(field, from, known));
}

function unknownField(field: string, from: Fields, known: readonly string[]): string {
  const absent = known.filter((other) => !Object.hasOwn(from, other));
  const meant = didYouMean(field, absent);
  if (meant !== undefined) return `is not known: did you mean ${meant}?`;
  return known.length > MAX_LISTED ? 'is not known' : `is not known: there are ${known.join(', ')}`;
}

/** Fields listed if none is similar. */
const MAX_LISTED = 8;

/** The basis of sources that do not read the certificate itself. */
const USUAL_BASES: Readonly<Record<string, string>> = {
  machines: 'status',
  'eks-anywhere': 'status',
  'kubelet-metrics': 'status',
  'cert-manager': 'status',
  'kubeadm-configs': 'annotation',
};
