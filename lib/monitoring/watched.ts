import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { HubFunction } from '../constructs/hub-function.ts';

/** The parts of the hub that alarms and dashboard watch. */
export interface WatchedHub {
  readonly dispatch: HubFunction;
  readonly report: HubFunction;
  readonly functions: readonly WatchedFunction[];
  readonly queues: readonly WatchedQueue[];
  /** `monitoring.objective` of fleet.yaml: the share of provable requests that is issued in time. */
  readonly objective: number;
  /** By name. */
  readonly topics: Readonly<Record<string, ITopic>>;
}

export interface WatchedFunction {
  /** `sweep-onprem`: part of the name of its alarms. */
  readonly name: string;
  readonly fn: HubFunction;
  readonly timeoutSeconds: number;
  /** Anyone may call it, and Lambda throttles most of a flood: throttles are not news. @default false */
  readonly limited?: boolean;
}

export interface WatchedQueue {
  readonly name: string;
  readonly queue: IQueue;
  readonly retentionSeconds: number;
}
