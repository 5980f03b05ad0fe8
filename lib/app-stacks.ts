import type { App } from 'aws-cdk-lib/core';
import { type Fleet, SELF } from '../lambdas/config/fleet.ts';
import { HUB_STACK, hubRoleArn } from '../lambdas/fleet/role-names.ts';
import { HubStack } from './hub-stack.ts';
import { SpokeStack } from './spoke-stack.ts';
import { type HubPlace, type Spoke, spokesOf } from './spokes-of.ts';

export interface FleetStacks {
  readonly hub: HubStack;
  readonly spokes: readonly SpokeStack[];
}

/** The hub, and a spoke for each account and Region of the discovery that needs resources. */
export function fleetStacks(app: App, fleet: Fleet): FleetStacks {
  const place: HubPlace = fleet.hub;
  const hub = new HubStack(app, HUB_STACK, { fleet, ...environmentOf({ account: SELF, region: SELF }, place) });
  const spokes = spokesOf(fleet.discovery, place)
    .filter(({ account, region }) => account !== SELF || region !== SELF)
    .map((spoke) => {
      // No dependency on the hub, although the role of an access entry must exist: the deployer of a spoke has no
      // credentials of the hub.
      return new SpokeStack(app, `${HUB_STACK}Spoke-${nameOf(spoke, place)}`, {
        spoke,
        ...environmentOf(spoke, place),
        ...hubRolesOf(place),
      });
    });
  return { hub, spokes };
}

function nameOf({ account, region }: Spoke, place: HubPlace): string {
  return `${account === SELF ? (place.account ?? SELF) : account}-${region === SELF ? (place.region ?? SELF) : region}`;
}

/** Unknown values come from the credentials of the deployment. */
function environmentOf(spoke: Pick<Spoke, 'account' | 'region'>, place: HubPlace) {
  const account = spoke.account === SELF ? place.account : spoke.account;
  const region = spoke.region === SELF ? place.region : spoke.region;
  return { env: { account, region } };
}

function hubRolesOf({ account, region }: HubPlace) {
  if (account === undefined || region === undefined) return {};
  const hub = { account, region };
  return { hubRoles: { sweepRoleArn: hubRoleArn(hub, 'sweep'), dispatchRoleArn: hubRoleArn(hub, 'dispatch') } };
}
