import type { FleetIndex } from '../contracts/fleet-index.ts';
import { printable } from '../printable.ts';
import { CLUSTER_STATES } from '../tables/cluster-states.ts';
import { MINUTE_MS } from '../time.ts';
import { counted, date } from '../words.ts';
import { inert } from './inert.ts';
import type { Message } from './message.ts';

const OLD_MS = 10 * MINUTE_MS;
const MAX_LINES = 30;

/**
 * The message of a day: what needs a person, or that all is well, so that a dead way to people shows. What is not known
 * is not well. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function dailyMessage(index: FleetIndex | undefined, now: number): Message {
  const at = new Date(now).toISOString();
  const common = { state: 'daily', severity: 'warning', key: `daily ${at}`, at } as const;
  const { health, problems = [] } = index ?? {};
  if (health === undefined || now - Date.parse(health.at) > OLD_MS) {
    const since = health === undefined ? 'cannot be read' : `is not known since ${date(Date.parse(health.at))}`;
    const command = 'certmarshal doctor --fleet fleet.yaml';
    return { ...common, title: `[daily] The state of the fleet ${since}`, lines: [], command };
  }
  const { counts, clusterCount, clusters } = health;
  const unhealthy = clusters.filter(({ state }) => state === 'critical' || state === 'warning');
  const ofFleet = problems.map(({ object, message }) => `certmarshal: ${object}: ${message}`);
  const ofClusters = unhealthy.map(({ name, state, signals }) => `${state} ${name}: ${signals[0]?.story ?? ''}`);
  // Owners of one cluster can make many problems.
  const lines = [...ofFleet.slice(0, 10), ...ofClusters, ...ofFleet.slice(10)];
  const isWell = counts.well + counts.gone === clusterCount;
  const summary = lines.length > 0 ? 'Needs a person' : isWell ? 'All is well' : 'No alarm fires';
  const states = CLUSTER_STATES.filter((state) => counts[state] > 0).map((state) => `, ${counts[state]} ${state}`);
  return {
    ...common,
    title: `[daily] ${summary}: ${counted(clusterCount, 'cluster')}${states.join('')}`,
    lines: [
      ...lines.slice(0, MAX_LINES).map((line) => inert(printable(line, 300))),
      ...(lines.length > MAX_LINES ? [`and ${lines.length - MAX_LINES} more, on the report page`] : []),
    ],
  };
}
