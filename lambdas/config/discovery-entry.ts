import { z } from 'zod';
import { MAX_SESSION_TAGS } from '../contracts/target.ts';
import { EXTERNAL_ID } from '../identifiers.ts';
import { ACCOUNT, REGION, ROLE_NAME, sessionTagKeyProblem, tagKeyProblem, tagValueProblem } from './aws-names.ts';
import { kindOf } from './describe-issue.ts';
import { SELF } from './fleet.ts';
import { auditOptIns, laneName, list, matching, NameSelection, name, quote, refusing, text } from './values.ts';

// Far more than anybody has, and few enough that their product is no burden.
export const MAX_ACCOUNTS = 1_000;
export const MAX_REGIONS = 50;
const MAX_ACCESS_ENTRIES = 1_000;

const account = z
  .string({
    error: ({ input }) =>
      typeof input === 'number'
        ? `write the account id in quotes, for example '111122223333': without them YAML reads a number, and leading zeros are lost`
        : `write an account id in quotes, or ${SELF}, not ${kindOf(input)}`,
  })
  .regex(ACCOUNT, {
    error: ({ input }) => `${quote(input)} is not an account id; write twelve digits in quotes, or ${SELF}`,
  });

const region = matching(
  `the name of a Region, or ${SELF}`,
  REGION,
  `is not the name of a Region; write, for example, eu-central-1, or ${SELF}`,
);

const tagValue = refusing(text(`the value of the tag in quotes, for example 'true'`), tagValueProblem);

const ClusterSelection = NameSelection.extend({
  tags: z
    .record(refusing(z.string(), tagKeyProblem), tagValue)
    .refine((tags) => Object.keys(tags).length > 0, {
      error: 'an empty section; write at least one tag, or remove the key',
    })
    .exactOptional()
    .meta({ description: 'All of these tags of the EKS cluster.', examples: [{ certmarshal: 'true' }] }),
});

const SELECTED = 'A cluster must have one of the names and all of the tags.';

/** An entry of `discovery`: EKS clusters that are found by themselves. */
export const DiscoveryEntry = z
  .strictObject({
    accounts: list(account)
      .max(MAX_ACCOUNTS)
      .prefault([SELF])
      .meta({
        description: 'AWS accounts, in quotes; self is the one that certmarshal is deployed to. Default: self.',
        examples: [[SELF, '111122223333']],
      }),
    regions: list(region)
      .max(MAX_REGIONS)
      .prefault([SELF])
      .meta({
        description: 'Regions of each of the accounts; self is the one that certmarshal is deployed to. Default: self.',
        examples: [[SELF, 'eu-west-1']],
      }),
    role: matching(
      'the name of a role',
      ROLE_NAME,
      'is not the name of a role; write it alone, without ARN and path, with at most 64 letters, digits and any of _ + = , . @ -',
    )
      .prefault('certmarshal-spoke')
      .meta({
        description:
          'Name of the role that is assumed in the other accounts, as the spoke stack makes it there. In self none is assumed.',
      }),
    externalId: matching(
      'an external id in quotes',
      EXTERNAL_ID,
      'is not an external id; use 2 to 1,224 letters, digits and any of _ + = , . @ : / -',
    )
      .exactOptional()
      .meta({
        description: 'External id that the role demands. It is no secret.',
        examples: ['certmarshal-6b1f'],
      }),
    sessionTags: z
      .record(refusing(z.string(), sessionTagKeyProblem), tagValue)
      .refine((tags) => Object.keys(tags).length <= MAX_SESSION_TAGS, {
        error: `more than ${MAX_SESSION_TAGS} tags; STS takes no more of one session`,
      })
      .prefault({})
      .meta({
        description: 'Tags of the sessions of the role, for policies and CloudTrail.',
        examples: [{ team: 'platform' }],
      }),
    include: ClusterSelection.prefault({}).meta({ description: `Only these clusters. ${SELECTED} Default: all.` }),
    exclude: ClusterSelection.prefault({}).meta({ description: `But not these. ${SELECTED} Default: none.` }),
    lane: laneName.exactOptional().meta({
      description:
        'Where the clusters are swept from. Default: one with a private endpoint from the lane in its VPC, the others from outside of every VPC.',
    }),
    ...auditOptIns,
    accessEntries: z
      .array(name('cluster'))
      .max(MAX_ACCESS_ENTRIES)
      .prefault([])
      .meta({
        description:
          'Clusters in which the stack makes the access entry for certmarshal, so that nobody has to do it by hand; only in an entry of one account and one Region. They need authentication mode API or API_AND_CONFIG_MAP.',
        examples: [['dublin-prod']],
      }),
  })
  .meta({ title: 'Discovery of EKS clusters' });
