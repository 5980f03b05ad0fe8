import { RegionInfo } from 'aws-cdk-lib/region-info';
import { expect, it } from 'vitest';
import { REGIONS } from '../../../lambdas/config/regions.ts';

it('knows the Regions that the AWS CDK knows', () => {
  expect([...REGIONS]).toEqual(RegionInfo.regions.map(({ name }) => name).toSorted());
});
