import {
  type Ground,
  type HubCluster,
  type HubEksCluster,
  type HubKubeconfigCluster,
  startEksCluster,
  startKubeconfigCluster,
} from '../hub/clusters.ts';
import { HUB } from '../hub/places.ts';
import { MINUTE } from '../hub/world.ts';

/** EKS Anywhere, listed, and EKS, found in the account of the hub: what most stories need. */
export interface TwoClusters extends Readonly<Record<string, HubCluster>> {
  readonly berlin: HubKubeconfigCluster;
  readonly zurich: HubEksCluster;
}

/** Where {@link TwoClusters.zurich} is in the fleet. */
export const ZURICH = `${HUB.account}/${HUB.region}/zurich`;

/** A certificate that is no story, and does not outlive its authority. */
export function lastsLong(): { readonly certificateNotAfter: Date } {
  return { certificateNotAfter: new Date(Date.now() + 300 * 24 * 60 * MINUTE) };
}

export async function twoClusters(ground: Ground): Promise<TwoClusters> {
  const [berlin, zurich] = await Promise.all([
    startKubeconfigCluster(ground, 'berlin', undefined, lastsLong()),
    startEksCluster(ground, HUB, 'zurich'),
  ]);
  return { berlin, zurich };
}

/** @param audit of the file; what is further in it */
export function twoClustersFile(
  { berlin }: Pick<TwoClusters, 'berlin'>,
  { audit = '{ every: 5m }', more = '' }: { readonly audit?: string; readonly more?: string } = {},
): string {
  return `
version: 1
audit: ${audit}
discovery: [{ accounts: [self] }]
clusters:
  - { name: berlin, provider: eks-anywhere, kubeconfigSecret: '${berlin.secret}' }
${more}`;
}
