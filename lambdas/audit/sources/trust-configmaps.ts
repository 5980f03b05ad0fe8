import type { UnreadObservation } from '../../contracts/observation.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { KubernetesError } from '../../kubernetes/errors.ts';
import { namespacePath } from '../../kubernetes/namespace-path.ts';
import { field, isJsonObject, type JsonObject, text } from '../../resources/fields.ts';
import type { CertificateClass } from '../../tables/certificate-classes.ts';
import { timestamp } from '../../time.ts';
import type { Certificate } from '../../x509/certificate.ts';
import type { AuditContext, AuditSource } from '../audit-source.ts';
import { type CertificatesAtPlace, certificatesAt, malformed } from '../certificates-at.ts';
import { decodedText } from '../objects.ts';
import { unreadBecause } from '../unread.ts';

/** A CA in a ConfigMap. */
interface Trusted {
  readonly what: CertificateClass;
  /** Whether it signs what the cluster itself uses. */
  readonly signs: boolean;
  /** PEM; undefined if the ConfigMap has none and need not; or why it is missing. */
  readonly read: (data: JsonObject) => string | undefined | { readonly problem: string };
}

interface TrustConfigMap {
  readonly namespace: string;
  readonly name: string;
  /** Not every cluster has it. */
  readonly optional?: true;
  readonly authorities: readonly Trusted[];
}

/**
 * Source: Kubernetes documentation, RootCAConfigMap; kube-apiserver, `extension-apiserver-authentication`; kubeadm, `cluster-info`, which EKS does
 * not have.
 */
function configMapsOf(clusterCa: CertificateClass): readonly TrustConfigMap[] {
  return [
    {
      // Every namespace has one.
      namespace: 'kube-system',
      name: 'kube-root-ca.crt',
      authorities: [
        { what: clusterCa, signs: true, read: (data) => pemOf(data, 'ca.crt') ?? { problem: 'it has no ca.crt' } },
      ],
    },
    {
      namespace: 'kube-system',
      name: 'extension-apiserver-authentication',
      authorities: [
        { what: 'client-ca', signs: true, read: (data) => pemOf(data, 'client-ca-file') },
        { what: 'front-proxy-ca', signs: false, read: (data) => pemOf(data, 'requestheader-client-ca-file') },
      ],
    },
    {
      namespace: 'kube-public',
      name: 'cluster-info',
      optional: true,
      authorities: [{ what: clusterCa, signs: true, read: clusterInfoAuthority }],
    },
  ];
}

/** The CAs that a cluster publishes, and the one that certmarshal itself trusts for its API server. */
export const trustConfigMaps: AuditSource = {
  id: 'trust-configmaps',
  stage: 'first',
  deadlineMs: 10_000,
  off: () => undefined,
  async observe(context) {
    const { target } = context;
    const clusterCa = target.cluster.provider === 'eks' ? 'eks-cluster-ca' : 'cluster-ca';
    const own = ownTrust(context, clusterCa);
    const readings = await Promise.all(
      configMapsOf(clusterCa).map(async (configMap) => readAuthorities(configMap, context)),
    );
    const failures = readings.flatMap(({ failure }) => failure ?? []);
    const failure = failures.length === readings.length ? failures[0] : undefined;
    if (own === undefined && failure !== undefined) throw failure;
    const signers = [...readings.flatMap(({ authorities }) => authorities), ...(own?.certificates ?? [])];
    return {
      observations: [
        // An API server that does not answer is one problem, not three.
        ...(failure === undefined
          ? readings.flatMap(({ observations }) => observations)
          : [unreadBecause({ source: 'trust-configmaps', observedAt: timestamp(context.now()) }, failure)]),
        ...(own?.observations ?? []),
      ],
      count: readings.length - failures.length + (own === undefined ? 0 : 1),
      authorities: [...new Map(signers.map((certificate) => [certificate.fingerprint, certificate])).values()],
    };
  },
};

interface AuthoritiesReading {
  readonly observations: CertificatesAtPlace['observations'];
  readonly authorities: readonly Certificate[];
  readonly failure?: KubernetesError;
}

async function readAuthorities(
  { namespace, name, optional, authorities }: TrustConfigMap,
  { target, now, signal }: AuditContext,
): Promise<AuthoritiesReading> {
  const place = {
    source: 'trust-configmaps' as const,
    observedAt: timestamp(now()),
    where: `ConfigMap ${namespace}/${name}`,
  };
  let data: JsonObject;
  try {
    data = await readConfigMap(target.workload, { namespace, name, signal });
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    const observations = authorities.map(({ what }) => unreadBecause({ ...place, what }, error));
    if (optional && error.kind === 'not-found') return { observations: observations.map(asUsual), authorities: [] };
    return { observations, authorities: [], failure: error };
  }
  const seen = authorities.map(({ what, signs, read }) => {
    const pem = read(data);
    if (pem === undefined) return { observations: [asUsual(without({ ...place, what }))], authorities: [] };
    if (typeof pem !== 'string') return { observations: [malformed({ ...place, what }, pem.problem)], authorities: [] };
    const { observations, certificates } = certificatesAt({ ...place, what }, pem, target.cluster.provider);
    return { observations, authorities: signs ? certificates : [] };
  });
  return {
    observations: seen.flatMap(({ observations }) => observations),
    authorities: seen.flatMap((at) => at.authorities),
  };
}

/** What the connections use: once the CA or a client certificate is outdated, certmarshal loses access. */
function ownTrust({ target, now }: AuditContext, what: CertificateClass): CertificatesAtPlace | undefined {
  const { workload, management = workload, cluster } = target;
  const origin = { source: 'trust-configmaps' as const, observedAt: timestamp(now()) };
  const clients = [...new Set([workload, management])].flatMap(({ server, clientCertificatePem: pem = '' }) => {
    const sighting = { ...origin, what: 'user-kubeconfig', where: `the kubeconfig for ${server}` } as const;
    return pem === '' ? [] : certificatesAt(sighting, pem, cluster.provider).observations;
  });
  const { server, caPem } = workload;
  const sighting = { ...origin, what, where: `what certmarshal trusts for ${server}` };
  const trusted = caPem === undefined ? undefined : certificatesAt(sighting, caPem, cluster.provider);
  if (trusted === undefined && clients.length === 0) return undefined;
  const { observations = [], certificates = [] } = trusted ?? {};
  return { observations: [...observations, ...clients], certificates };
}

function pemOf(data: JsonObject, key: string): string | undefined | { readonly problem: string } {
  const pem = field(data, key);
  return pem === undefined || typeof pem === 'string' ? pem : { problem: `${key} is not text` };
}

/** The CA in a kubeconfig that kubeadm writes. A pattern is enough for one field. */
function clusterInfoAuthority(data: JsonObject): string | { readonly problem: string } {
  const authority = /certificate-authority-data["']?:\s*["']?([A-Za-z0-9+/]+={0,2})/;
  const base64 = text(data, 'kubeconfig')?.match(authority)?.[1];
  if (base64 === undefined) return { problem: 'its kubeconfig has no certificate-authority-data' };
  const decoded = decodedText(base64);
  return 'problem' in decoded ? { problem: `certificate-authority-data: ${decoded.problem}` } : decoded.pem;
}

/** Not every cluster has it, so it is missed only if it was seen before. */
function asUsual(unread: UnreadObservation): UnreadObservation {
  return { ...unread, usual: true };
}

function without(place: Pick<UnreadObservation, 'source' | 'observedAt' | 'where' | 'what'>): UnreadObservation {
  return {
    kind: 'unread',
    ...place,
    problem: 'not-found',
    message: 'it has no such CA',
    remedy: 'Check the ConfigMap, and the flags of kube-apiserver.',
  };
}

/** etcd accepts ConfigMaps of 1 MiB; escapes and metadata add to it. */
const MAX_CONFIG_MAP_BYTES = 3 * 1024 * 1024;

/**
 * `data` of one ConfigMap; empty if absent.
 *
 * @throws KubernetesError
 */
export async function readConfigMap(
  client: KubernetesClient,
  { namespace, name, signal }: { readonly namespace: string; readonly name: string; readonly signal: AbortSignal },
): Promise<JsonObject> {
  const object = `get configmaps/${name} in ${namespace} on ${client.server}`;
  const path = `/api/v1/${namespacePath(namespace, object)}/configmaps/${encodeURIComponent(name)}`;
  const answer = await client.request({ method: 'GET', path, signal, maxResponseBytes: MAX_CONFIG_MAP_BYTES });
  return isJsonObject(answer['data']) ? answer['data'] : {};
}
