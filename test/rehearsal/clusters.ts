import assert from 'node:assert/strict';
import type { Binaries } from '../control-plane/binaries.ts';
import { type SimulatedApiServer, startSimulatedApiServer } from '../fleet/api-server.ts';
import { fastClock } from '../fleet/clock.ts';
import type { Account } from './account.ts';
import type { EksEndpoints } from './eks-endpoints.ts';
import type { MiniStack } from './ministack.ts';
import { createEksCluster, type RealCluster, startRealCluster } from './real-cluster.ts';
import { type SimulatedCluster, startSimulatedCluster } from './simulated-cluster.ts';

/** EKS clusters on real API servers: in the account of the hub, and in that of the spoke. */
export const REAL = { hub: 'dublin', spoke: 'cork' } as const;
/** An EKS cluster that certmarshal may not enter. */
export const CLOSED = 'galway';
/** EKS Anywhere clusters, on simulated API servers. */
export const SIMULATED = ['berlin', 'munich'] as const;

const NODES = { dublin: ['10.0.1.11', '10.0.1.12', '10.0.1.13'], cork: ['10.0.2.11', '10.0.2.12'] } as const;
const SIMULATED_NODES = 2;
/** The address of an instance whose node asks for the name of another one. */
const IMPOSTOR = '10.0.1.66';

/** Everything that is swept, with requests that wait for a certificate. */
export interface Clusters {
  readonly real: readonly RealCluster[];
  readonly simulated: readonly SimulatedCluster[];
  /** Requests that are to be approved, on the real API servers. */
  readonly honest: readonly Request[];
  readonly hostile: Request;
  /** All that a log must not hold. */
  readonly tokens: readonly string[];
}

export interface Request {
  readonly cluster: RealCluster;
  readonly name: string;
}

export interface ClustersOptions {
  readonly parts: AsyncDisposableStack;
  readonly directory: string;
  readonly binaries: Binaries<'etcd' | 'kubeApiserver' | 'kubeControllerManager'>;
  readonly ministack: MiniStack;
  readonly eksEndpoints: EksEndpoints;
  readonly hub: Account;
  readonly spoke: Account;
}

export async function startClusters(options: ClustersOptions): Promise<Clusters> {
  const { parts, eksEndpoints, hub, spoke, ...rest } = options;
  const startReal = async (name: 'dublin' | 'cork', account: Account, addresses: readonly string[]) => {
    const cluster = await startRealCluster({ ...rest, name, addresses, eksEndpoints, account, hub });
    parts.defer(() => cluster.stop());
    return cluster;
  };
  const dublin = await startReal('dublin', hub, [...NODES.dublin, IMPOSTOR]);
  const cork = await startReal('cork', spoke, NODES.cork);

  const closed: SimulatedApiServer = await startSimulatedApiServer({ clock: fastClock(Date.now(), 1), name: CLOSED });
  parts.defer(() => closed.stop());
  await createEksCluster(hub, CLOSED);
  eksEndpoints.set(CLOSED, closed);

  const simulated: SimulatedCluster[] = [];
  for (const name of SIMULATED) {
    const cluster = await startSimulatedCluster(name, SIMULATED_NODES, hub.secrets);
    parts.defer(() => cluster.stop());
    simulated.push(cluster);
  }

  const honest: Request[] = [];
  for (const cluster of [dublin, cork])
    for (const node of cluster.nodes.filter(({ address }) => address !== IMPOSTOR))
      honest.push({ cluster, name: await cluster.ask(node) });
  const impostor = dublin.nodes.find(({ address }) => address === IMPOSTOR) ?? assert.fail('no node of the impostor');
  const [victim] = dublin.nodes;
  const hostile = { cluster: dublin, name: await dublin.ask(impostor, { dnsName: victim?.name }) };
  return {
    real: [dublin, cork],
    simulated,
    honest,
    hostile,
    tokens: [
      dublin.controlPlane.adminToken,
      cork.controlPlane.adminToken,
      closed.adminToken,
      ...simulated.map(({ cluster }) => cluster.server.tokenFor('certmarshal')),
    ],
  };
}
