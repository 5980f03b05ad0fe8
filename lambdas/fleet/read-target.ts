import { PROVIDERS } from '../approval/policy.ts';
import type { AwsScope, SpokeRole } from '../aws/scope.ts';
import type { Access, KubeconfigAccess } from './access.ts';
import {
  cidrs,
  type Fields,
  fields,
  httpsUrl,
  mark,
  matching,
  oneOf,
  optional,
  present,
  type Read,
  ShapeError,
  table,
  text,
} from './shape.ts';
import {
  ACCOUNT_ID,
  CLUSTER_ID,
  CLUSTER_NAME,
  DEFAULT_NAMESPACE,
  EXTERNAL_ID,
  LANE_NAME,
  MAX_SERVICE_CIDRS,
  MAX_SESSION_TAGS,
  NAMESPACE,
  REGION_NAME,
  SECRET_ARN,
  type Target,
  type TargetAudit,
} from './target.ts';

const VPC_ID = /^vpc-[0-9a-f]{1,32}$/;
const ROLE_ARN = /^arn:aws[a-z-]{0,20}:iam::\d{12}:role\/[\w+=,.@/-]{1,576}$/;
const TAG_KEY = /^[^\p{C}]{1,128}$/u;
/** Characters. Two certificates, while the CA is rotated, are about 4,000. */
const CERTIFICATE_AUTHORITY = /^[A-Za-z0-9+/]{1,40000}={0,2}$/;

/** @throws ShapeError when a field is not what it has to be; fields it does not know are ignored */
export const readTarget: Read<Target> = (value, path) => {
  const target = fields(value, path);
  const cluster = fields(target['cluster'], `${path}.cluster`);
  const access = readAccess(target['access'], `${path}.access`);
  const management = optional(readManagement)(target['management'], `${path}.management`);
  // Its kubeconfig is in the management cluster.
  if (access.kind === 'cluster-api' && management?.access === undefined)
    throw new ShapeError(`${path}.management.access is missing`);
  return {
    id: matching(CLUSTER_ID, 'the id of a cluster')(target['id'], `${path}.id`),
    cluster: present({
      name: matching(CLUSTER_NAME, 'a cluster name')(cluster['name'], `${path}.cluster.name`),
      provider: oneOf(PROVIDERS)(cluster['provider'], `${path}.cluster.provider`),
      serviceCidrs: optional(cidrs(MAX_SERVICE_CIDRS))(cluster['serviceCidrs'], `${path}.cluster.serviceCidrs`),
    }),
    access,
    lane: matching(LANE_NAME, 'the name of a lane')(target['lane'], `${path}.lane`),
    ...present({
      management,
      eksAnywhereNamespace: optional(readNamespace)(target['eksAnywhereNamespace'], `${path}.eksAnywhereNamespace`),
      instances: optional(readInstances)(target['instances'], `${path}.instances`),
      audit: optional(readTargetAudit)(target['audit'], `${path}.audit`),
    }),
  };
};

function readAccess(value: unknown, path: string): Access {
  const access = fields(value, path);
  const kind = oneOf(['eks', 'kubeconfig', 'cluster-api'])(access['kind'], `${path}.kind`);
  switch (kind) {
    case 'eks':
      return {
        kind,
        endpoint: httpsUrl(access['endpoint'], `${path}.endpoint`),
        certificateAuthority: matching(CERTIFICATE_AUTHORITY, 'a CA bundle in base64')(
          access['certificateAuthority'],
          `${path}.certificateAuthority`,
        ),
        scope: readScope(access['scope'], `${path}.scope`),
      };
    case 'kubeconfig':
      return readKubeconfigAccess(access, path);
    case 'cluster-api':
      return { kind, namespace: readNamespace(access['namespace'], `${path}.namespace`) };
  }
}

function readKubeconfigAccess(access: Fields, path: string): KubeconfigAccess {
  return present({
    kind: oneOf(['kubeconfig'])(access['kind'], `${path}.kind`),
    secret: matching(SECRET_ARN, 'the ARN of a secret')(access['secret'], `${path}.secret`),
    // A UUID, or on EKS the name of the cluster.
    authenticatorId: optional(matching(CLUSTER_NAME, 'a cluster id of aws-iam-authenticator'))(
      access['authenticatorId'],
      `${path}.authenticatorId`,
    ),
  });
}

const readManagementAccess: Read<KubeconfigAccess> = (value, path) => readKubeconfigAccess(fields(value, path), path);

const readManagement: Read<NonNullable<Target['management']>> = (value, path) => {
  const management = fields(value, path);
  const access = optional(readManagementAccess)(management['access'], `${path}.access`);
  // One of an earlier version has an access and no namespace.
  const given = management['namespace'] ?? (access === undefined ? undefined : DEFAULT_NAMESPACE);
  return { ...present({ access }), namespace: readNamespace(given, `${path}.namespace`) };
};

const readTargetAudit: Read<TargetAudit> = (value, path) => {
  const audit = fields(value, path);
  return present({
    secrets: optional(mark)(audit['secrets'], `${path}.secrets`),
    kubeletMetrics: optional(mark)(audit['kubeletMetrics'], `${path}.kubeletMetrics`),
  });
};

export const readNamespace = matching(NAMESPACE, 'the name of a namespace');

const readInstances: Read<NonNullable<Target['instances']>> = (value, path) => {
  const vpcId = optional(matching(VPC_ID, 'the id of a VPC'))(fields(value, path)['vpcId'], `${path}.vpcId`);
  return { ...readScope(value, path), ...present({ vpcId }) };
};

const readScope: Read<AwsScope> = (value, path) => {
  const scope = fields(value, path);
  return present({
    account: matching(ACCOUNT_ID, 'an account id')(scope['account'], `${path}.account`),
    region: matching(REGION_NAME, 'the name of a Region')(scope['region'], `${path}.region`),
    role: optional(readRole)(scope['role'], `${path}.role`),
  });
};

const readRole: Read<SpokeRole> = (value, path) => {
  const role = fields(value, path);
  return present({
    arn: matching(ROLE_ARN, 'the ARN of a role')(role['arn'], `${path}.arn`),
    externalId: optional(matching(EXTERNAL_ID, 'an external id'))(role['externalId'], `${path}.externalId`),
    sessionTags: optional(table(TAG_KEY, text(256), MAX_SESSION_TAGS))(role['sessionTags'], `${path}.sessionTags`),
  });
};
