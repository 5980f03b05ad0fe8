import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY, KUBELET_CLIENT_SIGNER } from '../../../lambdas/approval/policy.ts';
import { enforcing, matchesGlob } from '../../../lambdas/approval/selection.ts';

it.each([
  ['one that selects it', [DEFAULT_POLICY], true],
  ['none', [], false],
  [
    'one that only observes',
    [{ ...DEFAULT_POLICY, mode: { eks: 'enforce', 'eks-anywhere': 'observe' } as const }],
    false,
  ],
  ['one of another provider', [{ ...DEFAULT_POLICY, providers: ['eks' as const] }], false],
  ['one of other clusters', [{ ...DEFAULT_POLICY, clusters: ['paris'] }], false],
  ['one of another signer', [{ ...DEFAULT_POLICY, signers: [KUBELET_CLIENT_SIGNER] }], false],
])('a cluster has its kubelets approved by %s: %#', (_, policies, expected) => {
  expect(enforcing(policies, { name: 'berlin', provider: 'eks-anywhere' }).length > 0).toBe(expected);
});

describe('a glob of cluster names', () => {
  it.each([
    ['*', 'anything', true],
    ['', '', true],
    ['berlin', 'berlin', true],
    ['berlin', 'berlin-2', false],
    ['*-prod', 'berlin-prod', true],
    ['*-prod', 'berlin-prod-2', false],
    ['eu-*-prod', 'eu-prod', false],
    ['eu-*-prod', 'eu--prod', true],
    ['*a*b*', 'xbxaxb', true],
    ['*a*b*', 'ba', false],
    ['a.c', 'abc', false],
    ['ab*ba', 'aba', false],
    ['a*b*b', 'ab', false],
  ])('%s and %s: %s', (glob, name, expected) => {
    expect(matchesGlob(glob, name)).toBe(expected);
  });

  it('agrees with a regular expression', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-'), maxLength: 8 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), text, text, (parts, filler, name) => {
        const glob = parts.join('*');
        const expression = new RegExp(`^${parts.map((part) => part.replaceAll('.', '\\.')).join('.*')}$`);
        for (const candidate of [name, parts.join(filler), `${parts.join(filler)}${name}`])
          expect(matchesGlob(glob, candidate)).toBe(expression.test(candidate));
      }),
      { seed: 20_261_121, numRuns: 2_000 },
    );
  });
});
