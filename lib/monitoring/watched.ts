import type { IRule } from 'aws-cdk-lib/aws-events';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { HubFunction } from '../constructs/hub-function.ts';
import type { Tick } from '../constructs/tick.ts';

/** The parts of the hub that alarms and dashboard watch. */
export interface WatchedHub {
  readonly plan: HubFunction;
  readonly report: HubFunction;
  readonly notify: HubFunction;
  /** Hands state changes of alarms to notify. */
  readonly alarmEvents: IRule;
  readonly webhook: HubFunction | undefined;
  readonly sweeps: readonly NamedFunction[];
  readonly tick: Tick;
  /** `monitoring.objective` of fleet.yaml: the share of provable requests that is issued in time. */
  readonly objective: number;
  /** By name. */
  readonly topics: Readonly<Record<string, ITopic>>;
}

export interface NamedFunction {
  readonly name: string;
  readonly fn: HubFunction;
}
