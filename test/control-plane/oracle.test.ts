import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decideApproval } from '../../lambdas/approval/decide-approval.ts';
import type { RuleId } from '../../lambdas/approval/rules/rules.ts';
import type { Verdict } from '../../lambdas/approval/verdict.ts';
import { canonicalAddress, canonicalDnsName } from '../../lambdas/names.ts';
import { readSigningRequest } from '../../lambdas/resources/signing-request.ts';
import { runs } from '../runs.ts';
import { evidenceFor, NOW } from '../unit/approval/fixtures.ts';
import { mutatedRequests } from '../unit/approval/mutations.ts';
import { type Oracle, type OracleQuestion, type OracleVerdict, startOracle } from './oracle.ts';
import { realComponents } from './real.ts';

const RUNS = runs(10_000);
const SEED = 36;
const BATCH = 5000;

const real = await realComponents('agreement with the validation of Kubernetes', 'oracle');

/** What upstream has no opinion about, or leaves to the approver: who asks, for how long, and whose the names are. */
const OURS_ALONE: ReadonlySet<string> = new Set<RuleId>([
  'requester',
  'groups',
  'expiration',
  'key',
  'san-wildcard',
  'san-well-formed',
  'san-reserved',
  'san-proven',
]);

interface Judged {
  readonly question: OracleQuestion;
  readonly verdict: Verdict;
}

/** Mutated requests that were judged by all rules, in batches. */
function* judgedBatches(): Generator<Judged[]> {
  let batch: Judged[] = [];
  let made = 0;
  for (const { cluster, object, sources, policies } of mutatedRequests(SEED, RUNS)) {
    made += 1;
    const reading = readSigningRequest(object);
    if (reading.ok) {
      const { csr } = reading;
      const request = { cluster, csr, siblings: { pending: 1 } };
      const verdict = decideApproval(request, evidenceFor(cluster, sources), policies, NOW);
      if (verdict.checks.length > 0) {
        const { username } = csr;
        // kube-apiserver refuses a usage that is listed twice at creation; the signer compares sets, and so do we.
        const usages = [...new Set(csr.usages)];
        const bytes = Buffer.from(csr.request ?? []).toString('base64');
        batch.push({ question: { id: `${made}`, request: bytes, usages, username }, verdict });
      }
    }
    if (batch.length === BATCH || made === RUNS) {
      yield batch;
      batch = [];
    }
  }
}

/** In canonical form and once each, as they are judged. */
function namesOf(names: readonly { readonly kind: 'dns' | 'ip'; readonly name: string }[]): readonly string[] {
  const canonical = names.map(
    ({ kind, name }) => `${kind} ${(kind === 'dns' ? canonicalDnsName(name) : canonicalAddress(name)) ?? name}`,
  );
  return [...new Set(canonical)].toSorted();
}

/** The signer would sign it once it is approved, and the API server would have let the requester create it. */
function upstreamAccepts(answer: OracleVerdict, { question, verdict }: Judged): boolean {
  const { kubeletServing, validObject, signatureValid, commonName } = answer;
  const creatable = (validObject && signatureValid) || isOnlyUnverifiable(answer, verdict);
  return kubeletServing && creatable && commonName === question.username;
}

/** Go 1.26 cannot verify ML-DSA, so that this API server takes no such request; the rules of its signer know the key. */
function isOnlyUnverifiable({ validationErrors }: OracleVerdict, { checks }: Verdict): boolean {
  const key = checks.find(({ rule }) => rule === 'key')?.found ?? '';
  const [problem, ...others] = validationErrors;
  return key.startsWith('ML-DSA') && others.length === 0 && problem?.endsWith('algorithm unimplemented') === true;
}

describe.skipIf(real.missing)('upstream’s own validation', () => {
  let oracle: Oracle;
  beforeAll(() => {
    oracle = startOracle(real.binaries.oracle);
  });
  afterAll(() => oracle?.stop());

  it(
    `accepts everything that is approved, of ${RUNS} mutated requests, and reads the same names in it`,
    async () => {
      const disputed: unknown[] = [];
      const refusedHere = new Map<string, number>();
      let [approved, unverified, wellFormed, both, upstreamOnly] = [0, 0, 0, 0, 0];
      for (const batch of judgedBatches()) {
        const answers = await oracle.judge(batch.map(({ question }) => question));
        for (const [index, answer] of answers.entries()) {
          const judged = batch[index]!;
          const { question, verdict } = judged;
          const accepted = upstreamAccepts(answer, judged);
          if (verdict.verdict === 'approve') {
            approved += 1;
            if (!answer.signatureValid) unverified += 1;
            const read = namesOf([
              ...answer.dnsNames.map((name) => ({ kind: 'dns', name }) as const),
              ...answer.ipAddresses.map((name) => ({ kind: 'ip', name }) as const),
            ]);
            const proven = namesOf(verdict.names);
            const same = JSON.stringify(read) === JSON.stringify(proven) && answer.uris + answer.emails === 0;
            const organized = JSON.stringify(answer.organization) === '["system:nodes"]';
            if (!accepted || !same || !organized) disputed.push({ question, verdict, answer });
          }
          const failed = verdict.checks.find(({ passed, rule }) => !passed && !OURS_ALONE.has(rule));
          if (failed === undefined) wellFormed += 1;
          if (failed === undefined && accepted) both += 1;
          // Accepted there and refused here for its form: why, for information.
          if (failed !== undefined && accepted) {
            upstreamOnly += 1;
            const found = failed.found.replace(/“.*/, '…').replaceAll(/0x\w+|\d+ bytes/g, '…');
            const why = `${failed.reason} (${failed.rule}): ${found}`;
            refusedHere.set(why, (refusedHere.get(why) ?? 0) + 1);
          }
        }
      }
      const told = [
        `${RUNS} mutated requests: ${approved} approved, upstream disputes ${disputed.length} of them.`,
        `${unverified} of them have ML-DSA signatures, which Go does not verify.`,
        `Well-formed here: ${wellFormed}, of which upstream accepts ${both}. Accepted by upstream only: ${upstreamOnly}`,
        ...[...refusedHere].toSorted(([, a], [, b]) => b - a).map(([why, count]) => `  ${count} × ${why}`),
      ].join('\n');
      expect({ told, disputed: disputed.slice(0, 3) }).toEqual({ told, disputed: [] });
      // Not only approvals: the form rules are never more generous than upstream either.
      expect(both).toBe(wellFormed);
      expect(approved).toBeGreaterThan(RUNS / 5);
      expect(unverified).toBeLessThan(approved / 20);
      expect(upstreamOnly).toBeGreaterThan(0);
    },
    10 * 60_000,
  );
});
