import type { z } from 'zod';
import { printable } from '../printable.ts';
import { describeIssue, describeUnknownKey } from './describe-issue.ts';
import { resourceProblems } from './exact-resources.ts';
import type { Fleet } from './fleet.ts';
import { brokenRules, FleetFile } from './fleet-file.ts';
import type { ConfigProblem } from './problems.ts';
import { placeOf, type RuleProblem } from './written.ts';
import { readYaml, type TextProblem, type YamlFile } from './yaml-file.ts';
import type { Path } from './yaml-values.ts';

export { FleetConfigError } from './problems.ts';

export type ParsedFleet =
  | {
      readonly ok: true;
      readonly fleet: Fleet;
      /** The same for remarks about a valid file. */
      readonly located: (remarks: readonly RuleProblem[]) => readonly ConfigProblem[];
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/**
 * Reads the text of a `fleet.yaml`. Pure, with a result for every text: the fleet with all defaults, or every problem
 * of the file in the order of its lines, including those that prevent a deployment. If the text is not YAML, only that is
 * reported.
 *
 * @param fileName name of the file in problems
 */
export function parseFleet(text: string, fileName: string): ParsedFleet {
  const yaml = readYaml(text);
  if (!yaml.ok) return { ok: false, problems: sorted(yaml.problems, fileName) };
  const read = FleetFile.safeParse(yaml.value, { error: describeIssue });
  const problems = [
    ...yaml.problems,
    ...(read.success
      ? []
      : withoutEchoes(read.error.issues.flatMap(ofItsKind)).flatMap((issue) => locatedIssue(issue, yaml))),
    ...[...brokenRules(yaml.value), ...(read.success ? resourceProblems(read.data) : [])].map(({ path, message }) =>
      at(yaml, path, message),
    ),
  ];
  if (!read.success || problems.length > 0) return { ok: false, problems: sorted(problems, fileName) };
  const located = (remarks: readonly RuleProblem[]) =>
    sorted(
      remarks.map(({ path, message }) => at(yaml, path, message)),
      fileName,
    );
  return { ok: true, fleet: read.data, located };
}

type ReadableYaml = Extract<YamlFile, { ok: true }>;

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

function locatedIssue(issue: z.core.$ZodIssue, yaml: ReadableYaml): readonly TextProblem[] {
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
  return { ...yaml.positionOf(path, place), message: `${printable(placeOf(path), 150)}: ${message}` };
}

function sorted(problems: readonly TextProblem[], file: string): readonly ConfigProblem[] {
  // An alias would repeat the problem of its anchor.
  const unique = new Map(problems.map((problem) => [JSON.stringify(problem), { file, ...problem }]));
  return [...unique.values()].toSorted(
    (a, b) => a.line - b.line || a.column - b.column || (a.message < b.message ? -1 : Number(a.message > b.message)),
  );
}
