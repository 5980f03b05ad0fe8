import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateTagsCommand, type EC2Client, RunInstancesCommand } from '@aws-sdk/client-ec2';
import { CreateClusterCommand } from '@aws-sdk/client-eks';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { type Admin, connectAdmin } from '../control-plane/admin.ts';
import type { Binaries } from '../control-plane/binaries.ts';
import { CSRS, type Csr, createCsr } from '../control-plane/fixtures.ts';
import { createKubeletRequest } from '../control-plane/pki.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts';
import type { Account } from './account.ts';
import { type ClusterWebhook, startClusterWebhook } from './cluster-webhook.ts';
import type { EksEndpoints } from './eks-endpoints.ts';
import { type MiniStack, REGION } from './ministack.ts';

/** Has the role that `CreateCluster` demands; the emulator looks whether it exists. */
const CLUSTER_ROLE = 'eks-cluster';

export interface Ec2Node {
  /** The private DNS name of its instance, which is what EKS calls its nodes. */
  readonly name: string;
  readonly address: string;
}

/** An EKS cluster whose API server is the real one. */
export interface RealCluster {
  readonly controlPlane: ControlPlane;
  readonly webhook: ClusterWebhook;
  readonly nodes: readonly Ec2Node[];
  /** A kubelet asks for a serving certificate. @returns the name of its request. */
  ask(node: Ec2Node, wanted?: { readonly dnsName?: string | undefined }): Promise<string>;
  request(name: string): Promise<Csr>;
  stop(): Promise<void>;
}

export interface RealClusterOptions {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly directory: string;
  readonly binaries: Binaries<'etcd' | 'kubeApiserver' | 'kubeControllerManager'>;
  readonly ministack: MiniStack;
  readonly eksEndpoints: EksEndpoints;
  /** Where it and its instances are. */
  readonly account: Account;
  /** Where the roles are that its access entries are for. */
  readonly hub: Account;
}

/** Registers a cluster and its instances in the emulator and starts what EKS would: an API server that knows tokens of IAM. */
export async function startRealCluster(options: RealClusterOptions): Promise<RealCluster> {
  const { name, addresses, directory, binaries, ministack, eksEndpoints, account, hub } = options;
  const { eks, ec2 } = account;
  await createEksCluster(account, name);
  const webhook = await startClusterWebhook({
    cluster: name,
    region: REGION,
    emulator: ministack,
    eks,
    async roleMadeAt(arn) {
      const role = await hub.calls.query('iam', '2010-05-08', 'GetRole', { RoleName: arn.split('/').at(-1) ?? '' });
      return new Date(/<CreateDate>([^<]+)</.exec(role)?.[1] ?? '');
    },
  });
  const kubeconfig = join(directory, `${name}-webhook.kubeconfig`);
  await writeFile(kubeconfig, webhook.kubeconfig, { mode: 0o600 });
  const controlPlane = await startControlPlane({
    binaries,
    apiserverFlags: [
      `--authentication-token-webhook-config-file=${kubeconfig}`,
      '--authentication-token-webhook-version=v1',
      // Refusals are kept as long as acceptances: a new access entry is to count at the next tick.
      '--authentication-token-webhook-cache-ttl=10s',
    ],
  });
  eksEndpoints.set(name, controlPlane);
  const admin: Admin = connectAdmin(controlPlane);
  await admin.apply(rbacManifests({ group: 'certmarshal' }, [DEFAULT_POLICY]));
  const nodes = await Promise.all(addresses.map((address) => runInstance(ec2, name, address)));
  let asked = 0;
  return {
    controlPlane,
    webhook,
    nodes,
    async ask(node, { dnsName = node.name } = {}) {
      asked += 1;
      const csr = `csr-${name}-${asked}`;
      const wanted = { nodeName: node.name, dnsNames: [dnsName], ipAddresses: [node.address] };
      const { requestPem } = await createKubeletRequest(wanted);
      await createCsr(admin, { name: csr, nodeName: node.name, requestPem });
      return csr;
    },
    request: (csr) => admin.get<Csr>(`${CSRS}/${csr}`),
    async stop() {
      admin.close();
      await controlPlane.stop();
      await webhook.stop();
    },
  };
}

/** A cluster as the EKS of the emulator stores it. */
export async function createEksCluster({ id, calls, eks }: Account, name: string): Promise<void> {
  const trust = { Effect: 'Allow', Principal: { Service: 'eks.amazonaws.com' }, Action: 'sts:AssumeRole' };
  await calls
    .query('iam', '2010-05-08', 'CreateRole', {
      RoleName: CLUSTER_ROLE,
      AssumeRolePolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: [trust] }),
    })
    .catch((error: unknown) => {
      if (!String(error).includes('EntityAlreadyExists')) throw error;
    });
  await eks.send(
    new CreateClusterCommand({
      name,
      roleArn: `arn:aws:iam::${id}:role/${CLUSTER_ROLE}`,
      resourcesVpcConfig: { endpointPublicAccess: true },
      accessConfig: { authenticationMode: 'API', bootstrapClusterCreatorAdminPermissions: false },
      kubernetesNetworkConfig: { serviceIpv4Cidr: '10.96.0.0/16' },
    }),
  );
}

async function runInstance(ec2: EC2Client, cluster: string, address: string): Promise<Ec2Node> {
  const { Instances: [instance] = [] } = await ec2.send(
    new RunInstancesCommand({ ImageId: 'ami-00000000', MinCount: 1, MaxCount: 1, PrivateIpAddress: address }),
  );
  const { InstanceId: id, PrivateDnsName: name } = instance ?? {};
  if (id === undefined || name === undefined) throw new Error('RunInstances gave no instance');
  const tag = { Key: `kubernetes.io/cluster/${cluster}`, Value: 'owned' };
  await ec2.send(new CreateTagsCommand({ Resources: [id], Tags: [tag] }));
  return { name, address };
}
