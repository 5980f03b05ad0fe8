import { printable } from '../../lambdas/printable.ts';
import type { Problem } from '../../lambdas/problem.ts';
import type { HoldReason, RolloutStep } from '../../lambdas/rollout/step.ts';
import { pasteable } from '../program.ts';
import type { Style } from '../terminal/style.ts';
import { span } from '../terminal/time.ts';
import { hang } from '../terminal/wrap.ts';
import { STATES } from './rollout-words.ts';

/** The first line: the whole story. */
export function headline(
  name: string,
  { state, message }: Pick<RolloutStep, 'state' | 'message'>,
  style: Style,
  width: number | undefined,
): string[] {
  const { symbol, paint } = STATES[state];
  return hang(`${paint(style)(symbol)} `, `${style.strong(safe(name))}: ${paint(style)(safe(message))}.`, width);
}

/** Reasons why nothing goes on by itself, each with what to do. */
export function reasonLines(
  reasons: readonly HoldReason[],
  program: string,
  style: Style,
  width: number | undefined,
): string[] {
  return reasons.flatMap(({ id, object, message, remedy }) => [
    ...hang(`  ${style.bad('✖')} `, `${object === undefined ? '' : `${safe(object)}: `}${safe(message)}`, width),
    ...hang('    → ', pasteable(safe(remedy), program), width),
    ...hang('    ', style.faint(`docs/runbooks/rollouts/${safe(id)}.md`), width),
  ]);
}

/** Those reasons that are not told as what could not be read. */
export function otherReasons(reasons: readonly HoldReason[], unread: readonly Problem[]): readonly HoldReason[] {
  return reasons.filter(
    (reason) => !unread.some(({ object, message }) => object === reason.object && message === reason.message),
  );
}

/** What could not be read or written, each with what to do. */
export function problemLines(
  problems: readonly Problem[],
  program: string,
  style: Style,
  width: number | undefined,
): string[] {
  return problems.flatMap(({ object, message, remedy }) => [
    ...hang(`  ${style.bad('✖')} `, `${safe(object)}: ${safe(message)}`, width),
    ...hang('    → ', pasteable(safe(remedy), program), width),
  ]);
}

/** `2026-12-22 (in 30 d)`: the day, and how far it is. Milliseconds since the epoch. */
export function moment(at: number, now: number): string {
  return `${dayOf(at)} (${at >= now ? `in ${span(at - now)}` : `${span(now - at)} ago`})`;
}

/** `2026-12-22`; what no calendar has is told as it is. */
export function dayOf(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? 'no day' : date.toISOString().slice(0, 10);
}

/** What is read is bounded and printable already; here nothing depends on that. */
export function safe(text: string): string {
  return printable(text, 600);
}
