import { type CommandCluster, clusterCommand, isWord, readRunbook, word } from '../command.ts';
import type { CertificateFacts, Facts } from '../contracts/facts.ts';
import type { ExpiryFinding } from '../contracts/finding.ts';
import type { Provider } from '../identifiers.ts';
import {
  type CertificateClass,
  isDatedBack,
  isOfControlPlane,
  isRolled,
  renewedOnceExpired,
} from '../tables/certificate-classes.ts';

/**
 * Makes the next command about a finding; undefined for a new audit. It only reads: it may go to another cluster than
 * the reader thinks.
 */
export type Next<F = ExpiryFinding> = (finding: F, cluster: CommandCluster) => string | undefined;

type OfCertificate = { readonly what?: CertificateClass | undefined; readonly facts: CertificateFacts };

/** The reader replaces KUBECONFIG, and MANAGEMENT, by a file, as in {@link clusterCommand}. */
export const kubectl = (words: string, cluster = 'KUBECONFIG'): string => `kubectl --kubeconfig ${cluster} ${words}`;

const ENDPOINT = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]):\d{1,5}$/;

/** Looks at what a server shows. */
export function probe(where: string): string | undefined {
  if (!ENDPOINT.test(where)) return undefined;
  return `certmarshal probe ${where.startsWith('[') ? `'${where}'` : where}`;
}

export const probeIt: Next<{ readonly facts: { readonly where: string } }> = ({ facts }) => probe(facts.where);

/** The rollout plan if a rollout renews it. For a cluster that manages itself, MANAGEMENT is its own kubeconfig. */
export const renewal: Next<OfCertificate> = (finding, cluster) =>
  isRolled({ what: finding.what, provider: providerOf(cluster) })
    ? clusterCommand('rollout plan', { ...cluster, isManaged: true })
    : probe(finding.facts.where);

function providerOf({ provider = 'eks-anywhere' }: CommandCluster): Provider {
  return provider;
}

/** What explains an unreadable cluster. */
export function isExpiredServer({ code, what }: Pick<ExpiryFinding, 'code' | 'what'>): boolean {
  return code === 'CertificateExpired' && (what === 'kube-apiserver' || what === 'eks-api-server');
}

/** AWS renews the certificates of its API servers. */
export function expiredServerRunbook(provider: Provider): string {
  return readRunbook(provider === 'eks' ? 'certificate-expired' : 'recovery');
}

/** Clients cannot read the cluster, and looking at a Machine renews nothing. */
export const expired: Next<OfCertificate> = (finding, cluster) => {
  const { what, facts } = finding;
  const provider = providerOf(cluster);
  if (isExpiredServer({ code: 'CertificateExpired', what })) return expiredServerRunbook(provider);
  const isByHand = what !== undefined && isOfControlPlane(what) && renewedOnceExpired(what, provider) !== undefined;
  return isByHand && facts.source !== 'tls' ? readRunbook('renew-in-place') : probe(facts.where);
};

/** Kubernetes, external etcd, and both on Bottlerocket. */
const ON_MACHINE =
  "sudo find /etc/kubernetes/pki /etc/etcd/pki /var/lib/kubeadm/pki /var/lib/etcd/pki -name '*.crt' -exec openssl x509 -noout -subject -enddate -in {} ';'";

export const unknownExpiry: Next<ExpiryFinding<'ExpiryUnknown'>> = ({ what, facts }, cluster) => {
  // One node must not hide the others.
  if (facts.of === 'members')
    return facts.pending > 0 && facts.pending === facts.members.count ? clusterCommand('run', cluster) : undefined;
  return what !== undefined && isDatedBack(what) ? ON_MACHINE : undefined;
};

/** A request, or those of its signer, the newest last. */
export const request: Next<{ readonly facts: { readonly signer?: string; readonly request?: string | undefined } }> = ({
  facts: { signer, request: name },
}) => {
  if (isWord(name)) return kubectl(`describe certificatesigningrequest ${name}`);
  const ofSigner = isWord(signer) ? ` --field-selector=spec.signerName=${signer}` : '';
  return kubectl(`get certificatesigningrequests --sort-by=.metadata.creationTimestamp${ofSigner}`);
};

export const kubeletRequests: Next<{ readonly what?: CertificateClass | undefined }> = ({ what }, cluster) => {
  const signer = `kubernetes.io/${what === 'kubelet-client' ? 'kube-apiserver-client-kubelet' : 'kubelet-serving'}`;
  return request({ facts: { signer } }, cluster);
};

export const node: Next<{ readonly facts: { readonly node: string } }> = ({ facts }) =>
  kubectl(`describe node ${word(facts.node, 'NODE')}`);

/** Every name of the certificate that a node serves, with its proof. */
export const explainNode: Next<{ readonly facts: Facts<'IssuedUnproven'> }> = ({ facts }, cluster) =>
  clusterCommand(`explain --node ${word(facts.node, 'NODE')}`, cluster);

type Unread = ExpiryFinding<'CertificateUnreadable' | 'SourceLost' | 'SourcePartial' | 'SourceUnread' | 'Unreachable'>;

/** Says why it cannot be read. */
export const unread: Next<Unread> = ({ code, facts }, cluster) => {
  if (facts.of === 'certificate') return probe(facts.where);
  if (facts.of === 'source')
    return facts.isServerExpired ? expiredServerRunbook(providerOf(cluster)) : clusterCommand('doctor', cluster);
  if (facts.of !== 'places') return undefined;
  // Reading what is no certificate was no problem: the first place shows it.
  const isOne = code === 'CertificateUnreadable' || facts.places.count === 1;
  return isOne ? probe(facts.places.first[0] ?? '') : undefined;
};
