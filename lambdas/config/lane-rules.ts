import { z } from 'zod';
import { didYouMean } from '../did-you-mean.ts';
import { printable } from '../printable.ts';
import { DEFAULT_LANE } from './fleet.ts';
import { LaneEntry, MAX_LANES } from './hub-entries.ts';
import { type RuleProblem, readable, repeatedEntries, repeatedNames, type Sections } from './rule.ts';

const LaneName = z.object({ name: LaneEntry.shape.name });
const Reference = z.object({ lane: z.string() });

export function laneRules(sections: Sections): readonly RuleProblem[] {
  const lanes = readable(sections.lanes.slice(0, MAX_LANES), LaneName).map(({ data }) => data.name);
  return [
    ...repeatedNames('lanes', sections.lanes, LaneName),
    ...['subnetIds', 'securityGroupIds'].flatMap((key) => repeatedEntries('lanes', sections.lanes, key)),
    ...wrongLanes('discovery', sections, lanes),
    ...wrongLanes('managementClusters', sections, [...lanes, DEFAULT_LANE]),
    ...wrongLanes('clusters', sections, [...lanes, DEFAULT_LANE]),
  ];
}

/** What a discovery names is for private endpoints. */
const NO_WAY =
  'clusters without a public endpoint cannot be reached from the default lane, which is outside of every VPC; name one of lanes, or remove this';

function wrongLanes(
  section: 'discovery' | 'managementClusters' | 'clusters',
  sections: Sections,
  lanes: readonly string[],
): readonly RuleProblem[] {
  return readable(sections[section], Reference).flatMap(({ index, data: { lane } }) => {
    if (lanes.includes(lane)) return [];
    const message = lane === DEFAULT_LANE ? NO_WAY : unknownLane(lane, lanes);
    return [{ path: [section, index, 'lane'], message }];
  });
}

function unknownLane(lane: string, lanes: readonly string[]): string {
  const meant = didYouMean(lane, lanes);
  return `"${printable(lane, 60)}" is no lane of this file; ${meant === undefined ? 'add it to lanes' : `did you mean "${meant}"?`}`;
}
