import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { Duration, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Fleet, Lane } from '../../lambdas/config/fleet.ts';
import { fleetOfTargets } from '../../lambdas/fleet/fits-fleet.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import type { AuditHistory } from './audit-history.ts';
import type { FleetState } from './fleet-state.ts';
import { functionArn, functionName, HubFunction } from './hub-function.ts';
import type { JournalBucket } from './journal-bucket.ts';

export interface SweepLaneProps {
  readonly name: string;
  /** @default outside a VPC */
  readonly network?: Omit<Lane, 'name'>;
  /** One role for all lanes, which the clusters trust. */
  readonly role: IRole;
  readonly fleet: Fleet;
  /** Bucket with the orders, their outcomes and the ledger of rollouts. */
  readonly state: FleetState;
  readonly history: AuditHistory;
  readonly journal: JournalBucket;
  readonly key?: IKey | undefined;
}

/** A network from which clusters are swept: the function that executes the orders of a shard. */
export class SweepLane extends Construct {
  public readonly laneName: string;
  public readonly sweep: HubFunction;

  constructor(scope: Construct, id: string, props: SweepLaneProps) {
    super(scope, id);
    const { name, network, role, state, key } = props;
    const { policies, audit, rollouts, hub } = props.fleet;
    const { account, partition } = Stack.of(this);
    this.laneName = name;
    this.sweep = new HubFunction(this, 'Sweep', {
      functionName: functionName(this, `sweep-${name}`),
      handlerFile: 'sweep',
      description: `Approves what it can prove and audits certificates, in the clusters of a shard; lane ${name}`,
      timeout: Duration.seconds(HUB_SIZES.sweep.timeoutSeconds),
      memorySize: HUB_SIZES.sweep.memoryMiB,
      environment: {
        SWEEP_ROLE_ARN: role.roleArn,
        SNAPSHOT_BUCKET: props.history.bucketName,
        JOURNAL_BUCKET: props.journal.bucketName,
        STATE_BUCKET: state.bucketName,
        LANE: name,
        HUB_ACCOUNT: account,
        HUB_PARTITION: partition,
        // A look-up of a name that no server answers holds a thread; four is the default.
        UV_THREADPOOL_SIZE: '64',
      },
      files: {
        'policies.json': policies,
        'audit.json': audit,
        'rollouts.json': rollouts,
        // For checking orders.
        'fleet.json': fleetOfTargets(props.fleet),
      },
      role,
      architecture: hub.architecture,
      key,
      ...(hub.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: hub.reservedConcurrency }),
      // The next tick is the retry.
      ...(hub.webhook ? { asynchronous: { retryAttempts: 0, maxEventAge: Duration.minutes(1) } } : {}),
    });
    state.allow(role, {
      // A sweep by webhook replaces its last outcome of the same minute.
      read: ['orders/*', `outcomes/${name}/*`],
      write: [`outcomes/${name}/*`],
      writer: functionArn(this, `sweep-${name}`),
    });
    if (network !== undefined) attach(this.sweep, network);
  }
}

/** By ids: `IVpc` needs availability zones, which only a lookup in the account knows. */
function attach(sweep: HubFunction, { subnetIds, securityGroupIds }: Omit<Lane, 'name'>): void {
  const { defaultChild } = sweep.node;
  if (!CfnFunction.isCfnFunction(defaultChild)) throw new Error('a function without its resource');
  defaultChild.vpcConfig = { subnetIds: [...subnetIds], securityGroupIds: [...securityGroupIds] };
}
