import { decide } from '../../lambdas/approval/decide.ts';
import { decideApproval, gateReason } from '../../lambdas/approval/decide-approval.ts';
import { observe, type SweepTarget } from '../../lambdas/approval/observe.ts';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { evidenceProblem } from '../../lambdas/approval/report.ts';
import type { Verdict } from '../../lambdas/approval/verdict.ts';
import type { Problem } from '../../lambdas/contracts/problem.ts';
import { getSigningRequest } from '../../lambdas/kubernetes/certificate-signing-requests.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { printable } from '../../lambdas/printable.ts';
import type { SigningRequest } from '../../lambdas/resources/signing-request.ts';
import { readSigningRequest } from '../../lambdas/resources/signing-request.ts';
import { REASONS, type Reason } from '../../lambdas/tables/reasons.ts';
import { EXIT } from '../exit-codes.ts';
import { type NamedServer, otherwiseNotice } from '../target.ts';
import { styleFor } from '../terminal/style.ts';
import { terminalWidth } from '../terminal/wrap.ts';
import { renderExplanation } from './render-explanation.ts';

/** Judges one live request as a sweep would, writes nothing, and shows every check. */
export async function explainCommand(
  target: SweepTarget & { readonly server?: NamedServer },
  policies: readonly ApprovalPolicy[],
  name: string,
  output: 'table' | 'json',
  signal: AbortSignal,
): Promise<number> {
  const now = Date.now();
  process.stderr.write(otherwiseNotice(target.cluster.name, target.server) ?? '');
  let explanation: Explanation;
  try {
    explanation = await explain(target, policies, name, now, signal);
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.kind !== 'not-found') throw error;
    process.stderr.write(
      `${target.cluster.name} has no CertificateSigningRequest ${printable(name)}. Kubernetes removes them an hour after the decision; kubectl get csr lists those that are left.\n`,
    );
    return EXIT.incomplete;
  }
  process.stdout.write(
    output === 'json'
      ? `${JSON.stringify({ csr: name, ...explanation.verdict })}\n`
      : `${renderExplanation({ ...explanation, ...whichOf(target) }, name, now, styleFor(process.stdout, process.env), terminalWidth(process.stdout))}\n`,
  );
  return explanation.verdict.reason === 'ObjectMalformed' ? EXIT.incomplete : EXIT.done;
}

export interface Explanation {
  readonly verdict: Verdict;
  /** The cluster that was asked. */
  readonly cluster?: string;
  readonly server?: NamedServer;
  readonly csr?: SigningRequest;
  /** Of the evidence: what it could not show. */
  readonly problems?: readonly Problem[];
}

function whichOf({ cluster, server }: SweepTarget & { readonly server?: NamedServer }) {
  return { cluster: cluster.name, server };
}

async function explain(
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  name: string,
  now: number,
  signal: AbortSignal,
): Promise<Explanation> {
  const read = readSigningRequest(await getSigningRequest(target.workload, name, signal));
  if (!read.ok) return { verdict: unjudged('ObjectMalformed', read.problem) };
  const gate = gateReason(read.csr);
  if (gate !== undefined) return { csr: read.csr, verdict: unjudged(gate.reason, gate.message) };
  const observed = await observe(target, policies, signal);
  const newest = observed.open.find(({ csr }) => csr.username === read.csr.username);
  // Decided or deleted while we looked: the sweep would find nothing to do.
  if (newest === undefined)
    return { csr: read.csr, verdict: unjudged('Deleting', 'the request was decided or deleted just now') };
  const problems = observed.evidence.readings.flatMap(evidenceProblem);
  if (newest.csr.uid !== read.csr.uid) {
    const siblings = { pending: newest.askedAt.length, supersededBy: newest.csr.name };
    const request = { cluster: observed.cluster, csr: read.csr, siblings };
    return { csr: read.csr, verdict: decideApproval(request, observed.evidence, policies, now), problems };
  }
  const [decision] = decide(observed.cluster, { ...observed, open: [newest] }, policies, now);
  return { csr: newest.csr, verdict: decision?.verdict ?? unjudged('JudgeFailed', 'no decision'), problems };
}

function unjudged(reason: Reason, message: string): Verdict {
  return { verdict: REASONS[reason].verdict, reason, message, hostile: false, checks: [], names: [] };
}
