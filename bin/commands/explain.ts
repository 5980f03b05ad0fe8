import { decide } from '../../lambdas/approval/decide.ts';
import { decideApproval, fault, gateReason, unjudged } from '../../lambdas/approval/decide-approval.ts';
import { type Observed, observe, observeNodes, type SweepTarget } from '../../lambdas/approval/observe.ts';
import { judgeForPerson } from '../../lambdas/approval/person.ts';
import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { evidenceProblem } from '../../lambdas/approval/report.ts';
import { isNewer } from '../../lambdas/approval/request.ts';
import { NODE_PREFIX } from '../../lambdas/approval/rules/rules.ts';
import { isWord } from '../../lambdas/command.ts';
import { getSigningRequest } from '../../lambdas/kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { printable } from '../../lambdas/printable.ts';
import { type ApprovalSubject, approvalSubjectOf } from '../../lambdas/resources/approval-subject.ts';
import { readSigningRequest, type SigningRequest } from '../../lambdas/resources/signing-request.ts';
import { verdictDocument } from '../../lambdas/words/verdict-words.ts';
import { EXIT_HELP, type Register, repeatable, withTarget } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { loadFleet } from '../fleet.ts';
import { type Io, PROCESS, print, printJson } from '../io.ts';
import {
  type NamedServer,
  openTarget,
  otherwiseNotice,
  quote,
  repeatNames,
  repeatOptions,
  type TargetOptions,
} from '../target.ts';
import type { Places } from '../terminal/phrases.ts';
import { serverPorts } from './audit/ports.ts';
import { explainNodeCommand } from './explain-node.ts';
import { type Explanation, explanationLines, isDecided } from './explain-view.ts';

export const register: Register = (command, { program: name, interruption, run }) => {
  withTarget(command.argument('[csr-name]', 'name of the CertificateSigningRequest'))
    // A request can have the name of a Node: its creator must not choose what is shown for the Node.
    .option(
      '--node <name>',
      'show the certificate that this Node serves, name by name with its proof, instead of a request',
    )
    .option('--port <name=port>', 'with --node: kubelet=PORT, if it is not 10250; repeatable', repeatable)
    .addHelpText(
      'after',
      `
With --node, certmarshal connects to the kubelet by TLS. If it does not answer, the newest certificate that was issued to a request of the Node is shown.

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
        const places = { program: name, runbooks: fleet.monitoring.runbooks, repeatNames: repeatNames(options) };
        const signal = interruption('nothing is written');
        const query = { policies, output, places };
        const explained =
          node === undefined
            ? explainCommand(target, { ...query, name: csr ?? '', repeat: repeatOptions(options) }, signal, PROCESS)
            : explainNodeCommand(target, { ...query, node, port: kubelet }, signal, PROCESS);
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

interface Query {
  readonly name: string;
  readonly policies: readonly ApprovalPolicy[];
  readonly output: 'table' | 'json';
  readonly places: Places;
  /** The options that say which cluster. */
  readonly repeat: string;
}

export async function explainCommand(
  target: SweepTarget & { readonly server?: NamedServer },
  query: Query,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const now = io.clock();
  const { name, policies, output, places } = query;
  const { cluster, server } = target;
  io.stderr.write(otherwiseNotice(cluster.name, server) ?? '');
  try {
    const explanation = await explain(target, policies, name, now, signal);
    if (output === 'json') printJson(io, { csr: printable(name, 253), ...verdictDocument(explanation.verdict) });
    else {
      const shown = await withProof(explanation, target, policies, now, signal);
      const next = nextCommand(explanation, query);
      print(io, explanationLines({ ...shown, cluster: cluster.name, server, next }, name, places, now));
    }
    return explanation.verdict.reason === 'ObjectMalformed' ? EXIT.incomplete : EXIT.done;
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.kind !== 'not-found') throw error;
    io.stderr.write(noSuchRequest(cluster.name, name) + nodeHint(query));
    return EXIT.incomplete;
  }
}

/** Of a request that was decided, what would prove its names now. */
async function withProof(
  explanation: Explained,
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  now: number,
  signal: AbortSignal,
): Promise<Explained> {
  const { csr, verdict } = explanation;
  if (csr?.username.startsWith(NODE_PREFIX) !== true || !isDecided(verdict)) return explanation;
  const nodes = new Set([csr.username.slice(NODE_PREFIX.length)]);
  const { cluster, evidence } = await observeNodes(target, nodes, policies, signal);
  const open = { ...csr, conditions: [], issued: false };
  return {
    ...explanation,
    verdict: judgeForPerson(cluster, open, evidence, policies, now),
    sweep: verdict,
    problems: evidence.readings.flatMap(evidenceProblem),
  };
}

/** Undefined where all is said. */
function nextCommand({ csr, verdict }: Explained, { places: { program }, repeat }: Query): string | undefined {
  if (verdict.verdict === 'approve' && verdict.mode === 'enforce') return `${program} run --yes${repeat}`;
  const node = csr?.username.slice(NODE_PREFIX.length) ?? '';
  return verdict.reason === 'AlreadyIssued' && isWord(node)
    ? `${program} explain --node ${quote(node)}${repeat}`
    : undefined;
}

/** A kubelet calls its requests `csr-…`, its first one `node-csr-…`. Another name may be that of a Node. */
function nodeHint({ name, places: { program }, repeat }: Query): string {
  if (/^(?:node-)?csr-/.test(name) || !isWord(name)) return '';
  return `If ${name} is a Node: ${program} explain --node ${quote(name)}${repeat}\n`;
}

export function noSuchRequest(cluster: string, name: string): string {
  return `${printable(cluster)} has no CertificateSigningRequest ${printable(name)}. It may be in another cluster, or gone: Kubernetes removes a request an hour after the decision, and a kubelet asks with a new one every 15 minutes. kubectl get csr lists those that wait.\n`;
}

export interface Explained extends Explanation {
  /** Binds a write to the object; absent if the object cannot be written back unchanged. */
  readonly subject?: ApprovalSubject;
  /** The input of the verdict; absent if none was needed. */
  readonly observed?: Observed;
}

/**
 * Reads one request, reads the evidence for a pending one as a sweep does, and judges it. Writes nothing.
 *
 * @throws KubernetesError; `not-found` if the request does not exist
 */
export async function explain(
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  name: string,
  now: number,
  signal: AbortSignal,
): Promise<Explained> {
  const object = await getSigningRequest(target.workload, name, signal);
  const read = readSigningRequest(object);
  if (!read.ok) return { verdict: unjudged('ObjectMalformed', fault(read.problem)) };
  const { csr } = read;
  if (csr.name !== name)
    return {
      verdict: unjudged('ObjectMalformed', fault(`the API server answered with ${printable(csr.name, 100)} instead`)),
    };
  const subject = approvalSubjectOf(object);
  const found = { csr, subject };
  const gate = gateReason(csr);
  if (gate !== undefined) return { ...found, verdict: unjudged(gate.reason, gate.facts) };
  const own = { csr, subject, askedAt: [csr.createdAt ?? Number.POSITIVE_INFINITY] };
  const observed = await observe(target, policies, signal, Date.now, { wanted: own });
  const listed = observed.open.find(({ csr: { username } }) => username === csr.username);
  const isMissing = listed === undefined || (listed.csr.uid !== csr.uid && isNewer(csr, listed.csr));
  // In a flood the list does not have all of them.
  if (isMissing && !(await isStillOpen(target.workload, csr, signal)))
    return { ...found, verdict: unjudged('Deleting', { cause: 'over' }) };
  const newest = isMissing ? { ...own, askedAt: listed?.askedAt ?? own.askedAt } : listed;
  const problems = observed.evidence.readings.flatMap(evidenceProblem);
  if (newest.csr.uid !== csr.uid) {
    const siblings = { pending: newest.askedAt.length, supersededBy: newest.csr.name };
    const request = { cluster: observed.cluster, csr, siblings };
    return { ...found, observed, verdict: decideApproval(request, observed.evidence, policies, now), problems };
  }
  const open = [newest, ...observed.open.filter((request) => request !== newest)];
  const decisions = [...decide(observed.cluster, { ...observed, open }, policies, now, observed.approvals)];
  const verdict =
    decisions.find((one) => one.csr === newest.csr)?.verdict ?? unjudged('JudgeFailed', fault('no decision'));
  return { ...found, observed, verdict, problems };
}

async function isStillOpen(
  client: KubernetesClient,
  { name, uid }: SigningRequest,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const read = readSigningRequest(await getSigningRequest(client, name, signal));
    return read.ok && read.csr.uid === uid && gateReason(read.csr) === undefined;
  } catch (error) {
    if (error instanceof KubernetesError && error.kind === 'not-found') return false;
    throw error;
  }
}
