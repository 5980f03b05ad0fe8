import type { ClusterContext } from '../approval/request.ts';
import { type Judged, NODE_PREFIX, RULES } from '../approval/rules/rules.ts';
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { isDnsName } from '../names.ts';
import { printable } from '../printable.ts';
import type { ControlPlaneReading } from './control-plane.ts';
import { LEASE_COUNTS_MS, type Liveness } from './liveness.ts';
import { closedBecause } from './open-window.ts';
import type { RecoveryReason } from './reasons.ts';
import type { RecoveryRequest } from './request.ts';

/** All that the requests of one cluster are judged by. Nothing in here is read from anywhere: it was all observed before. */
export interface RecoveryContext {
  readonly cluster: ClusterContext;
  /** Of the cluster in the fleet: what a window names. */
  readonly clusterId: string;
  readonly window: RecoveryWindow;
  readonly readings: readonly ControlPlaneReading[];
  /** By name of a node; one that is absent was not looked at. */
  readonly liveness: ReadonlyMap<string, Liveness>;
  /** What the window has given so far, by name of a node. */
  readonly approved: ReadonlyMap<string, number>;
}

/** One request beside what its rules look at. */
export interface JudgedRecovery extends RecoveryContext, Pick<RecoveryRequest, 'credentials'> {
  /** For the rules that every signer has. */
  readonly judged: Judged;
  /** The node that the certificate would be for, by the common name; undefined when it names none. */
  readonly node: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Outcome =
  | { readonly passed: true; readonly found: string }
  | { readonly passed: false; readonly found: string; readonly reason: RecoveryReason; readonly hostile: boolean };

interface Rule<Id extends string = string> {
  readonly id: Id;
  readonly expected: (judged: JudgedRecovery) => string;
  readonly judge: (judged: JudgedRecovery) => Outcome;
}

const pass = (found: string): Outcome => ({ passed: true, found });
const fail = (reason: RecoveryReason, found: string): Outcome => ({ passed: false, found, reason, hostile: false });
/** For what no kubelet does by mistake. */
const hostile = (reason: RecoveryReason, found: string): Outcome => ({ passed: false, found, reason, hostile: true });

const CLOCK_TOLERANCE_MS = 5 * 60_000;
/** Source: Kubernetes, `BootstrapUserPrefix` and `BootstrapTokenPattern`. */
const BOOTSTRAPPER = /^system:bootstrap:[a-z0-9]{6}$/;
const CERTIFICATE = 'X509SHA256=';

/** Judged exactly as for every other signer. */
type Shared = 'request' | 'signature' | 'key' | 'organization' | 'subject' | 'expiration';

function shared<Id extends Shared>(id: Id): Rule<Id> {
  return {
    id,
    expected: ({ judged }) => {
      const expected = ruleOf(id)?.expected;
      return typeof expected === 'function' ? expected(judged) : (expected ?? '');
    },
    judge: ({ judged }) => ruleOf(id)?.judge(judged) ?? fail('JudgeFailed', 'there is no such rule'),
  };
}

function ruleOf(id: Shared) {
  return RULES.find((rule) => rule.id === id);
}

/**
 * All rules of a window, in the order in which their failures name the verdict's reason.
 *
 * Sources: `isSelfNodeClientCert` and `ValidateKubeletClientCSR` in kubernetes/pkg (what kube-controller-manager's own approver and signer ask); kubelet TLS
 * bootstrapping reference; docs/decisions/0012-recovery.md.
 */
export const RECOVERY_RULES = [
  {
    id: 'window',
    expected: ({ window }) => `open until ${printable(window.until, 40)}, for this cluster`,
    judge: ({ window, clusterId, now }) => {
      if (window.cluster !== clusterId) return fail('WindowClosed', 'it is for another cluster');
      const closed = closedBecause(window, now);
      return closed === undefined ? pass('open') : fail('WindowClosed', printable(closed, 150));
    },
  },
  {
    id: 'created',
    expected: () => 'a time of creation that is not in the future',
    judge: ({ judged: { csr }, now }) => {
      if (csr.createdAt === undefined)
        return fail('ObjectMalformed', 'metadata.creationTimestamp is missing or unreadable');
      const aheadMs = csr.createdAt - now;
      return aheadMs > CLOCK_TOLERANCE_MS
        ? fail('ClockSkew', `${Math.round(aheadMs / 1000)} s in the future of this clock`)
        : pass('not in the future');
    },
  },
  shared('request'),
  {
    id: 'common-name',
    expected: () => `exactly ${NODE_PREFIX}<name of a Node>, once`,
    judge: ({ node }) =>
      node === undefined ? hostile('CommonNameMismatch', 'none, several, or no name of a Node') : pass(node),
  },
  {
    id: 'named',
    expected: ({ window }) => `one of ${window.nodes.map((node) => printable(node, 100)).join(', ')}`,
    judge: judgeNamed,
  },
  {
    id: 'requester',
    expected: ({ node = '<node>' }) => `${NODE_PREFIX}${node} or system:bootstrap:<6 characters>`,
    judge: judgeRequester,
  },
  {
    id: 'groups',
    expected: (judged) => `exactly ${groupsOf(judged).join(', ')}`,
    judge: judgeGroups,
  },
  {
    id: 'usages',
    expected: () => 'digital signature, client auth; key encipherment allowed',
    judge: ({ judged: { csr, decoded } }) => {
      const usages = new Set(csr.usages);
      const hasBoth = usages.delete('digital signature') && usages.delete('client auth');
      const encipherment = usages.delete('key encipherment');
      if (!hasBoth || usages.size > 0) return hostile('UsagesNotAllowed', enumerate(csr.usages));
      if (encipherment && decoded.ok && decoded.request.publicKey.kind === 'ML-DSA')
        return fail('UsagesNotAllowed', 'key encipherment with an ML-DSA key');
      return pass(csr.usages.join(', '));
    },
  },
  shared('expiration'),
  {
    ...shared('signature'),
    // Verifying takes long, and anyone who may make requests can make a thousand.
    judge: (judged) =>
      [judgeNamed, judgeRequester, judgeGroups].every((judge) => judge(judged).passed)
        ? shared('signature').judge(judged)
        : fail('SignatureInvalid', 'not verified: the node is not named, or who asks may not'),
  },
  shared('key'),
  shared('organization'),
  shared('subject'),
  {
    id: 'extensions',
    expected: () => 'no subjectAltName and no other extension',
    judge: ({ judged: { decoded } }) => {
      if (!decoded.ok) return hostile('RequestMalformed', 'not evaluated: the request cannot be decoded');
      const { extensions, subjectAltNames } = decoded.request;
      return extensions.length === 0 && subjectAltNames.length === 0
        ? pass('none')
        : hostile('SanNotAllowed', enumerate(extensions.map(({ oid }) => oid)));
    },
  },
  {
    id: 'control-plane',
    expected: () => 'one live Machine with a nodeRef, or one running EC2 instance, of the control plane',
    judge: ({ node, readings }) => judgeControlPlane(node, readings),
  },
  {
    id: 'ended',
    expected: () => 'a node that is not Ready, renews no Lease and has no valid certificate',
    judge: judgeEnded,
  },
  {
    id: 'approvals',
    expected: ({ window }) => `fewer than ${window.approvals} approvals before`,
    judge: ({ node, approved, window }) => {
      const spent = approved.get(node ?? '') ?? 0;
      return spent < window.approvals ? pass(`${spent}`) : fail('ApprovalsSpent', `${spent}`);
    },
  },
] as const satisfies readonly Rule[];

export type RecoveryRuleId = (typeof RECOVERY_RULES)[number]['id'];

/** One rule of a window, evaluated. All are, also after the first that failed. */
export interface RecoveryCheck {
  readonly rule: RecoveryRuleId;
  readonly passed: boolean;
  readonly expected: string;
  readonly found: string;
  readonly reason?: RecoveryReason;
  /** True when the failure can have no innocent cause. */
  readonly hostile?: boolean;
}

function judgeNamed({ node, window }: JudgedRecovery): Outcome {
  return node !== undefined && window.nodes.includes(node) ? pass(node) : fail('NodeNotNamed', node ?? 'no node');
}

function judgeRequester({ judged: { csr }, node }: JudgedRecovery): Outcome {
  return isItself(csr.username, node) || BOOTSTRAPPER.test(csr.username)
    ? pass(csr.username)
    : hostile('RequesterNotAllowed', `“${printable(csr.username, 100)}”`);
}

function judgeGroups(judged: JudgedRecovery): Outcome {
  const { groups } = judged.judged.csr;
  const [found, expected] = [new Set(groups), new Set(groupsOf(judged))];
  const isExact =
    groups.length === found.size && found.size === expected.size && groups.every((group) => expected.has(group));
  return isExact ? pass(groups.join(', ')) : hostile('GroupsNotExact', enumerate(groups));
}

/** Evaluates every rule. The order is that of {@link RECOVERY_RULES}. */
export function evaluateRecoveryRules(judged: JudgedRecovery): readonly RecoveryCheck[] {
  return RECOVERY_RULES.map((rule: Rule<RecoveryRuleId>) => ({
    rule: rule.id,
    expected: rule.expected(judged),
    ...rule.judge(judged),
  }));
}

/** The node of a common name that a kubelet writes. */
export function nodeOf(commonNames: readonly string[]): string | undefined {
  const [name = ''] = commonNames;
  if (commonNames.length !== 1 || !name.startsWith(NODE_PREFIX)) return undefined;
  const node = name.slice(NODE_PREFIX.length);
  return isDnsName(node) ? node : undefined;
}

function isItself(username: string, node: string | undefined): boolean {
  return node !== undefined && username === NODE_PREFIX + node;
}

function groupsOf({ judged: { csr }, node, window }: JudgedRecovery): readonly string[] {
  if (isItself(csr.username, node)) return ['system:nodes', 'system:authenticated'];
  return ['system:bootstrappers', 'system:authenticated', ...window.bootstrapGroups];
}

function judgeControlPlane(node: string | undefined, readings: readonly ControlPlaneReading[]): Outcome {
  if (readings.length === 0) return fail('EvidenceMissing', 'no management cluster and no AWS account is read');
  for (const reading of readings)
    if (!reading.ok) return fail('EvidenceUnreadable', printable(`${reading.problem}. ${reading.remedy}`, 400));
  const vouchers = readings.flatMap((reading) =>
    reading.ok ? reading.vouchers.filter(({ nodes }) => node !== undefined && nodes.includes(node)) : [],
  );
  const names = vouchers.slice(0, 3).map(({ object }) => printable(object, 150));
  const found = names.join(' and ');
  if (vouchers.length === 0) return fail('EvidenceMissing', 'none says that the node is its own');
  if (vouchers.some(({ going }) => going)) return fail('MachineGoing', `${found}: being deleted`);
  if (readings.some(({ source }) => vouchers.filter((voucher) => voucher.source === source).length > 1))
    return fail('EvidenceAmbiguous', found);
  const worker = vouchers.find(({ controlPlane }) => !controlPlane);
  if (worker !== undefined) return fail('NotControlPlane', printable(worker.object, 150));
  return pass(found);
}

function judgeEnded({ node, liveness, credentials, now }: JudgedRecovery): Outcome {
  if (credentials.some((credential) => credential.startsWith(CERTIFICATE)))
    return fail('StillValid', 'it asked with a certificate');
  const seen = liveness.get(node ?? '');
  switch (seen?.kind) {
    case undefined:
      return fail('NodeUnreadable', 'the Node was not looked at');
    case 'unreadable':
      return fail('NodeUnreadable', printable(seen.problem, 400));
    case 'missing':
      return fail('NodeMissing', 'there is no such Node');
    case 'known': {
      if (seen.ready) return fail('StillValid', 'the Node is Ready');
      const { leaseRenewedAt } = seen;
      if (leaseRenewedAt !== undefined && now - leaseRenewedAt < LEASE_COUNTS_MS)
        return fail('StillValid', `it renewed its Lease at ${new Date(leaseRenewedAt).toISOString()}`);
      return pass('not Ready, no Lease renewed in the last 5 minutes');
    }
  }
}

/** At most five entries, quoted, with the count of the rest. */
function enumerate(entries: readonly string[]): string {
  if (entries.length === 0) return 'none';
  const shown = entries.slice(0, 5).map((entry) => `“${printable(entry, 100)}”`);
  return entries.length > 5 ? `${shown.join(', ')} and ${entries.length - 5} more` : shown.join(', ');
}
