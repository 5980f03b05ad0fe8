/**
 * Sizes of the parts of the hub, for deployment and cost. Plain data, without the CDK: the command line reads it too. A
 * third of the memory of each function is free at 10,000 clusters, and at 1,000 of maximum size, measured as Lambda
 * starts Node.js (docs/decisions/0004-how-the-hub-runs.md).
 */
export const HUB_SIZES = {
  tickSeconds: 60,
  plan: { memoryMiB: 1_024, timeoutSeconds: 30 },
  /** At most 40 iterations of an inline Map run at once. Source: AWS Step Functions Developer Guide, "Map state". */
  sweep: { memoryMiB: 1_024, timeoutSeconds: 55, maxConcurrency: 40 },
  report: { memoryMiB: 1_536, timeoutSeconds: 55 },
  /**
   * Anyone may call it: Lambda allows this many concurrently, and ten times as many a second. Source: AWS Lambda
   * Developer Guide, "Creating and managing Lambda function URLs", throttling.
   */
  webhook: { memoryMiB: 256, timeoutSeconds: 5, concurrency: 2, keyEverySeconds: 300 },
  notify: { memoryMiB: 1_024, timeoutSeconds: 30 },
  snapshots: { keptDays: 35 },
  /** A new report page is made when the last one is this old. */
  page: { everySeconds: 300 },
} as const;
