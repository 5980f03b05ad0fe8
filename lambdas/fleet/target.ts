import { addressRanges } from '../approval/names.ts';
import { PROVIDERS, type Provider } from '../approval/policy.ts';
import type { ClusterContext } from '../approval/request.ts';
import type { AwsScope } from '../aws/scope.ts';
import type { Access, KubeconfigAccess } from './access.ts';

/** A cluster and how to reach it. Secrets are named, never carried. */
export interface Target {
  /**
   * Unique in the fleet: `111122223333/eu-central-1/dublin` for an EKS cluster that was found, `berlin-mgmt/eksa-system/berlin-prod` for a
   * workload cluster that was found, and what `fleet.yaml` says for one that it lists.
   */
  readonly id: string;
  /** `name` is what EKS, EKS Anywhere or Cluster API call it: policies select by it, evidence is compared with it. */
  readonly cluster: Pick<ClusterContext, 'name' | 'provider' | 'serviceCidrs'>;
  readonly access: Access;
  /** Where its Cluster API Machines are, when that is another cluster. */
  readonly management?: {
    readonly access: KubeconfigAccess;
    /** Of its Cluster object, where that is known: Machines of other namespaces then prove nothing. */
    readonly namespace?: string;
  };
  /** Where its EC2 instances are; absent when it has none. */
  readonly instances?: AwsScope;
  readonly lane: string;
}

export type DecodedTarget =
  /** `tick`: the minute that dispatch sent it for, in milliseconds since the epoch. */
  | { readonly ok: true; readonly target: Target; readonly tick: number }
  | { readonly ok: false; readonly problem: string };

/** What EKS, EKS Anywhere and Cluster API accept together, without anything that means something to a log, a metric or a path. */
export const CLUSTER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/**
 * A complete ARN, with the six characters that Secrets Manager appends: only it lets IAM name exactly one secret.
 * Source: AWS Secrets Manager User Guide, "What's in a Secrets Manager secret".
 */
export const SECRET_ARN =
  /^arn:aws[a-z-]{0,20}:secretsmanager:[a-z0-9-]{1,30}:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,512}-[A-Za-z0-9]{6}$/;

/** Real clusters have one Service CIDR for each IP family, and a few more through ServiceCIDR objects. */
export const MAX_SERVICE_CIDRS = 16;

const MESSAGE_VERSION = 1;
// Characters: two ARNs, a name and sixteen CIDRs are under 3,000.
const MAX_MESSAGE_LENGTH = 8192;

/** One target a cluster, in the order of the file. */
export function targetsOf(fleet: { readonly clusters: readonly FleetCluster[] }): readonly Target[] {
  return fleet.clusters.map(({ name, provider, serviceCidrs, ...secrets }) => ({
    cluster: { name, provider, ...(serviceCidrs === undefined ? {} : { serviceCidrs }) },
    ...secrets,
  }));
}

/**
 * The body of the SQS message that asks for one sweep.
 *
 * @param tick the minute that it is sent for, in milliseconds since the epoch
 */
export function encodeTarget(target: Target, tick: number): string {
  return JSON.stringify({ version: MESSAGE_VERSION, tick, target });
}

/**
 * Reads the body of an SQS message. Never throws: a message that dispatch did not write is a value, with the field that is wrong
 * and nothing of its content. Unknown fields are ignored, so that dispatch and sweep can be deployed one after the other.
 */
export function decodeTarget(body: string): DecodedTarget {
  if (body.length > MAX_MESSAGE_LENGTH) return bad(`the message is longer than ${MAX_MESSAGE_LENGTH} characters`);
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch {
    return bad('the message is not JSON');
  }
  if (!isRecord(message)) return bad('the message is not a JSON object');
  const { version, tick, target } = message;
  if (version !== MESSAGE_VERSION) return bad(`version is not ${MESSAGE_VERSION}`);
  if (!isInstant(tick)) return bad('tick is not a time in milliseconds since the epoch');
  if (!isRecord(target)) return bad('target is not an object');
  const { cluster, kubeconfigSecret, managementKubeconfigSecret } = target;
  if (!isRecord(cluster)) return bad('target.cluster is not an object');
  const { name, provider, serviceCidrs } = cluster;
  if (!matches(name, CLUSTER_NAME)) return bad('target.cluster.name is not a cluster name');
  if (!isProvider(provider)) return bad(`target.cluster.provider is not one of ${PROVIDERS.join(', ')}`);
  if (serviceCidrs !== undefined && !isCidrs(serviceCidrs))
    return bad('target.cluster.serviceCidrs is not a list of CIDRs');
  if (!matches(kubeconfigSecret, SECRET_ARN)) return bad('target.kubeconfigSecret is not the ARN of a secret');
  if (managementKubeconfigSecret !== undefined && !matches(managementKubeconfigSecret, SECRET_ARN))
    return bad('target.managementKubeconfigSecret is not the ARN of a secret');
  return {
    ok: true,
    tick,
    target: {
      cluster: { name, provider, ...(serviceCidrs === undefined ? {} : { serviceCidrs }) },
      kubeconfigSecret,
      ...(managementKubeconfigSecret === undefined ? {} : { managementKubeconfigSecret }),
    },
  };
}

function bad(problem: string): DecodedTarget {
  return { ok: false, problem };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isInstant(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function isProvider(value: unknown): value is Provider {
  return PROVIDERS.some((provider) => provider === value);
}

function isCidrs(value: unknown): value is readonly string[] {
  if (!Array.isArray(value) || value.length > MAX_SERVICE_CIDRS) return false;
  if (!value.every((entry) => typeof entry === 'string')) return false;
  try {
    // What a decision will do with them, and what must not throw there.
    addressRanges(value);
    return true;
  } catch {
    return false;
  }
}
