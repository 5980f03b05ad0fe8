import type { Provider } from '../identifiers.ts';
import { canonicalDnsName } from '../names.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import type { CertificateRequest } from '../x509/certificate-request.ts';
import type { Claims } from './claims.ts';

export interface ClusterContext {
  readonly name: string;
  readonly provider: Provider;
  /**
   * Names and addresses of the API endpoint, without ports: the host and `tls-server-name` of the kubeconfig, the
   * addresses connected to, `controlPlaneEndpoint` of the Cluster. Never approved as names of a node.
   */
  readonly endpoints?: readonly string[];
  /** Service CIDRs, if known; never approved as addresses of a node. */
  readonly serviceCidrs?: readonly string[];
  /** The DNS domain of its Services, if its Cluster says so. @default unknown, and `cluster.local` */
  readonly serviceDomain?: string;
  /** The networks of the hybrid nodes of an EKS cluster, as EKS reports them. */
  readonly remoteNodeNetworks?: readonly string[];
}

/** The other requests of the same requester in the same sweep. */
export interface Siblings {
  /** Name of a newer pending request of the same requester. */
  readonly supersededBy?: string;
  /** Pending requests of the same requester, including this one. */
  readonly pending: number;
  readonly claims?: Claims | undefined;
}

export interface ApprovalRequest {
  readonly cluster: ClusterContext;
  readonly csr: SigningRequest;
  readonly siblings: Siblings;
}

type Created = Pick<SigningRequest, 'name' | 'createdAt'>;

/** Creation times have whole seconds; the name decides between equals so that every sweep picks the same one. */
export function isNewer(a: Created, b: Created): boolean {
  const difference = (a.createdAt ?? 0) - (b.createdAt ?? 0);
  return difference > 0 || (difference === 0 && a.name > b.name);
}

/** The addresses that a request asks for, and those of its DNS names that `takes` accepts; canonical. */
export function canonicalNames(
  { subjectAltNames }: CertificateRequest,
  takes: (dnsName: string) => boolean = () => true,
): readonly string[] {
  return subjectAltNames.flatMap((name) => {
    if (name.kind === 'iPAddress') return [name.value];
    return name.kind === 'dNSName' ? [canonicalDnsName(name.value)].filter(takes) : [];
  });
}
