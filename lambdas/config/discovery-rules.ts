import { z } from 'zod';
import { printable } from '../printable.ts';
import { DiscoveryEntry, MAX_ACCOUNTS, MAX_REGIONS } from './discovery-entry.ts';
import { SELF } from './fleet.ts';
import { few, type RuleProblem, readable, repeatedEntries, type Sections } from './rule.ts';

const { accounts, regions } = DiscoveryEntry.shape;
const Account = accounts.unwrap().element;
const Region = regions.unwrap().element;
/** Bounded, because they are multiplied. */
const Places = z.object({
  accounts: z.array(z.unknown()).max(MAX_ACCOUNTS).prefault([SELF]),
  regions: z.array(z.unknown()).max(MAX_REGIONS).prefault([SELF]),
});
const Roles = DiscoveryEntry.pick({ accounts: true, role: true, externalId: true, sessionTags: true }).strip();
const AccessEntries = Places.extend({ accessEntries: z.array(z.unknown()).min(1) });
const SessionTags = z.object({ sessionTags: z.record(z.string(), z.unknown()) });

export function discoveryRules({ discovery }: Sections): readonly RuleProblem[] {
  return [
    ...['accounts', 'regions', 'accessEntries'].flatMap((key) => repeatedEntries('discovery', discovery, key)),
    ...repeatedPlaces(discovery),
    ...differentRoles(discovery),
    ...accessEntriesOfManyPlaces(discovery),
    ...alikeSessionTags(discovery),
  ];
}

/** A Region of an account that two entries look into: its clusters would be found twice, with two roles and two selections. */
function repeatedPlaces(discovery: readonly unknown[]): readonly RuleProblem[] {
  const first = new Map<string, number>();
  return readable(discovery, Places).flatMap(({ index, data }) => {
    const repeated = new Map<number, { readonly at: number; readonly places: Set<string> }>();
    for (const account of readable(data.accounts, Account))
      for (const region of readable(data.regions, Region)) {
        const place = `${account.data}/${region.data}`;
        const earlier = first.get(place) ?? index;
        first.set(place, earlier);
        if (earlier === index) continue;
        const { at, places } = repeated.get(earlier) ?? { at: account.index, places: new Set() };
        repeated.set(earlier, { at, places: places.add(place) });
      }
    return [...repeated].map(([earlier, { at, places }]) => ({
      path: ['discovery', index, 'accounts', at],
      message: `discovery[${earlier}] looks into ${few([...places])} too; list each account and Region once`,
    }));
  });
}

/** A role is made once in an account, for all of its Regions, and trusts sessions of one kind. */
function differentRoles(discovery: readonly unknown[]): readonly RuleProblem[] {
  const first = new Map<string, { readonly entry: number; readonly session: string }>();
  return readable(discovery, Roles).flatMap(({ index, data: { accounts: ids, role, externalId, sessionTags } }) => {
    const session = JSON.stringify([externalId, Object.entries(sessionTags).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
    for (const id of ids) {
      const earlier = first.get(`${id}/${role}`) ?? { entry: index, session };
      first.set(`${id}/${role}`, earlier);
      if (id !== SELF && earlier.session !== session) {
        const message = `discovery[${earlier.entry}] assumes ${role} of ${id} with another externalId or other sessionTags; write the same here, or name another role`;
        return [{ path: ['discovery', index, 'role'], message }];
      }
    }
    return [];
  });
}

/** Each place has a stack, and CloudFormation fails where a cluster is not. */
function accessEntriesOfManyPlaces(discovery: readonly unknown[]): readonly RuleProblem[] {
  return readable(discovery, AccessEntries).flatMap(({ index, data }) => {
    if (data.accounts.length === 1 && data.regions.length === 1) return [];
    const message =
      'only an entry of one account and one Region can have them, because these clusters are in no other; give the place an entry of its own';
    return [{ path: ['discovery', index, 'accessEntries'], message }];
  });
}

/** Source: STS API Reference, AssumeRole, Tags: keys that differ in case only are one key. */
function alikeSessionTags(discovery: readonly unknown[]): readonly RuleProblem[] {
  return readable(discovery, SessionTags).flatMap(({ index, data: { sessionTags } }) => {
    const first = new Map<string, string>();
    return Object.keys(sessionTags).flatMap((key) => {
      const earlier = first.get(key.toLowerCase());
      if (earlier === undefined) {
        first.set(key.toLowerCase(), key);
        return [];
      }
      const message = `STS takes it for the same tag as ${printable(earlier, 100)}; keep one of the two`;
      return [{ path: ['discovery', index, 'sessionTags', key], message }];
    });
  });
}
