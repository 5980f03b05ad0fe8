import { CLUSTER_NAME, REGION_NAME } from '../identifiers.ts';
import { isJsonObject, type JsonObject } from '../resources/fields.ts';

/** Arguments of `aws eks get-token`. */
export interface EksExec {
  readonly region: string;
  readonly clusterName: string;
  /** ARN of the role of the token. @default the caller's identity */
  readonly role?: string | undefined;
  /** Profile of the shared configuration files. @default from the environment */
  readonly profile?: string | undefined;
}

const ARGUMENTS =
  /^--region\n(?<region>.+)\neks\nget-token\n--cluster-name\n(?<clusterName>.+?)(?:\n--output\njson)?(?:\n(?:--role|--role-arn)\n(?<role>.+))?$/;

const isString = (value: unknown): value is string => typeof value === 'string';

/**
 * Fields of an `exec` and their allowed values. `kubectl config` adds the last two. Source: client-go,
 * tools/clientcmd/api/v1/types.go, `ExecConfig`.
 */
const FIELDS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  [
    'apiVersion',
    (value: unknown) => isString(value) && /^client\.authentication\.k8s\.io\/v1(?:beta1|alpha1)?$/.test(value),
  ],
  ['command', (value: unknown) => value === 'aws'],
  [
    'args',
    (value: unknown) => Array.isArray(value) && value.every((arg) => isString(arg) && /^[\x21-\x7e]+$/.test(arg)),
  ],
  ['env', (value: unknown) => value === null || Array.isArray(value)],
  ['interactiveMode', (value: unknown) => value === null || value === 'IfAvailable'],
  ['provideClusterInfo', (value: unknown) => value === null || value === false],
]);

const ROLE = /^arn:aws[a-z-]{0,20}:iam::\d{12}:role\/[\w+=,.@/-]{1,576}$/;
/** Printable, as a section name of a configuration file. */
const PROFILE = /^[^\p{Cc}[\]]{1,255}$/u;

/**
 * Reads the `exec` of a kubeconfig user if it is exactly what `aws eks update-kubeconfig` writes; undefined for any
 * other one, with one more argument, variable or field. Pure.
 *
 * Source: aws-cli, awscli/customizations/eks/update_kubeconfig.py, `get_user_entry`, the same in v1 (1.45.55) and v2.
 * Before 1.27.86 without `--output json`. The `--cluster-id` of local clusters on Outposts gives another token.
 */
export function readEksExec(exec: JsonObject): EksExec | undefined {
  const { apiVersion, command, args, env } = exec;
  if (apiVersion === undefined || command === undefined || !Array.isArray(args)) return undefined;
  if (Object.entries(exec).some(([field, value]) => FIELDS.get(field)?.(value) !== true)) return undefined;
  const { region, clusterName, role } = ARGUMENTS.exec(args.join('\n'))?.groups ?? {};
  if (region === undefined || clusterName === undefined) return undefined;
  if (!REGION_NAME.test(region) || !CLUSTER_NAME.test(clusterName)) return undefined;
  if (role !== undefined && !ROLE.test(role)) return undefined;
  const profile = profileOf(env);
  return profile === false ? undefined : { region, clusterName, role, profile };
}

/** False for any other environment. */
function profileOf(env: unknown): string | undefined | false {
  if (!Array.isArray(env) || env.length === 0) return undefined;
  const [variable, ...others]: readonly unknown[] = env;
  if (others.length > 0 || !isJsonObject(variable)) return false;
  const { name, value, ...more } = variable;
  if (name !== 'AWS_PROFILE' || typeof value !== 'string' || Object.keys(more).length > 0) return false;
  return PROFILE.test(value) && value;
}
