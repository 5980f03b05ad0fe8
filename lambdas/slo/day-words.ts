import { percent, span } from '../words.ts';
import type { DayState } from './objective.ts';

export interface DayWords {
  readonly requests: number;
  /** `97.16 %`; absent when there was none. */
  readonly accepted?: string;
  /** `6 without proof, 0 missed, 2 hostile; half approved within 15 s, 95 % within 3 minutes` */
  readonly details: string;
}

/** The text about the requests of a day, for report page and digest. Pure. */
export function dayWords({ counts, p50Seconds, p95Seconds }: Omit<DayState, 'accepted'>): DayWords {
  const { us, others, missed, refused, unprovable } = counts;
  const requests = us + others + missed + refused + unprovable;
  const waits =
    p50Seconds === undefined || p95Seconds === undefined
      ? ''
      : `; half approved within ${lengthOf(p50Seconds)}, 95 % within ${lengthOf(p95Seconds)}`;
  return {
    requests,
    accepted: requests === 0 ? undefined : percent((us + others) / requests),
    details: `${unprovable} without proof, ${missed} missed, ${refused} hostile${waits}`,
  };
}

function lengthOf(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : span(seconds * 1_000);
}
