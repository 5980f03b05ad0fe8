import { AwsError } from '../../lambdas/aws/errors.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { remedyAtTheKeyboard } from './at-the-keyboard.ts';

/** What a person does about a failure. */
export interface Fix {
  /** One sentence or two. */
  readonly text: string;
  /** To be pasted as it is, where one command is the whole repair. */
  readonly command?: string;
}

/** What came back. */
export type Answer =
  | { readonly status: 'passed'; readonly found: string }
  | {
      readonly status: 'failed' | 'warning';
      readonly found: string;
      readonly fix: Fix;
      /** With a warning: it cannot be told from here, so neither can what needs it. */
      readonly blocks?: true;
    };

/** One thing that has to be as it should. */
export interface Check {
  /** Stable; docs/doctor.md describes it. */
  readonly id: string;
  readonly title: string;
  /** What is looked at: a host, a right, a secret. */
  readonly object: string;
  /** Ids of the checks in its group that have to pass before this one can tell anything. */
  readonly needs?: readonly string[];
  run(signal: AbortSignal): Promise<Answer>;
}

/** Checks about one cluster or one place where clusters are looked for, in their order. */
export interface CheckGroup {
  readonly subject: string;
  /** What else to know of the subject, beside its name. */
  readonly note?: string;
  readonly checks: readonly Check[];
  /** Called when all are done. */
  close?(): void;
}

export interface CheckResult {
  readonly id: string;
  readonly title: string;
  readonly object: string;
  readonly status: 'passed' | 'failed' | 'warning' | 'skipped';
  /** What came back, or, where it was skipped, the check that all this needs: `needs resolve`. */
  readonly found: string;
  readonly fix?: Fix;
}

export interface GroupResult {
  readonly subject: string;
  readonly note?: string;
  readonly checks: readonly CheckResult[];
}

/**
 * Runs the checks of a group one after the other. One whose needs did not pass is skipped; a warning does not stop the next,
 * unless it says so.
 *
 * @throws whatever a check throws that is no failure of the cluster or of AWS: a mistake in certmarshal
 */
export async function runGroup(group: CheckGroup, signal: AbortSignal): Promise<GroupResult> {
  const { subject, note } = group;
  const results: CheckResult[] = [];
  /** For each check that nothing can be built on, the one whose fault that is. */
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
    if (error instanceof KubernetesError) return failed(`${error.object}: ${error.problem}`, { text: error.remedy });
    if (error instanceof AwsError)
      return failed(`${error.object}: ${error.problem}`, { text: remedyAtTheKeyboard(error) });
    throw error;
  }
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

/** It cannot be tried as who we are, which is no failure of the fleet; what needs it is skipped. */
export function untold(found: string, fix: Fix): Answer {
  return { status: 'warning', found, fix, blocks: true };
}

/** A remedy, or else that fix. */
export function either(remedy: string, fix: Fix): Fix {
  return { ...fix, text: `${remedy} Or ${fix.text.charAt(0).toLowerCase()}${fix.text.slice(1)}` };
}
