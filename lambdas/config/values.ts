import { z } from 'zod';
import { MAX_NAMESPACES } from '../contracts/registry.ts';
import { CLUSTER_NAME, DEFAULT_NAMESPACE, MAX_SERVICE_CIDRS, NAMESPACE, SECRET_ARN } from '../identifiers.ts';
import { printable } from '../printable.ts';
import { cidrProblem } from './cidr.ts';
import { kindOf } from './describe-issue.ts';
import { DURATION, parseDuration } from './duration.ts';

// Schemas of single values that more than one section of fleet.yaml has, each with the sentence for what is wrong.

/** What is wrong with a text, as the end of a sentence that begins with the text; or undefined. */
type Refusal = (value: string) => string | undefined;

/** @param what what to write, after "write" */
export function text(what: string): z.ZodString {
  return z.string({
    error: ({ input }) => (input === undefined ? `missing; write ${what}` : `write ${what}, not ${kindOf(input)}`),
  });
}

export function refusing<S extends z.ZodType<string>>(schema: S, problem: Refusal): S {
  return schema.refine((value) => problem(value) === undefined, {
    error: ({ input }) => `${quote(input)} ${problem(String(input))}`,
  });
}

/** @param problem the end of a sentence that begins with the text */
export function matching(what: string, pattern: RegExp, problem: string) {
  return text(what).regex(pattern, { error: ({ input }) => `${quote(input)} ${problem}` });
}

const DURATION_FORM = 'a whole number and a unit, for example 90s, 15m, 2h or 366d';

/** Seconds, written as a duration. */
export function duration() {
  return matching(DURATION_FORM, DURATION, `is not a duration; write ${DURATION_FORM}`).transform(
    (value) => parseDuration(value) ?? 0,
  );
}

export function quote(value: unknown): string {
  return `"${printable(String(value), 100)}"`;
}

export function list<S extends z.ZodType>(items: S) {
  return z.array(items).min(1);
}

const NAME_FORM = 'use at most 100 letters, digits, "-", "_" and ".", and start with a letter or digit';

export function name(what: string) {
  return matching(`the name of the ${what}`, CLUSTER_NAME, `cannot name a ${what}; ${NAME_FORM}`);
}

/** The same characters as those of a name: ids of clusters that are found have slashes, so they never collide. */
export const clusterId = matching('an id of the cluster', CLUSTER_NAME, `cannot be the id of a cluster; ${NAME_FORM}`);

const SECRET_FORM =
  'write the complete ARN of a Secrets Manager secret, as "aws secretsmanager describe-secret" prints it, with the six characters at its end';

const STORE = 'store it with certmarshal credentials create --store secretsmanager:NAME';

/** The value is never shown: whoever pastes the kubeconfig itself here must not find it in a log. */
export const secretArn = z
  .string({ error: ({ input }) => (input === undefined ? `missing; ${SECRET_FORM}` : notASecret(input)) })
  .regex(SECRET_ARN, { error: ({ input }) => notASecret(input) });

/** By what it looks like. */
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

const PASTED = `whoever sees this file has its credentials, so revoke them, make new ones, and ${STORE}`;

export const cidr = refusing(text('a CIDR, for example 10.0.0.0/16'), cidrProblem);

export const serviceCidrs = list(cidr).max(MAX_SERVICE_CIDRS);

export const namespace = matching(
  'the name of a namespace',
  NAMESPACE,
  'cannot name a namespace; use at most 63 lowercase letters, digits and "-", and start and end with a letter or digit',
);

/** Of the Cluster object of one cluster, and of all that Cluster API has for it. */
export const clusterNamespace = namespace.prefault(DEFAULT_NAMESPACE).meta({
  description:
    'Namespace of the Cluster object of Cluster API, its Machines and its Secrets, in the management cluster. What is in another namespace says nothing of this cluster. Default: eksa-system, where EKS Anywhere keeps them.',
  examples: ['eksa-system'],
});

/** Each once: two Clusters of one name would be one that is seen twice. */
export const namespaces = list(namespace)
  .max(MAX_NAMESPACES)
  .refine((all) => new Set(all).size === all.length, { error: 'a namespace is there twice; keep one of the two' });

/** `*` may stand four times: matching takes more steps with each. */
export const clusterGlob = matching(
  'a cluster name, in which * stands for any characters',
  /^(?=.{1,100}$)[A-Za-z0-9._-]*(?:\*[A-Za-z0-9._-]*){0,4}$/,
  'is not a pattern of cluster names; use letters, digits, "-", "_", "." and at most four "*", which stands for any characters',
);

/** Over ids too, which have slashes where a cluster was found. */
export const fleetGlob = matching(
  'the name or the id of a cluster, in which * stands for any characters',
  /^(?=.{1,200}$)[A-Za-z0-9._/:-]*(?:\*[A-Za-z0-9._/:-]*){0,4}$/,
  'is not a pattern of cluster names or ids; use letters, digits, any of - _ . / : and at most four "*", which stands for any characters',
);

/** The name of a lane; that there is one is a rule of the file. */
export const laneName = text('the name of a lane');

/** How far the audit of a cluster goes beyond what needs no further rights. */
export const auditOptIns = {
  auditSecrets: z.boolean().exactOptional().meta({
    description:
      'Audit the certificates in TLS Secrets too, and in the Secrets that Cluster API keeps. Needs the right to read Secrets, which certmarshal rbac --audit-secrets prints; no key leaves the decoder. Default: false.',
  }),
  kubeletMetrics: z.boolean().exactOptional().meta({
    description:
      'Ask every kubelet through the API server how its renewals go. Needs the right to nodes/metrics and nodes/proxy. Default: false.',
  }),
};

/** Clusters by name; where `names` is missing, all. */
export const NameSelection = z.strictObject({
  names: list(clusterGlob)
    .exactOptional()
    .meta({ description: 'Any of these names. * stands for any characters.', examples: [['*-prod']] }),
});
