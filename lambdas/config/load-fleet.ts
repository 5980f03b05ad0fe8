import type { z } from 'zod';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../approval/policy.ts';
import type { MaintenanceWindow } from '../health/maintenance.ts';
import type { Provider } from '../identifiers.ts';
import { printable } from '../printable.ts';
import { DEFAULT_ROLLOUT_POLICY, type RolloutPolicy } from '../rollout/policy.ts';
import { ALARMS, type AlarmId, type AlarmSettings } from '../tables/alarms.ts';
import type { Threshold } from '../tables/certificate-classes.ts';
import type { OnceWindow, WeeklyWindow } from '../window/window.ts';
import type { Audit, ThresholdEntry } from './audit-entry.ts';
import { describeIssue, describeUnknownKey } from './describe-issue.ts';
import { brokenRules } from './file-rules.ts';
import {
  type ClusterSelection,
  DEFAULT_AUDIT,
  DEFAULT_MONITORING,
  DEFAULT_ROLLOUTS,
  type ExpiredServerOfCluster,
  type Fleet,
  type FleetAudit,
  type FleetMonitoring,
  type FleetRollouts,
} from './fleet.ts';
import { FleetFile } from './fleet-file.ts';
import type { AlarmsSection, MaintenanceEntry, Monitoring } from './monitoring-entry.ts';
import type { PolicyEntry } from './policy-entry.ts';
import type { ConfigProblem } from './problems.ts';
import { AUTHORITY_PIN, type RecoveryEntry } from './recovery-entry.ts';
import type { RolloutEntry, Rollouts } from './rollout-entry.ts';
import { leadOf } from './rollout-rules.ts';
import { readYaml, type TextProblem, type YamlFile } from './yaml-file.ts';
import type { Path } from './yaml-values.ts';

export { FleetConfigError } from './problems.ts';

export type ParsedFleet =
  | { readonly ok: true; readonly fleet: Fleet }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/**
 * Reads the text of a `fleet.yaml`. Pure, and a value for every text: the fleet with all defaults filled in, or every problem of the
 * file in the order of its lines. When the text is not YAML, only that is reported.
 *
 * @param fileName how problems name the file
 */
export function parseFleet(text: string, fileName: string): ParsedFleet {
  const yaml = readYaml(text);
  if (!yaml.ok) return { ok: false, problems: sorted(yaml.problems, fileName) };
  const read = FleetFile.safeParse(yaml.value, { error: describeIssue });
  const problems = [
    ...yaml.problems,
    ...(read.success
      ? []
      : withoutEchoes(read.error.issues.flatMap(ofItsKind)).flatMap((issue) => located(issue, yaml))),
    ...brokenRules(yaml.value).map(({ path, message }) => at(yaml, path, message)),
  ];
  if (!read.success || problems.length > 0) return { ok: false, problems: sorted(problems, fileName) };
  return { ok: true, fleet: resolveFleet(read.data) };
}

type ReadableYaml = Extract<YamlFile, { ok: true }>;

/** A value that may be of two kinds: what is wrong with it is said of the kind that it is. */
function ofItsKind(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const kind = issue.errors.find(
    (issues) => !issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0),
  );
  return (kind ?? issue.errors[0] ?? []).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** What has the wrong type also has a wrong size. */
function withoutEchoes(issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  const wrongTypes = new Set(issues.flatMap(({ code, path }) => (code === 'invalid_type' ? [path.join('/')] : [])));
  return issues.filter(
    ({ code, path }) => (code !== 'too_big' && code !== 'too_small') || !wrongTypes.has(path.join('/')),
  );
}

function located(issue: z.core.$ZodIssue, yaml: ReadableYaml): readonly TextProblem[] {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => at(yaml, path, message, 'key'));
  if (issue.code !== 'unrecognized_keys') return [at(yaml, path, issue.message)];
  return issue.keys.map((key) => {
    const keyPath = [...path, key];
    return at(yaml, keyPath, describeUnknownKey(FleetFile, keyPath), 'key');
  });
}

function at(yaml: ReadableYaml, path: Path, message: string, place?: 'key'): TextProblem {
  if (path.length === 0) return { ...yaml.positionOf(path), message };
  const label = path.map((step, index) =>
    typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`,
  );
  return { ...yaml.positionOf(path, place), message: `${printable(label.join(''), 150)}: ${message}` };
}

function sorted(problems: readonly TextProblem[], file: string): readonly ConfigProblem[] {
  // An alias shows what is wrong with its anchor once more.
  const unique = new Map(problems.map((problem) => [JSON.stringify(problem), { file, ...problem }]));
  return [...unique.values()].toSorted(
    (a, b) => a.line - b.line || a.column - b.column || (a.message < b.message ? -1 : Number(a.message > b.message)),
  );
}

function resolveFleet(file: z.output<typeof FleetFile>): Fleet {
  const policies = (file.policies ?? []).map(resolvePolicy);
  const audit = resolveAudit(file.audit ?? {});
  return {
    discovery: (file.discovery ?? []).map((entry) => ({ ...entry, exclude: onlyWhatIsSaid(entry.exclude) })),
    managementClusters: (file.managementClusters ?? []).map(({ workloadClusters, ...entry }) => ({
      ...entry,
      workloadClusters: { ...workloadClusters, exclude: onlyWhatIsSaid(workloadClusters.exclude) },
    })),
    clusters: (file.clusters ?? []).map((entry) => ({ ...entry, id: entry.id ?? entry.name })),
    lanes: file.lanes ?? [],
    hub: file.hub ?? { hints: false },
    audit,
    monitoring: resolveMonitoring(file.monitoring ?? {}, audit),
    journal: file.journal ?? {},
    rollouts: resolveRollouts(file.rollouts ?? {}),
    recovery: (file.recovery ?? []).map(resolveRecovery),
    policies: policies.length === 0 ? [DEFAULT_POLICY] : policies,
  };
}

function resolveAudit({ every, thresholds }: Partial<z.output<typeof Audit>>): FleetAudit {
  const entries = thresholds ?? [];
  const general = entries.find(({ classes }) => classes === undefined);
  const named = entries.flatMap((entry) => (entry.classes ?? []).map((name) => [name, levelsOf(entry)] as const));
  return {
    everyMinutes: every === undefined ? DEFAULT_AUDIT.everyMinutes : every / 60,
    thresholds: {
      default: general === undefined ? DEFAULT_AUDIT.thresholds.default : levelsOf(general),
      classes: { ...DEFAULT_AUDIT.thresholds.classes, ...Object.fromEntries(named) },
    },
  };
}

function levelsOf({ warning, critical }: z.output<typeof ThresholdEntry>) {
  const level = ({ share, floor }: typeof warning): Threshold => ({ share, floorMs: floor * 1_000 });
  return { warning: level(warning), critical: level(critical) };
}

function resolveMonitoring(
  { alarms, maintenance, ...said }: Partial<z.output<typeof Monitoring>>,
  { everyMinutes }: FleetAudit,
): FleetMonitoring {
  return {
    ...DEFAULT_MONITORING,
    ...said,
    auditEveryMinutes: everyMinutes,
    alarms: resolveAlarms(alarms ?? {}),
    maintenance: (maintenance ?? []).map(resolveWindow),
  };
}

/** Whoever changes one of the two keeps the other. */
function resolveAlarms(said: z.output<typeof AlarmsSection>): AlarmSettings {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema has no other keys
  const ids = Object.keys(said) as AlarmId[];
  return Object.fromEntries(
    ids.map((id) => {
      const { threshold, severity } = ALARMS[id];
      return [id, { threshold, severity, ...said[id] }];
    }),
  );
}

function resolveWindow({ from, until, weekly, ...window }: z.output<typeof MaintenanceEntry>): MaintenanceWindow {
  if (weekly !== undefined) return { ...window, when: weekly };
  if (from === undefined || until === undefined)
    throw new Error('the rules of the file let a window without a time pass');
  return { ...window, when: { from, until } };
}

function resolveRollouts({ atOnce, pause, clusters }: z.output<typeof Rollouts>): FleetRollouts {
  return {
    atOnce: atOnce ?? DEFAULT_ROLLOUTS.atOnce,
    pauseMs: pause === undefined ? DEFAULT_ROLLOUTS.pauseMs : pause * 1_000,
    clusters: (clusters ?? []).map(resolveRolloutPolicy),
  };
}

function resolveRolloutPolicy({ begin, stop, windows = [], ...entry }: z.output<typeof RolloutEntry>): RolloutPolicy {
  return {
    ...entry,
    begin: leadOf(begin, DEFAULT_ROLLOUT_POLICY.begin),
    stop: leadOf(stop, DEFAULT_ROLLOUT_POLICY.stop),
    windows: windows.map(({ days, timeZone, from, until }): OnceWindow | WeeklyWindow => {
      if (days === undefined) return { from, until };
      if (timeZone === undefined) throw new Error('the rules of the file let a window without a time zone pass');
      return { days, from, until, timeZone };
    }),
  };
}

function resolveRecovery({
  cluster,
  until,
  pin,
  expiredAtMost,
}: z.output<typeof RecoveryEntry>): ExpiredServerOfCluster {
  const server =
    pin === AUTHORITY_PIN
      ? ({
          pin: 'authority',
          expiredAtMostMs: expiredAtMost === undefined ? undefined : expiredAtMost * 1_000,
        } as const)
      : ({ pin: 'fingerprint', sha256: pin.slice('sha256:'.length) } as const);
  return { cluster, until, server };
}

/** A selection that says nothing selects every cluster; an `exclude` that says nothing is to exclude none. */
function onlyWhatIsSaid<S extends ClusterSelection>(exclude: S): S {
  return Object.keys(exclude).length === 0 ? { ...exclude, names: [] } : exclude;
}

function resolvePolicy(entry: z.output<typeof PolicyEntry>): ApprovalPolicy {
  const { patterns, maxExpiration, age, ...policy } = entry;
  const window = (provider: Provider) => ({
    minSeconds: age.min ?? DEFAULT_POLICY.age[provider].minSeconds,
    maxSeconds: age.max ?? DEFAULT_POLICY.age[provider].maxSeconds,
  });
  return {
    ...policy,
    patterns: { cidrs: patterns?.cidrs ?? [], dnsNames: patterns?.dnsNames ?? [] },
    maxExpirationSeconds: maxExpiration,
    age: { eks: window('eks'), 'eks-anywhere': window('eks-anywhere') },
  };
}
