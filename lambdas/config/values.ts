import { z } from 'zod';
import { isAuthenticatorUuid } from '../aws/token-server.ts';
import { MAX_NAMESPACES } from '../contracts/registry.ts';
import { CLUSTER_ID, CLUSTER_NAME, DEFAULT_NAMESPACE, MAX_CIDRS, NAMESPACE, SECRET_ARN } from '../identifiers.ts';
import { printable } from '../printable.ts';
import { cidrProblem } from './cidr.ts';
import { kindOf } from './describe-issue.ts';
import { DURATION, formatDuration, parseDuration } from './duration.ts';
import { DEFAULT_LANE } from './fleet.ts';

// Schemas of values shared by several sections of fleet.yaml, each with its error text.

/**
 * A section of the file. A section with only comments is null, and means its default.
 *
 * @param nothing the default
 */
export function section<S extends z.ZodType>(schema: S, nothing: z.input<S>) {
  return schema.nullish().transform((said): z.output<S> => said ?? schema.parse(nothing));
}

interface Said {
  readonly input?: unknown;
}

/** The text for a missing value, or one of another type. */
export function wanted(form: string) {
  return { error: ({ input }: Said) => (input === undefined ? `missing; ${form}` : `${form}, not ${kindOf(input)}`) };
}

/** @param problem the end of a sentence that begins with the value */
export function wrong(problem: string) {
  return { error: ({ input }: Said) => `${spoken(input)} ${problem}` };
}

export function whole(form: string) {
  return z.int({ ...wanted(form), abort: true });
}

/** A share between 0 and 1, both excluded. */
export function share(form: string) {
  return z.number(wanted(form)).gt(0, wanted(form)).lt(1, wanted(form));
}

/** @param what what to write, after "write" */
export function text(what: string): z.ZodString {
  return z.string(wanted(`write ${what}`));
}

/**
 * Rejects an invalid value.
 *
 * @param problem the end of a sentence that begins with the value, or undefined
 * @param say how the sentence names the value
 */
export function refusing<S extends z.ZodType<string | number>>(
  schema: S,
  problem: (value: z.output<S>) => string | undefined,
  say: (value: z.output<S>) => string = spoken,
): S {
  return schema.superRefine((value, context) => {
    const found = problem(value);
    if (found !== undefined) context.addIssue(`${say(value)} ${found}`);
  });
}

/** @param problem the end of a sentence that begins with the text */
export function matching(what: string, pattern: RegExp, problem: string) {
  return text(what).regex(pattern, wrong(problem));
}

/** One cluster: ids have no wildcards. */
export const oneCluster = matching(
  'the id of a cluster, as the report page shows it',
  CLUSTER_ID,
  'is not the id of a cluster; write one cluster, as the report page shows it, without "*"',
);

const DURATION_FORM = 'a whole number and a unit, for example 90s, 15m, 2h or 366d';

/** Seconds, written as a duration. */
export function duration(problem: (seconds: number) => string | undefined = () => undefined) {
  const seconds = matching(DURATION_FORM, DURATION, `is not a duration; write ${DURATION_FORM}`).transform(
    (value) => parseDuration(value) ?? 0,
  );
  return refusing(seconds, problem, formatDuration);
}

function spoken(value: unknown): string {
  return typeof value === 'string' ? `"${printable(value, 100)}"` : String(value);
}

export function list<S extends z.ZodType>(items: S) {
  return z.array(items).min(1);
}

/** @param problem for a list with duplicates */
export function distinct<S extends z.ZodArray>(items: S, problem: string): S {
  return items.refine((all) => new Set(all).size === all.length, { error: `${problem}; keep one of the two` });
}

const NAME_FORM = 'use at most 100 letters, digits, "-", "_" and ".", and start with a letter or digit';

export function name(what: string) {
  return matching(`the name of the ${what}`, CLUSTER_NAME, `cannot name a ${what}; ${NAME_FORM}`);
}

/** Characters as in a name: ids of discovered clusters have slashes, so they never collide. */
export const clusterId = matching('an id of the cluster', CLUSTER_NAME, `cannot be the id of a cluster; ${NAME_FORM}`);

const SECRET_FORM =
  'write the complete ARN of a Secrets Manager secret, as "aws secretsmanager describe-secret" prints it, with the six characters at its end';

const STORE = 'store it with certmarshal credentials create --store secretsmanager:NAME --yes';

/** The value is never printed: a kubeconfig pasted here by mistake must not appear in a log. */
export const secretArn = requiredSecretArn('');

/** @param otherwise what to do without a secret, after the text for a missing one */
export function requiredSecretArn(otherwise: string) {
  return z
    .string({ error: ({ input }) => (input === undefined ? `missing; ${SECRET_FORM}${otherwise}` : notASecret(input)) })
    .regex(SECRET_ARN, { error: ({ input }) => notASecret(input) });
}

/** Chosen by its shape. */
function notASecret(value: unknown): string {
  if (typeof value === 'object' && value !== null) return `this is a section, maybe the kubeconfig itself; ${PASTED}`;
  const written = String(value);
  if (/^\s*(?:apiVersion|clusters|kind)\b/m.test(written)) return `this is a kubeconfig; ${PASTED}`;
  if (/^arn:[a-z-]+:eks:/.test(written))
    return 'this is the ARN of an EKS cluster, which needs no secret; list its account and Region under discovery';
  if (/^[~./]|\.(?:ya?ml|json|kubeconfig)$|kubeconfig$/.test(written))
    return `this is a file, which the functions do not have; ${STORE}`;
  return SECRET_FORM;
}

const PASTED = `anyone who sees this file has its credentials, so revoke them, make new ones, and ${STORE}`;

export const cidr = refusing(text('a CIDR, for example 10.0.0.0/16'), cidrProblem);

export const serviceCidrs = list(cidr)
  .max(MAX_CIDRS)
  .exactOptional()
  .meta({
    description: 'Service CIDRs of the cluster. Their addresses are never approved for a node.',
    examples: [['10.96.0.0/12']],
  });

export const namespace = matching(
  'the name of a namespace',
  NAMESPACE,
  'cannot name a namespace; use at most 63 lowercase letters, digits and "-", and start and end with a letter or digit',
);

/** Namespace of the Cluster of one cluster, and of all its Cluster API objects. */
export const clusterNamespace = namespace.prefault(DEFAULT_NAMESPACE).meta({
  description:
    'Namespace of the Cluster object of Cluster API, its Machines and its Secrets, in the management cluster. Objects in other namespaces do not count for this cluster. Default: eksa-system, where EKS Anywhere keeps them.',
  examples: ['eksa-system'],
});

export const eksAnywhereNamespace = namespace.exactOptional().meta({
  description:
    'Namespace of the Cluster of EKS Anywhere (clusters.anywhere.eks.amazonaws.com) of this cluster, on the management cluster: its annotations count for rollouts. Write it if others may create such Clusters. Default: the only one with its name; with two, neither opt-in counts.',
  examples: ['default'],
});

/** Each once: a duplicate namespace would show every Cluster twice. */
export const namespaces = distinct(list(namespace).max(MAX_NAMESPACES), 'a namespace appears twice');

/** At most four `*`: matching takes more steps with each. */
export const clusterGlob = matching(
  'a cluster name, in which * stands for any characters',
  /^(?=.{1,100}$)[A-Za-z0-9._-]*(?:\*[A-Za-z0-9._-]*){0,4}$/,
  'is not a pattern of cluster names; use letters, digits, "-", "_", "." and at most four "*", which stands for any characters',
);

/** For ids too, which have slashes for discovered clusters. */
export const fleetGlob = matching(
  'the name or the id of a cluster, in which * stands for any characters',
  /^(?=.{1,200}$)[A-Za-z0-9._/:-]*(?:\*[A-Za-z0-9._/:-]*){0,4}$/,
  'is not a pattern of cluster names or ids; use letters, digits, any of - _ . / : and at most four "*", which stands for any characters',
);

/** The name of a lane; a rule of the file checks its existence. */
export const laneName = text('the name of a lane');

export const laneOfCluster = laneName
  .prefault(DEFAULT_LANE)
  .describe('Lane from which it is swept. Default: the built-in one outside of every VPC.');

const NO_UUID =
  'is not a UUID, as EKS Anywhere creates it; write the clusterID of ConfigMap kube-system/aws-iam-authenticator';

/** The problem of an aws-iam-authenticator id of EKS Anywhere, or undefined. */
export function authenticatorIdProblem(id: string): string | undefined {
  return isAuthenticatorUuid(id) ? undefined : NO_UUID;
}

/** Opt-ins of the audit of a cluster that need further rights. */
export const auditOptIns = {
  auditSecrets: z
    .boolean()
    .exactOptional()
    .describe(
      'Audit the certificates in TLS Secrets too, and in the Secrets that Cluster API keeps. Needs the right to read Secrets, which certmarshal rbac --audit-secrets prints; private keys are never kept, logged or sent. Default: false.',
    ),
  kubeletMetrics: z
    .boolean()
    .exactOptional()
    .describe(
      'Read the metrics of every kubelet through the API server: they show when its certificates expire and whether their renewal works. Needs the right to nodes/metrics and nodes/proxy. Default: false.',
    ),
};
