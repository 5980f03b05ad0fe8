/**
 * Sizes of the parts of the hub, for deployment and cost. Plain data, without the CDK: the command line reads it too. A
 * third of the memory of each function is free at 10,000 clusters, and at 1,000 of maximum size, measured as Lambda
 * starts Node.js (docs/decisions/0004-how-the-hub-runs.md).
 */
export const HUB_SIZES = {
  tickSeconds: 60,
  dispatch: { memoryMiB: 768, timeoutSeconds: 60 },
  sweep: { memoryMiB: 1_024, timeoutSeconds: 60, clusters: 32, leastFill: 0.8, maxConcurrency: 50 },
  report: { memoryMiB: 1_024, timeoutSeconds: 30, delaySeconds: 30, batch: 10 },
  hint: { memoryMiB: 512, timeoutSeconds: 20 },
  /**
   * Anyone may call it: Lambda allows this many concurrently, and ten times as many a second. Source: AWS Lambda
   * Developer Guide, "Creating and managing Lambda function URLs", throttling.
   */
  webhook: { memoryMiB: 256, timeoutSeconds: 5, concurrency: 2, keyEverySeconds: 300 },
  notify: { memoryMiB: 1_024, timeoutSeconds: 30, looksEverySeconds: 300 },
  orders: { retentionSeconds: 120, visibilitySeconds: 90 },
  /** As long as outcomes are kept: each starts a report. A failed one returns together with its outcomes. */
  starts: { retentionSeconds: 900, visibilitySeconds: 50 },
  /** A failed report holds them until before the next tick. */
  outcomes: { retentionSeconds: 900, visibilitySeconds: 35 },
  snapshots: { keptDays: 35 },
  /** A new report page is made when the last one is this old. */
  page: { everySeconds: 300 },
} as const;
