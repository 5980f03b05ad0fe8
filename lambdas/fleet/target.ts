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
  /** Where its Cluster API objects are; absent when it has none, as most clusters of EKS. */
  readonly management?: {
    /** Of its management cluster; absent when it manages itself. */
    readonly access?: KubeconfigAccess;
    /** Of its Cluster object. What is in another namespace says nothing of it. */
    readonly namespace: string;
  };
  /** Of the owner's Cluster of EKS Anywhere, where fleet.yaml says. @default the only one of the name */
  readonly eksAnywhereNamespace?: string;
  /** Where its EC2 instances are; absent when it has none. Those of another VPC prove nothing. */
  readonly instances?: AwsScope & { readonly vpcId?: string };
  readonly lane: string;
  /** What its audits read beyond what needs no further rights. */
  readonly audit?: TargetAudit;
}

export interface TargetAudit {
  readonly secrets?: true;
  readonly kubeletMetrics?: true;
}

/** What EKS, EKS Anywhere and Cluster API accept together, without anything that means something to a log, a metric or a path. */
export const CLUSTER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/**
 * A complete ARN, with the six characters that Secrets Manager appends: only it lets IAM name exactly one secret.
 * Source: AWS Secrets Manager User Guide, "What's in a Secrets Manager secret".
 */
export const SECRET_ARN =
  /^arn:aws[a-z-]{0,20}:secretsmanager:[a-z0-9-]{1,30}:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,512}-[A-Za-z0-9]{6}$/;

export const ACCOUNT_ID = /^\d{12}$/;

/** As of 2026: `eu-central-1`, `us-gov-west-1`, `us-isob-east-1`, `eusc-de-east-1`. */
export const REGION_NAME = /^[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-\d{1,2}$/;

/** Source: STS API Reference, AssumeRole, ExternalId. */
export const EXTERNAL_ID = /^[\w+=,.@:/-]{2,1224}$/;

/** Of one session. Source: STS API Reference, AssumeRole, Tags. */
export const MAX_SESSION_TAGS = 50;

/** Becomes a part of the names of a queue and a function. */
export const LANE_NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** Real clusters have one Service CIDR for each IP family, and a few more through ServiceCIDR objects. */
export const MAX_SERVICE_CIDRS = 16;

/** Of a cluster in the fleet: names, with slashes between them where the cluster was found. */
export const CLUSTER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}){0,2}$/;

/** Source: Kubernetes, "Object Names and IDs", RFC 1123 label names. */
export const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Where EKS Anywhere keeps all objects of Cluster API; a cluster for which nothing else is said is there. */
export const DEFAULT_NAMESPACE = 'eksa-system';

/** In which the workload clusters of one management cluster are looked for: each is a LIST. EKS Anywhere has one. */
export const MAX_NAMESPACES = 50;
