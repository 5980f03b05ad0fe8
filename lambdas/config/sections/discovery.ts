import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import { MAX_SESSION_TAGS } from '../../contracts/target.ts';
import { EXTERNAL_ID } from '../../identifiers.ts';
import { printable } from '../../printable.ts';
import { ACCOUNT, REGION, ROLE_NAME, sessionTagKeyProblem, tagKeyProblem, tagValueProblem } from '../aws-names.ts';
import { kindOf } from '../describe-issue.ts';
import { SELF } from '../fleet.ts';
import { LEFT_OUT, leftOutOf, NameSelection, noneByDefault } from '../selection.ts';
import { auditOptIns, laneName, list, matching, name, refusing, section, text, wrong } from '../values.ts';
import { distinctEntries, few, repeats, type Written } from '../written.ts';

// Far above any real use, and with a bounded product.
const MAX_ACCOUNTS = 1_000;
const MAX_REGIONS = 50;
const MAX_ACCESS_ENTRIES = 1_000;

const account = z
  .string({
    error: ({ input }) =>
      typeof input === 'number'
        ? `write the account id in quotes, for example '111122223333': without them YAML reads a number, and leading zeros are lost`
        : `write an account id in quotes, or ${SELF}, not ${kindOf(input)}`,
  })
  .regex(ACCOUNT, wrong(`is not an account id; write twelve digits in quotes, or ${SELF}`));

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
    .meta({ description: 'Tags, all of which the EKS cluster must have.', examples: [{ certmarshal: 'true' }] }),
});

const SELECTED = 'A cluster must have one of the names and all of the tags.';

/** An entry of `discovery`: EKS clusters to discover. */
const DiscoveryEntry = z
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
      .describe(
        'Name of the role that certmarshal assumes in the other accounts; the spoke stack creates it. No role is assumed in self.',
      ),
    externalId: matching(
      'an external id in quotes',
      EXTERNAL_ID,
      'is not an external id; use 2 to 1,224 letters, digits and any of _ + = , . @ : / -',
    )
      .exactOptional()
      .meta({
        description: 'External id that the role requires. It is not a secret.',
        examples: ['certmarshal-6b1f'],
      }),
    sessionTags: z
      .record(refusing(z.string(), sessionTagKeyProblem), tagValue)
      .refine((tags) => Object.keys(tags).length <= MAX_SESSION_TAGS, {
        error: `more than ${MAX_SESSION_TAGS} tags; STS accepts no more for one session`,
      })
      .prefault({})
      .meta({
        description: 'Tags of the sessions of the role, for policies and CloudTrail.',
        examples: [{ team: 'platform' }],
      }),
    include: ClusterSelection.prefault({}).describe(`Only these clusters. ${SELECTED} Default: all.`),
    exclude: ClusterSelection.transform(noneByDefault)
      .prefault({})
      .describe(`But not these. ${SELECTED} Default: none.`),
    lane: laneName
      .exactOptional()
      .describe(
        'Lane from which the clusters are swept. Default: the lane in the VPC of a cluster if its endpoint is private or has an allow list, else the built-in lane outside of every VPC.',
      ),
    ...auditOptIns,
    accessEntries: z
      .array(name('cluster'))
      .max(MAX_ACCESS_ENTRIES)
      .prefault([])
      .meta({
        description:
          'Clusters in which the stack creates the access entry for certmarshal; only in an entry of one account and one Region. They need authentication mode API or API_AND_CONFIG_MAP.',
        examples: [['dublin-prod']],
      }),
  })
  .meta({ title: 'Discovery of EKS clusters' });

/** `discovery`: EKS clusters to discover. */
export const Discovery = section(z.array(DiscoveryEntry), []).describe(
  'EKS clusters that are discovered automatically, by account and Region.',
);

export type EksDiscovery = Contract<typeof DiscoveryEntry>;
export type ClusterSelection = Contract<typeof ClusterSelection>;

type WrittenEntry = Written<typeof DiscoveryEntry>;

export function discoveryRules({ entries }: Written<typeof Discovery>): void {
  distinctPlaces(entries);
  sameRoles(entries);
  for (const entry of entries) {
    distinctEntries(entry.at('accounts'), entry.at('regions'), entry.at('accessEntries'));
    usefulAccessEntries(entry);
    // Source: STS API Reference, AssumeRole, Tags: keys that differ in case only are one key.
    const tags = entry.at('sessionTags');
    for (const [key, first] of repeats(tags.keys, (tag) => tag.toLowerCase()))
      tags.refuse(`STS treats it as the same tag as ${printable(first, 100)}; keep one of the two`, key);
  }
}

/** Undefined if they are unclear. Bounded, because accounts and Regions are multiplied. */
function placesOf(entry: WrittenEntry) {
  const accounts = entry.at('accounts').list;
  const regions = entry.at('regions').list;
  if (accounts === undefined || regions === undefined) return undefined;
  return accounts.length > MAX_ACCOUNTS || regions.length > MAX_REGIONS ? undefined : { accounts, regions };
}

/** A Region of an account in two entries: its clusters would be found twice, with two roles and two selections. */
function distinctPlaces(entries: readonly WrittenEntry[]): void {
  const first = new Map<string, WrittenEntry>();
  for (const entry of entries) {
    const { accounts = [], regions = [] } = placesOf(entry) ?? {};
    const names = regions.flatMap(({ valid }) => valid ?? []);
    const repeated = new Map<WrittenEntry, { readonly at: (typeof accounts)[number]; readonly places: Set<string> }>();
    for (const at of accounts) {
      const id = at.valid;
      for (const place of id === undefined ? [] : names.map((each) => `${id}/${each}`)) {
        const earlier = first.get(place) ?? entry;
        first.set(place, earlier);
        if (earlier === entry) continue;
        const found = repeated.get(earlier) ?? { at, places: new Set() };
        repeated.set(earlier, found);
        found.places.add(place);
      }
    }
    for (const [{ place }, { at, places }] of repeated)
      at.refuse(`${place} already covers ${few([...places])}; list each account and Region once`);
  }
}

/** A role is created once in an account, for all of its Regions, and trusts sessions of one kind. */
function sameRoles(entries: readonly WrittenEntry[]): void {
  const first = new Map<string, { readonly place: string; readonly session: string }>();
  for (const entry of entries) {
    const {
      accounts = [],
      role,
      externalId,
      sessionTags = {},
    } = entry.pick('accounts', 'role', 'externalId', 'sessionTags') ?? {};
    const session = JSON.stringify([externalId, Object.entries(sessionTags).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
    const another = accounts.find((id) => {
      const earlier = first.get(`${id}/${role}`) ?? { place: entry.place, session };
      first.set(`${id}/${role}`, earlier);
      return id !== SELF && earlier.session !== session;
    });
    if (another !== undefined)
      entry.refuse(
        `${first.get(`${another}/${role}`)?.place} assumes ${role} of ${another} with another externalId or other sessionTags; write the same here, or name another role`,
        'role',
      );
  }
}

/** Access entries need an entry for one place that sweeps the cluster. The tags of clusters are unknown here. */
function usefulAccessEntries(entry: WrittenEntry): void {
  const accessEntries = entry.at('accessEntries');
  const { accounts, regions } = placesOf(entry) ?? {};
  // Each place has a stack, and CloudFormation fails for a missing cluster.
  if (accessEntries.entries.length > 0 && accounts !== undefined && accounts.length * (regions?.length ?? 0) !== 1)
    accessEntries.refuse(
      'only an entry of one account and one Region can have them; give these clusters such an entry',
    );
  const isLeftOut = leftOutOf(entry);
  for (const [at, cluster] of (accessEntries.valid ?? []).entries())
    if (isLeftOut(cluster)) accessEntries.refuse(`"${cluster}" ${LEFT_OUT}, or remove it here`, at);
}
