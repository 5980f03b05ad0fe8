import type { ApprovalPolicy } from '../approval/policy.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from '../audit/rules/thresholds.ts';
import type { ExpiredServer } from '../contracts/order.ts';
import type { Monitoring } from '../health/fleet-health.ts';
import type { Provider } from '../identifiers.ts';
import { DEFAULT_ROLLOUT_LIMITS, type RolloutLimits, type RolloutPolicy } from '../rollout/policy.ts';

/** A valid `fleet.yaml` after defaults: plain data, safe to serialize as JSON. */
export interface Fleet {
  readonly discovery: readonly EksDiscovery[];
  readonly managementClusters: readonly ManagementCluster[];
  readonly clusters: readonly FleetCluster[];
  readonly lanes: readonly Lane[];
  readonly hub: HubOptions;
  readonly audit: FleetAudit;
  readonly monitoring: FleetMonitoring;
  readonly journal: FleetJournal;
  readonly rollouts: FleetRollouts;
  readonly recovery: readonly ExpiredServerOfCluster[];
  /** Never empty: without a policy of its own a file gets the built-in one. */
  readonly policies: readonly ApprovalPolicy[];
}

/** The account, or the Region, that certmarshal is deployed to. */
export const SELF = 'self';
/** The lane that needs no entry: functions outside a VPC. */
export const DEFAULT_LANE = 'default';

/** How the certificates of the fleet are looked at. */
export interface FleetAudit {
  /** How often each cluster is. */
  readonly everyMinutes: number;
  readonly thresholds: Thresholds;
}

/** Of a file that says nothing about it. */
export const DEFAULT_AUDIT: FleetAudit = { everyMinutes: 15, thresholds: DEFAULT_THRESHOLDS };

/** When somebody is told, and of what. */
export interface FleetMonitoring extends Monitoring {
  /** When the daily digest goes out. */
  readonly digest: {
    /** `07:00`, by the clock of `timeZone`. */
    readonly at: string;
    /** IANA. */
    readonly timeZone: string;
  };
  /** Notifications carry a link to the report page, which opens it for whoever has it, for a few hours. */
  readonly reportLinks: boolean;
}

/** Of a file that says nothing about it. */
export const DEFAULT_MONITORING: FleetMonitoring = {
  alarms: {},
  maintenance: [],
  objective: 0.999,
  digest: { at: '07:00', timeZone: 'UTC' },
  reportLinks: true,
  auditEveryMinutes: DEFAULT_AUDIT.everyMinutes,
};

/** The record of every decision. */
export interface FleetJournal {
  /** S3 Object Lock: nobody can remove or change a journal object before its time, in mode compliance not even the account. @default none */
  readonly objectLock?: { readonly mode: 'governance' | 'compliance'; readonly days: number };
}

/** Control planes whose machines are replaced before their certificates end. */
export interface FleetRollouts extends RolloutLimits {
  /** The first that matches a cluster is that of the cluster. Empty: nothing rolls. */
  readonly clusters: readonly RolloutPolicy[];
}

/** Of a file that says nothing about it. */
export const DEFAULT_ROLLOUTS: FleetRollouts = { ...DEFAULT_ROLLOUT_LIMITS, clusters: [] };

/** A cluster that is entered although the certificate of its API server has expired. */
export interface ExpiredServerOfCluster {
  /** Id in the fleet. */
  readonly cluster: string;
  /** RFC 3339. */
  readonly until: string;
  /** What that certificate has to prove. */
  readonly server: ExpiredServer;
}

/** How far the audit of a cluster goes beyond what needs no further rights. */
export interface AuditOptIns {
  /** Secrets with certificates are read. @default false */
  readonly auditSecrets?: boolean;
  /** Kubelets are asked through the API server. @default false */
  readonly kubeletMetrics?: boolean;
}

/** EKS clusters that are found by themselves. */
export interface EksDiscovery extends AuditOptIns {
  /** Account ids or `self`. */
  readonly accounts: readonly string[];
  /** Region names or `self`. */
  readonly regions: readonly string[];
  /** Name of the role to assume in other accounts; in `self` none is. */
  readonly role: string;
  readonly externalId?: string;
  readonly sessionTags: Readonly<Record<string, string>>;
  readonly include: ClusterSelection;
  /** Selects none by `names: []` where the file says nothing. */
  readonly exclude: ClusterSelection;
  /** Where they are swept from; a private endpoint in the VPC of another lane from that one. @default outside of every VPC */
  readonly lane?: string;
  /** Clusters whose access entries the stack makes. Empty, where the entry is of more than one account and Region. */
  readonly accessEntries: readonly string[];
}

/** `names` are globs. A cluster is selected when its name matches any of `names` and it has all of `tags`; a missing part selects all. */
export interface ClusterSelection {
  readonly names?: readonly string[];
  readonly tags?: Readonly<Record<string, string>>;
}

/** A Cluster API management cluster whose workload clusters are found by themselves. It is swept too. What it opts in to is also for them. */
export interface ManagementCluster extends AuditOptIns {
  readonly name: string;
  /** Of its own Cluster object and all that Cluster API has for it: nothing in another one says anything of it. @default eksa-system */
  readonly namespace: string;
  readonly kubeconfigSecret: string;
  readonly authenticatorId?: string;
  readonly lane: string;
  readonly serviceCidrs?: readonly string[];
  /** Of its own Cluster of EKS Anywhere. @default the only one of the name */
  readonly eksAnywhereNamespace?: string;
  readonly workloadClusters: {
    /** Namespaces whose Cluster objects count; whoever may write to them decides about those clusters. @default eksa-system, as EKS Anywhere does */
    readonly namespaces: readonly string[];
    readonly include: Pick<ClusterSelection, 'names'>;
    readonly exclude: Pick<ClusterSelection, 'names'>;
    /** Secret of a kubeconfig, by name of the workload cluster. */
    readonly kubeconfigSecrets: Readonly<Record<string, string>>;
    /** Namespace of the owner's Cluster of EKS Anywhere, by name of the workload cluster. @default the only one of the name */
    readonly eksAnywhereNamespaces?: Readonly<Record<string, string>>;
    /** Read `<cluster>-kubeconfig` from the management cluster where no secret is named. */
    readonly kubeconfigsFromManagementCluster: boolean;
  };
}

/** One cluster as `fleet.yaml` lists it. */
export interface FleetCluster extends AuditOptIns {
  /** As EKS, EKS Anywhere or Cluster API calls it. */
  readonly name: string;
  /** Unique in the fleet. @default the name */
  readonly id: string;
  readonly provider: Provider;
  /** ARN of the Secrets Manager secret that holds a kubeconfig of the cluster. */
  readonly kubeconfigSecret: string;
  readonly authenticatorId?: string;
  /** The same for the cluster that holds its Cluster API Machines; absent when that is the cluster itself. */
  readonly managementKubeconfigSecret?: string;
  /** There: of its Cluster object, its Machines and its Secrets. @default eksa-system */
  readonly namespace: string;
  /** Of the owner's Cluster of EKS Anywhere. @default the only one of the name */
  readonly eksAnywhereNamespace?: string;
  readonly serviceCidrs?: readonly string[];
  readonly lane: string;
}

/** A network from which clusters are swept: one queue and one sweep function in a VPC. */
export interface Lane {
  readonly name: string;
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
  /** Audits from here reach the machines themselves. @default true */
  readonly handshakes?: boolean;
}

export interface HubOptions {
  /** Where certmarshal is deployed to; has to be known where other accounts are discovered, which trust its roles. */
  readonly account?: string;
  readonly region?: string;
  /** Encrypts queues, bucket and logs; without it AWS's own keys do. */
  readonly kmsKeyArn?: string;
  /** Of each sweep function. */
  readonly reservedConcurrency?: number;
  /** Hints from the audit logs and Auto Scaling of the hub's own account and Region. */
  readonly hints: boolean;
}
