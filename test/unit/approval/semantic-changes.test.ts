import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideApproval } from '../../../lambdas/approval/decide-approval.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { makeRequest, type RequestOptions, type San, toPem } from '../x509/request-factory.ts';
import { inAnotherForm, SEMANTIC_CHANGES } from '../x509/semantic-changes.ts';
import { BERLIN, csrObject, dns, evidenceFor, ips, machine, NOW, signingRequest } from './fixtures.ts';

const SEED = 20_261_122;
const OWN: RequestOptions = { commonName: 'system:node:node-1', sans: [...dns('node-1'), ...ips('10.0.0.1')] };
const EVIDENCE = evidenceFor(BERLIN, {
  machines: [machine('node-1', { InternalIP: ['10.0.0.1'] }), machine('node-2', { InternalIP: ['10.0.0.2'] })],
});
const foreign = fc.constantFrom<San>(...dns('node-2', 'kubernetes', 'auth.evil.io'), ...ips('10.0.0.2', '10.96.0.1'));

function verdictOn(pem: Uint8Array): string {
  const csr = signingRequest(csrObject({ node: 'node-1', pem }));
  const cluster = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'] };
  const policy = { ...DEFAULT_POLICY, onHostile: 'deny' as const };
  return decideApproval({ cluster, csr, siblings: { pending: 1 } }, EVIDENCE, [policy], NOW).verdict;
}

describe('a request that is signed well, and means something else to another reader', () => {
  it('is approved without the change', () => {
    expect(verdictOn(makeRequest(OWN).pem)).toBe('approve');
  });

  it.each(Object.entries(SEMANTIC_CHANGES))('is not approved: %s', (_, change) => {
    fc.assert(
      fc.property(foreign, fc.nat(0xffff), (other, noise) => {
        expect(verdictOn(makeRequest(change(OWN, other, noise)).pem)).not.toBe('approve');
      }),
      { seed: SEED, numRuns: 48 },
    );
  });

  it('is not approved with a value in a form that DER does not have', () => {
    fc.assert(
      fc.property(fc.nat(0xffff), fc.nat(0xffff), (at, noise) => {
        expect(verdictOn(toPem(inAnotherForm({ ...OWN, key: 'p256' }, at / 0x10000, noise)))).not.toBe('approve');
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});
