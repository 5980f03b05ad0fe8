import { z } from 'zod';
import {
  type ApprovalPolicy,
  DEFAULT_POLICY,
  everywhere,
  KUBELET_CLIENT_SIGNER,
  KUBELET_SERVING_SIGNER,
} from '../../approval/policy.ts';
import { isFor } from '../../approval/selection.ts';
import { PROVIDERS, type Provider } from '../../identifiers.ts';
import { canonicalDnsName, isDnsName } from '../../names.ts';
import { EVIDENCE_SOURCE_IDS, type EvidenceSource, needsNodes } from '../../tables/evidence-sources.ts';
import { formatDuration } from '../duration.ts';
import { cidr, clusterGlob, duration, list, name, refusing, section, text, wrong } from '../values.ts';
import { distinctNames, few, type Written } from '../written.ts';
import type { Clusters } from './clusters.ts';
import type { ManagementClusters } from './management-clusters.ts';

/** A kubelet drops the key of a request after 15 minutes (client-go, certificate manager) and asks again with a new one. */
const MAX_WAIT_SECONDS = 15 * 60;
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
      description: 'DNS names derived from the node name. {node} stands for the name and must be a whole label.',
      examples: [['{node}.corp.example.com']],
    }),
});

const Keys = z.strictObject({
  ecdsaCurves: z
    .array(z.enum(['P-256', 'P-384', 'P-521']))
    .prefault([...DEFAULT_POLICY.keys.ecdsaCurves])
    .describe('Curves of ECDSA keys. A kubelet uses P-256.'),
  rsaMinBits: z
    .int({ abort: true })
    .min(2048, wrong('bits are too few for RSA; write 2048 or more'))
    .max(16_384, wrong('bits are more than any RSA key has; write 16384 or less'))
    .prefault(DEFAULT_POLICY.keys.rsaMinBits)
    .describe('Smallest RSA key, in bits.'),
  ed25519: z.boolean().prefault(DEFAULT_POLICY.keys.ed25519).describe('Whether Ed25519 keys are allowed.'),
  mlDsa: z.boolean().prefault(DEFAULT_POLICY.keys.mlDsa).describe('Whether ML-DSA keys are allowed.'),
});

const Age = z.strictObject({
  min: duration((seconds) =>
    seconds < MAX_WAIT_SECONDS
      ? undefined
      : 'leaves no time, because after 15m the kubelet has dropped the key; write less than 15m',
  )
    .optional()
    .describe(
      'A younger request is not judged yet. Default: 2m on eks, which approves its own kubelets within about a minute; 0s elsewhere.',
    ),
  max: duration((seconds) =>
    seconds <= MAX_WAIT_SECONDS
      ? undefined
      : 'is too long, because after 15m the kubelet has dropped the key; write 15m or less',
  )
    .optional()
    .describe('An older request is ignored as orphaned. Default and maximum: 15m.'),
});

/** An entry of `policies`: what is approved, by which evidence. */
const PolicyEntry = z
  .strictObject({
    name: name('policy').prefault(DEFAULT_POLICY.name).describe('Named in every approval, verdict and report.'),
    clusters: list(clusterGlob)
      .prefault([...DEFAULT_POLICY.clusters])
      .meta({
        description: 'Names of the clusters it applies to. * stands for any characters.',
        examples: [['*-prod']],
      }),
    providers: list(z.enum(PROVIDERS))
      .prefault([...DEFAULT_POLICY.providers])
      .describe('Providers of the clusters it applies to.'),
    signers: list(
      z.literal(KUBELET_SERVING_SIGNER, {
        error: ({ input }) =>
          input === KUBELET_CLIENT_SIGNER
            ? `${KUBELET_CLIENT_SIGNER} is not allowed: its certificates are the identity of a node, so one wrong approval lets an attacker act as that node; write ${KUBELET_SERVING_SIGNER}`
            : undefined,
      }),
    )
      .prefault([KUBELET_SERVING_SIGNER])
      .describe('Signers whose requests are judged. Only the one for kubelet serving certificates is supported.'),
    evidence: list(
      z.enum(EVIDENCE_SOURCE_IDS, {
        error: ({ input }) =>
          input === 'renewal'
            ? 'renewal is gone: the certificate that a node serves proves no name; write node, which trusts what kubelets report, or patterns'
            : undefined,
      }),
    )
      .prefault([...DEFAULT_POLICY.evidence])
      .describe(
        'Sources that may prove that a node owns a name. machine: its Cluster API Machine. ec2: its EC2 instance. node (opt-in): Node.status.addresses, which the kubelet reports about itself. hybrid (opt-in, together with ec2): the remote node networks that EKS names, for a node that is not an EC2 instance. patterns (opt-in): the patterns of this policy.',
      ),
    patterns: Patterns.optional().describe('Read only when evidence lists patterns.'),
    keys: Keys.prefault({}).describe('Keys that a request may have.'),
    maxExpiration: duration((seconds) =>
      seconds >= SHORTEST_EXPIRATION_SECONDS
        ? undefined
        : 'is under 10m, the shortest lifetime Kubernetes issues; write 10m or more',
    )
      .prefault(formatDuration(DEFAULT_POLICY.maxExpirationSeconds))
      .describe('Longest lifetime that a request may ask for. Without one, the signer decides.'),
    age: Age.prefault({}).describe('How old a request is when it is judged.'),
    mode: z
      .enum(['enforce', 'observe'])
      .optional()
      .describe('observe decides and writes nothing to the cluster. Default: observe on eks, enforce elsewhere.'),
    onHostile: z
      .enum(['leave', 'deny'])
      .prefault(DEFAULT_POLICY.onHostile)
      .describe(
        'What happens to a request that is provably hostile. A denied kubelet asks again every 32 seconds, one with a pending request four times an hour.',
      ),
  })
  .meta({ title: 'Policy' })
  .transform(
    ({ patterns, maxExpiration, age, mode, ...policy }): ApprovalPolicy => ({
      ...policy,
      patterns: { cidrs: patterns?.cidrs ?? [], dnsNames: patterns?.dnsNames ?? [] },
      maxExpirationSeconds: maxExpiration,
      mode: mode === undefined ? DEFAULT_POLICY.mode : everywhere(mode),
      age: { eks: ageOn('eks', age), 'eks-anywhere': ageOn('eks-anywhere', age) },
    }),
  );

/** `policies`: what is approved. */
export const Policies = section(
  z.array(PolicyEntry).transform((policies) => (policies.length === 0 ? [DEFAULT_POLICY] : policies)),
  [],
).describe(
  'A request is approved when any policy for its cluster finds every name proven. Without policies the built-in default applies.',
);

function ageOn(provider: Provider, { min, max }: z.output<typeof Age>) {
  const { minSeconds, maxSeconds } = DEFAULT_POLICY.age[provider];
  return { minSeconds: min ?? minSeconds, maxSeconds: max ?? maxSeconds };
}

type WrittenPolicy = Written<typeof PolicyEntry>;

/** @param clusters of every section that lists any */
export function policyRules(
  policies: Written<typeof Policies>,
  managementClusters: Written<typeof ManagementClusters>,
  clusters: Written<typeof Clusters>,
): void {
  // The author of an empty list wants nothing approved, but would get the built-in policy.
  if (policies.list?.length === 0)
    policies.refuse(
      'an empty list; remove it for the built-in policy, or write a policy with mode: observe to approve nothing',
    );
  distinctNames(policies.entries);
  // Discovered clusters report their Service CIDRs themselves.
  const withoutServices = [
    ...managementClusters.entries
      .filter((entry) => entry.at('serviceCidrs').isMissing)
      .flatMap((entry) => entry.at('name').valid ?? [])
      .map((own) => ({ name: own, provider: 'eks-anywhere' as const })),
    ...clusters.entries
      .filter((entry) => entry.at('serviceCidrs').isMissing)
      .flatMap((entry) => entry.pick('name', 'provider') ?? []),
  ];
  for (const policy of policies.entries) {
    usedPatterns(policy);
    hybridBesideEc2(policy);
    possibleAge(policy);
    // A node may claim the address of a Service, so these must be known.
    const listed = policy.at('evidence').entries.find(({ text: source = '' }) => needsNodes(source));
    const read = policy.pick('providers', 'clusters');
    const unknown = withoutServices.filter((cluster) => read !== undefined && isFor(read, cluster));
    if (unknown.length > 0)
      listed?.refuse(
        `trusts what a node reports about itself, which may be the address of a Service; write serviceCidrs at ${few(unknown.map((cluster) => cluster.name))}`,
      );
  }
}

function usedPatterns(policy: WrittenPolicy): void {
  const evidence = policy.at('evidence').list;
  const patterns = policy.at('patterns');
  if (evidence === undefined || (!patterns.isMissing && !patterns.isSection)) return;
  const listed = evidence.find(({ text: source }) => source === 'patterns');
  const isEmpty = [patterns.at('cidrs'), patterns.at('dnsNames')].every(
    (entries) => entries.isMissing || entries.list?.length === 0,
  );
  if (listed === undefined && patterns.isSection)
    patterns.refuse('never read, because evidence does not list patterns; add it there, or remove these');
  if (isEmpty)
    listed?.refuse(
      'patterns prove nothing, because there are none; write patterns.cidrs or patterns.dnsNames, or remove it',
    );
}

/** Only EC2 says which nodes are instances, and so not hybrid. */
function hybridBesideEc2(policy: WrittenPolicy): void {
  const written = (wanted: EvidenceSource) =>
    policy.at('evidence').entries.find(({ text: source }) => source === wanted);
  if (written('ec2') === undefined)
    written('hybrid')?.refuse('proves nothing alone, because only EC2 shows which nodes are hybrid nodes; add ec2');
}

/** No request fits an empty window, with the defaults of any provider of the policy. */
function possibleAge(policy: WrittenPolicy): void {
  const { providers = [], age = {} } = policy.pick('providers', 'age') ?? {};
  const provider = providers.find((each) => ageOn(each, age).minSeconds >= ageOn(each, age).maxSeconds);
  if (provider === undefined) return;
  const { minSeconds, maxSeconds } = ageOn(provider, age);
  const [min, max] = [formatDuration(minSeconds), formatDuration(maxSeconds)];
  const found =
    age.min === undefined
      ? `${max} is not above age.min, ${min} (the default on ${provider})`
      : `${min} is not below age.max, ${max}${age.max === undefined ? ' (the default)' : ''}`;
  policy.refuse(
    `${found}; no request could be judged, so write a wider window`,
    'age',
    age.min === undefined ? 'max' : 'min',
  );
}

const NODE = '{node}';

/** The problem of a DNS name pattern such as `{node}.corp.example.com`, or undefined. */
export function dnsPatternProblem(pattern: string): string | undefined {
  if (!pattern.includes(NODE))
    return `has no ${NODE}: any node could ask for a name that is tied to no node; write, for example, ${NODE}.corp.example.com`;
  // With `{node}0`, worker-1 could claim the name of worker-10.
  if (!pattern.split('.').every((label) => label === NODE || !label.includes(NODE)))
    return `has ${NODE} next to other characters of a label, so names of two nodes could collide; put a dot between`;
  // With a node called 10, `{node}.0.0.2` is an address.
  if (!isDnsName(canonicalDnsName(pattern.replaceAll(NODE, 'node'))) || /\.\d+\.?$/.test(pattern))
    return `is not a DNS name; around ${NODE} use labels of letters, digits and hyphens, for example ${NODE}.corp.example.com`;
  return undefined;
}
