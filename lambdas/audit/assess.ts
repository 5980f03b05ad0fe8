import type { ExpiryFinding } from '../contracts/finding.ts';
import type { Observation } from '../contracts/observation.ts';
import type { Snapshot } from '../contracts/snapshot.ts';
import type { Provider } from '../identifiers.ts';
import { finished, type Steps } from '../steps.ts';
import { boundInSteps, cutFindings } from './bound-observations.ts';
import { knownCertificates } from './certificates.ts';
import { keepObservations } from './keep-observations.ts';
import { type Acceptance, accepted } from './rules/accepted.ts';
import { authorityFindings } from './rules/authority.ts';
import { certificateFindings } from './rules/certificate-findings.ts';
import { coverageFindings } from './rules/coverage.ts';
import type { Draft } from './rules/draft.ts';
import { eksAuthorityFindings } from './rules/eks-authority.ts';
import { findingsOf } from './rules/findings.ts';
import { issuedFindings } from './rules/issued.ts';
import { clockFindings, kubeletFindings } from './rules/kubelet.ts';
import { requestFindings } from './rules/request.ts';
import { stakes } from './rules/stakes.ts';
import type { Thresholds } from './rules/thresholds.ts';
import { unreadFindings } from './rules/unread.ts';

export interface AssessedCluster {
  /** As in {@link Snapshot}. */
  readonly id: string;
  readonly provider: Provider;
  /** `audit.accept` of fleet.yaml, of all clusters. @default none */
  readonly accept?: readonly Acceptance[] | undefined;
}

export interface Assessment {
  /** The worst first, then by layer and due date. */
  readonly findings: readonly ExpiryFinding[];
  /**
   * Current observations and earlier ones that still hold; only the most important if a snapshot cannot hold them all.
   */
  readonly observations: readonly Observation[];
}

/**
 * Finds what expires, has expired or is unknown. Pure; never throws.
 *
 * No failed read removes a finding, lowers its severity or moves its date: an earlier observation is dropped only if
 * its source was read completely and its place did not fail. Until then it counts like a current one.
 *
 * @param previous of the same cluster
 * @param now milliseconds since the epoch
 */
export function assessExpiry(
  cluster: AssessedCluster,
  observations: readonly Observation[],
  previous: Pick<Snapshot, 'observations' | 'findings'> | undefined,
  thresholds: Thresholds,
  now: number,
): Assessment {
  return finished(assessInSteps(cluster, observations, previous, thresholds, now));
}

/** {@link assessExpiry} in steps, so that the caller can yield to other work. */
export function* assessInSteps(
  ...[cluster, observations, previous, thresholds, now]: Parameters<typeof assessExpiry>
): Steps<Assessment> {
  const { provider } = cluster;
  const before = previous ?? { observations: [], findings: [] };
  const known = keepObservations(observations, before.observations, now);
  yield;
  const { all, kept } = known;
  const staked = yield* stakes(all, now);
  const certificates = yield* knownCertificates(all, kept, now, staked);
  const read = new Set(observations.filter(({ kind }) => kind === 'read').map(({ source }) => source));
  const bounded = yield* boundInSteps(all, now);
  const ofCertificates = yield* certificateFindings(certificates, all, provider, thresholds, now);
  const ofAuthorities = yield* authorityFindings(certificates, provider, thresholds, now);
  const drafts = [...ofCertificates, ...ofAuthorities];
  const rules: readonly (() => readonly Draft[])[] = [
    () => eksAuthorityFindings(all, now),
    () => kubeletFindings(all, certificates, now),
    () => requestFindings(all, certificates, provider, now),
    () => issuedFindings(all),
    () => clockFindings(all),
    () => unreadFindings({ known, certificates, staked, findings: before.findings, thresholds, now }),
    () => coverageFindings({ provider, observations: all, certificates, before, read, now }),
    () => cutFindings(all, bounded),
  ];
  for (const rule of rules) {
    for (const draft of rule()) drafts.push(draft);
    yield;
  }
  return {
    findings: yield* findingsOf(cluster.id, accepted(drafts, cluster, now), before.findings, now),
    observations: bounded,
  };
}
