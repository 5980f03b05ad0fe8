import { z } from 'zod';
import { ALARM_IDS, ALARMS, type AlarmId } from '../tables/alarms.ts';
import { WEEKDAYS } from '../window/window.ts';
import { burn, Monitoring } from './monitoring-entry.ts';
import { type RuleProblem, readable, type Sections } from './rule.ts';
import { instant } from './time-values.ts';

const Once = z.object({ from: instant, until: instant });
const Weekly = z.object({ weekly: z.object({ days: z.array(z.unknown()), from: z.string(), until: z.string() }) });
const Times = z.object({ from: z.unknown().optional(), until: z.unknown().optional(), weekly: z.unknown().optional() });
const Objective = z.object({ objective: Monitoring.shape.objective });

const MAINTENANCE = ['monitoring', 'maintenance'] as const;
const BURNS = ALARM_IDS.filter((id) => ALARMS[id].setting === 'burn');

export function monitoringRules({ maintenance, monitoring }: Sections): readonly RuleProblem[] {
  return [
    ...unclearTimes(maintenance),
    ...endsBeforeItBegins(maintenance),
    ...neverEnds(maintenance),
    ...BURNS.flatMap((id) => neverReached(monitoring, id)),
  ];
}

function unclearTimes(maintenance: readonly unknown[]): readonly RuleProblem[] {
  return readable(maintenance, Times).flatMap(({ index, data: { from, until, weekly } }) => {
    const path = [...MAINTENANCE, index];
    if (weekly !== undefined)
      return from === undefined && until === undefined
        ? []
        : [{ path, message: 'is every week and once; keep weekly, or from and until' }];
    if (from === undefined && until === undefined)
      return [{ path, message: 'has no time; write from and until, or weekly' }];
    if (from === undefined) return [{ path: [...path, 'from'], message: 'missing; write when it begins' }];
    if (until === undefined)
      return [{ path: [...path, 'until'], message: 'missing; write when it ends: what never ends is forgotten' }];
    return [];
  });
}

function endsBeforeItBegins(maintenance: readonly unknown[]): readonly RuleProblem[] {
  return readable(maintenance, Once).flatMap(({ index, data: { from, until } }) =>
    Date.parse(until) > Date.parse(from)
      ? []
      : [
          {
            path: [...MAINTENANCE, index, 'until'],
            message: `${until} is not after from, ${from}; write a later time`,
          },
        ],
  );
}

/** Days on each of which a window opens when the last one closes are one window that is always open. */
function neverEnds(maintenance: readonly unknown[]): readonly RuleProblem[] {
  return readable(maintenance, Weekly).flatMap(({ index, data: { weekly } }) =>
    weekly.from === weekly.until && WEEKDAYS.every((day) => weekly.days.includes(day))
      ? [
          {
            path: [...MAINTENANCE, index, 'weekly'],
            message: 'never ends: every day it is a whole day; write fewer days, or an end before it begins again',
          },
        ]
      : [],
  );
}

/** Where every request is missed, a budget of a hundredth burns a hundred times faster than allowed, and never faster. */
function neverReached(monitoring: unknown, id: AlarmId): readonly RuleProblem[] {
  const objective = Objective.safeParse(monitoring);
  if (!objective.success) return [];
  const most = 1 / (1 - objective.data.objective);
  const rounded = Math.round(most * 10) / 10;
  const written = z.object({ alarms: z.object({ [id]: z.object({ threshold: burn(id) }) }) }).safeParse(monitoring);
  const threshold = written.success ? written.data.alarms[id]?.threshold : undefined;
  if ((threshold ?? ALARMS[id].threshold) < most) return [];
  return threshold === undefined
    ? [
        {
          path: ['monitoring', 'objective'],
          message: `${objective.data.objective} can burn at most ${rounded} times faster than allowed, and alarm ${id} rings at ${ALARMS[id].threshold}; write monitoring.alarms.${id}.threshold too, below ${rounded}`,
        },
      ]
    : [
        {
          path: ['monitoring', 'alarms', id, 'threshold'],
          message: `${threshold} is never reached: with an objective of ${objective.data.objective} the budget burns at most ${rounded} times faster than allowed; write less`,
        },
      ];
}
