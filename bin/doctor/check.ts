import { AwsError } from '../../lambdas/aws/errors.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';

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
  | { readonly status: 'failed' | 'warning'; readonly found: string; readonly fix: Fix };

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
  readonly checks: readonly Check[];
  /** Called when all are done. */
  close?(): void;
}

export interface CheckResult {
  readonly id: string;
  readonly title: string;
  readonly object: string;
  readonly status: 'passed' | 'failed' | 'warning' | 'skipped';
  /** What came back, or why it was skipped. */
  readonly found: string;
  readonly fix?: Fix;
}

export interface GroupResult {
  readonly subject: string;
  readonly checks: readonly CheckResult[];
}

/**
 * Runs the checks of a group one after the other. One whose needs did not pass is skipped; a warning does not stop the next.
 *
 * @throws whatever a check throws that is no failure of the cluster or of AWS: a mistake in certmarshal
 */
export async function runGroup(group: CheckGroup, signal: AbortSignal): Promise<GroupResult> {
  const results = new Map<string, CheckResult>();
  try {
    for (const check of group.checks) {
      const { id, title, object } = check;
      const missing = check.needs?.map((need) => results.get(need)).find((need) => need !== undefined && !isGood(need));
      if (missing !== undefined)
        results.set(id, { id, title, object, status: 'skipped', found: `needs ${missing.id}` });
      else results.set(id, { id, title, object, ...(await answerOf(check, signal)) });
    }
    return { subject: group.subject, checks: [...results.values()] };
  } finally {
    group.close?.();
  }
}

function isGood({ status }: CheckResult): boolean {
  return status === 'passed' || status === 'warning';
}

async function answerOf(check: Check, signal: AbortSignal): Promise<Answer> {
  if (signal.aborted) return stopped();
  try {
    return await check.run(signal);
  } catch (error) {
    if (signal.aborted) return stopped();
    if (error instanceof KubernetesError || error instanceof AwsError)
      return failed(`${error.object}: ${error.problem}`, { text: error.remedy });
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
