/** The decision on one request. Only `approve` and `deny` are ever written, and only in mode `enforce`. */
export type VerdictKind = 'approve' | 'deny' | 'leave' | 'ignore';

interface ReasonEntry {
  readonly verdict: VerdictKind;
  readonly meaning: string;
  /** The remedy; empty if there is nothing to do. */
  readonly next: string;
}

/** Reasons that only a request for a client certificate has. */
export const RECOVERY_REASONS = {
  Recovered: {
    verdict: 'approve',
    meaning: 'The request is from a named control plane node whose certificate has expired.',
    next: '',
  },
  NotKubeletClient: {
    verdict: 'ignore',
    meaning: 'The request is for a signer other than kubernetes.io/kube-apiserver-client-kubelet.',
    next: '',
  },
  RecoveryOver: {
    verdict: 'leave',
    meaning: 'The end of the recovery has passed.',
    next: 'If nodes still wait, give it a later end: certmarshal runbook recovery.',
  },
  NodeNotNamed: {
    verdict: 'leave',
    meaning: 'The request is for a node that the recovery does not name.',
    next: 'If it is a control plane node that was off too, name it.',
  },
  RequesterNotAllowed: {
    verdict: 'leave',
    meaning: 'The requester is neither the node itself nor a bootstrap token.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  GroupsNotExact: {
    verdict: 'leave',
    meaning: 'The groups of the requester are not exactly those of a node or of a bootstrap token of this recovery.',
    next: 'Compare the auth-extra-groups of the bootstrap token with bootstrapGroups, or --bootstrap-group.',
  },
  ExpirationTooShort: {
    verdict: 'leave',
    meaning: 'The requested lifetime is less than the hour in which approvals are counted.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  SanNotAllowed: {
    verdict: 'leave',
    meaning: 'The request has a subjectAltName or another extension, which no kubelet sends for a client certificate.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  NotControlPlane: {
    verdict: 'leave',
    meaning: 'The Machine or EC2 instance of the node does not belong to the control plane.',
    next: 'A worker gets a certificate by joining again, not by recovery.',
  },
  MachineGoing: {
    verdict: 'leave',
    meaning: 'The Machine of the node is being deleted.',
    next: 'Nothing for this node; its successor joins automatically.',
  },
  NodeMissing: {
    verdict: 'leave',
    meaning: 'The cluster has no Node of this name, or it is being deleted.',
    next: 'A machine without a Node joins again; see kubectl get nodes.',
  },
  NodeUnreadable: {
    verdict: 'leave',
    meaning: 'It is not known whether the node is alive.',
    next: 'The report says what the API server answered, and the right that is missing.',
  },
  StillValid: {
    verdict: 'leave',
    meaning: 'The node has a certificate that is valid: it is Ready, renews its Lease, or asked with one.',
    next: 'If it is off, wait: kube-controller-manager marks it after a minute, and its Lease counts for five.',
  },
  ApprovalsSpent: {
    verdict: 'leave',
    meaning: 'Two requests of the node in the list have an approval of a recovery, or a request in it cannot be read.',
    next: 'Check their state (kubectl get csr). Kubernetes removes them after an hour or two.',
  },
} as const satisfies Record<string, ReasonEntry>;

/**
 * Every reason of a verdict. `leave` reasons of a provably hostile request become `deny` where a policy opts in.
 * `docs/verdicts.md` repeats this table; a test compares them.
 */
export const REASONS = {
  Proven: { verdict: 'approve', meaning: 'Every name is proven by an independent source.', next: '' },

  NotKubeletServing: {
    verdict: 'ignore',
    meaning: 'The request is for a signer other than kubernetes.io/kubelet-serving.',
    next: 'Its own approver decides.',
  },
  RequesterMisnamed: {
    verdict: 'ignore',
    meaning: 'The request names a node, but the API server takes its kubelet for another user.',
    next: 'On EKS give its role one access entry of its type (EC2_LINUX, EC2_WINDOWS, HYBRID_LINUX), or one line in aws-auth: username system:node:{{EC2PrivateDNSName}}, groups system:bootstrappers and system:nodes.',
  },
  RequesterNotNode: {
    verdict: 'ignore',
    meaning: 'The requester is not a node (username without the prefix system:node:).',
    next: 'Its owner decides.',
  },
  Deleting: {
    verdict: 'ignore',
    meaning: 'The request is being deleted.',
    next: 'A kubelet asks again automatically.',
  },
  AlreadyApproved: {
    verdict: 'ignore',
    meaning: 'The request is already approved.',
    next: 'If it has no certificate after a minute: certmarshal runbook request-not-issued',
  },
  AlreadyDenied: {
    verdict: 'ignore',
    meaning: 'The request is already denied.',
    next: 'certmarshal runbook request-denied',
  },
  AlreadyFailed: {
    verdict: 'ignore',
    meaning: 'The signer failed the request after its approval.',
    next: 'Read the message of its Failed condition; the kubelet asks again automatically.',
  },
  AlreadyIssued: { verdict: 'ignore', meaning: 'The certificate is issued.', next: '' },
  TooYoung: {
    verdict: 'ignore',
    meaning: 'The request is younger than the policy allows; on EKS its own approver has the first two minutes.',
    next: 'Wait: it is judged then.',
  },
  Orphaned: {
    verdict: 'ignore',
    meaning: 'The request is older than a kubelet waits (15 minutes): its private key is gone.',
    next: 'Nothing for this one; if a node has no newer request, check its kubelet.',
  },
  Superseded: {
    verdict: 'ignore',
    meaning: 'The same node has a newer pending request.',
    next: 'Explain the newer one.',
  },

  NoPolicySelected: {
    verdict: 'leave',
    meaning: 'No policy selects this signer, provider and cluster.',
    next: 'Add a policy that selects the cluster to fleet.yaml.',
  },
  ObjectMalformed: {
    verdict: 'leave',
    meaning: 'The object lacks a field that every API server sets, or the field has the wrong type.',
    next: 'Read the object with kubectl get csr NAME -o yaml.',
  },
  JudgeFailed: {
    verdict: 'leave',
    meaning: 'certmarshal itself failed on this request; the other requests are not affected.',
    next: 'Report it as a bug, with the message and the request.',
  },
  ClockSkew: {
    verdict: 'leave',
    meaning: 'The request was created more than 5 minutes in the future, by the clock of certmarshal.',
    next: 'Compare the clocks of the API server and of this machine.',
  },
  RequesterQuarantined: {
    verdict: 'leave',
    meaning: 'The requester has more pending requests than a kubelet can have.',
    next: 'Check the node; delete its pending requests when it stops.',
  },
  NodeNameInvalid: {
    verdict: 'leave',
    meaning: 'The username is system:node: followed by nothing, or by a name that Kubernetes accepts for no Node.',
    next: 'Correct the hostname, or find out which credential uses that name.',
  },
  GroupsMissing: {
    verdict: 'leave',
    meaning: 'The requester lacks the group system:nodes or system:authenticated.',
    next: 'On EKS check the access entry or aws-auth mapping of the node role.',
  },
  UsagesNotAllowed: {
    verdict: 'leave',
    meaning: 'The usages are not exactly digital signature and server auth, with or without key encipherment.',
    next: 'Find out what sends this: no kubelet does.',
  },
  ExpirationTooLong: {
    verdict: 'leave',
    meaning: 'The requested lifetime is longer than the policy allows.',
    next: 'Raise maxExpiration in the policy, or correct the requester.',
  },
  RequestMalformed: {
    verdict: 'leave',
    meaning: 'The PKCS#10 request is not strict PEM and DER, or has a part that no kubelet sends.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  SignatureInvalid: {
    verdict: 'leave',
    meaning: 'The request is not signed by its own key.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  KeyNotAllowed: {
    verdict: 'leave',
    meaning: 'The kind or size of the key is not allowed by the policy.',
    next: 'Allow it under keys in the policy, or reconfigure the kubelet.',
  },
  CommonNameMismatch: {
    verdict: 'leave',
    meaning: 'The common name is not the username of the requester.',
    next: 'Without --hostname-override at its kubelet, the node asks in the name of another: treat it as compromised.',
  },
  OrganizationMismatch: {
    verdict: 'leave',
    meaning: 'The organization is not exactly system:nodes, once.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  SubjectNotAllowed: {
    verdict: 'leave',
    meaning: 'The subject has attributes other than one CN and one O, or a string type that no kubelet uses.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  ExtensionNotAllowed: {
    verdict: 'leave',
    meaning: 'The request has an extension other than subjectAltName.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  SanMissing: {
    verdict: 'leave',
    meaning: 'The request has no DNS name and no IP address.',
    next: 'Check the addresses of the Node: kubectl get node NAME -o wide.',
  },
  SanKindNotAllowed: {
    verdict: 'leave',
    meaning: 'The request has a name that is neither a DNS name nor an IP address.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  SanWildcard: {
    verdict: 'leave',
    meaning: 'The request has a wildcard name.',
    next: 'Suspect the requester: no kubelet sends this.',
  },
  SanMalformed: {
    verdict: 'leave',
    meaning: 'The request has a DNS name that no Node can have, or that reads as an address.',
    next: 'Correct the hostname of the guest, or the domain in its DHCP options.',
  },
  SanReserved: {
    verdict: 'leave',
    meaning:
      'The request has a name that no node may have: API server, Service, domain of the cluster, loopback, link-local.',
    next: 'Such names are never approved: correct the hostname, or the address of the kubelet (--node-ip).',
  },
  SanNotOwned: {
    verdict: 'leave',
    meaning: 'A name is not proven: another node owns it, or no evidence shows it.',
    next: 'certmarshal runbook san-not-owned',
  },
  SanContested: {
    verdict: 'leave',
    meaning:
      'Another object has the name too: the object of another node, or a Machine or instance that is being deleted or has no node yet.',
    next: 'Remove the stale Machine or instance, or the duplicate address. If a Machine stays in deletion, check its finalizers, and delete its machine at the provider.',
  },
  EvidenceMissing: {
    verdict: 'leave',
    meaning: 'No live object of the policy’s sources is the node, or it has no addresses yet.',
    next: 'Cluster API: kubectl get machines.cluster.x-k8s.io -A -o wide shows whether its Machine has a nodeRef and addresses. EKS: check that the instance runs, and that its tags name this cluster and no other. For a node without either, as a virtual kubelet, let a policy trust node. Hybrid nodes: certmarshal runbook san-not-owned',
  },
  EvidenceAmbiguous: {
    verdict: 'leave',
    meaning: 'Several live Machines or instances claim to be the node.',
    next: 'Find out which is the node, and delete or correct the others.',
  },
  EvidenceUnreadable: {
    verdict: 'leave',
    meaning: 'A source of the policy could not be read or not believed, and the others do not prove every name.',
    next: 'The evidence says what failed; certmarshal doctor tries each right and says how to fix it.',
  },
  SignerDoesNotIssue: {
    verdict: 'leave',
    meaning:
      'Every name is proven, but the signer issues nothing that certmarshal approves: a sweep approves one request.',
    next: 'certmarshal runbook signer-does-not-issue',
  },

  ...RECOVERY_REASONS,
} as const satisfies Record<string, ReasonEntry>;

export type Reason = keyof typeof REASONS;
