import { z } from 'zod';
import { ThresholdEntry } from './audit-entry.ts';
import { formatDuration } from './duration.ts';
import { type RuleProblem, readable, type Sections } from './rule.ts';

const Classes = z.object({ classes: z.array(z.unknown()).optional() });
const Shares = z.object({
  warning: z.object({ share: ThresholdEntry.shape.warning.shape.share }),
  critical: z.object({ share: ThresholdEntry.shape.critical.shape.share }),
});
const Floors = z.object({
  warning: z.object({ floor: ThresholdEntry.shape.warning.shape.floor }),
  critical: z.object({ floor: ThresholdEntry.shape.critical.shape.floor }),
});

const THRESHOLDS = ['audit', 'thresholds'] as const;

export function auditRules({ thresholds }: Sections): readonly RuleProblem[] {
  return [...repeatedClasses(thresholds), ...swappedShares(thresholds), ...swappedFloors(thresholds)];
}

/** Of two thresholds for one class nobody can say which one counts. */
function repeatedClasses(thresholds: readonly unknown[]): readonly RuleProblem[] {
  const first = new Map<unknown, string>();
  const repeated = (key: unknown, place: string): string | undefined => {
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, place);
    return earlier;
  };
  return readable(thresholds, Classes).flatMap(({ index, data: { classes } }) => {
    const place = `audit.thresholds[${index}]`;
    if (classes === undefined) {
      const earlier = repeated(undefined, place);
      const message = `${earlier} names no classes either; write classes in one of them, or remove one`;
      return earlier === undefined ? [] : [{ path: [...THRESHOLDS, index], message }];
    }
    return classes.flatMap((name, at) => {
      const earlier = typeof name === 'string' ? repeated(name, place) : undefined;
      const message = `"${String(name)}" is in ${earlier} already; keep one of the two`;
      return earlier === undefined ? [] : [{ path: [...THRESHOLDS, index, 'classes', at], message }];
    });
  });
}

function swappedShares(thresholds: readonly unknown[]): readonly RuleProblem[] {
  return readable(thresholds, Shares).flatMap(({ index, data: { warning, critical } }) =>
    critical.share < warning.share
      ? []
      : [
          {
            path: [...THRESHOLDS, index, 'critical', 'share'],
            message: `${critical.share} is not below warning.share, ${warning.share}; nothing would be a warning before it is critical, so write less`,
          },
        ],
  );
}

function swappedFloors(thresholds: readonly unknown[]): readonly RuleProblem[] {
  return readable(thresholds, Floors).flatMap(({ index, data: { warning, critical } }) =>
    critical.floor <= warning.floor
      ? []
      : [
          {
            path: [...THRESHOLDS, index, 'critical', 'floor'],
            message: `${formatDuration(critical.floor)} is above warning.floor, ${formatDuration(warning.floor)}; write at most that`,
          },
        ],
  );
}
