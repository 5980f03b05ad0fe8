import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { HoldReason } from '../../../lambdas/contracts/rollout-summary.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { RolloutStep, RolloutWrite } from '../../../lambdas/rollout/step.ts';
import { pasteable } from '../../program.ts';
import { hang, type Lines } from '../../terminal/draw.ts';
import { faint, strong } from '../../terminal/paint.ts';
import { problemLines } from '../../terminal/phrases.ts';
import { dayOf, span } from '../../terminal/words.ts';
import { STATES, writeWords } from './words.ts';

/** What every document begins with. */
export function documentOf(kind: string, at: number, { cluster }: Pick<ObservedRollout, 'cluster'>) {
  return { version: 1, kind, at: new Date(at).toISOString(), cluster };
}

/** The first line: the whole story. */
export function headline(name: string, { state, message }: Pick<RolloutStep, 'state' | 'message'>): Lines {
  const [symbol, paint] = STATES[state];
  return hang(`${paint(symbol)} `, `${strong(safe(name))}: ${paint(safe(message))}.`);
}

/** The first line where the name is that of no cluster, for which there is nothing to plan. Undefined where it is, or nobody could look. */
export function noSuchCluster({
  cluster,
  capiCluster,
  unread,
}: Pick<ObservedRollout, 'cluster' | 'capiCluster' | 'unread'>): Pick<RolloutStep, 'state' | 'message'> | undefined {
  if (capiCluster !== undefined || unread.length > 0) return undefined;
  const message = `there is no Cluster ${cluster.name} of Cluster API there; kubectl get clusters.cluster.x-k8s.io -A names those that are`;
  return { state: 'refused', message };
}

/** A patch, a line a field. */
export function writeLines(what: string, write: RolloutWrite): Lines {
  const { object, fields } = writeWords(write);
  return [hang('  ', `${what} ${safe(object)}:`), fields.map((field) => hang('    ', safe(field)))];
}

/** Reasons why nothing goes on by itself, each with what to do. */
export function reasonLines(reasons: readonly HoldReason[], program: string): Lines {
  return reasons.map(({ id, object, message, remedy }) => [
    problemLines(about(object, message), pasteable(safe(remedy), program)),
    hang('    ', faint(runbook(id, program))),
  ]);
}

/** The command that prints the runbook of a check or a hold. */
export function runbook(id: string, program: string): string {
  return `${program} runbook ${safe(id)}`;
}

/** What was found on what; once, where the one begins with the other. */
export function about(object: string | undefined, found: string): string {
  return object === undefined || found.startsWith(object) ? safe(found) : `${safe(object)}: ${safe(found)}`;
}

/** Those reasons that are not told as what could not be read. */
export function otherReasons(reasons: readonly HoldReason[], unread: readonly Problem[]): readonly HoldReason[] {
  return reasons.filter(
    (reason) => !unread.some(({ object, message }) => object === reason.object && message === reason.message),
  );
}

/** What could not be read or written, and what to do; said once, where it is the same for several. */
export function problemsLines(problems: readonly Problem[], program: string): readonly Lines[] {
  return problems.map(({ object, message, remedy }, index) =>
    problemLines(
      about(object, message),
      problems[index + 1]?.remedy === remedy ? undefined : pasteable(safe(remedy), program),
    ),
  );
}

/** `2026-12-22 (in 30 d)`: the day, and how far it is. Milliseconds since the epoch. */
export function moment(at: number, now: number): string {
  return `${dayOf(at)} (${at >= now ? `in ${span(at - now)}` : `${span(now - at)} ago`})`;
}

/** What is read is bounded and printable already; here nothing depends on that. The lines of a condition's message become one. */
export function safe(text: string): string {
  return printable(text, 600).replaceAll(
    /(?<colon>:?)(?:\\u\{a\})+(?:\* )?/g,
    (_, colon: string) => `${colon || ';'} `,
  );
}

/** The first of what is not as it should be with a machine, and how many more: while one is made or goes they are all at once. */
export function unwellWords(unhealthy: readonly string[]): string | undefined {
  const [first] = unhealthy;
  if (first === undefined) return undefined;
  const more = unhealthy.length - 1;
  return `${safe(first.split(': ', 1)[0] ?? first)}${more > 0 ? `, and ${more} more` : ''}`;
}
