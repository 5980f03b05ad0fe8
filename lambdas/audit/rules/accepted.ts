import { DAY_MS } from '../../time.ts';
import { isoOf, timeOf } from '../../words.ts';
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
  const entries = accept.filter(({ cluster }) => cluster === id);
  const matches = (entry: Acceptance, { code, object }: Draft): boolean =>
    entry.code === code && (entry.object === undefined || entry.object === object);
  const leftOf = ({ until }: Acceptance): number => (timeOf(until) ?? 0) - now;
  const judged = drafts.map((draft): Draft => {
    const entry = entries.find((one) => leftOf(one) > 0 && matches(one, draft));
    if (entry === undefined) return draft;
    return { ...draft, severity: 'info', accepted: { until: endOf(entry), reason: entry.reason } };
  });
  const warnings = entries.flatMap((entry): readonly Draft<'Acceptance'>[] => {
    const { code, object } = entry;
    const match = drafts.find((draft) => matches(entry, draft));
    if (match !== undefined && leftOf(entry) > WARNED_MS) return [];
    return [
      {
        code: 'Acceptance',
        severity: 'warning',
        object: `${code} ${object ?? 'of every object'}`,
        what: match?.what,
        facts: { code, object, until: endOf(entry), isUnused: match === undefined ? true : undefined },
      },
    ];
  });
  return [...judged, ...warnings];
}

function endOf({ until }: Acceptance): string {
  return isoOf(timeOf(until) ?? 0);
}
