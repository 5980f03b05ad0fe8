import { type SimulatedApiServer, type SimulatedApiServerOptions, startSimulatedApiServer } from '../api-server.ts';
import type { SimulatedEksCluster } from '../aws/eks.ts';
import type { Place } from '../aws/service.ts';
import type { SimulatedAws } from '../aws/simulated-aws.ts';
import type { Clock } from '../clock.ts';
import { addMachine, grantedRules } from '../demo-cluster.ts';
import type { StoredCsr } from '../kube-object.ts';
import { kubeconfigOf } from '../kubeconfig.ts';
import { createCsr, type SimulatedNode } from '../kubelet.ts';
import { seededRandom } from '../random.ts';
import { createServingRequest } from '../serving-request.ts';
import { eksAuthenticator, eksUser } from './eks-authenticator.ts';
import { HUB, SWEEP_ROLE } from './places.ts';

/** What clusters are made of. */
export interface Ground {
  readonly aws: SimulatedAws;
  readonly clock: Clock;
}

/** A cluster of the fleet, and who asks for certificates in it. */
export interface HubCluster {
  readonly name: string;
  readonly server: SimulatedApiServer;
  /** The `index`th node, and what shows that it is there: an EC2 instance, or a Machine. */
  addNode(index: number): void;
  /** Its kubelet asks for a certificate. @returns name of the request */
  ask(index: number): string;
}

export interface HubEksCluster extends HubCluster {
  readonly place: Place;
  /** What DescribeCluster shows. */
  readonly described: SimulatedEksCluster;
  /** ARNs of the roles that may enter. */
  readonly accessEntries: Set<string>;
}

export interface HubKubeconfigCluster extends HubCluster {
  /** ARN of the secret with its kubeconfig. */
  readonly secret: string;
}

/** An EKS cluster that the role of the sweep may enter. */
export async function startEksCluster({ aws, clock }: Ground, place: Place, name: string): Promise<HubEksCluster> {
  const accessEntries = new Set([SWEEP_ROLE]);
  const { region } = place;
  const server = await startSimulatedApiServer({
    clock,
    name,
    random: seededRandom(name.length),
    machineVersions: [],
    users: [{ name: eksUser(SWEEP_ROLE), rules: grantedRules() }],
    authenticateToken: eksAuthenticator({ identity: aws.identity, clock, region, cluster: name, accessEntries }),
  });
  const described: SimulatedEksCluster = {
    name,
    endpoint: server.server,
    certificateAuthority: Buffer.from(server.caPem).toString('base64'),
  };
  aws.eks.putCluster(place, described);
  const nodeOf = (index: number): SimulatedNode => {
    const dnsName = `ip-10-0-0-${index}.${region}.compute.internal`;
    return { name: dnsName, dnsNames: [dnsName], ipAddresses: [`10.0.0.${index}`] };
  };
  return {
    name,
    place,
    server,
    described,
    accessEntries,
    addNode(index) {
      aws.ec2.putInstance(place, {
        InstanceId: `i-${Buffer.from(name).toString('hex').slice(0, 12)}${String(index).padStart(5, '0')}`,
        PrivateDnsName: nodeOf(index).name,
        PrivateIpAddress: `10.0.0.${index}`,
        // Where the simulated EKS puts a cluster that does not say.
        VpcId: 'vpc-0',
        Tags: [{ Key: `kubernetes.io/cluster/${name}`, Value: 'owned' }],
      });
    },
    ask: (index) => ask(server, nodeOf(index)),
  };
}

/** A cluster that is entered with the kubeconfig in a secret. Its Machines are in it, or in its management cluster. */
export async function startKubeconfigCluster(
  { aws, clock }: Ground,
  name: string,
  management?: HubCluster,
  certificate: Pick<SimulatedApiServerOptions, 'certificateNotBefore' | 'certificateNotAfter'> = {},
): Promise<HubKubeconfigCluster> {
  const server = await startSimulatedApiServer({
    clock,
    name,
    random: seededRandom(name.length),
    users: [{ name: 'certmarshal', groups: ['certmarshal'], rules: grantedRules() }],
    ...certificate,
  });
  const nodeOf = (index: number): SimulatedNode => ({
    name: `${name}-${index}`,
    dnsNames: [`${name}-${index}`],
    ipAddresses: [`10.1.0.${index}`],
  });
  return {
    name,
    server,
    secret: aws.secretsManager.putSecret(HUB, `certmarshal/${name}`, kubeconfigOf(server, 'certmarshal')),
    addNode: (index) => addMachine({ name, server: (management ?? { server }).server }, nodeOf(index)),
    ask: (index) => ask(server, nodeOf(index)),
  };
}

/** Shows a workload cluster to its management cluster, as Cluster API does. */
export function addWorkloadCluster(management: HubCluster, name: string, namespace = 'eksa-system'): void {
  management.server.api.clusters?.put({
    metadata: { name, namespace, uid: `${namespace}-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/12'] } } },
  });
}

/** By name of the node: whoever compares two runs wants the same requests in both. */
const requests = new Map<string, string>();

function ask({ name, api }: SimulatedApiServer, node: SimulatedNode): string {
  const key = `${name} ${node.name}`;
  const pem = requests.get(key) ?? createServingRequest(node.name, node).pem;
  requests.set(key, pem);
  const csr = createCsr(api, node.name, pem);
  if (csr === undefined) throw new Error(`${node.name}: the request was refused`);
  return csr.metadata.name;
}

/** Names of the requests that are approved. */
export function approvedIn({ server }: Pick<HubCluster, 'server'>): readonly string[] {
  return (server.api.csrs.all() as StoredCsr[])
    .filter(({ status: { conditions = [] } }) => conditions.some(({ type }) => type === 'Approved'))
    .map(({ metadata }) => metadata.name);
}
