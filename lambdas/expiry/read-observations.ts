import { PROVIDERS } from '../identifiers.ts';
import { printable } from '../printable.ts';
import { SOURCE_IDS } from '../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../tables/certificate-classes.ts';
import { FINDING_CODES, SEVERITIES } from '../tables/finding-codes.ts';
import { isoOf } from '../words.ts';
import type { AssessedCluster } from './assess-expiry.ts';
import { MAX_OBSERVATIONS } from './bound-observations.ts';
import type { ExpiryFinding } from './finding.ts';
import { MAX_FINDINGS } from './findings.ts';
import { BASES, type Observation } from './observation.ts';
import {
  count,
  Expected,
  type Fields,
  flag,
  isFields,
  mark,
  number,
  oneOf,
  own,
  type Report,
  readShape,
  reportUnknown,
  type Shape,
  text,
  texts,
  time,
  wrongValue,
} from './read-values.ts';
import type { Snapshot } from './snapshot.ts';

/** Told of one line; the others are counted. */
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
 * Reads `{"cluster","observations":[…],"previous":…,"now"}`. The cluster is a name, or an object with `id` or `name`, and `provider`, which is
 * eks-anywhere if it is not there. An observation without `kind` is a certificate; without `source` it comes from a handshake, without `basis` from
 * what its source usually says, without `what` it is any TLS endpoint, and without `observedAt` it was seen now. `previous` is a snapshot, an
 * earlier answer, or null. People write these lines: another field is a problem, but inside of observations only where a required one is missing,
 * since a newer audit may have written them. Never throws.
 *
 * @param clock for a line without `now`; milliseconds since the epoch
 */
export function readAssessment(value: unknown, clock: () => number): ReadAssessment {
  const problems = problemList();
  const { report } = problems;
  if (!isFields(value)) return { ok: false, problems: ['the line is not a JSON object'] };
  reportUnknown(value, ['cluster', 'observations', 'previous', 'now'], report);
  const cluster = readCluster(own(value, 'cluster'), report);
  const now = readNow(own(value, 'now'), clock, report);
  const observedAt = isoOf(now ?? 0);
  const observations = readObservations(own(value, 'observations'), 'observations', { observedAt }, report);
  const previous = readPrevious(own(value, 'previous'), report);
  const found = problems.all();
  if (found.length > 0 || cluster === undefined || now === undefined) return { ok: false, problems: found };
  return { ok: true, input: { cluster, observations, previous, now } };
}

/**
 * A snapshot that somebody stored. Single observations and findings that are not what they should be are passed over: a newer version of certmarshal
 * may have written them, and the others are still worth more than nothing; it is partial then. Never throws.
 *
 * @returns undefined when it is no snapshot at all
 */
export function readSnapshot(value: unknown): Snapshot | undefined {
  if (!isFields(value) || own(value, 'version') !== 1) return undefined;
  const read = readShape(value, SNAPSHOT, {}, ignore);
  const observations = own(value, 'observations');
  const findings = own(value, 'findings');
  if (read === undefined || !Array.isArray(observations) || !Array.isArray(findings)) return undefined;
  if (observations.length > MAX_OBSERVATIONS || findings.length > MAX_FINDINGS) return undefined;
  const known = observations.flatMap((entry: unknown) => readObservation(entry, {}, ignore) ?? []);
  const snapshot = {
    version: 1,
    ...read,
    ...(known.length < observations.length ? { partial: true } : {}),
    observations: known,
    findings: findings.flatMap((entry: unknown) => readFinding(entry, {}, ignore) ?? []),
  };
  // Every field is what its reader made of it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return snapshot as unknown as Snapshot;
}

const ignore: Report = () => {};

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

/** More than what any source keeps, so that what was stored comes back as it was. */
const NAME_LIMIT = 600;
const NAME = text(NAME_LIMIT);
const PROVIDER = oneOf(PROVIDERS);

function readCluster(value: unknown, report: Report): AssessedCluster | undefined {
  if (typeof value === 'string' && value !== '' && value.length <= NAME_LIMIT)
    return { id: printable(value, NAME_LIMIT), provider: 'eks-anywhere' };
  if (!isFields(value)) {
    const words = 'a name, or an object with a name or an id';
    report('cluster', () => (value === undefined ? `is missing: ${words}` : `is not ${words}`));
    return undefined;
  }
  reportUnknown(value, ['id', 'name', 'provider'], (field, problem) => report(`cluster.${field}`, problem));
  const name = own(value, 'name');
  const id = NAME(own(value, 'id') ?? name);
  const provider = own(value, 'provider') ?? 'eks-anywhere';
  if (typeof id !== 'string' || id === '') report('cluster.id', () => 'is missing: a text, or a name');
  const known = PROVIDERS.find((other) => other === provider);
  const wrong = PROVIDER(provider);
  if (wrong instanceof Expected) report('cluster.provider', () => wrongValue(provider, wrong));
  if (typeof id !== 'string' || id === '' || known === undefined) return undefined;
  return {
    id,
    provider: known,
    name: typeof name === 'string' && name !== '' ? printable(name, NAME_LIMIT) : undefined,
  };
}

function readNow(value: unknown, clock: () => number, report: Report): number | undefined {
  if (value === undefined || value === null) return clock();
  const at = time(value);
  if (typeof at === 'string') return Date.parse(at);
  if (at instanceof Expected) report('now', () => wrongValue(value, at));
  return undefined;
}

function readPrevious(value: unknown, report: Report): Pick<Snapshot, 'observations' | 'findings'> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isFields(value)) {
    report('previous', () => 'is not an object with observations and findings');
    return undefined;
  }
  return {
    observations: readObservations(own(value, 'observations') ?? [], 'previous.observations', {}, report),
    findings: readList(own(value, 'findings') ?? [], 'previous.findings', MAX_FINDINGS, report, (entry, told) =>
      readFinding(entry, {}, told),
    ),
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

function readObservation(value: unknown, defaults: Fields, report: Report): Observation | undefined {
  if (!isFields(value)) {
    report('', () => 'is not an object');
    return undefined;
  }
  const kind = own(value, 'kind') ?? 'certificate';
  const shape = typeof kind === 'string' && Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (shape === undefined) {
    report('kind', () => wrongValue(kind, A_KIND));
    return undefined;
  }
  const source = own(value, 'source') ?? 'tls';
  const usual = typeof source === 'string' && Object.hasOwn(USUAL_BASES, source) ? USUAL_BASES[source] : 'certificate';
  const read = readShape(
    value,
    shape,
    { ...defaults, source: 'tls', ...(kind === 'certificate' ? { basis: usual, what: 'endpoint' } : {}) },
    report,
    ['kind'],
  );
  // Every field is what its reader made of it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return read === undefined ? undefined : ({ kind, ...read } as unknown as Observation);
}

function readFinding(value: unknown, defaults: Fields, report: Report): ExpiryFinding | undefined {
  if (!isFields(value)) {
    report('', () => 'is not an object');
    return undefined;
  }
  // Every field is what its reader made of it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return readShape(value, FINDING, defaults, report) as unknown as ExpiryFinding | undefined;
}

/** What a source says of an end that it has not read from a certificate. */
const USUAL_BASES: Readonly<Record<string, string>> = {
  machines: 'status',
  'eks-anywhere': 'status',
  'kubelet-metrics': 'status',
  'cert-manager': 'status',
  'kubeadm-configs': 'annotation',
};

const WHAT = oneOf(Object.keys(CERTIFICATE_CLASSES));
const PLACE = text(1_000);
const SENTENCE = text(1_200);
const OBSERVED = { source: oneOf(SOURCE_IDS), observedAt: time };
const ROLE = oneOf(['control-plane', 'etcd', 'worker', 'node-group']);

const KINDS: Readonly<Record<string, Shape>> = {
  certificate: {
    required: { ...OBSERVED, what: WHAT, where: PLACE, basis: oneOf(BASES), notAfter: time },
    optional: {
      position: count,
      member: NAME,
      notBefore: time,
      precisionMs: count,
      subject: SENTENCE,
      issuer: SENTENCE,
      commonName: NAME,
      serialNumber: NAME,
      fingerprint: NAME,
      isAuthority: flag,
      key: NAME,
      weakKey: NAME,
      weakSignature: NAME,
      subjectKeyId: NAME,
      authorityKeyId: NAME,
      issuedByCluster: flag,
      keyProven: flag,
      issuedBefore: mark,
      renewedBy: NAME,
    },
  },
  member: {
    required: { ...OBSERVED, role: ROLE, name: NAME, createdAt: time, addresses: texts(100, 64) },
    optional: { node: NAME, externalIp: mark, kindOfNode: oneOf(['fargate', 'auto-mode', 'hybrid']) },
  },
  group: {
    required: { ...OBSERVED, role: ROLE, name: NAME, wanted: count },
    optional: { rolloutBeforeDays: count, paused: mark },
  },
  requests: {
    required: {
      ...OBSERVED,
      signer: NAME,
      requester: NAME,
      state: oneOf(['pending', 'approved', 'issued', 'failed', 'denied']),
      count,
      lastHour: count,
      oldestAt: time,
      newestAt: time,
      examples: texts(NAME_LIMIT, 20),
    },
    optional: { message: SENTENCE },
  },
  authority: {
    required: {
      ...OBSERVED,
      id: NAME,
      createdAt: time,
      signingStatus: oneOf(['NOT_USED', 'ACTIVATING', 'IN_USE']),
      distributionStatus: oneOf(['IN_PROGRESS', 'COMPLETE', 'FAILED', 'DELETING']),
    },
    optional: { notAfter: time, firstAutoActivation: time, finalAutoActivation: time },
  },
  renewal: {
    required: {
      ...OBSERVED,
      what: oneOf(['kubelet-serving', 'kubelet-client']),
      node: NAME,
      errors: count,
      none: flag,
    },
    optional: {},
  },
  clock: { required: { ...OBSERVED, server: PLACE, skewMs: number }, optional: {} },
  read: { required: { ...OBSERVED, count }, optional: {} },
  unread: {
    required: { ...OBSERVED, problem: text(80), message: SENTENCE, remedy: SENTENCE },
    optional: { where: PLACE, alsoTried: texts(1_000, 16), what: WHAT, member: NAME, usual: mark },
  },
  off: { required: { ...OBSERVED, why: SENTENCE }, optional: {} },
};

const A_KIND = new Expected(`one of ${Object.keys(KINDS).join(', ')}`, Object.keys(KINDS));

const FINDING: Shape = {
  required: {
    code: oneOf(Object.keys(FINDING_CODES)),
    severity: oneOf(SEVERITIES),
    cluster: NAME,
    object: PLACE,
    message: text(1_200),
    since: time,
    command: text(1_000),
    runbook: text(200),
  },
  optional: {
    what: WHAT,
    places: texts(400, 20),
    placeCount: count,
    due: time,
    lastSeen: time,
    renewedBy: NAME,
  },
};

const SNAPSHOT: Shape = {
  required: { cluster: NAME, provider: PROVIDER, auditedAt: time },
  optional: { partial: mark, server: NAME },
};
