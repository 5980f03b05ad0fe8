import { type IRole, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  Architecture,
  type EventInvokeConfigOptions,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
} from 'aws-cdk-lib/aws-lambda';
import { type ILogGroup, LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Duration } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import type { HubOptions } from '../../lambdas/config/fleet.ts';
import { bundle } from './bundle.ts';

export interface HubFunctionProps {
  /** Fixed only where something outside of the stack names it. @default named by CloudFormation */
  readonly functionName?: string;
  /** Lambda logs no start and end of an invocation, whose lines cost more than the invocation itself. @default false */
  readonly quiet?: boolean;
  /** The file of the handler, without directory and extension: `sweep` for lambdas/functions/sweep.ts. */
  readonly handlerFile: string;
  readonly description: string;
  readonly timeout: Duration;
  /** Mebibytes; the share of a processor follows it. @default 256 */
  readonly memorySize?: number;
  /** @default {} */
  readonly environment?: Readonly<Record<string, string>>;
  /** JSON files beside the bundle, by file name. @default {} */
  readonly files?: Readonly<Record<string, unknown>>;
  /** @default a role of its own */
  readonly role?: IRole;
  /** @default arm64 */
  readonly architecture?: HubOptions['architecture'] | undefined;
  /** Encrypts the log group; its policy must let CloudWatch Logs use it. @default the key of CloudWatch Logs */
  readonly key?: IKey | undefined;
  /** @default none */
  readonly reservedConcurrentExecutions?: number;
  /** What becomes of an event that it is invoked with asynchronously. @default neither repeated nor older than a minute */
  readonly asynchronous?: EventInvokeConfigOptions;
}

/**
 * A function of certmarshal. What all of them have in common:
 *
 * - Node.js 24, the code in minified ES modules.
 * - A log group of its own, kept for a year and after the stack is gone: it holds the record of every approval.
 * - A role that may write to that log group, and nothing else until it is granted.
 * - Invoked asynchronously, an event is neither repeated nor older than a minute: the next tick is the retry. For notify there is none.
 */
export class HubFunction extends LambdaFunction {
  /** The log group, named by CloudFormation. */
  public readonly logs: ILogGroup;
  declare public readonly role: IRole;

  constructor(scope: Construct, id: string, props: HubFunctionProps) {
    const logs = new LogGroup(scope, `${id}Logs`, {
      retention: RetentionDays.ONE_YEAR,
      encryptionKey: props.key,
    });
    const role = props.role ?? functionRole(scope, `${id}Role`);
    logs.grantWrite(role);
    super(scope, id, {
      description: props.description,
      code: bundle(props.handlerFile, props.files ?? {}),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: props.architecture === 'x86_64' ? Architecture.X86_64 : Architecture.ARM_64,
      timeout: props.timeout,
      memorySize: props.memorySize ?? 256,
      ...(props.environment === undefined ? {} : { environment: props.environment }),
      role,
      logGroup: logs,
      ...(props.functionName === undefined ? {} : { functionName: props.functionName }),
      // Only of JSON does Lambda filter its own lines. Source: AWS Lambda Developer Guide, "Log-level filtering".
      ...(props.quiet === true ? { loggingFormat: LoggingFormat.JSON, systemLogLevelV2: SystemLogLevel.WARN } : {}),
      ...(props.asynchronous ?? { retryAttempts: 0, maxEventAge: Duration.minutes(1) }),
      ...(props.reservedConcurrentExecutions === undefined
        ? {}
        : { reservedConcurrentExecutions: props.reservedConcurrentExecutions }),
    });
    this.logs = logs;
  }
}

/**
 * The role of a function.
 *
 * @param roleName fixed only where other accounts name the role. @default named by CloudFormation
 */
export function functionRole(scope: Construct, id: string, roleName?: string): Role {
  return new Role(scope, id, {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    roleName,
  });
}
