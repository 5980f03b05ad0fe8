import { stringify } from 'yaml';

export interface RehearsalFleet {
  /** EKS clusters that the stack makes an access entry for. */
  readonly accessEntries: readonly string[];
  readonly listed: readonly { readonly name: string; readonly kubeconfigSecret: string }[];
  readonly mode: 'enforce' | 'observe';
}

/**
 * The fleet of the rehearsal: what ships, which finds the EKS clusters of the account and Region, and some that are listed. It judges at once:
 * nobody waits two minutes here for the approver of EKS to be faster.
 */
export function fleetFile({ accessEntries, listed, mode }: RehearsalFleet): string {
  return stringify({
    version: 1,
    discovery: [{ accounts: ['self'], regions: ['self'], accessEntries }],
    clusters: listed.map((cluster) => ({ ...cluster, provider: 'eks-anywhere' })),
    policies: [{ name: 'rehearsal', mode, age: { min: '0s' } }],
  });
}
