import type { Observation, RenewalObservation } from '../../contracts/observation.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { KubernetesError } from '../../kubernetes/errors.ts';
import { printable } from '../../printable.ts';
import { charged } from '../../processor-time.ts';
import { renewedBy } from '../../tables/certificate-classes.ts';
import { timestamp } from '../../time.ts';
import type { AuditContext, AuditSource } from '../audit-source.ts';
import { unreadBecause } from '../unread.ts';

const AT_ONCE = 16;
const NODE_TIMEOUT_MS = 5_000;
/** Precision of the time at which the kubelet was read. */
const PRECISION_MS = 60_000;
/** No certificate outlives the year 9999. Seconds. */
const MAX_TTL = 8_000 * 366 * 86_400;

/** A kubelet that tries every second needs thirty years for as many. */
const MAX_ERRORS = 1_000_000_000;

/**
 * A gauge in seconds, a counter, and a histogram in seconds; only the bounds of the histogram have labels. Source:
 * pkg/kubelet/certificate/kubelet.go and cmd/kubelet/app/server.go of Kubernetes 1.36.
 */
const METRICS = [
  {
    what: 'kubelet-serving',
    ttl: 'kubelet_certificate_manager_server_ttl_seconds',
    errors: 'kubelet_server_expiration_renew_errors',
  },
  {
    what: 'kubelet-client',
    ttl: 'kubelet_certificate_manager_client_ttl_seconds',
    errors: 'kubelet_certificate_manager_client_expiration_renew_errors',
  },
] as const;

const ROTATION = 'kubelet_certificate_manager_server_rotation_seconds';

/**
 * What each kubelet reports about its certificates. The permission to read this allows anything on a node, so it is
 * opt-in.
 */
export const kubeletMetrics: AuditSource = {
  id: 'kubelet-metrics',
  stage: 'second',
  deadlineMs: 20_000,
  off: ({ reach }) => (reach.kubeletMetrics ? undefined : 'not opted in (kubeletMetrics)'),
  async observe(context) {
    const names = kubeletsOf(context);
    const readings = await inParallel(names, async (node) => observeKubelet(node, context));
    const asked = readings.filter((reading) => reading !== 'late');
    const observations = asked.flat();
    if (asked.length === names.length) return { observations, count: asked.length };
    return { observations: [...observations, late(asked.length, names.length, context)], count: asked.length };
  },
};

/** The kubelets of Fargate cannot be read. */
function kubeletsOf({ members }: AuditContext): readonly string[] {
  const fargate = new Set(members.flatMap(({ kindOfNode, node }) => (kindOfNode === 'fargate' && node ? [node] : [])));
  const nodes = members.flatMap(({ role, node }) =>
    (role === 'worker' || role === 'control-plane') && node !== undefined && !fargate.has(node) ? [node] : [],
  );
  return [...new Set(nodes)];
}

/** One for all of them: which kubelets were not read is chance. */
function late(asked: number, all: number, { now }: AuditContext): Observation {
  return {
    kind: 'unread',
    source: 'kubelet-metrics',
    observedAt: timestamp(now()),
    problem: 'timeout',
    message: `${asked} of ${all} kubelets were asked for their metrics before time ran out`,
    remedy: 'Find the kubelets that answer slowly; handshakes show the same, and sooner.',
  };
}

/** `late` if the source ran out of time before it answered. */
async function observeKubelet(node: string, context: AuditContext): Promise<readonly Observation[] | 'late'> {
  const { target, now, signal } = context;
  // Not AbortSignal.timeout: for hundreds of nodes, its timers would stay alive.
  const tooLate = new AbortController();
  const timer = setTimeout(() => tooLate.abort(), NODE_TIMEOUT_MS);
  try {
    const text = `\n${await readKubeletMetrics(target.workload, { node, signal: AbortSignal.any([signal, tooLate.signal]) })}`;
    return charged(() => METRICS.flatMap((metric) => said(metric, text, node, context)));
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (signal.aborted) return 'late';
    const origin = { source: 'kubelet-metrics' as const, observedAt: timestamp(now()) };
    // EKS kubelets have no client certificate.
    const missed = METRICS.filter(({ what }) => what === 'kubelet-serving' || target.cluster.provider !== 'eks');
    return missed.map(({ what }) => unreadBecause({ ...origin, where: placeOf(node), what, member: node }, error));
  } finally {
    clearTimeout(timer);
  }
}

function said(
  { what, ttl, errors }: (typeof METRICS)[number],
  text: string,
  node: string,
  { target, now }: AuditContext,
): readonly Observation[] {
  const seconds = metricOf(text, ttl);
  // Without serverTLSBootstrap, or if the kubelet authenticates by IAM, it manages no such certificate.
  if (seconds === undefined) return [];
  const { provider } = target.cluster;
  const none = seconds === Infinity;
  // It reports the same for an expired certificate and for one that it never needed, as with IAM.
  if (none && what === 'kubelet-client' && provider === 'eks') return [];
  const at = now();
  const origin = { source: 'kubelet-metrics' as const, observedAt: timestamp(at) };
  const failed = Number(metricOf(text, errors));
  const renewal: Observation = {
    kind: 'renewal',
    ...origin,
    what,
    node,
    errors: Number.isFinite(failed) ? Math.min(Math.max(0, Math.round(failed)), MAX_ERRORS) : 0,
    none,
    rotations: what === 'kubelet-serving' ? rotationsOf(text) : undefined,
  };
  if (none) return [renewal];
  if (!(Math.abs(seconds) < MAX_TTL))
    return [
      renewal,
      {
        kind: 'unread',
        ...origin,
        where: placeOf(node),
        what,
        member: node,
        problem: 'malformed',
        message: `${ttl} is not a number of seconds: ${printable(String(seconds), 50)}`,
        remedy: 'Check the metrics of that kubelet.',
      },
    ];
  return [
    renewal,
    {
      kind: 'certificate',
      ...origin,
      what,
      where: placeOf(node),
      member: node,
      basis: 'status',
      notAfter: timestamp(at + seconds * 1_000),
      precisionMs: PRECISION_MS,
      renewedBy: renewedBy(what, provider),
    },
  ];
}

/**
 * Only the exact parts of the histogram: most of its bounds are months apart. It records the age of each replaced
 * certificate. Source: rotateCerts of client-go, util/certificate.
 */
function rotationsOf(text: string): RenewalObservation['rotations'] {
  const count = Number(metricOf(text, `${ROTATION}_count`));
  const meanSeconds = Math.round(Number(metricOf(text, `${ROTATION}_sum`)) / count);
  return Number.isSafeInteger(count) && count >= 1 && meanSeconds >= 0 && meanSeconds < MAX_TTL
    ? { count, meanSeconds }
    : undefined;
}

function placeOf(node: string): string {
  return `metrics of kubelet ${node}`;
}

/**
 * The value of a metric without labels, in the text format of Prometheus after a line break; undefined if missing, NaN
 * if not a number.
 */
function metricOf(text: string, name: string): number | undefined {
  const before = `\n${name} `;
  const at = text.indexOf(before);
  if (at === -1) return undefined;
  const [value = ''] = text.slice(at + before.length, at + before.length + 100).split(/\s/);
  if (/^\+?Inf$/i.test(value)) return Infinity;
  return value === '' ? Number.NaN : Number(value);
}

async function inParallel<T>(names: readonly string[], read: (name: string) => Promise<T>): Promise<readonly T[]> {
  const results: T[] = [];
  const waiting = names.values();
  const work = async (): Promise<void> => {
    for (const name of waiting) results.push(await read(name));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

/** A kubelet with 250 Pods has a few hundred KB. */
const MAX_METRICS_BYTES = 8 * 1024 * 1024;

/**
 * The metrics of one kubelet, through the API server, in the text format of Prometheus.
 *
 * @throws KubernetesError
 */
export async function readKubeletMetrics(
  client: KubernetesClient,
  { node, signal }: { readonly node: string; readonly signal: AbortSignal },
): Promise<string> {
  const invalid = (problem: string, remedy: string): KubernetesError =>
    new KubernetesError({
      kind: 'invalid',
      object: `get the metrics of a kubelet on ${client.server}`,
      problem,
      remedy,
    });
  if (!NODE_NAME.test(node)) throw invalid('no Node can have this name', 'kubectl get nodes lists the names.');
  if (client.requestText === undefined) throw invalid('this client reads no text', 'Audit the cluster directly.');
  const path = `/api/v1/nodes/${node}/proxy/metrics`;
  const right = { options: ' --kubelet-metrics' };
  return client.requestText({ method: 'GET', path, right, signal, maxResponseBytes: MAX_METRICS_BYTES });
}

/** A Node name is a DNS subdomain (RFC 1123). */
const NODE_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
