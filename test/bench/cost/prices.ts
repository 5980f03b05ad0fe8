/**
 * List prices of AWS in one Region, without any free tier. One file, so that it can be compared with the pages it
 * names.
 */
export const PRICE_LIST = { region: 'us-east-1', asOf: '2026-11-22' } as const;

/** US dollars for `per` of a unit. */
export interface Price {
  readonly usd: number;
  readonly per: number;
  /** Page with the price. */
  readonly source: string;
}

const LAMBDA = 'https://aws.amazon.com/lambda/pricing/';
const STEP_FUNCTIONS = 'https://aws.amazon.com/step-functions/pricing/';
const S3 = 'https://aws.amazon.com/s3/pricing/';
const CLOUDWATCH = 'https://aws.amazon.com/cloudwatch/pricing/';
const EVENTBRIDGE = 'https://aws.amazon.com/eventbridge/pricing/';
const KMS = 'https://aws.amazon.com/kms/pricing/';
const SECRETS = 'https://aws.amazon.com/secrets-manager/pricing/';
const TRANSFER = 'https://aws.amazon.com/ec2/pricing/on-demand/';
const SNS = 'https://aws.amazon.com/sns/pricing/';
const MILLION = 1_000_000;

/** The first tier of each price: certmarshal's largest fleets stay in it, except for custom metrics. */
export const PRICES = {
  lambdaCompute: { usd: 0.0000133334, per: 1, source: `${LAMBDA} (arm64)` },
  lambdaRequest: { usd: 0.2, per: MILLION, source: LAMBDA },
  scheduler: { usd: 1, per: MILLION, source: EVENTBRIDGE },
  execution: { usd: 1, per: MILLION, source: `${STEP_FUNCTIONS} (Express)` },
  executionMemory: { usd: 0.06, per: 1, source: `${STEP_FUNCTIONS} (Express, a GB-hour, the first 1,000)` },
  s3Put: { usd: 0.005, per: 1_000, source: S3 },
  s3Get: { usd: 0.0004, per: 1_000, source: S3 },
  s3Storage: { usd: 0.023, per: 1, source: S3 },
  logsIngested: { usd: 0.5, per: 1, source: CLOUDWATCH },
  logsStored: { usd: 0.03, per: 1, source: CLOUDWATCH },
  metric: { usd: 0.3, per: 1, source: `${CLOUDWATCH} (the first 10,000)` },
  metricAbove10k: { usd: 0.1, per: 1, source: `${CLOUDWATCH} (the next 240,000)` },
  alarm: { usd: 0.1, per: 1, source: CLOUDWATCH },
  alarmQuery: { usd: 0.1, per: 1, source: `${CLOUDWATCH} (Metrics Insights query alarms)` },
  compositeAlarm: { usd: 0.5, per: 1, source: CLOUDWATCH },
  dashboard: { usd: 3, per: 1, source: CLOUDWATCH },
  key: { usd: 1, per: 1, source: KMS },
  secret: { usd: 0.4, per: 1, source: SECRETS },
  secretRead: { usd: 0.05, per: 10_000, source: SECRETS },
  transferOut: {
    usd: 0.09,
    per: 1,
    source: `${TRANSFER} (data transfer out to the Internet, the first 10 TB)`,
  },
  keyRequest: { usd: 0.03, per: 10_000, source: KMS },
  snsRequest: { usd: 0.5, per: MILLION, source: `${SNS} (standard topics)` },
} as const satisfies Record<string, Price>;

export type PriceId = keyof typeof PRICES;
