import { PROVIDERS, type Provider } from '../identifiers.ts';
import type { EvidenceSource } from '../tables/evidence-sources.ts';
import type { DecodedRequest } from '../x509/certificate-request.ts';
import type { Rule } from './rules/rules.ts';
import type { Check, Verdict } from './verdict.ts';

/** `observe` makes every decision and writes nothing to the cluster. */
export type Mode = 'enforce' | 'observe';

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

/** Accepts requests of any age. */
export const ANY_AGE: AgeWindow = { minSeconds: 0, maxSeconds: Number.POSITIVE_INFINITY };

/** The rules for requests to another signer than that of serving certificates. */
export interface SignerRules {
  /**
   * The only signer of these rules: a policy without them never approves for it, and a policy with them for no other.
   */
  readonly signer: string;
  /** The node of the requested certificate; undefined if the request names none. */
  readonly nodeOf: (decoded: DecodedRequest) => string | undefined;
  readonly rules: readonly [Rule, ...Rule[]];
  /** Reason and facts of the verdict if all rules pass. */
  readonly approval: (checks: readonly Check[]) => Pick<Verdict, 'reason' | 'facts'>;
}

/** A policy with all defaults filled in. */
export interface ApprovalPolicy {
  readonly name: string;
  /** A policy selects a request if signer, provider and cluster name all match. */
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
  readonly mode: Readonly<Record<Provider, Mode>>;
  /** The verdict on a provably hostile request; every other request that fails stays pending. */
  readonly onHostile: 'leave' | 'deny';
}

/** A policy of fleet.yaml, or a built-in one with the rules of another signer. */
export interface EnginePolicy extends ApprovalPolicy {
  /** @default the rules for serving certificates */
  readonly signerRules?: SignerRules;
}

export interface NamePatterns {
  /** For example `10.0.0.0/16`. An address that another node shows is never proven by a CIDR. */
  readonly cidrs: readonly string[];
  /** For example `{node}.corp.example.com`: `{node}` is replaced by the node's name and is required. */
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
  // Whether EKS issues a certificate that it did not approve itself is not known.
  mode: { eks: 'observe', 'eks-anywhere': 'enforce' },
  onHostile: 'leave',
};

export function everywhere(mode: Mode): ApprovalPolicy['mode'] {
  return { eks: mode, 'eks-anywhere': mode };
}

/** `observe on eks, enforce on eks-anywhere` */
export function modeWords({ mode, providers }: ApprovalPolicy): string {
  return providers.map((provider) => `${mode[provider]} on ${provider}`).join(', ');
}
