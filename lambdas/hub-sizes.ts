/**
 * How large the parts of the hub are: what is deployed and what it costs are both made from this. Plain data, without the CDK: the command line reads it too. A third of the
 * memory of each function is free at 10,000 clusters, and at 1,000 that all tell as much as they may, measured as Lambda starts Node.js (docs/decisions/0004-how-the-hub-runs.md).
 */
export const HUB_SIZES = {
  tickSeconds: 60,
  dispatch: { memoryMiB: 768, timeoutSeconds: 60 },
  sweep: { memoryMiB: 1_024, timeoutSeconds: 60, clusters: 32, leastFill: 0.8, maxConcurrency: 50 },
  report: { memoryMiB: 1_024, timeoutSeconds: 30, delaySeconds: 30, batch: 10 },
  hint: { memoryMiB: 512, timeoutSeconds: 20 },
  /** Anyone may call it: Lambda lets in as many at once, and ten times as many a second. Source: AWS Lambda Developer Guide, "Creating and managing Lambda function URLs", throttling. */
  webhook: { memoryMiB: 256, timeoutSeconds: 5, concurrency: 2, perSecond: 20, keyEverySeconds: 300 },
  notify: { memoryMiB: 1_024, timeoutSeconds: 30, looksEverySeconds: 300 },
  orders: { retentionSeconds: 120, visibilitySeconds: 90 },
  /** Kept as long as the outcomes: each leads to a report. One that failed comes back when the outcomes that it held have. */
  starts: { retentionSeconds: 900, visibilitySeconds: 50 },
  /** A report that failed holds them until before the next tick. */
  outcomes: { retentionSeconds: 900, visibilitySeconds: 35 },
  snapshots: { keptDays: 35 },
  /** The report page is made anew when the last one is so old. */
  page: { everySeconds: 300 },
} as const;
