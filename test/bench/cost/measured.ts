/**
 * What the definitions do not say: durations and sizes. Each names its origin: *measured* in this repository, or
 * *assumed* where only a real account can tell. Code changes that move a figure update it here.
 */
export const MEASURED = {
  // Assumed: a new connection to each cluster and one list, three round trips of some 50 ms, all clusters at once; orders
  // and outcomes.
  sweepMs: 285,
  // Measured: `npm run bench -- scale`, 3.1 ms of a processor; 1,024 MiB have 0.58 of one.
  sweepMsPerCluster: 5.4,
  // Assumed. 16 requests (measured: `npm run bench -- audit`), half of them in sequence, and the snapshot; no
  // handshakes with machines, which the default lane does not reach.
  auditMs: 556,
  auditMsPerCluster: 44,
  // The deadline of such a cluster: SHORT_DEADLINE_MS in lambdas/fleet/deadlines.ts, and in one tick of ten
  // DEADLINE_MS. Assumed: it uses all of it.
  silentMs: 13_500,
  // Assumed. An unresponsive cluster fires within minutes; most clusters that are unhealthy all month have an expiring
  // certificate.
  silentShare: 0.05,
  // Assumed: registry and index read, orders written.
  planMs: 200,
  // Measured: `npm run bench -- scale`.
  planMsPerCluster: 0.4,
  // Assumed: registry and index read, then outcomes, index and registry written, one after the other.
  reportMs: 500,
  // Measured: `npm run bench -- scale`.
  reportMsPerCluster: 0.38,
  // Measured: `npm run bench -- scale`, 20 accounts and Regions that allow ten calls a second each.
  discoveryMsPerCluster: 5.5,
  // lambdas/fleet/update-registry.ts.
  ticksBetweenDiscoveries: 10,
  notifyMs: 1_000,

  // Measured: `npm run bench -- scale`, compressed. A CA bundle is most of an order.
  orderBytes: 1_400,
  // Measured: the same, with an audit of one cluster in fifteen.
  outcomeBytes: 60,
  // A lifecycle of one day, which ends at midnight. Source: Amazon S3 user guide, "Lifecycle configuration elements".
  keptDays: 1.5,

  // lambdas/audit/worth-writing.ts. Measured: 82 of 576 audits, of eight simulated clusters in 18 hours, in which each had one request for a certificate.
  // Assumed: half as many more for nodes that come and go.
  snapshotWrites: 0.21,
  // Measured: encodeSnapshot of 42 kubelets 3.6 kB; three times that with authorities, control plane and what is remembered.
  snapshotBytes: 11_000,
  // Measured: `npm run bench -- scale`, registry and index, compressed.
  stateBytesPerCluster: 1_700,
  // Its bound is 1 MB.
  pageBytes: 1_000_000,
  // Assumed. 40 nodes that ask once a month, a few of them in the same sweep, and one refused request a day.
  journalSweeps: 60,

  // Source: Amazon CloudWatch Logs API Reference, PutLogEvents.
  logEventOverhead: 26,
  // Assumed: 72, 52 and about 170 characters.
  platformBytes: 294,
  platformLines: 3,
  // Measured: a body of 134 bytes. Assumed: some 450 of headers and TLS.
  webhookAnswerBytes: 600,
  // Measured: the line `sweep incomplete` of recordSweep with one problem.
  unwellSweepBytes: 960,
  // Measured: recordAudit.
  auditBytes: 548,
  // Measured: recordSweep of 1, 10, 20 and 25 idle clusters in one record, and one recordAudit: 316 to 464. Assumed:
  // two of them have decided requests, 56 more for CsrIgnored.
  sweepMetricBytes: 366,
  sweepMetricBytesPerCluster: 6.2,
  // Measured: `npm run bench -- scale`.
  planBytes: 400,
  reportBytes: 1_970,
  // Measured: recordHealth with two signals, one of them by class: 261 + 309.
  unwellMetricBytes: 570,
  unwellMetricLines: 2,
  // Source: Amazon CloudWatch pricing, examples: stored at 0.15 of the ingested size.
  logCompression: 0.15,
  // lib/constructs/hub-function.ts keeps them for a year.
  logMonths: 12,

  // Audits: some cluster has one every hour.
  auditMetrics: 1,
  // CsrApproved and JournalLines; CsrIgnored, because a decided request stays in its cluster for an hour; assumed:
  // CsrLeft, for requests not proven at once.
  requestMetrics: 4,
  // Assumed, for expiring certificates: CertificatesCritical, CertificatesWarning, AuditFindingsCritical,
  // AuditFindingsWarning, Notified; for unresponsive clusters: UnreadableFor, ClustersUnreadable, SweepsIncomplete. A
  // fleet with one such cluster has fewer.
  unwellFleetMetrics: 8,
  // Assumed: an expiring certificate, reported by its class, and one more signal.
  signalsPerUnwell: 1,
  classSeriesPerUnwell: 1,
  alarmChanges: 20,
} as const;
