import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
import type { EksAuditReader } from '../../../lambdas/aws/eks-audit.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { eksRegionOf, instancesOf } from '../../instances.ts';
import { type OpenCluster, openCluster, type TargetOptions } from '../../target.ts';
import { serverPorts } from './ports.ts';

export interface AuditTargetOptions extends TargetOptions {
  /** @default true */
  readonly handshakes?: boolean;
  readonly secrets?: boolean;
  readonly kubeletMetrics?: boolean;
  /** For example `kubelet=10250`. */
  readonly port?: readonly string[];
}

/**
 * Opens the cluster that the command line names, with the sources that the options allow.
 *
 * @throws UsageError for an unusable option or kubeconfig
 */
export async function openAuditTarget(
  options: AuditTargetOptions,
  fleet: Fleet,
  check?: (cluster: OpenCluster['cluster']) => void,
): Promise<AuditTarget & Pick<OpenCluster, 'resolve' | 'server' | 'close'>> {
  const ports = serverPorts(options.port ?? []);
  const { host, awsProfile, ...opened } = await openCluster(options, fleet, check);
  const eks = opened.cluster.provider === 'eks' ? await eksOf(opened.cluster.name, host, awsProfile) : undefined;
  return {
    ...opened,
    eks,
    policies: fleet.policies,
    // Evidence for the certificates of EKS nodes.
    ...(opened.cluster.provider === 'eks' ? instancesOf(host, opened.cluster.name) : {}),
    reach: {
      handshakes: options.handshakes !== false,
      secrets: options.secrets === true,
      kubeletMetrics: options.kubeletMetrics === true,
    },
    ports,
  };
}

/**
 * EKS in the Region of the endpoint, read with the AWS profile of the kubeconfig, else with the credentials of the
 * environment; undefined for another host.
 */
async function eksOf(name: string, host: string, profile: string | undefined): Promise<EksAuditReader | undefined> {
  const region = eksRegionOf(host);
  if (region === undefined) return undefined;
  // Load the SDK only for EKS clusters.
  const [{ createCredentials }, { createEksAuditReader }] = await Promise.all([
    import('../../../lambdas/aws/spoke-credentials.ts'),
    import('../../../lambdas/aws/eks-audit.ts'),
  ]);
  const scope = { account: 'the account of your AWS credentials', region };
  return createEksAuditReader({
    credentials: createCredentials({ sessionName: 'certmarshal', sts: profile === undefined ? {} : { profile } }),
  })(scope, name);
}
