import { namesOf } from '../../contracts/facts.ts';
import type { AuthorityObservation, MemberObservation, Observation } from '../../contracts/observation.ts';
import { DAY_MS, HOUR_MS, timestamp } from '../../time.ts';
import { compare, timeOf } from '../../words.ts';
import type { Draft } from './draft.ts';

/** EKS warns this long before it activates a successor. */
const URGENT_MS = 60 * DAY_MS;
/**
 * Nodes made this long after a successor surely trust it: EKS says when it was created, not when its distribution was
 * complete. Once too often rather than never.
 */
const DISTRIBUTION_MS = HOUR_MS;

/** Whether the Nodes of an EKS cluster are ready for the successor of its CA. */
export function eksAuthorityFindings(observations: readonly Observation[], now: number): readonly Draft[] {
  const authorities = observations.filter((observation) => observation.kind === 'authority');
  const members = observations.filter((observation) => observation.kind === 'member');
  return authorities.flatMap((authority) => [...failed(authority), ...untrusted(authority, members, now)]);
}

function failed({ id, distributionStatus }: AuthorityObservation): readonly Draft[] {
  if (distributionStatus !== 'FAILED') return [];
  return [
    {
      code: 'AuthorityDistributionFailed',
      severity: 'critical',
      object: `EKS certificate authority ${id}`,
      renewedBy: 'EKS',
      facts: { id },
    },
  ];
}

function untrusted(
  authority: AuthorityObservation,
  members: readonly MemberObservation[],
  now: number,
): readonly Draft[] {
  const { id, createdAt, signingStatus, firstAutoActivation } = authority;
  const created = timeOf(createdAt);
  if (signingStatus === 'IN_USE' || created === undefined) return [];
  const older = ({ createdAt: at }: MemberObservation): boolean =>
    (timeOf(at) ?? Number.POSITIVE_INFINITY) < created + DISTRIBUTION_MS;
  const nodes = members
    .filter(
      (member) =>
        member.source === 'nodes' &&
        // EKS replaces these automatically.
        member.kindOfNode !== 'fargate' &&
        member.kindOfNode !== 'auto-mode' &&
        older(member),
    )
    .map(({ name, node = name }) => node)
    .toSorted(compare);
  if (nodes.length === 0) return [];
  const activation = timeOf(firstAutoActivation);
  const activating = signingStatus === 'ACTIVATING';
  const urgent = activating || (activation !== undefined && activation - now <= URGENT_MS);
  return [
    {
      code: 'SuccessorNotTrusted',
      severity: urgent ? 'critical' : 'warning',
      object: `EKS certificate authority ${id}`,
      what: 'eks-cluster-ca',
      places: nodes,
      due: activation === undefined ? undefined : timestamp(activation),
      renewedBy: 'you, by replacing the Nodes',
      facts: { createdAt: timestamp(created), nodes: namesOf(nodes), isActivating: activating || undefined },
    },
  ];
}
