import { type CommandCluster, clusterCommand, isWord, readRunbook, word } from '../command.ts';
import type { KeptFinding } from '../contracts/finding.ts';
import type { Provider } from '../identifiers.ts';
import { isCut } from '../printable-name.ts';
import { SOURCE_IDS, type SourceId } from '../tables/audit-sources.ts';
import {
  type CertificateClass,
  isDatedBack,
  isOfControlPlane,
  isRolled,
  renewedOnceExpired,
} from '../tables/certificate-classes.ts';
import type { FindingCode } from '../tables/finding-codes.ts';

/** Values that a command can contain; each may come from a cluster. */
export interface CommandWords {
  /** Where a certificate is: `10.0.1.31:2379`, `Secret eksa-system/berlin-ca tls.crt`. */
  readonly where?: string | undefined;
  readonly node?: string | undefined;
  readonly source?: SourceId | undefined;
  readonly signer?: string | undefined;
  /** Name of a CertificateSigningRequest. */
  readonly request?: string | undefined;
  readonly nodegroup?: string | undefined;
  readonly authority?: string | undefined;
}

export interface CommandContext extends CommandWords {
  readonly cluster: string;
  /** Name in EKS, EKS Anywhere or Cluster API. @default the last part of the id, as for discovered clusters */
  readonly name?: string | undefined;
  /** Namespace of its Cluster in Cluster API, if not the default. */
  readonly namespace?: string | undefined;
  readonly provider: Provider;
  readonly what?: CertificateClass | undefined;
  /** What the finding says. */
  readonly message?: string | undefined;
}

/**
 * When machines are replaced, and what prevents it. Reads the management cluster; for a cluster that manages itself,
 * MANAGEMENT is its own kubeconfig.
 */
function planRollout(context: CommandContext): string {
  return clusterCommand('rollout plan', { ...context, name: nameOf(context), isManaged: true });
}

/** The rollout plan if a rollout renews it, otherwise the certificate itself. */
function renewal(context: CommandContext): string {
  return isRolled(context) ? planRollout(context) : look(context);
}

const ENDPOINT =
  /^(?<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]):(?<port>\d{1,5})(?: #\d{1,4})?$/;
const OBJECT =
  /^(?<kind>[A-Z][A-Za-z]{1,60}) (?:(?<namespace>[a-z0-9][a-z0-9.-]{0,252})\/)?(?<name>[a-z0-9][a-z0-9.:-]{0,252})(?: (?<key>\S+))?/;

/** `111122223333/eu-central-1/dublin` → `dublin`. */
export function nameInId(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}

function nameOf({ cluster, name = nameInId(cluster) }: Pick<CommandContext, 'cluster' | 'name'>): string {
  return name;
}

/**
 * Full names of ambiguous kinds for kubectl: on bare metal `machine` is that of `bmc.tinkerbell.org`, and every EKS
 * Anywhere has two `cluster`, of which observations name its own.
 */
const RESOURCES: Readonly<Record<string, string>> = {
  Cluster: 'clusters.anywhere.eks.amazonaws.com',
  KubeadmConfig: 'kubeadmconfigs.bootstrap.cluster.x-k8s.io',
  Machine: 'machines.cluster.x-k8s.io',
};

/** The reader replaces KUBECONFIG by a file, as in {@link clusterCommand}. */
const kubectl = (words: string): string => `kubectl --kubeconfig KUBECONFIG ${words}`;
/** In the management cluster. */
const managed = (words: string): string => `kubectl --kubeconfig MANAGEMENT ${words}`;

/** Reads a place again; `otherwise` what is no place. */
function look(context: CommandContext, otherwise = audit): string {
  const { where = '', what, source } = context;
  const endpoint = ENDPOINT.exec(where)?.groups;
  if (endpoint !== undefined) {
    const { host = '', port = '' } = endpoint;
    return `certmarshal probe ${host.startsWith('[') ? `'${host}:${port}'` : `${host}:${port}`}`;
  }
  const object = OBJECT.exec(where)?.groups;
  if (object === undefined) return otherwise(context);
  const { kind = '', namespace, name = '', key } = object;
  const resource = Object.hasOwn(RESOURCES, kind) ? RESOURCES[kind] : kind.toLowerCase();
  const get = `${namespace === undefined ? '' : `-n ${namespace} `}get ${resource} ${name}`;
  // Secrets of Cluster API are in the management cluster, those of tls-secrets in the cluster itself.
  const isOfWorkload = source === undefined ? what === 'tls-secret' || what === 'ca-bundle' : source === 'tls-secrets';
  const isOfManagement = kind === 'Secret' && !isOfWorkload;
  const ask = Object.hasOwn(RESOURCES, kind) || isOfManagement ? managed : kubectl;
  const field = fieldOf(kind, key, where);
  return ask(field === undefined ? `${get} -o yaml` : `${get} -o 'jsonpath={${field}}' | ${shown(where, key)}`);
}

/** Where an object has its certificates in base64. Never a whole Secret: it contains the key. */
function fieldOf(kind: string, key: string | undefined, where: string): string | undefined {
  if (kind === 'Secret') return `.data.${secretKey(key)}`;
  if (kind === 'APIService') return '.spec.caBundle';
  if (kind === 'CustomResourceDefinition') return '.spec.conversion.webhook.clientConfig.caBundle';
  const [, webhook] = / \(webhook ([a-z0-9.-]{1,253})\)/.exec(where) ?? [];
  return webhook === undefined ? undefined : `.webhooks[?(@.name=="${webhook}")].clientConfig.caBundle`;
}

function shown(where: string, key: string | undefined): string {
  const [, number = '1'] = / #(\d{1,4})$/.exec(where) ?? [];
  const select = number === '1' ? '' : `awk '/BEGIN CERTIFICATE/ {n++} n == ${number}' | `;
  const client = key === 'value' ? "sed -n 's/.*client-certificate-data: *//p' | base64 -d | " : '';
  return `base64 -d | ${client}${select}openssl x509 -noout -subject -issuer -enddate`;
}

function secretKey(key: string | undefined): string {
  if (key === 'value') return key;
  return key !== undefined && /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.crt$/.test(key)
    ? key.replaceAll('.', String.raw`\.`)
    : String.raw`tls\.crt`;
}

/** The Region is that of the id of a discovered cluster. */
function eks(context: CommandContext, words: string, more = ''): string {
  const [, region] = /^\d{12}\/([a-z0-9-]{1,32})\//.exec(context.cluster) ?? [];
  return `aws eks ${words} ${word(nameOf(context), 'CLUSTER')}${more}${region === undefined ? '' : ` --region ${region}`}`;
}

/** Commands that read a source again. */
const SOURCES: Readonly<Record<SourceId, (context: CommandContext) => string>> = {
  nodes: () => kubectl('get nodes -o wide'),
  'signing-requests': () => kubectl('get certificatesigningrequests'),
  'trust-configmaps': () => kubectl('-n kube-system get configmap kube-root-ca.crt extension-apiserver-authentication'),
  webhooks: () => kubectl('get validatingwebhookconfigurations,mutatingwebhookconfigurations'),
  'api-services': () => kubectl('get apiservices'),
  'crd-conversions': () => kubectl('get customresourcedefinitions'),
  'cert-manager': () => kubectl('get certificates.cert-manager.io -A'),
  'tls-secrets': () => kubectl('auth can-i list secrets -A'),
  'kubelet-metrics': () => kubectl('auth can-i get nodes/proxy'),
  // Their namespaces and names are often not those that were given.
  machines: () => managed('get clusters.cluster.x-k8s.io,machines.cluster.x-k8s.io -A'),
  'kubeadm-configs': () => managed('get kubeadmconfigs.bootstrap.cluster.x-k8s.io -A'),
  'kubeadm-control-plane': () => managed('get kubeadmcontrolplanes.controlplane.cluster.x-k8s.io -A'),
  'etcdadm-cluster': () => managed('get etcdadmclusters.etcdcluster.cluster.x-k8s.io -A'),
  'eks-anywhere': () => managed('get clusters.anywhere.eks.amazonaws.com -A'),
  'cluster-secrets': () => managed('auth can-i get secrets -A'),
  'eks-cluster': (context) => eks(context, 'describe-cluster --name'),
  'eks-authorities': (context) => eks(context, 'list-certificate-authorities --cluster-name'),
  'eks-nodegroups': (context) => eks(context, 'list-nodegroups --cluster-name'),
  tls: (context) => audit(context),
  clock: () => 'date -u',
};

/** kubectl reads nothing of an API server that has expired. */
const again = (context: CommandContext): string => {
  const { source, message = '' } = context;
  if (source === undefined) return audit(context);
  const command = SOURCES[source](context);
  return command.startsWith(kubectl('')) && isOfExpiredServer(message)
    ? clusterCommand(TOLERANT_AUDIT, { ...context, name: nameOf(context) })
    : command;
};
/** Only of the cluster itself: an expired management cluster is never tolerated. */
export const TOLERANT_AUDIT = 'audit --tolerate-expired authority';
const audit = (context: CommandContext): string => clusterCommand('audit', { ...context, name: nameOf(context) });
const place = (context: CommandContext): string => look(context, again);

/** The requests of a signer, the newest last. */
const requests = ({ signer }: CommandContext): string =>
  kubectl(
    `get certificatesigningrequests --sort-by=.metadata.creationTimestamp${
      isWord(signer) ? ` --field-selector=spec.signerName=${signer}` : ''
    }`,
  );
const request = (context: CommandContext): string =>
  isWord(context.request) ? kubectl(`describe certificatesigningrequest ${context.request}`) : requests(context);
const kubelet = (context: CommandContext): string =>
  requests({
    ...context,
    signer: `kubernetes.io/${context.what === 'kubelet-client' ? 'kube-apiserver-client-kubelet' : 'kubelet-serving'}`,
  });
const node = ({ node: name }: CommandContext): string => kubectl(`describe node ${word(name, 'NODE')}`);
/**
 * Every name of the certificate that a node serves, with its proof. The object of a kept finding has part of the
 * fingerprint after the node.
 */
const issued = ({ node: object, ...context }: CommandContext): string =>
  clusterCommand(`explain --node ${word(object?.split(' ', 1)[0], 'NODE')}`, { ...context, name: nameOf(context) });
const authority = ({ authority: id, ...context }: CommandContext): string =>
  eks(context, 'describe-certificate-authority --cluster-name', ` --certificate-authority-id ${word(id, 'ID')}`);

/** A finding that was stored without its command. */
type CommandFinding = Pick<KeptFinding, 'code' | 'cluster' | 'object' | 'what' | 'message'>;

/** Whether a source could not be read because the certificate of its API server has expired. */
export function isOfExpiredServer(message: string): boolean {
  return /^the source \S+ [^(]*\(certificate-expired: /.test(message);
}

/** Kubernetes, external etcd, and both on Bottlerocket. */
const ON_MACHINE =
  "sudo find /etc/kubernetes/pki /etc/etcd/pki /var/lib/kubeadm/pki /var/lib/etcd/pki -name '*.crt' -exec openssl x509 -noout -subject -enddate -in {} ';'";

/** Whether each node of an unknown expiry has a pending request. */
function isPending(message: string): boolean {
  return /^\d+ nodes? (?:has|have) a pending request; /.test(message);
}

/**
 * Rebuilds the command of a finding from its code and object. If the audit knew more, such as the name of a request or
 * node group, the command shows it.
 *
 * @param cluster what is known of it besides its id
 */
export function commandOf(
  { code, cluster, object, what, message }: CommandFinding,
  { name, namespace, provider = 'eks-anywhere' }: Partial<Pick<CommandCluster, 'name' | 'namespace' | 'provider'>>,
): string {
  // A truncated object is another object.
  if (isCut(object)) return audit({ cluster, name, namespace, provider });
  const named = object.startsWith(`${what} `) ? object.slice(`${what} `.length) : object;
  const words = object.split(' ');
  const last = words.at(-1);
  // A newer version may know more codes.
  const make = Object.hasOwn(COMMANDS, code) ? COMMANDS[code] : audit;
  return make({
    cluster,
    name,
    namespace,
    provider,
    what,
    where: named,
    node: named,
    source: SOURCE_IDS.find((id) => words.includes(id)),
    signer: last?.includes('/') ? last : undefined,
    authority: last,
    message,
  });
}

/** Whether a command of a finding only audits again. */
export function isAudit(command: string): boolean {
  return command.startsWith('certmarshal audit --kubeconfig KUBECONFIG ');
}

/** What explains an unreadable cluster. */
export function isExpiredServer({ code, what }: Pick<KeptFinding, 'code' | 'what'>): boolean {
  return code === 'CertificateExpired' && (what === 'kube-apiserver' || what === 'eks-api-server');
}

/** AWS renews the certificates of its API servers. */
export function expiredServerRunbook(provider: Provider): string {
  return readRunbook(provider === 'eks' ? 'certificate-expired' : 'recovery');
}

/** Clients cannot read the cluster, and looking at a Machine renews nothing. */
function expired(context: CommandContext): string {
  const { what, where = '', provider } = context;
  if (isExpiredServer({ code: 'CertificateExpired', what })) return expiredServerRunbook(provider);
  const isByHand = what !== undefined && isOfControlPlane(what) && renewedOnceExpired(what, provider) !== undefined;
  return isByHand && !ENDPOINT.test(where) ? readRunbook('renew-in-place') : look(context);
}

/** The next command for each code. All are read-only: they may go to another cluster than the reader thinks. */
export const COMMANDS: Readonly<Record<FindingCode, (context: CommandContext) => string>> = {
  CertificateExpired: expired,
  CertificateExpiring: renewal,
  CertificateNotYetValid: look,
  KubeletRenewalOverdue: kubelet,
  AuthorityBoundsLeaves: look,
  OutlivesIssuer: look,
  VeryLongLived: look,
  WeakKey: look,
  WeakSignature: look,
  IssuerUnknown: look,
  KubeletNameMismatch: look,
  KubeletAddressMissing: look,
  NameMismatch: look,
  CertificateUnreadable: place,
  StaleAnnotation: (context) =>
    context.what === 'etcd-server' || context.what === 'etcd-peer'
      ? look(context)
      : managed(
          `get kubeadmconfigs.bootstrap.cluster.x-k8s.io -A -o 'custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,EXPIRY:.metadata.annotations.machine\\.cluster\\.x-k8s\\.io/certificates-expiry'`,
        ),
  // Not yet issued.
  ExpiryUnknown: (context) => {
    const { what, where = 'of members', message = '' } = context;
    if (isPending(message)) return clusterCommand('run', { ...context, name: nameOf(context) });
    // Of members no place is known.
    if (where === 'of members' || what === undefined || !isDatedBack(what)) return audit(context);
    return what === 'apiserver-etcd-client' ? look(context) : ON_MACHINE;
  },
  ClockSkew: () => 'date -u; timedatectl timesync-status',
  SuccessorNotTrusted: ({ nodegroup, ...context }) =>
    nodegroup === undefined
      ? kubectl('get nodes --sort-by=.metadata.creationTimestamp')
      : eks(context, 'describe-nodegroup --cluster-name', ` --nodegroup-name ${word(nodegroup, 'NODEGROUP')}`),
  AuthorityDistributionFailed: authority,
  RenewalErrors: node,
  RotationUnusual: node,
  NoValidCertificate: node,
  RequestPending: request,
  RequestNotIssued: request,
  SignerDoesNotIssue: request,
  RequestFailed: request,
  RequestDenied: request,
  RequestStorm: requests,
  IssuedNamesAnother: issued,
  IssuedUnproven: issued,
  Unreachable: place,
  SourceUnread: again,
  SourceLost: again,
  CoverageShrunk: again,
  SourcePartial: again,
  NotVisible: audit,
};
