import { z } from 'zod';
import { DEFAULT_POLICY, KUBELET_SERVING_SIGNER } from '../approval/policy.ts';
import { PROVIDERS } from '../identifiers.ts';
import { EVIDENCE_SOURCE_IDS } from '../tables/evidence-sources.ts';
import { dnsPatternProblem } from './dns-pattern.ts';
import { formatDuration } from './duration.ts';
import { cidr, clusterGlob, duration, list, name, refusing, text } from './values.ts';

const CLIENT_KUBELET_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';

/** A kubelet drops the key of a request after 15 minutes (client-go, certificate manager) and asks again with a new one. */
const LONGEST_WAIT_SECONDS = 15 * 60;
/** The shortest `spec.expirationSeconds` that kube-apiserver accepts (certificates.k8s.io/v1). */
const SHORTEST_EXPIRATION_SECONDS = 10 * 60;

const Patterns = z.strictObject({
  cidrs: z
    .array(cidr)
    .optional()
    .meta({
      description:
        'Networks of your nodes. An address inside counts as proven only when the requesting node shows it and no other node does.',
      examples: [['10.0.0.0/16']],
    }),
  dnsNames: z
    .array(refusing(text('a DNS name with {node}, for example {node}.corp.example.com'), dnsPatternProblem))
    .optional()
    .meta({
      description:
        'DNS names that follow from the name of the node. {node} stands for it and must be a label of its own.',
      examples: [['{node}.corp.example.com']],
    }),
});

const Keys = z.strictObject({
  ecdsaCurves: z
    .array(z.enum(['P-256', 'P-384', 'P-521']))
    .prefault([...DEFAULT_POLICY.keys.ecdsaCurves])
    .meta({ description: 'Curves of ECDSA keys. A kubelet uses P-256.' }),
  rsaMinBits: z
    .int({ abort: true })
    .min(2048, { error: ({ input }) => `${String(input)} bits are too few for RSA; write 2048 or more` })
    .max(16_384, { error: ({ input }) => `${String(input)} bits are more than any RSA key has; write 16384 or less` })
    .prefault(DEFAULT_POLICY.keys.rsaMinBits)
    .meta({ description: 'Smallest RSA key, in bits.' }),
  ed25519: z.boolean().prefault(DEFAULT_POLICY.keys.ed25519).meta({ description: 'Whether Ed25519 keys are allowed.' }),
  mlDsa: z.boolean().prefault(DEFAULT_POLICY.keys.mlDsa).meta({ description: 'Whether ML-DSA keys are allowed.' }),
});

const Age = z.strictObject({
  min: duration()
    .refine((seconds) => seconds < LONGEST_WAIT_SECONDS, {
      error: ({ input }) =>
        `${formatDuration(Number(input))} leaves no time, because after 15m the kubelet has dropped the key; write less than 15m`,
    })
    .optional()
    .meta({
      description:
        'A younger request is left alone for now. Default: 2m on eks, which approves its own kubelets within about a minute; 0s elsewhere.',
    }),
  max: duration()
    .refine((seconds) => seconds <= LONGEST_WAIT_SECONDS, {
      error: ({ input }) =>
        `${formatDuration(Number(input))} is too long, because after 15m the kubelet has dropped the key; write 15m or less`,
    })
    .optional()
    .meta({ description: 'An older request is ignored as orphaned. Default and most: 15m.' }),
});

/** An entry of `policies`: what is approved, on whose word. */
export const PolicyEntry = z
  .strictObject({
    name: name('policy')
      .prefault(DEFAULT_POLICY.name)
      .meta({ description: 'Named in every approval, verdict and report.' }),
    clusters: list(clusterGlob)
      .prefault([...DEFAULT_POLICY.clusters])
      .meta({ description: 'Names of the clusters it is for. * stands for any characters.', examples: [['*-prod']] }),
    providers: list(z.enum(PROVIDERS))
      .prefault([...DEFAULT_POLICY.providers])
      .meta({ description: 'Providers of the clusters it is for.' }),
    signers: list(
      z.literal(KUBELET_SERVING_SIGNER, {
        error: ({ input }) =>
          input === CLIENT_KUBELET_SIGNER
            ? `${CLIENT_KUBELET_SIGNER} is refused: its certificates are the identity of a node, so one wrong approval lets a stranger be that node; write ${KUBELET_SERVING_SIGNER}`
            : undefined,
      }),
    )
      .prefault([KUBELET_SERVING_SIGNER])
      .meta({
        description: 'Signers whose requests are judged. Only the one for kubelet serving certificates is supported.',
      }),
    evidence: list(z.enum(EVIDENCE_SOURCE_IDS))
      .prefault([...DEFAULT_POLICY.evidence])
      .meta({
        description:
          'Who may prove that a node owns a name. machine: its Cluster API Machine. ec2: its EC2 instance. node (opt-in): Node.status.addresses, which the kubelet writes about itself. renewal (opt-in): the certificate that the node serves now, for a request of exactly its names; needs a lane that reaches port 10250. patterns (opt-in): the patterns of this policy.',
      }),
    patterns: Patterns.optional().meta({ description: 'Read only when evidence lists patterns.' }),
    keys: Keys.prefault({}).meta({ description: 'Keys that a request may have.' }),
    maxExpiration: duration()
      .refine((seconds) => seconds >= SHORTEST_EXPIRATION_SECONDS, {
        error: ({ input }) =>
          `${formatDuration(Number(input))} is under 10m, the shortest lifetime Kubernetes issues; write 10m or more`,
      })
      .prefault(formatDuration(DEFAULT_POLICY.maxExpirationSeconds))
      .meta({
        description: 'Longest lifetime that a request may ask for; one that asks for none gets what the signer gives.',
      }),
    age: Age.prefault({}).meta({ description: 'How old a request is when it is judged.' }),
    mode: z
      .enum(['enforce', 'observe'])
      .prefault(DEFAULT_POLICY.mode)
      .meta({ description: 'observe makes every decision and writes nothing to the cluster.' }),
    onHostile: z.enum(['leave', 'deny']).prefault(DEFAULT_POLICY.onHostile).meta({
      description:
        'What happens to a request that is provably hostile. A denied kubelet asks again every 32 seconds, an undecided one four times an hour.',
    }),
  })
  .meta({ title: 'Policy' });
