import { type CommandCluster, clusterCommand, isWord, readRunbook, word } from '../command.ts';
import type { CertificateFacts, Facts } from '../contracts/facts.ts';
import type { ExpiryFinding } from '../contracts/finding.ts';
import type { Provider } from '../identifiers.ts';
import { isCut } from '../printable-name.ts';
import type { SourceId } from '../tables/audit-sources.ts';
import {
  type CertificateClass,
  isDatedBack,
  isOfControlPlane,
  isRolled,
  renewedOnceExpired,
} from '../tables/certificate-classes.ts';

// Each command only reads: it may go to another cluster than the reader thinks. Absent: a new audit says more.

/** Makes the next command about a finding; undefined for a new audit. */
export type Next<F = ExpiryFinding> = (finding: F, cluster: CommandCluster) => string | undefined;

type OfCertificate = { readonly what?: CertificateClass | undefined; readonly facts: CertificateFacts };

/** Only of the cluster itself: an expired management cluster is never tolerated. */
export const TOLERANT_AUDIT = 'audit --tolerate-expired authority';

/** The reader replaces KUBECONFIG by a file, as in {@link clusterCommand}. */
const kubectl = (words: string): string => `kubectl --kubeconfig KUBECONFIG ${words}`;
/** In the management cluster. */
const managed = (words: string): string => `kubectl --kubeconfig MANAGEMENT ${words}`;

const ENDPOINT = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]):\d{1,5}$/;
const OBJECT =
  /^(?<kind>[A-Z][A-Za-z]{1,60}) (?:(?<namespace>[a-z0-9][a-z0-9.-]{0,252})\/)?(?<name>[a-z0-9][a-z0-9.:-]{0,252})(?: (?<key>\S+))?/;

/**
 * Full names of ambiguous kinds for kubectl: on bare metal `machine` is that of `bmc.tinkerbell.org`, and every EKS
 * Anywhere has two `cluster`, of which observations name its own.
 */
const RESOURCES: Readonly<Record<string, string>> = {
  Cluster: 'clusters.anywhere.eks.amazonaws.com',
  KubeadmConfig: 'kubeadmconfigs.bootstrap.cluster.x-k8s.io',
  Machine: 'machines.cluster.x-k8s.io',
};

/** Reads a place again; undefined for what is no place. */
export function look(where: string, source?: SourceId, position = 0): string | undefined {
  if (isCut(where)) return undefined;
  if (ENDPOINT.test(where)) return `certmarshal probe ${where.startsWith('[') ? `'${where}'` : where}`;
  const object = OBJECT.exec(where)?.groups;
  if (object === undefined) return undefined;
  const { kind = '', namespace, name = '', key } = object;
  const resource = Object.hasOwn(RESOURCES, kind) ? RESOURCES[kind] : kind.toLowerCase();
  const get = `${namespace === undefined ? '' : `-n ${namespace} `}get ${resource} ${name}`;
  // Secrets of Cluster API are in the management cluster.
  const ask = Object.hasOwn(RESOURCES, kind) || (kind === 'Secret' && source !== 'tls-secrets') ? managed : kubectl;
  const field = fieldOf(kind, key, where);
  return ask(field === undefined ? `${get} -o yaml` : `${get} -o 'jsonpath={${field}}' | ${dates(key, position)}`);
}

/** Where an object has its certificates in base64. Never a whole Secret: it contains the key. */
function fieldOf(kind: string, key = '', where: string): string | undefined {
  if (kind === 'Secret') {
    const isKey = key === 'value' || /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.crt$/.test(key);
    return `.data.${(isKey ? key : 'tls.crt').replaceAll('.', String.raw`\.`)}`;
  }
  if (kind === 'APIService') return '.spec.caBundle';
  if (kind === 'CustomResourceDefinition') return '.spec.conversion.webhook.clientConfig.caBundle';
  const [, webhook] = / \(webhook ([a-z0-9.-]{1,253})\)/.exec(where) ?? [];
  return webhook === undefined ? undefined : `.webhooks[?(@.name=="${webhook}")].clientConfig.caBundle`;
}

function dates(key: string | undefined, position: number): string {
  const select = position === 0 ? '' : `awk '/BEGIN CERTIFICATE/ {n++} n == ${position + 1}' | `;
  const client = key === 'value' ? "sed -n 's/.*client-certificate-data: *//p' | base64 -d | " : '';
  return `base64 -d | ${client}${select}openssl x509 -noout -subject -issuer -enddate`;
}

/** The Region is that of the id of a discovered cluster. */
const eks =
  (words: string, more = ''): Next<{ readonly cluster: string }> =>
  ({ cluster: id }, { name }) => {
    const [, region] = /^\d{12}\/([a-z0-9-]{1,32})\//.exec(id) ?? [];
    return `aws eks ${words} ${word(name, 'CLUSTER')}${more}${region === undefined ? '' : ` --region ${region}`}`;
  };

/** Reads a source again. Without a text: a new audit does. */
const SOURCES: Readonly<Record<SourceId, string | Next<{ readonly cluster: string }>>> = {
  nodes: kubectl('get nodes -o wide'),
  'signing-requests': kubectl('get certificatesigningrequests'),
  'trust-configmaps': kubectl('-n kube-system get configmap kube-root-ca.crt extension-apiserver-authentication'),
  webhooks: kubectl('get validatingwebhookconfigurations,mutatingwebhookconfigurations'),
  'api-services': kubectl('get apiservices'),
  'crd-conversions': kubectl('get customresourcedefinitions'),
  'cert-manager': kubectl('get certificates.cert-manager.io -A'),
  'tls-secrets': kubectl('auth can-i list secrets -A'),
  'kubelet-metrics': kubectl('auth can-i get nodes/proxy'),
  // Their namespaces and names are often not those that were given.
  machines: managed('get clusters.cluster.x-k8s.io,machines.cluster.x-k8s.io -A'),
  'kubeadm-configs': managed('get kubeadmconfigs.bootstrap.cluster.x-k8s.io -A'),
  'kubeadm-control-plane': managed('get kubeadmcontrolplanes.controlplane.cluster.x-k8s.io -A'),
  'etcdadm-cluster': managed('get etcdadmclusters.etcdcluster.cluster.x-k8s.io -A'),
  'eks-anywhere': managed('get clusters.anywhere.eks.amazonaws.com -A'),
  'cluster-secrets': managed('auth can-i get secrets -A'),
  'eks-cluster': eks('describe-cluster --name'),
  'eks-authorities': eks('list-certificate-authorities --cluster-name'),
  'eks-nodegroups': eks('list-nodegroups --cluster-name'),
  tls: () => undefined,
  clock: 'date -u',
};

const readAgain = (source: SourceId, ...[finding, cluster]: Parameters<Next>): string | undefined => {
  const command = SOURCES[source];
  return typeof command === 'string' ? command : command(finding, cluster);
};

export const lookAt: Next<OfCertificate> = ({ facts: { where, source, position } }) => look(where, source, position);

/** The rollout plan if a rollout renews it. For a cluster that manages itself, MANAGEMENT is its own kubeconfig. */
export const renewal: Next<OfCertificate> = (finding, cluster) =>
  isRolled({ what: finding.what, provider: providerOf(cluster) })
    ? clusterCommand('rollout plan', { ...cluster, isManaged: true })
    : lookAt(finding, cluster);

function providerOf({ provider = 'eks-anywhere' }: CommandCluster): Provider {
  return provider;
}

/** What explains an unreadable cluster. */
export function isExpiredServer({ code, what }: Pick<ExpiryFinding, 'code' | 'what'>): boolean {
  return code === 'CertificateExpired' && isServer(what);
}

function isServer(what: CertificateClass | undefined): boolean {
  return what === 'kube-apiserver' || what === 'eks-api-server';
}

/** AWS renews the certificates of its API servers. */
export function expiredServerRunbook(provider: Provider): string {
  return readRunbook(provider === 'eks' ? 'certificate-expired' : 'recovery');
}

/** Clients cannot read the cluster, and looking at a Machine renews nothing. */
export const expired: Next<OfCertificate> = (finding, cluster) => {
  const { what, facts } = finding;
  const provider = providerOf(cluster);
  if (isServer(what)) return expiredServerRunbook(provider);
  const isByHand = what !== undefined && isOfControlPlane(what) && renewedOnceExpired(what, provider) !== undefined;
  return isByHand && facts.source !== 'tls' ? readRunbook('renew-in-place') : lookAt(finding, cluster);
};

/** Kubernetes, external etcd, and both on Bottlerocket. */
const ON_MACHINE =
  "sudo find /etc/kubernetes/pki /etc/etcd/pki /var/lib/kubeadm/pki /var/lib/etcd/pki -name '*.crt' -exec openssl x509 -noout -subject -enddate -in {} ';'";

export const unknownExpiry: Next<ExpiryFinding<'ExpiryUnknown'>> = ({ what, facts }, cluster) => {
  // One node must not hide the others.
  if (facts.of === 'members')
    return facts.pending > 0 && facts.pending === facts.members.count ? clusterCommand('run', cluster) : undefined;
  if (what === undefined || !isDatedBack(what)) return undefined;
  return what === 'apiserver-etcd-client' ? look(facts.where, facts.source) : ON_MACHINE;
};

export const annotations: Next<ExpiryFinding<'StaleAnnotation'>> = ({ what, facts: { other } }) =>
  what === 'etcd-server' || what === 'etcd-peer'
    ? look(other.where, other.source)
    : managed(
        `get kubeadmconfigs.bootstrap.cluster.x-k8s.io -A -o 'custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,EXPIRY:.metadata.annotations.machine\\.cluster\\.x-k8s\\.io/certificates-expiry'`,
      );

/** The requests of a signer, the newest last. */
const requests = (signer?: string): string =>
  kubectl(
    `get certificatesigningrequests --sort-by=.metadata.creationTimestamp${
      isWord(signer) ? ` --field-selector=spec.signerName=${signer}` : ''
    }`,
  );
export const allRequests: Next<unknown> = () => requests();
export const request: Next<{ readonly facts: { readonly signer: string; readonly request?: string | undefined } }> = ({
  facts,
}) => (isWord(facts.request) ? kubectl(`describe certificatesigningrequest ${facts.request}`) : requests(facts.signer));
export const kubeletRequests: Next<{ readonly what?: CertificateClass | undefined }> = ({ what }) =>
  requests(`kubernetes.io/${what === 'kubelet-client' ? 'kube-apiserver-client-kubelet' : 'kubelet-serving'}`);

export const describeNode: Next<{ readonly facts: { readonly node: string } }> = ({ facts }) =>
  kubectl(`describe node ${word(facts.node, 'NODE')}`);

/** Every name of the certificate that a node serves, with its proof. */
export const explainNode: Next<{ readonly facts: Facts<'IssuedUnproven'> }> = ({ facts }, cluster) =>
  clusterCommand(`explain --node ${word(facts.node, 'NODE')}`, cluster);

export const nodesOfAuthority: Next<ExpiryFinding<'SuccessorNotTrusted'>> = (finding, cluster) => {
  const { nodegroup } = finding.facts;
  if (nodegroup === undefined) return kubectl('get nodes --sort-by=.metadata.creationTimestamp');
  return eks('describe-nodegroup --cluster-name', ` --nodegroup-name ${word(nodegroup, 'NODEGROUP')}`)(
    finding,
    cluster,
  );
};

export const authority: Next<ExpiryFinding<'AuthorityDistributionFailed'>> = (finding, cluster) => {
  const id = ` --certificate-authority-id ${word(finding.facts.id, 'ID')}`;
  return eks('describe-certificate-authority --cluster-name', id)(finding, cluster);
};

export const machines: Next = (finding, cluster) => readAgain('machines', finding, cluster);

type Unread = ExpiryFinding<'CertificateUnreadable' | 'SourceLost' | 'SourcePartial' | 'SourceUnread' | 'Unreachable'>;

/** Reads again what could not be read. */
export const unread: Next<Unread> = (finding, cluster) => {
  const { code, facts } = finding;
  switch (facts.of) {
    case 'certificate':
      return look(facts.where, facts.source, facts.position) ?? readAgain(facts.source, finding, cluster);
    case 'source': {
      const command = readAgain(facts.source, finding, cluster);
      // kubectl reads nothing of an API server that has expired.
      return facts.isServerExpired === true && command?.startsWith(kubectl('')) === true
        ? clusterCommand(TOLERANT_AUDIT, cluster)
        : command;
    }
    case 'places': {
      const { places, source } = facts;
      const [where = ''] = places.first;
      // Reading them was no problem: the first one shows it.
      const isOne = code === 'CertificateUnreadable' || (code === 'Unreachable' && places.count === 1);
      return (isOne ? look(where, source) : undefined) ?? readAgain(source, finding, cluster);
    }
    case 'snapshot': {
      const [first] = facts.sources;
      return first && readAgain(first.source, finding, cluster);
    }
    case 'evidence':
    case 'findings':
      return undefined;
  }
};
