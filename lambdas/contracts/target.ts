import * as z from 'zod/mini';
import { ACCOUNT_ID, CLUSTER_NAME, EXTERNAL_ID, LANE_NAME, REGION_NAME, SECRET_ARN, VPC_ID } from '../identifiers.ts';
import { type Contract, matching, record, text } from './contract.ts';
import { Cidrs, ClusterId, ClusterName, Flag, HttpsUrl, Namespace, Provider } from './values.ts';

const ROLE_ARN = /^arn:aws[a-z-]{0,20}:iam::\d{12}:role\/[\w+=,.@/-]{1,576}$/;
const TAG_KEY = /^[^\p{C}]{1,128}$/u;
/** Most tags of one session. Source: STS API Reference, AssumeRole, Tags. */
export const MAX_SESSION_TAGS = 50;
/** Characters. Two certificates, while the CA is rotated, are about 4,000. */
const CERTIFICATE_AUTHORITY = /^[A-Za-z0-9+/]{1,40000}={0,2}$/;

export const SpokeRole = z.object({
  arn: matching(ROLE_ARN, 'the ARN of a role'),
  externalId: z.optional(matching(EXTERNAL_ID, 'an external id')),
  sessionTags: z.optional(record(matching(TAG_KEY, 'a key of a tag'), text(256), MAX_SESSION_TAGS)),
});
export type SpokeRole = Contract<typeof SpokeRole>;

/** One Region of one account, and the role that reads it. */
export const AwsScope = z.object({
  account: matching(ACCOUNT_ID, 'an account id'),
  region: matching(REGION_NAME, 'the name of a Region'),
  /** The role to assume there; absent in the account that certmarshal runs in. */
  role: z.optional(SpokeRole),
});
export type AwsScope = Contract<typeof AwsScope>;

/** An EKS cluster: its endpoint, its CA bundle, and tokens that the role of the sweep signs for itself. */
export const EksAccess = z.object({
  kind: z.literal('eks'),
  endpoint: HttpsUrl,
  /** PEM certificates, base64-encoded as in DescribeCluster; two during a rotation of the CA. */
  certificateAuthority: matching(CERTIFICATE_AUTHORITY, 'a CA bundle in base64'),
  /** Where the cluster is: EKS is asked again if the endpoint serves another certificate. */
  scope: AwsScope,
});
export type EksAccess = Contract<typeof EksAccess>;

/** A kubeconfig in Secrets Manager. */
const KubeconfigAccess = z.object({
  kind: z.literal('kubeconfig'),
  secret: matching(SECRET_ARN, 'the ARN of a secret'),
  /**
   * Cluster id of aws-iam-authenticator: a UUID on EKS Anywhere, the name of the cluster on EKS. With it the role of
   * the sweep signs tokens, and the kubeconfig provides only server and CA.
   */
  authenticatorId: z.optional(matching(CLUSTER_NAME, 'a cluster id of aws-iam-authenticator')),
});
export type KubeconfigAccess = Contract<typeof KubeconfigAccess>;

/**
 * The kubeconfig that Cluster API stores in the management cluster, Secret `<cluster>-kubeconfig`. Opt-in: it has
 * administrator rights.
 */
const ClusterApiAccess = z.object({ kind: z.literal('cluster-api'), namespace: Namespace });
export type ClusterApiAccess = Contract<typeof ClusterApiAccess>;

/** A context of the kubeconfig of a person at the keyboard. */
const ContextAccess = z.object({ kind: z.literal('context'), context: text(1_000) });

/** How the API server of a cluster is reached. Secrets are named, never carried. */
export const Access = z.discriminatedUnion('kind', [EksAccess, KubeconfigAccess, ClusterApiAccess, ContextAccess]);
export type Access = Contract<typeof Access>;

const Management = z.object({
  /** Access to its management cluster; absent if it manages itself. */
  access: z.optional(KubeconfigAccess),
  /** Namespace of its Cluster. Objects in other namespaces say nothing about it. */
  namespace: Namespace,
});

/** Opt-ins of its audits that need further rights. */
const TargetAudit = z.object({ secrets: Flag, kubeletMetrics: Flag });
export type TargetAudit = Contract<typeof TargetAudit>;

export const VpcId = matching(VPC_ID, 'the id of a VPC');

/** A cluster and how to reach it. Secrets are named, never carried. */
export const Target = z
  .object({
    /**
     * Unique in the fleet: `111122223333/eu-central-1/dublin` for a discovered EKS cluster,
     * `berlin-mgmt/eksa-system/berlin-prod` for a discovered workload cluster, and the id in `fleet.yaml` for a listed
     * one.
     */
    id: ClusterId,
    cluster: z.object({
      /** Its name in EKS, EKS Anywhere or Cluster API: policies select by it, evidence is compared with it. */
      name: ClusterName,
      provider: Provider,
      serviceCidrs: z.optional(Cidrs),
      /** CIDRs of its hybrid nodes, from EKS; absent without any. */
      remoteNodeNetworks: z.optional(Cidrs),
    }),
    access: Access,
    /** Where its Cluster API objects are; absent for most clusters of EKS. */
    management: z.optional(Management),
    /** Namespace of the owner's Cluster of EKS Anywhere, if fleet.yaml has it. @default the only one of the name */
    eksAnywhereNamespace: z.optional(Namespace),
    /** Where its EC2 instances are; absent without any. Those of another VPC prove nothing. */
    instances: z.optional(z.extend(AwsScope, { vpcId: z.optional(VpcId) })),
    lane: matching(LANE_NAME, 'the name of a lane'),
    audit: z.optional(TargetAudit),
  })
  // Its kubeconfig is in the management cluster.
  .check(
    z.refine(({ access, management }) => access.kind !== 'cluster-api' || management?.access !== undefined, {
      path: ['management', 'access'],
      error: 'is missing',
    }),
  );
export type Target = Contract<typeof Target>;
