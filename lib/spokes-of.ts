import { type EksDiscovery, type HubOptions, SELF } from '../lambdas/config/fleet.ts';

/**
 * Account and Region of the hub, if fleet.yaml has them. Never from the credentials of the deployment: names must not
 * depend on them.
 */
export type HubPlace = Pick<HubOptions, 'account' | 'region'>;

/** The resources needed in one Region of an account. */
export interface Spoke {
  readonly account: string;
  /** A name, or `self`. */
  readonly region: string;
  /** IAM is global: only one Region of an account has roles, and the hub's account needs none. */
  readonly roles: readonly SpokeRoleOptions[];
  /** Clusters that get an access entry for the hub's sweep role. */
  readonly accessEntries: readonly string[];
}

export interface SpokeRoleOptions {
  readonly name: string;
  readonly externalId?: string;
  readonly sessionTags: Readonly<Record<string, string>>;
  /** Names, or `self`. */
  readonly regions: readonly string[];
}

/** All places with resources, the hub's included, in the order of the file. */
export function spokesOf(discovery: readonly EksDiscovery[], hub: HubPlace): readonly Spoke[] {
  const places = discovery.flatMap((entry) =>
    entry.accounts.flatMap((account) =>
      entry.regions.map((region) => ({
        account: account === hub.account ? SELF : account,
        region: region === hub.region ? SELF : region,
        entry,
      })),
    ),
  );
  const spokes = new Map<string, Spoke>();
  for (const { account, region } of places) {
    const ofAccount = places.filter((place) => place.account === account);
    // If the hub's Region is unknown here, `self` is the role's own Region, so the role must be in that one.
    const first = ofAccount.find((place) => place.region === SELF) ?? ofAccount[0];
    const here = ofAccount.filter((place) => place.region === region);
    spokes.set(`${account}/${region}`, {
      account,
      region,
      roles:
        account === SELF || region !== first?.region
          ? []
          : rolesOf(
              ofAccount.map(({ entry }) => entry),
              hub,
            ),
      accessEntries: [...new Set(here.flatMap(({ entry }) => entry.accessEntries))],
    });
  }
  return [...spokes.values()].filter(({ roles, accessEntries }) => roles.length > 0 || accessEntries.length > 0);
}

/** Several entries may use one role: it then reads the Regions of all of them. */
function rolesOf(entries: readonly EksDiscovery[], hub: HubPlace): readonly SpokeRoleOptions[] {
  return [...new Set(entries.map(({ role }) => role))].flatMap((name) => {
    const users = entries.filter(({ role }) => role === name);
    const [first] = users;
    if (first === undefined) return [];
    return {
      name,
      externalId: first.externalId,
      sessionTags: first.sessionTags,
      regions: [
        ...new Set(
          users.flatMap(({ regions }) => regions.map((region) => (region === SELF ? (hub.region ?? SELF) : region))),
        ),
      ],
    };
  });
}
