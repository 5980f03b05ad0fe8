import type { Ground, HubEksCluster, HubKubeconfigCluster } from '../hub/clusters.ts';
import { startEksCluster, startKubeconfigCluster } from '../hub/clusters.ts';
import { HUB } from '../hub/places.ts';
import { MINUTE } from '../hub/world.ts';

/** EKS Anywhere, listed, and EKS, found in the account of the hub: what most stories need. */
export interface TwoClusters {
  readonly berlin: HubKubeconfigCluster;
  readonly zurich: HubEksCluster;
}

/** In a year: its certificate is no story. */
export function aYearAhead(): Date {
  return new Date(Date.now() + 365 * 24 * 60 * MINUTE);
}

export async function twoClusters(ground: Ground): Promise<TwoClusters & Record<string, HubKubeconfigCluster | HubEksCluster>> {
  const berlin = await startKubeconfigCluster(ground, 'berlin', undefined, aYearAhead());
  const zurich = await startEksCluster(ground, HUB, 'zurich');
  return { berlin, zurich };
}

/** @param more further lines of the file */
export function twoClustersFile({ berlin }: Pick<TwoClusters, 'berlin'>, more = ''): string {
  return `
version: 1
audit: { every: 5m }
discovery: [{ accounts: [self] }]
clusters:
  - { name: berlin, provider: eks-anywhere, kubeconfigSecret: '${berlin.secret}' }
${more}`;
}
