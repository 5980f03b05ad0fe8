import { AwsError } from '../../lambdas/aws/errors.ts';
import type { Failure } from '../../lambdas/contracts/problem.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { remedyAtTheKeyboard } from './at-the-keyboard.ts';

export interface Fix {
  /** One or two sentences. */
  readonly text: string;
  /** A command to paste, if one command is the whole fix. */
  readonly command?: string;
}

export type Answer =
  | { readonly status: 'passed'; readonly found: string }
  | {
      readonly status: 'failed' | 'warning';
      readonly found: string;
      readonly fix: Fix;
      /** With a warning: the result is unknown from here, so checks that need it are skipped. */
      readonly blocks?: true;
    };

export interface Check {
  /** Stable; docs/doctor.md describes it. */
  readonly id: string;
  readonly title: string;
  readonly object: string;
  /** Ids of checks in its group that must pass before this one is meaningful. */
  readonly needs?: readonly string[];
  run(signal: AbortSignal): Promise<Answer>;
}

/** The checks of one cluster, or of one account and Region where clusters are discovered, in order. */
export interface CheckGroup {
  readonly subject: string;
  /** More about the subject. */
  readonly note?: string;
  readonly checks: readonly Check[];
  /** Called after all checks. */
  close?(): void;
}

export interface CheckResult {
  readonly id: string;
  readonly title: string;
  readonly object: string;
  readonly status: 'passed' | 'failed' | 'warning' | 'skipped';
  /** The outcome; of a skipped check the failed check that it depends on: `needs resolve`. */
  readonly found: string;
  readonly fix?: Fix;
}

export interface GroupResult {
  readonly subject: string;
  readonly note?: string;
  readonly checks: readonly CheckResult[];
}

/**
 * Runs the checks of a group in order. A check whose needs did not pass is skipped; a warning skips nothing unless it
 * sets `blocks`.
 *
 * @throws any error of a check that is neither a KubernetesError nor an AwsError: a bug in certmarshal
 */
export async function runGroup(group: CheckGroup, signal: AbortSignal): Promise<GroupResult> {
  const { subject, note } = group;
  const results: CheckResult[] = [];
  /** For each check that blocks others, the check that caused it. */
  const causes = new Map<string, string>();
  try {
    for (const check of group.checks) {
      const { id, title, object } = check;
      const cause = check.needs?.map((need) => causes.get(need)).find((known) => known !== undefined);
      if (cause !== undefined) {
        causes.set(id, cause);
        results.push({ id, title, object, status: 'skipped', found: `needs ${cause}` });
        continue;
      }
      const answer = await answerOf(check, signal);
      if (answer.status === 'failed' || (answer.status === 'warning' && answer.blocks)) causes.set(id, id);
      results.push({ id, title, object, ...shown(answer) });
    }
    return { subject, note, checks: results };
  } finally {
    group.close?.();
  }
}

function shown(answer: Answer): Pick<CheckResult, 'status' | 'found' | 'fix'> {
  const { status, found } = answer;
  return status === 'passed' ? { status, found } : { status, found, fix: answer.fix };
}

async function answerOf(check: Check, signal: AbortSignal): Promise<Answer> {
  if (signal.aborted) return stopped();
  try {
    return await check.run(signal);
  } catch (error) {
    if (signal.aborted) return stopped();
    if (error instanceof KubernetesError) return failed(about(check, error), { text: error.remedy });
    if (error instanceof AwsError) return failed(about(check, error), { text: remedyAtTheKeyboard(error) });
    throw error;
  }
}

function about({ object }: Check, error: Failure): string {
  return error.object === object ? error.problem : `${error.object}: ${error.problem}`;
}

function stopped(): Answer {
  return failed('not tried: it was interrupted', { text: 'Run certmarshal doctor again.' });
}

export function passed(found: string): Answer {
  return { status: 'passed', found };
}

export function failed(found: string, fix: Fix): Answer {
  return { status: 'failed', found, fix };
}

export function warning(found: string, fix: Fix): Answer {
  return { status: 'warning', found, fix };
}

/** The check is impossible with our credentials, which is no failure of the fleet; checks that need it are skipped. */
export function untold(found: string, fix: Fix): Answer {
  return { status: 'warning', found, fix, blocks: true };
}

/** Offers a remedy and a fix as alternatives. */
export function either(remedy: string, fix: Fix): Fix {
  return { ...fix, text: `${remedy} Or ${fix.text.charAt(0).toLowerCase()}${fix.text.slice(1)}` };
}
