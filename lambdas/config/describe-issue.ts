import { z } from 'zod';
import { didYouMean } from '../did-you-mean.ts';
import { printable } from '../printable.ts';
import { bare } from './written.ts';
import type { Path } from './yaml-values.ts';

/** Texts for issues without a sentence in the schema. */
export const describeIssue: z.core.$ZodErrorMap = (issue) => {
  const { input } = issue;
  if (issue.code === 'invalid_type')
    return input === undefined
      ? `missing; write ${kindWanted(issue.expected)}`
      : `write ${kindWanted(issue.expected)}, not ${kindOf(input)}`;
  if (issue.code === 'invalid_value') return describeChoice(input, issue.values);
  if ((issue.code === 'too_small' || issue.code === 'too_big') && issue.origin !== 'array')
    return 'write a number of fewer digits';
  if (issue.code === 'too_small') return 'an empty list; write at least one entry, or remove the key for its default';
  if (issue.code === 'too_big') return `write at most ${issue.maximum} entries`;
  return undefined;
};

function describeChoice(input: unknown, values: readonly z.core.util.Primitive[]): string {
  const allowed = values.filter((value) => typeof value === 'string');
  const choice = values.length === 1 ? String(values[0]) : `one of ${allowed.join(', ')}`;
  if (input === undefined) return `missing; write ${choice}`;
  if (typeof input !== 'string' || allowed.length === 0) return `write ${choice}, not ${kindOf(input)}`;
  return `"${printable(input, 60)}" is not known here; ${suggest(input, allowed) ?? `write ${choice}`}`;
}

/** Keys that version 0.1 ended, and what to do. */
const REMOVED_KEYS: Readonly<Record<string, string>> = {
  'monitoring.alarms.DispatchHeartbeat': 'is PlanHeartbeat now',
  'monitoring.alarms.FunctionDuration': 'is SweepTimeout now, about sweeps alone',
  'monitoring.alarms.FunctionThrottles': 'is gone; Executions replaces it',
  'monitoring.alarms.QueueAge': 'is gone with the queues; Executions replaces it',
  'monitoring.digest': 'is monitoring.daily now, with the same keys',
  'hub.hints': 'is gone; remove it: each cluster is swept every minute, and hub.webhook sweeps one immediately',
  'rollouts.clusters.nodeGroups':
    'is gone; remove it: the finding SuccessorNotTrusted names the command that updates a node group',
};

/** An unknown key, with the known one that it may mean. `path` ends in the key. */
export function describeUnknownKey(schema: z.ZodType, path: Path): string {
  const key = String(path.at(-1));
  const removed = REMOVED_KEYS[path.filter((step) => typeof step === 'string').join('.')];
  if (removed !== undefined) return removed;
  const known = keysAt(schema, path.slice(0, -1));
  return `unknown key; ${suggest(key, known) ?? `known here: ${known.join(', ')}`}`;
}

function suggest(word: string, candidates: readonly string[]): string | undefined {
  const candidate = didYouMean(word, candidates);
  return candidate === undefined ? undefined : `did you mean "${candidate}"?`;
}

function keysAt(schema: z.ZodType, path: Path): readonly string[] {
  let at = bare(schema);
  for (const step of path) {
    if (at instanceof z.ZodObject) at = bare(at.shape[step]);
    else if (at instanceof z.ZodArray) at = bare(at.element);
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

function kindWanted(expected: string): string {
  switch (expected) {
    case 'array':
      return 'a list';
    case 'object':
    case 'record':
      return 'a section with keys';
    case 'boolean':
      return 'true or false';
    case 'int':
    case 'number':
      return 'a whole number';
    default:
      return expected;
  }
}

export function kindOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a section';
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'text';
}
