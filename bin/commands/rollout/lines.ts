import { pasteable } from '../../../lambdas/command.ts';
import type { Problem } from '../../../lambdas/contracts/problem.ts';
import type { HoldReason } from '../../../lambdas/contracts/rollout-summary.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { ObservedRollout } from '../../../lambdas/rollout/observed.ts';
import type { RolloutStep, RolloutWrite } from '../../../lambdas/rollout/step.ts';
import { hang, type Lines } from '../../terminal/draw.ts';
import { faint, strong } from '../../terminal/paint.ts';
import { problemLines } from '../../terminal/phrases.ts';
import { dayOf, span } from '../../terminal/words.ts';
import { STATES, writeWords } from './words.ts';

export function documentOf(kind: string, at: number, { cluster }: Pick<ObservedRollout, 'cluster'>) {
  return { version: 1, kind, at: new Date(at).toISOString(), cluster };
}

export function headline(name: string, { state, message }: Pick<RolloutStep, 'state' | 'message'>): Lines {
  const [symbol, paint] = STATES[state];
  return hang(`${paint(symbol)} `, `${strong(safe(name))}: ${paint(safe(message))}.`);
}

/** The headline for a cluster that does not exist. Undefined if it exists or could not be read. */
export function noSuchCluster({
  cluster,
  capiCluster,
  unread,
}: Pick<ObservedRollout, 'cluster' | 'capiCluster' | 'unread'>): Pick<RolloutStep, 'state' | 'message'> | undefined {
  if (capiCluster !== undefined || unread.length > 0) return undefined;
  const message = `there is no Cluster ${cluster.name} of Cluster API there; kubectl get clusters.cluster.x-k8s.io -A lists all`;
  return { state: 'refused', message };
}

/** A patch, one line per field. */
export function writeLines(what: string, write: RolloutWrite): Lines {
  const { object, fields } = writeWords(write);
  return [hang('  ', `${what} ${safe(object)}:`), fields.map((field) => hang('    ', safe(field)))];
}

/** Reasons why nothing continues automatically, with remedies. */
export function reasonLines(reasons: readonly HoldReason[], program: string): Lines {
  return reasons.map(({ id, object, message, remedy }) => [
    problemLines(about(object, message), pasteable(safe(remedy), program)),
    hang('    ', faint(runbook(id, program))),
  ]);
}

export function runbook(id: string, program: string): string {
  return `${program} runbook ${safe(id)}`;
}

/** The object and what was found. */
export function about(object: string | undefined, found: string): string {
  return object === undefined ? safe(found) : `${safe(object)}: ${safe(found)}`;
}

/** Reasons that are not already shown as unreadable. */
export function otherReasons(reasons: readonly HoldReason[], unread: readonly Problem[]): readonly HoldReason[] {
  return reasons.filter(({ id }) => unread.length === 0 || id !== 'everything-read');
}

/** Problems with remedies; a remedy that several share in a row is shown once. */
export function problemsLines(problems: readonly Problem[], program: string): readonly Lines[] {
  return problems.map(({ object, message, remedy }, index) =>
    problemLines(
      about(object, message),
      problems[index + 1]?.remedy === remedy ? undefined : pasteable(safe(remedy), program),
    ),
  );
}

/** `2026-12-22 (in 30 d)`. Milliseconds since the epoch. */
export function moment(at: number, now: number): string {
  return `${dayOf(at)} (${at >= now ? `in ${span(at - now)}` : `${span(now - at)} ago`})`;
}

/** Bounds and escapes a text, although the readers already do. The lines of a condition's message become one. */
export function safe(text: string): string {
  return printable(text, 600).replaceAll(
    /(?<colon>:?)(?:\\u\{a\})+(?:\* )?/g,
    (_, colon: string) => `${colon || ';'} `,
  );
}

/**
 * The first unhealthy condition of a machine, and how many more there are: while a machine is created or deleted, all
 * are unhealthy.
 */
export function unwellWords(unhealthy: readonly string[]): string | undefined {
  const [first] = unhealthy;
  if (first === undefined) return undefined;
  const more = unhealthy.length - 1;
  return `${safe(first.split(': ', 1)[0] ?? first)}${more > 0 ? `, and ${more} more` : ''}`;
}
