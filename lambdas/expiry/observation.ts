import type { SourceId } from '../tables/audit-sources.ts';
import type { CertificateClass } from '../tables/certificate-classes.ts';

/** So many certificates of a class with `severalAtAPlace` at one place: the newest, and those that end first. */
export const REMEMBERED_OF_ONE_PLACE = 16;

/**
 * How the end of a certificate is known, the best first: the certificate itself was read; something whose business it is says so; somebody wrote
 * it down once; it follows from the age of a machine.
 */
export const BASES = ['certificate', 'status', 'annotation', 'inference'] as const;
export type Basis = (typeof BASES)[number];

/**
 * One thing that one source said at one time. Plain data; all times RFC 3339 in UTC, all text printable and bounded.
 * A list of these, in any order, is all that an assessment knows.
 */
export type Observation =
  | CertificateObservation
  | MemberObservation
  | GroupObservation
  | RequestsObservation
  | AuthorityObservation
  | RenewalObservation
  | ClockObservation
  | ReadObservation
  | UnreadObservation
  | OffObservation;

interface Observed {
  readonly source: SourceId;
  readonly observedAt: string;
}

/** One certificate seen at one place, or what somebody says of it. */
export interface CertificateObservation extends Observed {
  readonly kind: 'certificate';
  readonly what: CertificateClass;
  /**
   * The place, unique in the cluster with `what` and `position`: `10.0.1.31:2379`, `Secret eksa-system/berlin-ca tls.crt`,
   * `Machine eksa-system/berlin-x7k2`.
   */
  readonly where: string;
  /** In what the place shows: 0 is the leaf of a chain, or the first certificate of a bundle. @default 0 */
  readonly position?: number;
  /** Name of the member (Node or Machine) whose certificate it is, where it is one's. */
  readonly member?: string;
  readonly basis: Basis;
  /** Absent where only an end is told. */
  readonly notBefore?: string;
  readonly notAfter: string;
  /** The end is only known to this; whole days for EKS Anywhere. Milliseconds. @default 0 */
  readonly precisionMs?: number;
  /** The rest is known only when the certificate itself was read. Names as RFC 4514 writes them. */
  readonly subject?: string;
  readonly issuer?: string;
  readonly commonName?: string;
  readonly serialNumber?: string;
  /** SHA-256 of the DER, 64 lowercase hexadecimal digits. */
  readonly fingerprint?: string;
  readonly isAuthority?: boolean;
  /** `P-256`, `RSA-2048`, `Ed25519`, …; for people. */
  readonly key?: string;
  /** Where key or signature is too weak to be trusted: why. */
  readonly weakKey?: string;
  readonly weakSignature?: string;
  /** Key identifiers, lowercase hexadecimal. */
  readonly subjectKeyId?: string;
  readonly authorityKeyId?: string;
  /** Whether the signature was made by an authority that this cluster shows elsewhere; absent where that cannot be told. */
  readonly issuedByCluster?: boolean;
  /** Whether the server proved in a handshake that it has the key; absent where that cannot be told, as of a server that hangs up without a client certificate. */
  readonly keyProven?: boolean;
  /** It is self-signed, and the cluster had issued the one that the same kubelet showed before. */
  readonly issuedBefore?: true;
  /** What renews it, for people. */
  readonly renewedBy?: string;
}

export type MemberRole = 'control-plane' | 'etcd' | 'worker' | 'node-group';

/** A machine, Node or node group that exists, and so has certificates. */
export interface MemberObservation extends Observed {
  readonly kind: 'member';
  /** A Node and its Machine are two members of one `node`. */
  readonly role: MemberRole;
  /** `Machine eksa-system/berlin-x7k2`, `Node worker-3`, `node group blue`. */
  readonly name: string;
  /** Name of its Node, where it has one. */
  readonly node?: string;
  readonly createdAt: string;
  /** IP addresses, the one to use first. Empty where none is known. */
  readonly addresses: readonly string[];
  /** One of its addresses is an ExternalIP, which is all that EKS Anywhere dials. */
  readonly externalIp?: true;
  /** What the machine is managed by, where that renews certificates by itself (EKS Auto Mode, Fargate, Bottlerocket, hybrid). */
  readonly kindOfNode?: 'fargate' | 'auto-mode' | 'hybrid';
}

/** How many members of a role there should be, as whoever makes them says: a KubeadmControlPlane, an EtcdadmCluster. */
export interface GroupObservation extends Observed {
  readonly kind: 'group';
  readonly role: MemberRole;
  /** `KubeadmControlPlane eksa-system/berlin`. */
  readonly name: string;
  readonly wanted: number;
  /** It replaces members so many days before their certificates end. */
  readonly rolloutBeforeDays?: number;
  /** It does nothing until somebody lets it. */
  readonly paused?: true;
}

export type RequestState = 'pending' | 'approved' | 'issued' | 'failed' | 'denied';

/** CertificateSigningRequests of one requester and signer in one state, counted: one cluster had half a million of them. */
export interface RequestsObservation extends Observed {
  readonly kind: 'requests';
  readonly signer: string;
  /** `spec.username`; `*` for all further requesters together. */
  readonly requester: string;
  readonly state: RequestState;
  readonly count: number;
  /** Of these, created in the last hour. */
  readonly lastHour: number;
  readonly oldestAt: string;
  readonly newestAt: string;
  /** Names of some, the newest first. */
  readonly examples: readonly string[];
  /** Of the newest one: what its Failed or Denied condition says. */
  readonly message?: string;
}

/** A certificate authority of an EKS cluster, beside the certificate itself. Source: EKS API reference, CertificateAuthority. */
export interface AuthorityObservation extends Observed {
  readonly kind: 'authority';
  readonly id: string;
  readonly createdAt: string;
  readonly notAfter?: string;
  readonly signingStatus: 'NOT_USED' | 'ACTIVATING' | 'IN_USE';
  readonly distributionStatus: 'IN_PROGRESS' | 'COMPLETE' | 'FAILED' | 'DELETING';
  readonly firstAutoActivation?: string;
  readonly finalAutoActivation?: string;
}

/** What a kubelet's own metrics say of its renewals. */
export interface RenewalObservation extends Observed {
  readonly kind: 'renewal';
  readonly what: 'kubelet-serving' | 'kubelet-client';
  readonly node: string;
  /** Renewals that failed since the kubelet started. */
  readonly errors: number;
  /** It says that it has no valid certificate (+Inf). */
  readonly none: boolean;
}

/** How far the clock of an API server is from ours. */
export interface ClockObservation extends Observed {
  readonly kind: 'clock';
  readonly server: string;
  /** At least; negative when it is behind. */
  readonly skewMs: number;
}

/** A source was read to its end: what it did not say now is not there. */
export interface ReadObservation extends Observed {
  readonly kind: 'read';
  /** Objects looked at. */
  readonly count: number;
}

/** A source, or one place of it, could not be read: what it said before still holds. */
export interface UnreadObservation extends Observed {
  readonly kind: 'unread';
  /** The place; absent when the whole source could not be read. */
  readonly where?: string;
  /** Other addresses of the same server, where it did not answer either. */
  readonly alsoTried?: readonly string[];
  /** What is at the place. */
  readonly what?: CertificateClass;
  readonly member?: string;
  /** Of the problem: `forbidden`, `timeout`, `refused`, `unreachable`, `malformed`, `too-large`, … */
  readonly problem: string;
  readonly message: string;
  readonly remedy: string;
  /** Many clusters do not show it, so it is told only where it was seen before: kubeadm lets the scheduler listen on loopback, and a Secret need not be there. */
  readonly usual?: true;
}

/** A source that is not looked at, on purpose. */
export interface OffObservation extends Observed {
  readonly kind: 'off';
  /** `not opted in`, `lane default does not reach machines`, … */
  readonly why: string;
}
