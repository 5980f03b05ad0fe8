/**
 * What the definitions do not say: durations and sizes. Each names its origin: *measured* in this repository, or
 * *assumed* where only a real account can tell. Code changes that move a figure update it here.
 */
export const MEASURED = {
  // Assumed: a new connection to each cluster and one list, three round trips of some 50 ms, and the outcomes; all clusters at once.
  sweepMs: 285,
  // Measured: `npm run bench -- scale`, 3.2 ms of a processor; 1,024 MiB have 0.58 of one.
  sweepMsPerCluster: 5.5,
  // Assumed. 16 requests, half of them in sequence, and the snapshot; no
  // handshakes with machines, which the default lane does not reach.
  auditMs: 556,
  auditMsPerCluster: 44,
  // The deadline of such a cluster: SHORT_DEADLINE_MS in lambdas/fleet/deadlines.ts, and in one tick of ten
  // DEADLINE_MS. Assumed: it uses all of it.
  silentMs: 13_500,
  // Assumed. An unresponsive cluster fires within minutes; most clusters that are unhealthy all month have an expiring
  // certificate.
  silentShare: 0.05,
  // Assumed: registry and index read at once, and the orders written at once. Measured: `npm run bench -- scale`, 3.9 s for
  // 10,000 clusters.
  planMs: 300,
  planMsPerCluster: 0.4,
  // Assumed: outcomes listed and read, index and registry read and written. Measured: `npm run bench -- scale`, 2.4 s for
  // 10,000 clusters; and 53 s to ask EKS for them, in one tick of ten.
  reportMs: 600,
  reportMsPerCluster: 0.8,
  notifyMs: 1_000,

  // Measured: `npm run bench -- scale`, compressed, with an audit of one cluster in fifteen.
  outcomeBytes: 60,
  // Measured: the same. A CA is most of it, and does not shrink.
  orderBytes: 1_350,
  // A lifecycle of one day ends at midnight. Source: Amazon S3 User Guide, "Lifecycle configuration elements".
  keptDays: 1.5,

  // lambdas/audit/worth-writing.ts. Measured: 82 of 576 audits, of eight simulated clusters in 18 hours, in which each had one request for a certificate.
  // Assumed: half as many more for nodes that come and go.
  snapshotWrites: 0.21,
  // Measured: encodeSnapshot of 42 kubelets 3.6 kB; three times that with authorities, control plane and what is remembered.
  snapshotBytes: 11_000,
  // Measured: 1,149,515 bytes for 1,000 audited clusters; 81 for how long the requests of a day waited, of a cluster with two of them.
  indexBytesPerCluster: 1_230,
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
  // Measured: its metrics 256. Assumed: some 400 that name function and request.
  planBytes: 650,
  // Measured: the metrics of a healthy fleet 510, four more with unhealthy clusters 270, the line `outcomes folded`
  // with ten ages 888. Assumed: some 300 that name function and request.
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
