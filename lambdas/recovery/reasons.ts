import type { Reason } from '../tables/reasons.ts';

interface RecoveryReasonEntry {
  /** What it says about the request. */
  readonly meaning: string;
  /** What a person does about it; empty when nothing is to be done. */
  readonly next: string;
}

/** Reasons that only a recovery window has. All others are those of every verdict (`lambdas/approval/reasons.ts`). */
export const RECOVERY_REASONS = {
  Recovered: { meaning: 'The request is that of a named control plane node whose certificate has ended.', next: '' },
  NotKubeletClient: {
    meaning: 'The request is for another signer than kubernetes.io/kube-apiserver-client-kubelet.',
    next: '',
  },
  WindowClosed: {
    meaning: 'No recovery window is open for this cluster.',
    next: 'Open one for these nodes: certmarshal recovery open.',
  },
  NodeNotNamed: {
    meaning: 'The request is for a node that the window does not name.',
    next: 'If it is a control plane node that slept too, open a window that names it.',
  },
  RequesterNotAllowed: {
    meaning: 'The requester is neither the node itself nor a bootstrap token.',
    next: 'No kubelet asks so; treat the requester with suspicion.',
  },
  GroupsNotExact: {
    meaning: 'The requester has a group more or less than a node or a bootstrap token of this window has.',
    next: 'Compare the auth-extra-groups of the bootstrap token with the bootstrap groups of the window.',
  },
  SanNotAllowed: {
    meaning:
      'The request has a subjectAltName or another extension; that of a kubelet for a client certificate has none.',
    next: 'No kubelet asks so; treat the requester with suspicion.',
  },
  NotControlPlane: {
    meaning: 'The Machine or EC2 instance of the node is none of the control plane.',
    next: 'A worker gets a certificate by joining again, not by recovery.',
  },
  MachineGoing: {
    meaning: 'The Machine of the node is being deleted.',
    next: 'Nothing for this node; its successor joins by itself.',
  },
  NodeMissing: {
    meaning: 'The cluster has no Node of this name, or it is being deleted.',
    next: 'A machine without a Node joins again; see kubectl get nodes.',
  },
  NodeUnreadable: {
    meaning: 'Whether the node is alive could not be found out.',
    next: 'The report says what the API server answered, and the right that is missing.',
  },
  StillValid: {
    meaning: 'The node has a certificate that is valid: it is Ready, renews its Lease, or asked with one.',
    next: 'If it is off, wait: kube-controller-manager marks it after a minute, and its Lease counts for five.',
  },
  ApprovalsSpent: {
    meaning: 'The window has given this node all the approvals it has for one.',
    next: 'Find out what became of them (kubectl get csr); then open another window.',
  },
} as const satisfies Record<string, RecoveryReasonEntry>;

export type RecoveryReason = keyof typeof RECOVERY_REASONS | Reason;
