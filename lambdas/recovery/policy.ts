import { type Evidence, isLive } from '../approval/evidence/evidence.ts';
import {
  ANY_AGE,
  DEFAULT_POLICY,
  type EnginePolicy,
  everywhere,
  KUBELET_CLIENT_SIGNER,
  type SignerRules,
} from '../approval/policy.ts';
import { nodeInCommonName } from '../approval/requested-node.ts';
import {
  enumerate,
  fail,
  hostile,
  type Judged,
  NODE_PREFIX,
  noExtensionBut,
  type Outcome,
  pass,
  type Rule,
  ruleOf,
  usagesFor,
} from '../approval/rules/rules.ts';
import { printable } from '../printable.ts';
import { isOver, type Recovery } from './recovery.ts';

/**
 * So many requests of one node in the list that carry our approval allow no further one. kube-controller-manager removes
 * them an hour after the approval, at the earliest.
 */
const MAX_APPROVALS = 2;
/** It removes an expired certificate at any time, and with it our approval. No kubelet asks for less. */
const SHORTEST_SECONDS = 3_600;

/** Facts about a cluster, besides the evidence. */
export interface RecoveryContext {
  readonly recovery: Recovery;
  /** Whether it is asleep, by node name; absent if not checked. */
  readonly liveness: ReadonlyMap<string, Outcome>;
  /** Requests in the list that carry our approval, by node name; undefined if they could not all be read. */
  readonly approved: ReadonlyMap<string, number> | undefined;
}

/** The policy of a recovery: keys as for every kubelet, requests of any age. It never denies. */
export function recoveryPolicy(context: RecoveryContext): EnginePolicy {
  const { until, by } = context.recovery;
  return {
    ...DEFAULT_POLICY,
    mode: everywhere('enforce'),
    name: 'recovery',
    signers: [KUBELET_CLIENT_SIGNER],
    age: { eks: ANY_AGE, 'eks-anywhere': ANY_AGE },
    signerRules: {
      signer: KUBELET_CLIENT_SIGNER,
      nodeOf: nodeInCommonName,
      rules: recoveryRules(context),
      approval(checks) {
        const found = (wanted: string) => checks.find(({ rule }) => rule === wanted)?.found ?? '';
        const of = { node: found('common-name'), object: found('control-plane') };
        return { reason: 'Recovered', facts: { cause: 'recovered', until, by: printable(by, 150), ...of } };
      },
    },
  };
}

/** Source: Kubernetes, `BootstrapUserPrefix` and `BootstrapTokenPattern`. */
const BOOTSTRAPPER = /^system:bootstrap:[a-z0-9]{6}$/;
const CERTIFICATE = 'X509SHA256=';

/**
 * All rules of a recovery, in the order in which their failures name the verdict's reason.
 *
 * Sources: `isSelfNodeClientCert` and `ValidateKubeletClientCSR` in kubernetes/pkg (what kube-controller-manager's own approver and signer ask); kubelet TLS
 * bootstrapping reference; docs/decisions/0012-recovery.md.
 */
export function recoveryRules({ recovery, liveness, approved }: RecoveryContext): SignerRules['rules'] {
  const named: Rule = {
    id: 'named',
    expected: `one of ${recovery.nodes.map((node) => printable(node, 100)).join(', ')}`,
    judge: ({ node }) =>
      node !== '' && recovery.nodes.includes(node) ? pass(node) : fail('NodeNotNamed', node || 'no node'),
  };
  const requester: Rule = {
    id: 'requester',
    expected: ({ node }) => `${NODE_PREFIX}${node || '<node>'} or system:bootstrap:<6 characters>`,
    judge: (judged) =>
      isItself(judged) || BOOTSTRAPPER.test(judged.csr.username)
        ? pass(judged.csr.username)
        : hostile('RequesterNotAllowed', enumerate([judged.csr.username])),
  };
  const groupsOf = (judged: Judged): readonly string[] =>
    isItself(judged)
      ? ['system:nodes', 'system:authenticated']
      : ['system:bootstrappers', 'system:authenticated', ...recovery.bootstrapGroups];
  const groups: Rule = {
    id: 'groups',
    expected: (judged) => `exactly ${groupsOf(judged).join(', ')}`,
    judge(judged) {
      const { groups: asking } = judged.csr;
      const [found, expected] = [new Set(asking), new Set(groupsOf(judged))];
      const isExact =
        asking.length === found.size && found.size === expected.size && asking.every((group) => expected.has(group));
      return isExact ? pass(asking.join(', ')) : hostile('GroupsNotExact', enumerate(asking));
    },
  };
  const [signature, expiration] = [ruleOf('signature'), ruleOf('expiration')];
  return [
    {
      id: 'until',
      expected: `before ${recovery.until}`,
      judge({ now }) {
        const at = new Date(now).toISOString();
        return isOver(recovery, now) ? fail('RecoveryOver', at) : pass(at);
      },
    },
    ruleOf('request'),
    {
      id: 'common-name',
      expected: `exactly ${NODE_PREFIX}<name of a Node>, once`,
      judge: ({ node }) =>
        node === '' ? hostile('CommonNameMismatch', 'none, several, or no name of a Node') : pass(node),
    },
    named,
    requester,
    groups,
    usagesFor('client auth'),
    {
      ...expiration,
      expected: ({ policy }) => `${SHORTEST_SECONDS} to ${policy.maxExpirationSeconds} s, or none`,
      judge(judged) {
        const outcome = expiration.judge(judged);
        const { expirationSeconds = SHORTEST_SECONDS } = judged.csr;
        return outcome.passed && expirationSeconds < SHORTEST_SECONDS
          ? fail('ExpirationTooShort', `${expirationSeconds} s`)
          : outcome;
      },
    },
    {
      ...signature,
      // Verification is expensive, and anyone allowed to make requests can make a thousand.
      judge: (judged) =>
        [named, requester, groups].every((rule) => rule.judge(judged).passed)
          ? signature.judge(judged)
          : fail('SignatureInvalid', 'not verified: the node is not named, or the requester is not allowed'),
    },
    ruleOf('key'),
    ruleOf('organization'),
    ruleOf('subject'),
    noExtensionBut(undefined, 'no subjectAltName and no other extension', 'SanNotAllowed'),
    {
      id: 'control-plane',
      expected: 'one live Machine with a nodeRef, or one running EC2 instance, of the control plane',
      judge: ({ node, evidence }) => judgeControlPlane(node, evidence),
    },
    {
      id: 'ended',
      expected: 'a node that is not Ready, renews no Lease and has no valid certificate',
      judge({ csr: { credentials }, node }) {
        if (credentials === undefined) return fail('ObjectMalformed', 'spec.extra is not lists of strings');
        if (credentials.some((credential) => credential.startsWith(CERTIFICATE)))
          return fail('StillValid', 'it asked with a certificate');
        return liveness.get(node) ?? fail('NodeUnreadable', 'the Node was not read');
      },
    },
    {
      id: 'approvals',
      expected: `fewer than ${MAX_APPROVALS} requests in the list with an approval of a recovery`,
      judge({ node }) {
        if (approved === undefined) return fail('ApprovalsSpent', 'a request in the list cannot be read');
        const spent = approved.get(node) ?? 0;
        return spent < MAX_APPROVALS ? pass(`${spent}`) : fail('ApprovalsSpent', `${spent}`);
      },
    },
  ];
}

function isItself({ csr, node }: Judged): boolean {
  return node !== '' && csr.username === NODE_PREFIX + node;
}

function judgeControlPlane(node: string, evidence: Evidence): Outcome {
  const { readings } = evidence;
  if (readings.length === 0) return fail('EvidenceMissing', 'no management cluster and no AWS account is read');
  for (const reading of readings)
    if (!reading.ok) return fail('EvidenceUnreadable', printable(`${reading.problem}. ${reading.remedy}`, 400));
  const { owners, more } = evidence.ownersOf(node);
  // A Machine in deletion still belongs to the node; a stopped instance may have left its name to another one.
  const own = owners.filter((owner) => owner.source === 'machine' || isLive(owner));
  const found = own
    .slice(0, 3)
    .map(({ object }) => printable(object, 150))
    .join(' and ');
  if (own.length === 0) return fail('EvidenceMissing', 'no Machine or instance claims the node');
  if (!own.every(isLive)) return fail('MachineGoing', `${found}: being deleted`);
  if (more.length > 0 || new Set(own.map(({ source }) => source)).size < own.length)
    return fail('EvidenceAmbiguous', found);
  const worker = own.find(({ controlPlane }) => controlPlane !== true);
  return worker === undefined ? pass(found) : fail('NotControlPlane', printable(worker.object, 150));
}
