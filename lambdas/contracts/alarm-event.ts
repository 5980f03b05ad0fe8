import * as z from 'zod/mini';
import { type Contract, lossy, record, text } from './contract.ts';
import { CertificateTime } from './values.ts';

const State = z.object({ value: z.enum(['ALARM', 'OK', 'INSUFFICIENT_DATA']), reason: lossy(text(1_023)) });

/**
 * A state change of an alarm, or of one row of an alarm on a query with GROUP BY, which CloudWatch calls a contributor.
 * Source: Amazon CloudWatch User Guide, "Alarm events and EventBridge", Single Metric Alarm and Multi Time Series Alarm.
 * The lengths: Amazon CloudWatch API Reference, PutMetricAlarm and AlarmContributor.
 */
export const AlarmEvent = z.object({
  'detail-type': z.enum(['CloudWatch Alarm State Change', 'CloudWatch Alarm Contributor State Change']),
  time: CertificateTime,
  detail: z.object({
    alarmName: text(255),
    state: State,
    /** Contributors have none. */
    previousState: lossy(State),
    alarmContributor: z.optional(z.object({ attributes: record(text(255), text(1_024), 30) })),
    configuration: lossy(z.object({ description: lossy(text(1_024)) })),
  }),
});
export type AlarmEvent = Contract<typeof AlarmEvent>;
