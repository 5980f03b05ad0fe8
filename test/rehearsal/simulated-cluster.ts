import { CreateSecretCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { fastClock } from '../fleet/clock.ts';
import { addMachine, type DemoCluster, startDemoCluster } from '../fleet/demo-cluster.ts';
import { kubeconfigOf } from '../fleet/kubeconfig.ts';

/** An EKS Anywhere cluster that manages itself: a simulated API server, its kubeconfig in Secrets Manager. */
export interface SimulatedCluster {
  readonly name: string;
  readonly cluster: DemoCluster;
  readonly kubeconfigSecret: string;
  readonly nodes: number;
  /** How many of its nodes have a certificate. */
  issued(): number;
  stop(): Promise<void>;
}

/** @param nodes how many kubelets ask for a certificate, at once */
export async function startSimulatedCluster(
  name: string,
  nodes: number,
  secrets: SecretsManagerClient,
): Promise<SimulatedCluster> {
  const cluster = await startDemoCluster({ name, provider: 'eks-anywhere', clock: fastClock(Date.now(), 1) });
  for (let index = 1; index <= nodes; index += 1) {
    const node = { name: `${name}-${index}`, dnsNames: [`${name}-${index}`], ipAddresses: [`10.20.0.${index}`] };
    addMachine(cluster, node);
    cluster.start(node);
  }
  const { ARN } = await secrets.send(
    new CreateSecretCommand({ Name: `certmarshal/${name}`, SecretString: kubeconfigOf(cluster.server, 'certmarshal') }),
  );
  if (ARN === undefined) throw new Error('CreateSecret gave no ARN');
  return {
    name,
    nodes,
    cluster,
    kubeconfigSecret: ARN,
    issued: () => cluster.kubelets.filter(({ certificate }) => certificate !== undefined).length,
    stop: () => cluster.stop(),
  };
}
