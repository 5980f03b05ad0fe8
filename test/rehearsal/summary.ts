/** What a rehearsal ends with, as one line of JSON. */
export interface Summary {
  /** Names of the stacks that were deployed. */
  readonly stacks: readonly string[];
  /** Executions that the schedule started; all succeeded. */
  readonly ticks: number;
  /** Clusters in the registry that can be swept. */
  readonly targets: number;
  /** By a deployed function, on all API servers. */
  readonly csrsApproved: number;
  /** By the signer of the real control plane. */
  readonly csrsIssued: number;
  /** Decisions in the journal, of all clusters. */
  readonly journalLines: number;
  /** First line of what people got of an alarm. */
  readonly message: string;
  /** `type logicalId: reason`, and what became of it. */
  readonly leftOut: readonly string[];
}
