import type { HubIdentity } from '../../../lambdas/fleet/sources.ts';

/** Where certmarshal is deployed to. */
export const HUB: HubIdentity = { account: '111122223333', region: 'eu-central-1', partition: 'aws' };
/** Another account, with two Regions in use. */
export const SPOKE = '444455556666';
export const FRANKFURT = { account: SPOKE, region: 'eu-central-1' };
export const DUBLIN = { account: SPOKE, region: 'eu-west-1' };

/** Roles of the functions. */
export const SWEEP_ROLE = `arn:aws:iam::${HUB.account}:role/certmarshal-sweep-eu-central-1`;
export const DISPATCH_ROLE = `arn:aws:iam::${HUB.account}:role/certmarshal-dispatch-eu-central-1`;
/** What the spoke stack makes. */
export const SPOKE_ROLE = `arn:aws:iam::${SPOKE}:role/certmarshal-spoke`;
export const EXTERNAL_ID = 'external-id-6b1f9c27d0e84a35';

export const BUCKET = 'certmarshal-state';
/** Where the snapshots of audits are. */
export const SNAPSHOT_BUCKET = 'certmarshal-audit-history';
/** Where the decisions are. */
export const JOURNAL_BUCKET = 'certmarshal-journal';
