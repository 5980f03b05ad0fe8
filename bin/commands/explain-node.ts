import { machineAddresses } from '../../lambdas/allowed-addresses.ts';
import { type Evidence, isLive, type Owner } from '../../lambdas/approval/evidence/evidence.ts';
import { ownerFromNode } from '../../lambdas/approval/evidence/node.ts';
import { type IssuedGrounds, type JudgedIssued, judgeIssued } from '../../lambdas/approval/issued.ts';
import { observeNodes, type SweepTarget } from '../../lambdas/approval/observe.ts';
import { type ApprovalPolicy, KUBELET_SERVING_SIGNER } from '../../lambdas/approval/policy.ts';
import { evidenceProblem } from '../../lambdas/approval/report.ts';
import { NODE_PREFIX } from '../../lambdas/approval/rules/rules.ts';
import type { NameProof } from '../../lambdas/approval/verdict.ts';
import { decodedText } from '../../lambdas/audit/objects.ts';
import { placeOf } from '../../lambdas/audit/sources/tls-targets.ts';
import { type Problem, problemOf } from '../../lambdas/contracts/problem.ts';
import { listSigningRequests } from '../../lambdas/kubernetes/certificate-signing-requests.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { listKind } from '../../lambdas/kubernetes/list.ts';
import { canonicalDnsName, isDnsName } from '../../lambdas/names.ts';
import { printable } from '../../lambdas/printable.ts';
import { type CountedRequest, readCountedRequest } from '../../lambdas/resources/signing-request.ts';
import { isIndependent } from '../../lambdas/tables/evidence-sources.ts';
import { handshake } from '../../lambdas/tls/handshake.ts';
import { type Certificate, readable } from '../../lambdas/x509/certificate.ts';
import { decodeBundle } from '../../lambdas/x509/certificate-bundle.ts';
import { leadsTo } from '../../lambdas/x509/issued-by.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { type Io, print, printJson } from '../io.ts';
import { type NamedServer, otherwiseNotice } from '../target.ts';
import type { Places } from '../terminal/phrases.ts';
import { nodeExplanationLines } from './explain-node-view.ts';

/** The kubelet serving certificate of one node, name by name. */
export interface NodeExplanation {
  readonly node: string;
  /** Absent if no certificate could be read. */
  readonly seen?: Seen | undefined;
  readonly waiting?: string | undefined;
  /** The request that it was issued for, until Kubernetes deletes it. */
  readonly request?: Pick<CountedRequest, 'name' | 'approvedBy'> | undefined;
  /** Absent if the cluster did not issue the certificate: clients that trust the cluster reject it. */
  readonly judged?: Pick<JudgedIssued, 'verdict' | 'why'> | undefined;
  readonly names: readonly NameProof[];
  /** What could not be read. */
  readonly problems: readonly Problem[];
}

/** Where the certificate was seen: at the kubelet, else in the newest issued request of the node. */
type Seen =
  | { readonly in: 'handshake'; readonly where: string; readonly keyProven: boolean; readonly certificate: Certificate }
  | { readonly in: 'request'; readonly certificate: Certificate };

export interface NodeQuery {
  readonly node: string;
  /** Port of its kubelet. */
  readonly port: number;
  readonly policies: readonly ApprovalPolicy[];
  /** Connects to the kubelet. @default by TLS */
  readonly connect?: typeof handshake;
  readonly output: 'table' | 'json';
  readonly places: Places;
}

/**
 * Shows the certificate that a node serves now, name by name with its proof. Writes nothing.
 *
 * @returns the exit status: `incomplete` if there is no such Node, or its certificate could not be read or judged
 * @throws UsageError if no Node can have this name
 */
export async function explainNodeCommand(
  target: SweepTarget & { readonly server?: NamedServer },
  query: NodeQuery,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const { node, output } = query;
  const { cluster, server } = target;
  if (!isDnsName(canonicalDnsName(node)))
    throw new UsageError(`--node "${printable(node, 100)}" is not a name that a Node can have`);
  io.stderr.write(otherwiseNotice(cluster.name, server) ?? '');
  const explanation = await explainNode(target, query, signal);
  if (explanation === undefined) {
    io.stderr.write(`${cluster.name} has no Node ${printable(node)}. kubectl get nodes lists all.\n`);
    return EXIT.incomplete;
  }
  if (output === 'json') printJson(io, documentOf(explanation));
  else
    print(io, nodeExplanationLines(explanation, { ...query.places, cluster: cluster.name, server, now: io.clock() }));
  const { judged } = explanation;
  return judged === undefined || judged.verdict === 'unknown' ? EXIT.incomplete : EXIT.done;
}

function documentOf({ node, seen, request, judged, names, problems }: NodeExplanation): object {
  const { in: seenIn, certificate, ...rest } = seen ?? {};
  return {
    node,
    seenIn,
    ...rest,
    verdict: judged?.verdict,
    why: judged?.why,
    request: request?.name,
    approvedBy: request?.approvedBy,
    names,
    certificate: certificate && {
      subject: certificate.subject,
      issuer: certificate.issuer,
      serialNumber: certificate.serialNumber,
      fingerprint: certificate.fingerprint,
      key: certificate.key,
      notBefore: new Date(certificate.notBefore).toISOString(),
      notAfter: new Date(certificate.notAfter).toISOString(),
    },
    problems,
  };
}

/** A person who asks does not wait for a second audit to see the same. */
const LAST = { verdict: 'unknown', addressOfAnother: true } as const;

async function explainNode(
  target: SweepTarget,
  query: NodeQuery,
  signal: AbortSignal,
): Promise<NodeExplanation | undefined> {
  const { node, port, policies } = query;
  const own = await readOwner(target, node, signal);
  if (own === undefined) return undefined;
  const nodes = new Set([node]);
  const [{ cluster, evidence }, requests] = await Promise.all([
    observeNodes(target, nodes, policies, signal),
    issuedRequests(target, node, signal),
  ]);
  const answer = await shake(target, query, addressesOf(own, evidence), signal);

  const grounds: IssuedGrounds = { cluster, evidence, policies, nodes };
  const problems = [...evidence.readings.flatMap(evidenceProblem), ...requests.problems];
  if (answer.ok) {
    const { certificate, host, keyProven } = answer;
    const { fingerprint } = certificate;
    const judged = judgeIssued(certificate, { node, address: host, keyProven }, grounds, LAST);
    return {
      node,
      seen: { in: 'handshake', where: placeOf(host, port), keyProven, certificate },
      request: requests.issued.find((request) => request.certificate.fingerprint === fingerprint),
      judged: judgeIn(target, answer, judged),
      names: judged.names,
      problems,
    };
  }
  const [newest] = requests.issued;
  const { waiting } = requests;
  if (newest === undefined) return { node, waiting, names: [], problems: [answer.problem, ...problems] };
  const judged = judgeIssued(
    newest.certificate,
    { requester: NODE_PREFIX + node, ofNodes: newest.ofNodes },
    grounds,
    LAST,
  );
  return {
    node,
    seen: { in: 'request', certificate: newest.certificate },
    request: newest,
    judged,
    names: judged.names,
    problems: [answer.problem, ...problems],
  };
}

/** The Node, which has the addresses of its kubelet. Undefined if it does not exist. */
async function readOwner({ workload }: SweepTarget, name: string, signal: AbortSignal): Promise<Owner | undefined> {
  for await (const page of listKind(workload, 'nodes', { name, signal }))
    for (const item of page) {
      const owner = ownerFromNode(item);
      if (owner?.nodes.includes(name) === true) return owner;
    }
  return undefined;
}

/** The limit of an audit per node. */
const MAX_ADDRESSES = 2;

/** Addresses that the node itself cannot write come first. */
function addressesOf(own: Owner, evidence: Evidence): readonly string[] {
  const known = own.nodes.flatMap((node) => evidence.ownersOf(node).owners).filter(isIndependent);
  return [...new Set([...known.filter(isLive), own].flatMap(({ addresses }) => addresses))].slice(0, MAX_ADDRESSES);
}

interface IssuedRequest extends Pick<CountedRequest, 'name' | 'approvedBy' | 'ofNodes'> {
  readonly certificate: Certificate;
}

/** A kubelet without an approval retries four times an hour, and issued requests are kept for an hour. */
const MAX_ISSUED = 16;

async function issuedRequests(
  { workload }: SweepTarget,
  node: string,
  signal: AbortSignal,
): Promise<{
  readonly issued: readonly IssuedRequest[];
  readonly waiting: string | undefined;
  readonly problems: readonly Problem[];
}> {
  let newest: readonly CountedRequest[] = [];
  let waiting: CountedRequest | undefined;
  const problems: Problem[] = [];
  try {
    for await (const page of listSigningRequests(workload, { signerName: KUBELET_SERVING_SIGNER, signal })) {
      const own = page
        .map(readCountedRequest)
        .filter((request) => typeof request === 'object')
        .filter(({ requester }) => requester === NODE_PREFIX + node);
      const issued = own.filter(({ state }) => state === 'issued');
      newest = [...newest, ...issued].toSorted((a, b) => b.createdAt - a.createdAt).slice(0, MAX_ISSUED);
      for (const request of own)
        if (request.state === 'pending' && request.createdAt >= (waiting?.createdAt ?? 0)) waiting = request;
    }
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    problems.push(problemOf(error));
  }
  const issued = newest.flatMap(({ name, approvedBy, ofNodes, certificate }): readonly IssuedRequest[] => {
    const text = decodedText(certificate);
    const [leaf] = 'problem' in text ? [] : decodeBundle(text.pem).certificates;
    if (leaf?.ok !== true) return [];
    const shown = { name: printable(name, 253), approvedBy: approvedBy && printable(approvedBy, 100) };
    return [{ ...shown, ofNodes, certificate: leaf.certificate }];
  });
  return { issued, waiting: waiting && printable(waiting.name, 253), problems };
}

type Shown =
  | {
      readonly ok: true;
      readonly host: string;
      readonly keyProven: boolean;
      readonly certificate: Certificate;
      readonly sentAlong: readonly Certificate[];
    }
  | { readonly ok: false; readonly problem: Problem };

/** Of one kubelet. Milliseconds. */
const TIMEOUT_MS = 3_000;

/** The certificate at the first kubelet address that answers, or why none does. */
async function shake(
  { workload }: SweepTarget,
  { node, port, connect = handshake }: NodeQuery,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<Shown> {
  const unseen = (where: string, kind: string, message: string, remedy: string): Shown => ({
    ok: false,
    problem: { kind, object: `kubelet of ${node}${where}`, message, remedy },
  });
  // Loopback is dialled only if the API server is there and may be.
  const allowed = machineAddresses(workload);
  let failed = unseen('', 'unreachable', 'it has no known address', 'Check its addresses: kubectl get nodes -o wide.');
  for (const host of addresses) {
    const at = ` at ${placeOf(host, port)}`;
    const result = await connect({ host, port }, { signal, timeoutMs: TIMEOUT_MS, addresses: allowed });
    if (!result.ok) {
      const { kind, message, remedy } = result.failure;
      failed = unseen(at, kind, message, remedy);
      continue;
    }
    const [first, ...others] = result.chain;
    if (first?.ok === true)
      return {
        ok: true,
        host,
        keyProven: result.keyProven === true,
        certificate: first.certificate,
        sentAlong: readable(others),
      };
    failed = unseen(
      at,
      'malformed',
      first?.problem ?? 'it shows no certificate',
      'Replace it: a client cannot read it either.',
    );
  }
  return failed;
}

/**
 * A certificate that the cluster did not issue is not judged. If the issuer cannot be verified, the verdict is
 * `unknown`.
 */
function judgeIn(
  { workload: { caPem } }: SweepTarget,
  { certificate, sentAlong }: Extract<Shown, { ok: true }>,
  judged: JudgedIssued,
): Pick<JudgedIssued, 'verdict' | 'why'> | undefined {
  const authorities = caPem === undefined ? [] : readable(decodeBundle(caPem).certificates);
  const isIssued = authorities.length === 0 ? undefined : leadsTo(certificate, sentAlong, authorities);
  if (isIssued === true) return judged;
  return isIssued === false
    ? undefined
    : {
        verdict: 'unknown',
        why: 'it is not known whether the cluster issued it: the kubeconfig has no CA to verify it with',
      };
}
