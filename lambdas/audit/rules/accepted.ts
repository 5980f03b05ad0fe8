import { DAY_MS, timestamp } from '../../time.ts';
import { timeOf } from '../../words.ts';
import type { Draft } from './draft.ts';

/** A finding that its owner accepts until a date: an entry of `audit.accept` in fleet.yaml. */
export interface Acceptance {
  readonly cluster: string;
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
 * What is accepted is information until its date. A warning says so two weeks before, after it, and where nothing
 * matches. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function accepted(
  drafts: readonly Draft[],
  { id, accept = [] }: { readonly id: string; readonly accept?: readonly Acceptance[] | undefined },
  now: number,
): readonly Draft[] {
  const entries = accept
    .filter(({ cluster }) => cluster === id)
    .map((entry) => {
      const end = timeOf(entry.until) ?? 0;
      return { ...entry, until: timestamp(end), left: end - now };
    });
  const matches = ({ code, object }: Pick<Acceptance, 'code' | 'object'>, draft: Draft): boolean =>
    draft.code === code && (object === undefined || draft.object === object);
  const judged = drafts.map((draft): Draft => {
    const { until, reason } = entries.find((one) => one.left > 0 && matches(one, draft)) ?? {};
    if (until === undefined || reason === undefined) return draft;
    return { ...draft, severity: 'info', accepted: { until, reason } };
  });
  const warnings = entries.flatMap((entry): readonly Draft<'Acceptance'>[] => {
    const { code, object, until, left } = entry;
    const match = drafts.find((draft) => matches(entry, draft));
    if (match !== undefined && left > WARNED_MS) return [];
    return [
      {
        code: 'Acceptance',
        severity: 'warning',
        object: `${code} ${object ?? 'of every object'}`,
        what: match?.what,
        facts: { code, object, until, isUnused: match === undefined ? true : undefined },
      },
    ];
  });
  return [...judged, ...warnings];
}
