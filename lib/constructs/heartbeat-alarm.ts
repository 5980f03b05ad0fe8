import { Alarm, ComparisonOperator, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Duration } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { METRICS_NAMESPACE, type Service } from '../../lambdas/telemetry/metric-names.ts';

export interface HeartbeatAlarmProps {
  readonly service: Service;
  readonly metricName: string;
  /** One of aws-cloudwatch.Stats. */
  readonly statistic: string;
  /** What a minute shows while all is well. */
  readonly well: { readonly atLeast: number } | { readonly below: number };
  /** What it means and the first thing to do, for the person who is woken up. */
  readonly description: string;
  readonly topic: ITopic;
}

/**
 * Rings when a minute is not as it should be three times in five, or has no data at all: silence must ring.
 * Not after one minute, because the tick and CloudWatch's minute drift against each other. Says also when it is well again.
 */
export class HeartbeatAlarm extends Alarm {
  constructor(scope: Construct, id: string, { well, ...props }: HeartbeatAlarmProps) {
    super(scope, id, {
      alarmDescription: props.description,
      metric: new Metric({
        namespace: METRICS_NAMESPACE,
        metricName: props.metricName,
        dimensionsMap: { service: props.service },
        statistic: props.statistic,
        period: Duration.minutes(1),
      }),
      ...('atLeast' in well
        ? { threshold: well.atLeast, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD }
        : { threshold: well.below, comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD }),
      evaluationPeriods: 5,
      datapointsToAlarm: 3,
      treatMissingData: TreatMissingData.BREACHING,
    });
    const action = new SnsAction(props.topic);
    this.addAlarmAction(action);
    this.addOkAction(action);
  }
}
