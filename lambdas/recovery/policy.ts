import { decodeRequest } from '../approval/decide-approval.ts';
import { type Evidence, isLive } from '../approval/evidence/evidence.ts';
import {
  ANY_AGE,
  DEFAULT_POLICY,
  type EnginePolicy,
  KUBELET_CLIENT_SIGNER,
  type SignerRules,
} from '../approval/policy.ts';
import {
  commonNames,
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
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { isDnsName } from '../names.ts';
import { printable } from '../printable.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import type { DecodedRequest } from '../x509/certificate-request.ts';
import { closedBecause } from './open-window.ts';

/** Facts about the cluster of a window, besides the evidence. */
export interface RecoveryContext {
  /** Id in the fleet, as windows name it. */
  readonly clusterId: string;
  readonly window: RecoveryWindow;
  /** Whether it is asleep, by node name; absent if not checked. */
  readonly liveness: ReadonlyMap<string, Outcome>;
  /** Approvals of the window so far, by node name. */
  readonly approved: ReadonlyMap<string, number>;
}

/** The policy of a window: keys and lifetimes as for every kubelet, with the age of the window. It never denies. */
export function recoveryPolicy(context: RecoveryContext): EnginePolicy {
  const { id, by } = context.window;
  return {
    ...DEFAULT_POLICY,
    name: `window ${id}`,
    signers: [KUBELET_CLIENT_SIGNER],
    age: { eks: ANY_AGE, 'eks-anywhere': ANY_AGE },
    signerRules: {
      signer: KUBELET_CLIENT_SIGNER,
      nodeOf,
      rules: recoveryRules(context),
      approval(checks) {
        const found = (wanted: string) => checks.find(({ rule }) => rule === wanted)?.found ?? '';
        const proof = `${found('common-name')} ← ${found('control-plane')}`;
        return { reason: 'Recovered', message: `window ${id}, opened by ${printable(by, 150)}: ${proof}` };
      },
    },
  };
}

/** The node that a request names; undefined if none. Never throws. */
export function nodeOfRequest(csr: SigningRequest): string | undefined {
  return nodeOf(decodeRequest(csr));
}

function nodeOf(decoded: DecodedRequest): string | undefined {
  const [name = '', ...others] = decoded.ok ? commonNames(decoded.request) : [];
  if (others.length > 0 || !name.startsWith(NODE_PREFIX)) return undefined;
  const node = name.slice(NODE_PREFIX.length);
  return isDnsName(node) ? node : undefined;
}

/** Source: Kubernetes, `BootstrapUserPrefix` and `BootstrapTokenPattern`. */
const BOOTSTRAPPER = /^system:bootstrap:[a-z0-9]{6}$/;
const CERTIFICATE = 'X509SHA256=';

/**
 * All rules of a window, in the order in which their failures name the verdict's reason.
 *
 * Sources: `isSelfNodeClientCert` and `ValidateKubeletClientCSR` in kubernetes/pkg (what kube-controller-manager's own approver and signer ask); kubelet TLS
 * bootstrapping reference; docs/decisions/0012-recovery.md.
 */
export function recoveryRules({ window, clusterId, liveness, approved }: RecoveryContext): SignerRules['rules'] {
  const named: Rule = {
    id: 'named',
    expected: `one of ${window.nodes.map((node) => printable(node, 100)).join(', ')}`,
    judge: ({ node }) =>
      node !== '' && window.nodes.includes(node) ? pass(node) : fail('NodeNotNamed', node || 'no node'),
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
      : ['system:bootstrappers', 'system:authenticated', ...window.bootstrapGroups];
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
  const signature = ruleOf('signature');
  return [
    {
      id: 'window',
      expected: `open until ${printable(window.until, 40)}, for this cluster`,
      judge({ now }) {
        const closed = closedBecause(window, clusterId, now);
        return closed === undefined ? pass('open') : fail('WindowClosed', printable(closed, 150));
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
    ruleOf('expiration'),
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
      expected: `fewer than ${window.approvals} approvals before`,
      judge({ node }) {
        const spent = approved.get(node) ?? 0;
        return spent < window.approvals ? pass(`${spent}`) : fail('ApprovalsSpent', `${spent}`);
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
