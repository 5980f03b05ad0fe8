import { decide } from '../../lambdas/approval/decide.ts';
import { decideApproval, gateReason } from '../../lambdas/approval/decide-approval.ts';
import { observe, type SweepTarget } from '../../lambdas/approval/observe.ts';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { evidenceProblem } from '../../lambdas/approval/report.ts';
import type { Verdict } from '../../lambdas/approval/verdict.ts';
import { getSigningRequest } from '../../lambdas/kubernetes/certificate-signing-requests.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { printable } from '../../lambdas/printable.ts';
import { readSigningRequest } from '../../lambdas/resources/signing-request.ts';
import { REASONS, type Reason } from '../../lambdas/tables/reasons.ts';
import { EXIT_HELP, type Register, repeatable, withTarget } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { type Io, PROCESS, print, printJson } from '../io.ts';
import { type NamedServer, openTarget, otherwiseNotice, type TargetOptions } from '../target.ts';
import { serverPorts } from './audit/ports.ts';
import { explainNodeCommand } from './explain-node.ts';
import { type Explanation, explanationLines } from './explain-view.ts';

export const register: Register = (command, { program: name, interruption, run }) => {
  withTarget(command.argument('[csr-name]', 'name of the CertificateSigningRequest'))
    // A request can have any name, also that of a Node: who made it must not choose what is shown of the Node.
    .option(
      '--node <name>',
      'the certificate that this Node serves, name by name with its proof, in place of a request',
    )
    .option(
      '--port <name=port>',
      'with --node: kubelet=PORT, if it does not listen where Kubernetes has it; repeatable',
      repeatable,
    )
    .addHelpText(
      'after',
      `
With --node, the kubelet is asked in a TLS handshake. Where it cannot be reached, the newest request that it was issued a certificate for is shown.

Examples:
  ${name} explain csr-q77zt --kubeconfig ~/.kube/config
  ${name} explain csr-q77zt --kubeconfig berlin.yaml --management-kubeconfig management.yaml --output json
  ${name} explain --node worker-3 --kubeconfig berlin.yaml
${EXIT_HELP}`,
    )
    .action(
      run(async (csr: string | undefined, options: ExplainOptions) => {
        const { node, output } = options;
        if ((csr === undefined) === (node === undefined))
          command.error('error: name one CertificateSigningRequest, or with --node one Node');
        const { kubelet } = serverPorts(options.port ?? []);
        const fleet = await loadFleet(options.policy);
        const target = await openTarget(options, fleet);
        const { policies } = fleet;
        const explained =
          node === undefined
            ? explainCommand(target, policies, csr ?? '', output, interruption(), PROCESS)
            : explainNodeCommand(target, { node, port: kubelet, policies, output }, interruption(), PROCESS);
        return explained.finally(() => target.close());
      }),
    );
};

interface ExplainOptions extends TargetOptions {
  readonly node?: string;
  readonly port?: readonly string[];
  readonly policy?: string;
  readonly output: 'table' | 'json';
}

/** Judges one live request as a sweep would, writes nothing, and shows every check. */
async function explainCommand(
  target: SweepTarget & { readonly server?: NamedServer },
  policies: readonly ApprovalPolicy[],
  name: string,
  output: 'table' | 'json',
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const now = io.clock();
  const { cluster, server } = target;
  io.stderr.write(otherwiseNotice(cluster.name, server) ?? '');
  try {
    const explanation = await explain(target, policies, name, now, signal);
    if (output === 'json') printJson(io, { csr: name, ...explanation.verdict });
    else print(io, explanationLines({ ...explanation, cluster: cluster.name, server }, name, now));
    return explanation.verdict.reason === 'ObjectMalformed' ? EXIT.incomplete : EXIT.done;
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.kind !== 'not-found') throw error;
    io.stderr.write(
      `${cluster.name} has no CertificateSigningRequest ${printable(name)}. Kubernetes removes them an hour after the decision; kubectl get csr lists those that are left.\n`,
    );
    return EXIT.incomplete;
  }
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
