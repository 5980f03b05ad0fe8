import { PROVIDERS, type Provider } from '../identifiers.ts';
import type { EvidenceSource } from '../tables/evidence-sources.ts';
import type { DecodedRequest } from '../x509/certificate-request.ts';
import type { Rule } from './rules/rules.ts';
import type { Check, Verdict } from './verdict.ts';

/** `observe` makes every decision and writes nothing to the cluster. */
export type Mode = 'enforce' | 'observe';

/** The signer of kubelet serving certificates. */
export const KUBELET_SERVING_SIGNER = 'kubernetes.io/kubelet-serving';

/** The signer of client certificates of kubelets, which are credentials of nodes. */
export const KUBELET_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';

export interface KeyPolicy {
  readonly ecdsaCurves: readonly ('P-256' | 'P-384' | 'P-521')[];
  /** Smallest RSA modulus in bits. */
  readonly rsaMinBits: number;
  readonly ed25519: boolean;
  readonly mlDsa: boolean;
}

/** The ages, in seconds, at which a request is judged: `min` inclusive, `max` inclusive. */
export interface AgeWindow {
  readonly minSeconds: number;
  readonly maxSeconds: number;
}

/** At which the age of a request does not matter. */
export const ANY_AGE: AgeWindow = { minSeconds: 0, maxSeconds: Number.POSITIVE_INFINITY };

/** What requests for another signer than that of serving certificates are judged by. */
export interface SignerRules {
  /** The only one: a policy without rules of its own never approves for it, and one with them for no other. */
  readonly signer: string;
  /** The node that a certificate would be for; undefined when the request names none. */
  readonly nodeOf: (decoded: DecodedRequest) => string | undefined;
  readonly rules: readonly [Rule, ...Rule[]];
  /** What the verdict says where all of them pass. */
  readonly approval: (checks: readonly Check[]) => Pick<Verdict, 'reason' | 'message'>;
}

/** A policy after defaults: everything it says is explicit. */
export interface ApprovalPolicy {
  readonly name: string;
  /** A request is the policy's business when signer, provider and cluster name all match. */
  readonly signers: readonly string[];
  readonly providers: readonly Provider[];
  /** Globs over the cluster name; `*` matches any run of characters. */
  readonly clusters: readonly string[];
  readonly evidence: readonly EvidenceSource[];
  /** Read only when `evidence` lists `patterns`. */
  readonly patterns: NamePatterns;
  readonly keys: KeyPolicy;
  /** Largest `spec.expirationSeconds`; a request without one gets the signer's own default. */
  readonly maxExpirationSeconds: number;
  readonly age: Readonly<Record<Provider, AgeWindow>>;
  readonly mode: Mode;
  /** What happens to a request that is provably hostile; everything else that fails is left. */
  readonly onHostile: 'leave' | 'deny';
}

/** A policy of fleet.yaml, or one of code that brings the rules of another signer. */
export interface EnginePolicy extends ApprovalPolicy {
  /** @default those for serving certificates */
  readonly signerRules?: SignerRules;
}

export interface NamePatterns {
  /** For example `10.0.0.0/16`. An address that another node shows is never proven by a CIDR. */
  readonly cidrs: readonly string[];
  /** For example `{node}.corp.example.com`: `{node}` stands for the node's name and is required. */
  readonly dnsNames: readonly string[];
}

/** The built-in policy: kubelet serving only, independent evidence only, never deny. */
export const DEFAULT_POLICY: ApprovalPolicy = {
  name: 'default',
  signers: [KUBELET_SERVING_SIGNER],
  providers: PROVIDERS,
  clusters: ['*'],
  evidence: ['machine', 'ec2'],
  patterns: { cidrs: [], dnsNames: [] },
  keys: { ecdsaCurves: ['P-256', 'P-384', 'P-521'], rsaMinBits: 2048, ed25519: true, mlDsa: true },
  maxExpirationSeconds: 366 * 86_400,
  // EKS approves its own kubelets within about a minute; a kubelet gives up on a request after 15 minutes.
  age: {
    eks: { minSeconds: 120, maxSeconds: 900 },
    'eks-anywhere': { minSeconds: 0, maxSeconds: 900 },
  },
  mode: 'enforce',
  onHostile: 'leave',
};
