import { type EksDiscovery, type HubOptions, SELF } from '../lambdas/config/fleet.ts';

/** Where the hub is deployed to, as far as fleet.yaml says. Never what the credentials of the deployment are: names must not depend on them. */
export type HubPlace = Pick<HubOptions, 'account' | 'region'>;

/** What one account has to have in one Region. */
export interface Spoke {
  /** Twelve digits, or `self`. */
  readonly account: string;
  /** A name, or `self`. */
  readonly region: string;
  /** IAM is global: only one Region of an account has any, and none is needed in the account of the hub. */
  readonly roles: readonly SpokeRoleOptions[];
  /** Clusters there that the hub's sweep role gets an access entry of. */
  readonly accessEntries: readonly string[];
}

export interface SpokeRoleOptions {
  readonly name: string;
  readonly externalId?: string;
  readonly sessionTags: Readonly<Record<string, string>>;
  /** Names, or `self`. */
  readonly regions: readonly string[];
}

/** All places where something has to be made, that of the hub among them, in the order of the file. */
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
    // What is `self` to the role is its own Region where that is not known here, so it has to be in that one.
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
