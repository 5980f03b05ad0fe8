import { stringify } from 'yaml';
import { ACCOUNT, REGION } from './ministack.ts';

/** As often as possible: every cluster has its turn while somebody waits. */
export const AUDIT_EVERY_MINUTES = 5;

export interface RehearsalFleet {
  /** EKS clusters that the stacks make an access entry for: in the account of the hub, and in another. */
  readonly accessEntries: { readonly hub: readonly string[]; readonly spoke: readonly string[] };
  readonly spokeAccount: string;
  readonly listed: readonly { readonly name: string; readonly kubeconfigSecret: string }[];
  readonly mode: 'enforce' | 'observe';
  /** @default false */
  readonly webhook?: boolean;
}

/**
 * The fleet of the rehearsal: what ships, which finds the EKS clusters of the account and Region, the same in a
 * second account, and some that are listed. It judges at once:
 * nobody waits two minutes here for the approver of EKS to be faster.
 */
export function fleetFile({ accessEntries, spokeAccount, listed, mode, webhook }: RehearsalFleet): string {
  return stringify({
    version: 1,
    discovery: [
      { accounts: ['self'], regions: ['self'], accessEntries: accessEntries.hub },
      {
        accounts: [spokeAccount],
        regions: [REGION],
        externalId: 'certmarshal-rehearsal',
        sessionTags: { service: 'certmarshal' },
        accessEntries: accessEntries.spoke,
      },
    ],
    monitoring: { subscribe: { critical: ['oncall@example.com'], pager: ['oncall@example.com'] } },
    audit: { every: `${AUDIT_EVERY_MINUTES}m` },
    hub: { account: ACCOUNT, region: REGION, ...(webhook && { webhook }) },
    clusters: listed.map((cluster) => ({ ...cluster, provider: 'eks-anywhere' })),
    policies: [{ name: 'rehearsal', mode, age: { min: '0s' } }],
  });
}
