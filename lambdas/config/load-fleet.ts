import type { z } from 'zod';
import { printable } from '../printable.ts';
import { describeIssue, describeUnknownKey } from './describe-issue.ts';
import { resourceProblems } from './exact-resources.ts';
import type { Fleet } from './fleet.ts';
import { brokenRules, doubtfulValues, FleetFile, type ReadableSections, readableSections } from './fleet-file.ts';
import type { ConfigProblem } from './problems.ts';
import { placeOf, type RuleProblem } from './written.ts';
import { type Reading, readYaml, type TextProblem } from './yaml-file.ts';
import type { Path } from './yaml-values.ts';

export { FleetConfigError } from './problems.ts';

export type ParsedFleet =
  | { readonly ok: true; readonly fleet: Fleet; readonly remarks: Remarks }
  | {
      readonly ok: false;
      readonly problems: readonly ConfigProblem[];
      /** Undefined if the text cannot be read. */
      readonly remarks?: Remarks;
    };

/** What is doubtful but no problem. A check that reads an invalid section is left out. */
type Remarks = (checks: readonly FleetCheck[]) => readonly ConfigProblem[];

export type FleetCheck = (fleet: Fleet) => readonly RuleProblem[];

/**
 * Reads the text of a `fleet.yaml`. Pure, with a result for every text: the fleet with all defaults, or every problem
 * of the file in the order of its lines, including those that prevent a deployment. If the text is not YAML, only that is
 * reported. Of duplicate keys the first counts, but what is wrong with the last is reported too.
 *
 * @param fileName name of the file in problems
 */
export function parseFleet(text: string, fileName: string): ParsedFleet {
  const yaml = readYaml(text);
  if (!yaml.ok) return { ok: false, problems: sorted(yaml.problems, fileName) };
  const { data, issues } = readFile(yaml);
  const again = yaml.last === undefined ? [] : locatedIssues(readFile(yaml.last).issues, yaml.last);
  const broken = brokenRules(yaml.value);
  const sections = readableSections(yaml.value, [...issues, ...broken]);
  const located = (found: readonly RuleProblem[]) => found.map(({ path, message }) => at(yaml, path, message));
  const problems = [
    ...yaml.problems,
    ...locatedIssues(issues, yaml),
    ...again,
    ...located([...broken, ...inValidSections(sections, resourceProblems)]),
  ];
  const remarks: Remarks = (checks) =>
    sorted(
      located([...doubtfulValues(yaml.value), ...checks.flatMap((check) => inValidSections(sections, check))]),
      fileName,
    );
  return data === undefined || problems.length > 0
    ? { ok: false, problems: sorted(problems, fileName), remarks }
    : { ok: true, fleet: data, remarks };
}

function readFile({ value }: Reading) {
  const { data, error } = FleetFile.safeParse(value, { error: describeIssue });
  const issues = withoutEchoes((error?.issues ?? []).flatMap(ofItsKind));
  return { data, issues: issues.map((issue) => ({ ...issue, path: issue.path.map(stepOf) })) };
}

function stepOf(step: PropertyKey): string | number {
  return typeof step === 'symbol' ? String(step) : step;
}

/** What a check finds, unless it reads an invalid section. */
function inValidSections({ fleet, invalid }: ReadableSections, check: FleetCheck): readonly RuleProblem[] {
  let isInvalidRead = false;
  const watched = new Proxy(fleet, {
    get: (sections, name, itself) => {
      isInvalidRead ||= invalid.has(name);
      return Reflect.get(sections, name, itself);
    },
  });
  const found = check(watched);
  return isInvalidRead ? [] : found;
}

/** For a value of several possible kinds: reports only problems of the kind that it has. */
function ofItsKind(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const kind = issue.errors.find(
    (issues) => !issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0),
  );
  return (kind ?? issue.errors[0] ?? []).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** A value of the wrong type also has a wrong size. */
function withoutEchoes(issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  const wrongTypes = new Set(issues.flatMap(({ code, path }) => (code === 'invalid_type' ? [path.join('/')] : [])));
  return issues.filter(
    ({ code, path }) => (code !== 'too_big' && code !== 'too_small') || !wrongTypes.has(path.join('/')),
  );
}

type LocatedIssue = z.core.$ZodIssue & Pick<RuleProblem, 'path'>;

function locatedIssues(issues: readonly LocatedIssue[], reading: Reading): readonly TextProblem[] {
  return issues.flatMap((issue) => {
    const { path } = issue;
    if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => at(reading, path, message, 'key'));
    if (issue.code !== 'unrecognized_keys') return [at(reading, path, issue.message)];
    return issue.keys.map((key) => {
      const keyPath = [...path, key];
      return at(reading, keyPath, describeUnknownKey(FleetFile, keyPath), 'key');
    });
  });
}

function at({ positionOf }: Reading, path: Path, message: string, place?: 'key'): TextProblem {
  if (path.length === 0) return { ...positionOf(path), message };
  return { ...positionOf(path, place), message: `${printable(placeOf(path), 150)}: ${message}` };
}

function sorted(problems: readonly TextProblem[], file: string): readonly ConfigProblem[] {
  // An alias would repeat the problem of its anchor.
  const unique = new Map(problems.map((problem) => [JSON.stringify(problem), { file, ...problem }]));
  return [...unique.values()].toSorted(
    (a, b) => a.line - b.line || a.column - b.column || (a.message < b.message ? -1 : Number(a.message > b.message)),
  );
}
