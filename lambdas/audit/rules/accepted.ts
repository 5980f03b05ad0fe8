import { DAY_MS } from '../../time.ts';
import { date, timeOf } from '../../words.ts';
import type { Draft } from './draft.ts';

/** An entry of `audit.accept` in fleet.yaml, of this cluster. */
export interface Acceptance {
  readonly code: string;
  /** @default every object */
  readonly object?: string | undefined;
  /** RFC 3339. */
  readonly until: string;
  readonly reason: string;
}

/** Milliseconds. */
const WARNED_MS = 14 * DAY_MS;

/**
 * What the owner accepts is information until its date. A warning says so two weeks before, after it, and where nothing
 * matches. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function accepted(drafts: readonly Draft[], entries: readonly Acceptance[], now: number): readonly Draft[] {
  const matches = (entry: Acceptance, { code, object }: Draft): boolean =>
    entry.code === code && (entry.object === undefined || entry.object === object);
  const isOver = ({ until }: Acceptance): boolean => (timeOf(until) ?? 0) <= now;
  const judged = drafts.map((draft): Draft => {
    const entry = entries.find((one) => !isOver(one) && matches(one, draft));
    return entry === undefined ? draft : { ...draft, severity: 'info', accepted: entry };
  });
  const warnings = entries.flatMap((entry): readonly Draft[] => {
    const { code, object, until } = entry;
    const ends = timeOf(until) ?? 0;
    const used = drafts.some((draft) => matches(entry, draft));
    if (used && ends - now > WARNED_MS) return [];
    const what = object === undefined ? code : `${code} of ${object}`;
    const why = isOver(entry) ? `ended on ${date(ends)}` : used ? `ends on ${date(ends)}` : 'matches no finding';
    return [
      {
        code: 'Acceptance',
        severity: 'warning',
        object: `accepted ${what}`,
        message: `audit.accept of ${what} ${why}`,
        due: used && !isOver(entry) ? until : undefined,
      },
    ];
  });
  return [...judged, ...warnings];
}
