import { DAY_MS } from './time.ts';

// Without zod, so that users of a pattern or bound do not load it.

/** How a cluster is run; decides the age window and which evidence exists. */
export const PROVIDERS = ['eks', 'eks-anywhere'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** Id of a cluster in the fleet: names, separated by slashes if it was discovered. */
export const CLUSTER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}){0,2}$/;

/** Accepted by EKS, EKS Anywhere and Cluster API alike, and harmless in a log, a metric or a path. */
export const CLUSTER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Source: Kubernetes, "Object Names and IDs", RFC 1123 label names. */
export const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The namespace of EKS Anywhere for all objects of Cluster API; the default. */
export const DEFAULT_NAMESPACE = 'eksa-system';

/** Part of the name of a function. */
export const LANE_NAME = /^[a-z][a-z0-9-]{0,31}$/;

export const ACCOUNT_ID = /^\d{12}$/;

/** As of 2026: `eu-central-1`, `us-gov-west-1`, `us-isob-east-1`, `eusc-de-east-1`. */
export const REGION_NAME = /^[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-\d{1,2}$/;

/**
 * A complete ARN, with the six characters that Secrets Manager appends: only that lets IAM name exactly one secret.
 * Source: AWS Secrets Manager User Guide, "What's in a Secrets Manager secret".
 */
export const SECRET_ARN =
  /^arn:aws[a-z-]{0,20}:secretsmanager:[a-z0-9-]{1,30}:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,512}-[A-Za-z0-9]{6}$/;

/** Source: STS API Reference, AssumeRole, ExternalId. */
export const EXTERNAL_ID = /^[\w+=,.@:/-]{2,1224}$/;

export const VPC_ID = /^vpc-[0-9a-f]{1,32}$/;

/** URL of an API server: host and port, IPv6 in brackets, optional path. */
export const SERVER = /^[A-Za-z0-9.:[\]_-]{1,300}(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,300})?$/;

/** kubeadm issues serving certificates for a year. One that expired longer ago is pinned by its fingerprint. */
export const MAX_EXPIRED_AT_MOST_MS = 366 * DAY_MS;

/**
 * Real clusters have one Service CIDR for each IP family, and a few more through ServiceCIDR objects; EKS accepts 15
 * networks of hybrid nodes.
 */
export const MAX_CIDRS = 16;

/** Of the names of the API endpoint of one cluster, over 30 days. */
export const MAX_ADDRESSES = 64;

/** `111122223333/eu-central-1/dublin` → `dublin`. */
export function nameInId(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}
