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
  /** `kubelet=10250` and the like. */
  readonly port?: readonly string[];
}

/**
 * Opens the one cluster that the command line names, as far as the options let an audit look.
 *
 * @throws UsageError when an option or a kubeconfig cannot be used
 */
export async function openAuditTarget(
  options: AuditTargetOptions,
  fleet: Fleet,
): Promise<AuditTarget & Pick<OpenCluster, 'server' | 'close'>> {
  const ports = serverPorts(options.port ?? []);
  const { host, awsProfile, ...opened } = await openCluster(options, fleet);
  const eks = opened.cluster.provider === 'eks' ? await eksOf(opened.cluster.name, host, awsProfile) : undefined;
  return {
    ...opened,
    eks,
    policies: fleet.policies,
    // What is evidence of the certificates of EKS nodes.
    ...(opened.cluster.provider === 'eks' ? instancesOf(host, opened.cluster.name) : {}),
    reach: {
      handshakes: options.handshakes !== false,
      secrets: options.secrets === true,
      kubeletMetrics: options.kubeletMetrics === true,
    },
    ports,
  };
}

/** EKS of the Region that the endpoint names, asked with the AWS profile of the kubeconfig, else with the credentials of the user's environment; undefined for another host. */
async function eksOf(name: string, host: string, profile: string | undefined): Promise<EksAuditReader | undefined> {
  const region = eksRegionOf(host);
  if (region === undefined) return undefined;
  // The SDK is only loaded by those who have an EKS cluster.
  const [{ createCredentials }, { createEksAuditReader }] = await Promise.all([
    import('../../../lambdas/aws/spoke-credentials.ts'),
    import('../../../lambdas/aws/eks-audit.ts'),
  ]);
  const scope = { account: 'the account of your AWS credentials', region };
  return createEksAuditReader({
    credentials: createCredentials({ sessionName: 'certmarshal', sts: profile === undefined ? {} : { profile } }),
  })(scope, name);
}
