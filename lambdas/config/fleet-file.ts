import { z } from 'zod';
import { DEFAULT_POLICY, EVIDENCE_SOURCES, KUBELET_SERVING_SIGNER, PROVIDERS } from '../approval/policy.ts';
import { CLUSTER_NAME, MAX_SERVICE_CIDRS, SECRET_ARN } from '../fleet/target.ts';
import { printable } from '../printable.ts';
import { cidrProblem } from './cidr.ts';
import { kindOf } from './describe-issue.ts';
import { dnsPatternProblem } from './dns-pattern.ts';
import { DURATION, formatDuration, parseDuration } from './duration.ts';

// The shape of fleet.yaml and every rule about a single value. Rules about several values are in file-rules.ts, the wording of
// type errors, misspelled words and missing or unknown keys in describe-issue.ts.

const CLIENT_KUBELET_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';

/** A kubelet drops the key of a request after 15 minutes (client-go, certificate manager) and asks again with a new one. */
const LONGEST_WAIT_SECONDS = 15 * 60;
/** The shortest `spec.expirationSeconds` that kube-apiserver accepts (certificates.k8s.io/v1). */
const SHORTEST_EXPIRATION_SECONDS = 10 * 60;

type Refusal = (value: string) => string | undefined;

function text(what: string): z.ZodString {
  return z.string({
    error: ({ input }) => (input === undefined ? `missing; write ${what}` : `write ${what}, not ${kindOf(input)}`),
  });
}

function refusing<S extends z.ZodType<string>>(schema: S, problem: Refusal): S {
  return schema.refine((value) => problem(value) === undefined, {
    error: ({ input }) => `${quote(input)} ${problem(String(input))}`,
  });
}

function quote(value: unknown): string {
  return `"${printable(String(value), 100)}"`;
}

const DURATION_FORM = 'a whole number and a unit, for example 90s, 15m, 2h or 366d';

/** Seconds, written as a duration. */
function duration() {
  return text(DURATION_FORM)
    .regex(DURATION, { error: ({ input }) => `${quote(input)} is not a duration; write ${DURATION_FORM}` })
    .transform((value) => parseDuration(value) ?? 0);
}

function name(what: string) {
  return text(`the name of the ${what}`).regex(CLUSTER_NAME, {
    error: ({ input }) =>
      `${quote(input)} cannot name a ${what}; use at most 100 letters, digits, "-", "_" and ".", and start with a letter or digit`,
  });
}

const SECRET_FORM =
  'write the complete ARN of a Secrets Manager secret, as "aws secretsmanager describe-secret" prints it, with the six characters at its end';

// The value is never shown: whoever pastes the kubeconfig itself here must not find it in a log.
const secretArn = z
  .string({ error: ({ input }) => (input === undefined ? `missing; ${SECRET_FORM}` : SECRET_FORM) })
  .regex(SECRET_ARN, { error: SECRET_FORM });

const cidr = refusing(text('a CIDR, for example 10.0.0.0/16'), cidrProblem);

function list<S extends z.ZodType>(items: S) {
  return z.array(items).min(1);
}

// `*` may stand four times: matching takes more steps with each.
const clusterGlob = text('a cluster name, in which * stands for any characters').regex(
  /^(?=.{1,100}$)[A-Za-z0-9._-]*(?:\*[A-Za-z0-9._-]*){0,4}$/,
  {
    error: ({ input }) =>
      `${quote(input)} is not a pattern of cluster names; use letters, digits, "-", "_", "." and at most four "*", which stands for any characters`,
  },
);

export const ClusterEntry = z
  .strictObject({
    name: name('cluster').meta({
      description:
        'The name that EKS, EKS Anywhere or Cluster API knows the cluster by. EC2 tags are compared with it.',
    }),
    provider: z.enum(PROVIDERS).meta({ description: 'How the cluster is run.' }),
    kubeconfigSecret: secretArn.meta({
      description: 'Complete ARN of the Secrets Manager secret that holds a kubeconfig of the cluster.',
      examples: ['arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-prod-Ab12Cd'],
    }),
    managementKubeconfigSecret: secretArn.optional().meta({
      description:
        'Complete ARN of the secret with a kubeconfig of the management cluster, where the Cluster API Machines of this cluster are. Without it an EKS Anywhere cluster is its own management cluster, and an EKS cluster has none.',
    }),
    serviceCidrs: list(cidr)
      .max(MAX_SERVICE_CIDRS)
      .optional()
      .meta({
        description:
          'Service CIDRs of the cluster. Their addresses are never approved for a node, whatever the evidence says.',
        examples: [['10.96.0.0/12']],
      }),
  })
  .meta({ title: 'Cluster' });

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
    evidence: list(z.enum(EVIDENCE_SOURCES))
      .prefault([...DEFAULT_POLICY.evidence])
      .meta({
        description:
          'Who may prove that a node owns a name. machine: its Cluster API Machine. ec2: its EC2 instance. node (opt-in): Node.status.addresses, which the kubelet writes about itself. patterns (opt-in): the patterns of this policy.',
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

/** `fleet.yaml`, version 1. */
export const FleetFile = z
  .strictObject(
    {
      version: z.literal(1).meta({ description: 'Version of this format.' }),
      // A key with nothing but comments below it is null.
      clusters: z.array(ClusterEntry).nullish().meta({ description: 'The clusters of the fleet.' }),
      policies: z.array(PolicyEntry).nullish().meta({
        description:
          'A request is approved when any policy that is for its cluster finds every name proven. Without policies the built-in default applies.',
      }),
    },
    {
      error: ({ code, input }) =>
        code === 'invalid_type'
          ? `${input === null ? 'the file is empty' : `the file is ${kindOf(input)}`}; begin it with "version: 1"`
          : undefined,
    },
  )
  .meta({ title: 'certmarshal fleet', description: 'The clusters of a fleet, and what is approved in them.' });
