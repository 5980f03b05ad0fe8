import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import {
  ContextAttribute,
  Schedule,
  ScheduleExpression,
  ScheduleTargetInput,
  TimeWindow,
} from 'aws-cdk-lib/aws-scheduler';
import { StepFunctionsStartExecution } from 'aws-cdk-lib/aws-scheduler-targets';
import { DefinitionBody, LogLevel, StateMachine, StateMachineType } from 'aws-cdk-lib/aws-stepfunctions';
import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { acknowledgeWildcards } from '../acknowledge-wildcards.ts';
import type { HubFunction } from './hub-function.ts';

export interface TickProps {
  readonly plan: HubFunction;
  readonly sweeps: readonly HubFunction[];
  readonly report: HubFunction;
  /** `hub.reservedConcurrency`: more sweeps at once would only be throttled. */
  readonly reservedConcurrency?: number | undefined;
  /** Starts the state machine. */
  readonly scheduler: IRole;
  readonly key?: IKey | undefined;
}

/** Each minute plan, then a sweep of each shard, then report: an Express state machine, started by a schedule. */
export class Tick extends Construct {
  public readonly machine: StateMachine;
  public readonly logs: LogGroup;

  constructor(scope: Construct, id: string, { plan, sweeps, report, scheduler, key, ...props }: TickProps) {
    super(scope, id);
    const stack = Stack.of(this);
    const concurrency = Math.min(HUB_SIZES.sweep.maxConcurrency, props.reservedConcurrency ?? Number.POSITIVE_INFINITY);
    this.logs = new LogGroup(this, 'Logs', {
      // Other names need room in a policy of the account. Source: AWS Step Functions Developer Guide, "Using CloudWatch
      // Logs to log execution history in Step Functions".
      logGroupName: `/aws/vendedlogs/states/${stack.stackName}-tick`,
      retention: RetentionDays.ONE_MONTH,
      // It has no decision, and a name that is fixed must be free for the next deployment.
      removalPolicy: RemovalPolicy.DESTROY,
      encryptionKey: key,
    });
    this.machine = new StateMachine(this, 'Machine', {
      stateMachineName: `${stack.stackName}-tick`,
      stateMachineType: StateMachineType.EXPRESS,
      definitionBody: DefinitionBody.fromString(
        stack.toJsonString(
          definition(`arn:${stack.partition}:states:::lambda:invoke`, {
            plan: plan.functionArn,
            report: report.functionArn,
            concurrency,
          }),
        ),
      ),
      logs: { destination: this.logs, level: LogLevel.ERROR, includeExecutionData: true },
    });
    this.machine.addToRolePolicy(
      new PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: [plan, ...sweeps, report].map(({ functionArn }) => functionArn),
      }),
    );
    acknowledgeWildcards(this.machine, 'Log deliveries know no resources.', ['Resource::*']);
    for (const [rule, reason] of [
      ['AwsSolutions-SF1', 'Errors alone: every step of every minute would cost more than the hub.'],
      ['AwsSolutions-SF2', 'Three steps in a row, each with its own log and metrics.'],
    ] as const)
      Validations.of(this.machine).acknowledge({ id: rule, reason });

    new Schedule(this, 'Schedule', {
      description: 'certmarshal: sweeps every cluster once a minute',
      schedule: ScheduleExpression.rate(Duration.seconds(HUB_SIZES.tickSeconds)),
      timeWindow: TimeWindow.off(),
      target: new StepFunctionsStartExecution(this.machine, {
        input: ScheduleTargetInput.fromObject({ tick: ContextAttribute.scheduledTime }),
        role: scheduler,
        // The next tick is the retry.
        retryAttempts: 0,
        maxEventAge: Duration.seconds(60),
      }),
    });
  }
}

interface Steps {
  /** ARNs. */
  readonly plan: string;
  readonly report: string;
  readonly concurrency: number;
}

/** Such a shard was never begun. Source: AWS Step Functions Developer Guide, "Handle transient Lambda service exceptions". */
const RETRY = [
  {
    ErrorEquals: ['Lambda.TooManyRequestsException', 'Lambda.ServiceException', 'Lambda.SdkClientException'],
    IntervalSeconds: 1,
    BackoffRate: 2,
    MaxAttempts: 3,
    JitterStrategy: 'FULL',
  },
];

/**
 * In Amazon States Language: the LambdaInvoke of the CDK is for one function, and each lane has its own.
 *
 * An input or output above 262,144 bytes ends the execution, and no Catch stops that. An answer of `lambda:invoke` has a
 * kilobyte of its own, and a Cause up to 32: only the number of a shard and the name of an error are passed. Source: AWS
 * Step Functions Developer Guide, "Service quotas" and "Handling errors in Step Functions workflows".
 *
 * Nothing ends a Map that lasts: a sweep that starts late ends at once, so that report runs within the five minutes of an
 * Express execution.
 */
function definition(invoke: string, { plan, report, concurrency }: Steps): object {
  const task = (timeoutSeconds: number, parameters: object) => ({
    Type: 'Task',
    Resource: invoke,
    TimeoutSeconds: timeoutSeconds,
    Parameters: parameters,
    Retry: RETRY,
  });
  const failed = [{ ErrorEquals: ['States.ALL'], ResultPath: '$.error', Next: 'ReportFailure' }];
  const reporting = (payload: object) =>
    task(HUB_SIZES.report.timeoutSeconds, { FunctionName: report, Payload: { 'tick.$': '$.tick', ...payload } });
  return {
    StartAt: 'Plan',
    States: {
      Plan: {
        ...task(HUB_SIZES.plan.timeoutSeconds, { FunctionName: plan, 'Payload.$': '$' }),
        ResultSelector: { 'shards.$': '$.Payload' },
        ResultPath: '$.plan',
        Catch: failed,
        Next: 'Sweeps',
      },
      Sweeps: {
        Type: 'Map',
        ItemsPath: '$.plan.shards',
        MaxConcurrency: concurrency,
        ItemSelector: { 'item.$': '$$.Map.Item.Value', 'began.$': '$$.Execution.StartTime' },
        ItemProcessor: {
          ProcessorConfig: { Mode: 'INLINE' },
          StartAt: 'Sweep',
          States: {
            Sweep: {
              ...task(HUB_SIZES.sweep.timeoutSeconds, { 'FunctionName.$': '$.item.function', 'Payload.$': '$' }),
              ResultSelector: { 'shard.$': '$.Payload.shard' },
              Catch: [{ ErrorEquals: ['States.ALL'], ResultPath: '$.error', Next: 'NotHeard' }],
              End: true,
            },
            NotHeard: {
              Type: 'Pass',
              Parameters: { 'shard.$': '$.item.shard', 'error.$': '$.error.Error' },
              End: true,
            },
          },
        },
        ResultPath: '$.outcomes',
        Catch: failed,
        Next: 'Report',
      },
      Report: { ...reporting({ 'shards.$': '$.plan.shards', 'outcomes.$': '$.outcomes' }), End: true },
      ReportFailure: { ...reporting({ 'error.$': '$.error.Error' }), ResultPath: null, Next: 'Failure' },
      Failure: {
        Type: 'Fail',
        Error: 'NotPlanned',
        Cause: 'Plan or Sweeps failed; the log of this execution says why.',
      },
    },
  };
}
