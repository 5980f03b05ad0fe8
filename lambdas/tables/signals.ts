import type { CertificateClass } from './certificate-classes.ts';
import { keysOf } from './keys.ts';

/**
 * The problems of a cluster, one number each: 0 if healthy. Each is a metric with the dimension `Cluster`, published from
 * the threshold of its alarm on, and a total, or the largest value, of the fleet, published above 0: a series costs money
 * in every hour with a value.
 */
export const SIGNALS = {
  UnreadableFor: {
    unit: 'Seconds',
    fleet: 'maximum',
    meaning: 'Time since the requests of a cluster were last listed, if it was readable before.',
  },
  NeverReadFor: {
    unit: 'Seconds',
    fleet: 'maximum',
    meaning: 'Time since a cluster was found, if its requests could never be listed.',
  },
  IncompleteFor: {
    unit: 'Seconds',
    fleet: 'maximum',
    meaning:
      'Time since the last sweep that read, judged and wrote everything, of a cluster whose requests can be listed.',
  },
  SweepAge: {
    unit: 'Seconds',
    fleet: 'maximum',
    meaning: 'Time since a sweep tried to reach the cluster, whether it answered or not.',
  },
  AuditAge: { unit: 'Seconds', fleet: 'maximum', meaning: 'Time since the cluster was audited.' },
  CertificatesCritical: {
    unit: 'Count',
    fleet: 'sum',
    byClass: true,
    deselected: true,
    meaning: 'Critical findings about certificates, their CAs and their renewal.',
  },
  CertificatesWarning: {
    unit: 'Count',
    fleet: 'sum',
    byClass: true,
    deselected: true,
    meaning: 'The same, as warnings.',
  },
  KubeletsOverdue: {
    unit: 'Count',
    fleet: 'sum',
    meaning: 'Warnings about kubelets that do not renew their certificate in time.',
  },
  CoverageLost: {
    unit: 'Count',
    fleet: 'sum',
    meaning:
      'Sources and places that were readable before, and have been unreadable so long that a certificate may expire unnoticed.',
  },
  CoverageGapHours: {
    unit: 'None',
    fleet: 'maximum',
    meaning: 'Hours since a source of an audit was last read completely, from the 24th on.',
  },
  RequestsStuck: {
    unit: 'Count',
    fleet: 'sum',
    meaning: 'Critical findings about requests: a storm, a dead signer.',
  },
  RequestsWaiting: { unit: 'Count', fleet: 'sum', meaning: 'Warnings about requests.' },
  RequestsHostile: {
    unit: 'Count',
    fleet: 'sum',
    deselected: true,
    meaning: 'Nodes whose requests of the last 25 minutes claim a name of another node, or have no innocent cause.',
  },
  IssuedNamesAnother: {
    unit: 'Count',
    fleet: 'sum',
    deselected: true,
    meaning: 'Kubelet serving certificates issued for a name of another node, of the API server or of a Service.',
  },
  IssuedUnproven: {
    unit: 'Count',
    fleet: 'sum',
    meaning: 'Kubelet serving certificates issued with a name that no evidence proves.',
  },
  RolloutsHeld: {
    unit: 'Count',
    fleet: 'sum',
    meaning: 'Rollouts that are held until a person checks them, or that did not begin before certificates expired.',
  },
  RolloutsNeeded: {
    unit: 'Count',
    fleet: 'sum',
    meaning: 'Rollouts that have been due for half an hour and need a person.',
  },
  RecoveriesOpen: {
    unit: 'Count',
    fleet: 'sum',
    meaning:
      'Clusters that are entered although the certificate of their API server has expired, or with `nodes` under `recovery` in force.',
  },
} as const satisfies Record<string, SignalEntry>;

interface SignalEntry {
  readonly unit: 'Seconds' | 'Count' | 'None';
  /** How the fleet's value follows from those of its clusters. */
  readonly fleet: 'maximum' | 'sum';
  /** Also published by certificate class, in a dimension `Class`. */
  readonly byClass?: true;
  /**
   * Also counts during the hour in which a cluster is swept after losing its tags: removing tags must not hide an
   * attack.
   */
  readonly deselected?: true;
  readonly meaning: string;
}

export type SignalId = keyof typeof SIGNALS;

export const SIGNAL_IDS = keysOf(SIGNALS);

export const CLASS_SIGNALS: ReadonlySet<SignalId> = new Set(SIGNAL_IDS.filter((id) => 'byClass' in SIGNALS[id]));

/** Most characters of a story, which must fit on a phone. */
export const MAX_STORY = 300;

/** A value above 0, with what a person must know. */
export interface Signal {
  readonly id: SignalId;
  readonly value: number;
  /** For {@link CLASS_SIGNALS}: the value of each class; `unknown` for findings without one. */
  readonly classes?: Readonly<Partial<Record<CertificateClass | 'unknown', number>>>;
  /** The story in one sentence, without the cluster's name and a full stop: usually its worst finding. */
  readonly story: string;
  /** RFC 3339. */
  readonly since?: string;
  /** When it is due. RFC 3339. */
  readonly due?: string;
  readonly command: string;
}
