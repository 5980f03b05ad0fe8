import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../../../lambdas/approval/decide-approval.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../../lambdas/approval/policy.ts';
import type { ClusterContext } from '../../../../lambdas/approval/request.ts';
import type { Verdict } from '../../../../lambdas/approval/verdict.ts';
import type { Reason, VerdictKind } from '../../../../lambdas/tables/reasons.ts';
import { BERLIN, type CsrFields, csrObject, evidenceFor, NOW, type Sources, signingRequest } from '../fixtures.ts';
import { EXCLUSIONS } from './exclusions.ts';

/** What surrounds a request: who owns what, in which cluster, under which policies. */
export interface World extends Sources {
  /** Default berlin, EKS Anywhere. */
  readonly cluster?: ClusterContext;
  /** Default: the built-in policy with that `onHostile`. */
  readonly policies?: (onHostile: 'leave' | 'deny') => readonly ApprovalPolicy[];
}

/**
 * One scenario of a peer's own test suite, translated: loopback addresses became private ones, and what the peer's world
 * owns is owned by a Machine here. The name starts with the number of the scenario, which several rows may share. Without
 * a world of its own a row has that of its table.
 *
 * `deny` means denied where the policy opts in and left where it does not; all other verdicts hold under both.
 */
export type Scenario = readonly [
  name: `${string}: ${string}`,
  csr: CsrFields,
  expected: `${VerdictKind} ${Reason}`,
  world?: World,
];

/** Tests the rows of one peer, whose scenarios are numbered from 1 to `last`. */
export function testScenarios(prefix: string, last: number, usual: World, rows: readonly Scenario[]): void {
  describe(`${prefix} scenarios`, () => {
    it.for(rows)('%s', ([, csr, expected, world = usual]) => {
      const [verdict, reason] = expected.split(' ');
      expect(judge(csr, world, 'deny')).toMatchObject({ verdict, reason });
      // The same reason, too: no row has a failure without malice before the hostile one.
      expect(judge(csr, world, 'leave')).toMatchObject({ verdict: verdict === 'deny' ? 'leave' : verdict, reason });
    });

    it('has every scenario as a row or as an exclusion, never as both', () => {
      const ids = Array.from({ length: last }, (_, index) => `${prefix}${index + 1}`);
      const excluded = Object.keys(EXCLUSIONS).filter((id) => id.replace(/\d+$/, '') === prefix);
      const accounted = [...new Set(rows.map(([name]) => name.split(':')[0])), ...excluded];
      expect(new Set(accounted)).toEqual(new Set(ids));
      expect(accounted).toHaveLength(last);
    });
  });
}

function judge(csr: CsrFields, world: World, onHostile: 'leave' | 'deny'): Verdict {
  const { cluster = BERLIN, policies } = world;
  const request = { cluster, csr: signingRequest(csrObject(csr)), siblings: { pending: 1 } };
  const inForce = policies?.(onHostile) ?? [{ ...DEFAULT_POLICY, onHostile }];
  return decideApproval(request, evidenceFor(cluster, world), inForce, NOW);
}
