import {
  type CertificateAuthority,
  DescribeCertificateAuthorityCommand,
  DescribeClusterCommand,
  DescribeNodegroupCommand,
  EKSClient,
  ListCertificateAuthoritiesCommand,
  ListNodegroupsCommand,
  type Nodegroup,
} from '@aws-sdk/client-eks';
import type { AwsScope } from '../contracts/target.ts';
import { LAST_INSTANT } from '../time.ts';
import { type Call, callAws, describeCall } from './call.ts';
import { invalid } from './classify.ts';
import type { EksReaderOptions } from './eks-clusters.ts';
import { described, listAll } from './eks-lists.ts';
import { createScopedClients } from './scoped-clients.ts';

/** A certificate authority of a cluster. Source: EKS API reference, CertificateAuthority. */
export interface EksAuthority {
  readonly id: string;
  /** Milliseconds since the epoch, as all times here. */
  readonly createdAt: number;
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly signingStatus: 'NOT_USED' | 'ACTIVATING' | 'IN_USE';
  readonly distributionStatus: 'IN_PROGRESS' | 'COMPLETE' | 'FAILED' | 'DELETING';
  readonly firstAutoActivation?: number;
  readonly finalAutoActivation?: number;
  /** PEM. */
  readonly certificate?: string;
}

export interface EksNodegroup {
  readonly name: string;
  readonly createdAt: number;
  /** When its launch template or release last changed. */
  readonly modifiedAt?: number;
}

/** Asks EKS about one cluster. */
export interface EksAuditReader {
  /** PEM of `certificateAuthority.data`, now. @throws AwsError */
  certificateAuthority(signal: AbortSignal): Promise<string>;
  /** @throws AwsError */
  authorities(signal: AbortSignal): Promise<readonly EksAuthority[]>;
  /** @throws AwsError */
  nodegroups(signal: AbortSignal): Promise<readonly EksNodegroup[]>;
}

/** All calls to one account and Region, of all its clusters together. */
const CALLS_PER_SECOND = 10;
/** A cluster has two at most; room for a change of that. */
const MAX_AUTHORITIES = 20;
/** The quota is 30, and can be raised. */
const MAX_NODEGROUPS = 500;
/** The largest page of both lists. */
const PAGE = 100;
/** Characters of base64: two certificates are under 4,000. */
const MAX_CA = 65_536;

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** The format of ids is not documented: whatever is printable and can stand in a path. */
const AUTHORITY_ID = /^[\x21-\x7e]{1,256}$/;
/** EKS API reference, CreateNodegroup. */
const NODEGROUP_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
const SIGNING: ReadonlySet<unknown> = new Set(['NOT_USED', 'ACTIVATING', 'IN_USE']);
const DISTRIBUTION: ReadonlySet<unknown> = new Set(['IN_PROGRESS', 'COMPLETE', 'FAILED', 'DELETING']);

const WITHOUT_API =
  'a Region that does not have this API yet shows its authorities only as certificateAuthority.data of the cluster, which is read all the same.';
const LIST_AUTHORITIES_REMEDIES: NonNullable<Call['remedies']> = {
  denied: `Allow eks:ListCertificateAuthorities and eks:DescribeCertificateAuthority to the role that makes the call; ${WITHOUT_API}`,
  'not-found': `If the cluster was deleted, the next discovery forgets it; ${WITHOUT_API}`,
  invalid: `Update certmarshal; ${WITHOUT_API}`,
};
const DESCRIBE_CLUSTER_REMEDIES: NonNullable<Call['remedies']> = {
  'not-found': 'It was deleted or renamed; the next discovery forgets it.',
};

/**
 * Makes readers of single clusters, with one client and one pace for each scope.
 *
 * @returns the reader of the cluster with this name
 */
export function createEksAuditReader({
  credentials,
  config = {},
}: EksReaderOptions): (scope: AwsScope, clusterName: string) => EksAuditReader {
  const scoped = createScopedClients(CALLS_PER_SECOND, (scope) => {
    // The pace tries again, not the SDK: only so are all calls to one scope counted together.
    return new EKSClient({ ...config, maxAttempts: 1, region: scope.region, credentials: credentials(scope) });
  });
  return (scope, clusterName) => {
    const { client, pace } = scoped(scope);
    const paced = <T>(call: Call, signal: AbortSignal, send: (signal: AbortSignal) => Promise<T>): Promise<T> =>
      pace(() => callAws(call, signal, send), signal);
    const attempt = (action: string): string => describeCall(`${action} ${clusterName}`, scope);

    return {
      async certificateAuthority(signal) {
        const object = attempt('eks:DescribeCluster');
        const command = new DescribeClusterCommand({ name: clusterName });
        const call = { object, remedies: DESCRIBE_CLUSTER_REMEDIES };
        const { cluster } = await paced(call, signal, (abortSignal) => client.send(command, { abortSignal }));
        if (cluster?.name !== clusterName) throw invalid(object, 'the answer is not about this cluster');
        const { data } = cluster.certificateAuthority ?? {};
        if (data === undefined)
          throw invalid(
            object,
            'the cluster has no certificate authority yet',
            'The next audit tries again, once EKS has made the cluster.',
          );
        return pemOf(data, object, 'cluster.certificateAuthority.data');
      },

      async authorities(signal) {
        const object = attempt('eks:ListCertificateAuthorities');
        const call = { object, remedies: LIST_AUTHORITIES_REMEDIES };
        const ids = await listAll(object, MAX_AUTHORITIES, async (nextToken) => {
          const command = new ListCertificateAuthoritiesCommand({ clusterName, maxResults: PAGE, nextToken });
          const answer = await paced(call, signal, (abortSignal) => client.send(command, { abortSignal }));
          return { items: answer.certificateAuthorities?.map((summary) => summary?.id), nextToken: answer.nextToken };
        });
        return described(ids, async (certificateAuthorityId) => {
          if (!isText(certificateAuthorityId) || !AUTHORITY_ID.test(certificateAuthorityId))
            throw invalid(object, 'the list holds what is no id of a certificate authority');
          const one = attempt('eks:DescribeCertificateAuthority');
          const command = new DescribeCertificateAuthorityCommand({ clusterName, certificateAuthorityId });
          const answer = await paced({ object: one }, signal, (abortSignal) => client.send(command, { abortSignal }));
          return readAuthority(answer.certificateAuthority, certificateAuthorityId, one);
        });
      },

      async nodegroups(signal) {
        const object = attempt('eks:ListNodegroups');
        const names = await listAll(object, MAX_NODEGROUPS, async (nextToken) => {
          const command = new ListNodegroupsCommand({ clusterName, maxResults: PAGE, nextToken });
          const answer = await paced({ object }, signal, (abortSignal) => client.send(command, { abortSignal }));
          return { items: answer.nodegroups, nextToken: answer.nextToken };
        });
        return described(names, async (nodegroupName) => {
          if (!isText(nodegroupName) || !NODEGROUP_NAME.test(nodegroupName))
            throw invalid(object, 'the list holds what is no name of a node group');
          const one = attempt('eks:DescribeNodegroup');
          const command = new DescribeNodegroupCommand({ clusterName, nodegroupName });
          const answer = await paced({ object: one }, signal, (abortSignal) => client.send(command, { abortSignal }));
          return readNodegroup(answer.nodegroup, nodegroupName, one);
        });
      },
    };
  };
}

/** @throws AwsError `invalid`: what cannot be used as it is, is not used in part either. */
function readAuthority(authority: CertificateAuthority | undefined, id: string, object: string): EksAuthority {
  const wrong = (field: string, what: string) => invalid(object, `certificateAuthority.${field} ${what}`);
  if (authority?.id !== id) throw invalid(object, 'the answer is not about this certificate authority');
  const { signingStatus, distributionStatus, validity, scheduledEvents, data } = authority;
  const at = (field: string, value: unknown): number | undefined => {
    if (value == null) return undefined;
    if (!isTime(value)) throw wrong(field, 'is not a time');
    return value.getTime();
  };
  const createdAt = at('createdAt', authority.createdAt);
  if (createdAt === undefined) throw wrong('createdAt', 'is missing');
  if (signingStatus === undefined || !SIGNING.has(signingStatus)) throw wrong('signingStatus', 'is not one');
  if (distributionStatus === undefined || !DISTRIBUTION.has(distributionStatus))
    throw wrong('distributionStatus', 'is not one');
  const notBefore = at('validity.notBefore', validity?.notBefore);
  const notAfter = at('validity.notAfter', validity?.notAfter);
  const firstAutoActivation = at('scheduledEvents.firstAutoActivation', scheduledEvents?.firstAutoActivation);
  const finalAutoActivation = at('scheduledEvents.finalAutoActivation', scheduledEvents?.finalAutoActivation);
  return {
    id,
    createdAt,
    notBefore,
    notAfter,
    signingStatus,
    distributionStatus,
    firstAutoActivation,
    finalAutoActivation,
    certificate: data == null ? undefined : pemOf(data, object, 'certificateAuthority.data'),
  };
}

/** @throws AwsError `invalid` */
function readNodegroup(nodegroup: Nodegroup | undefined, name: string, object: string): EksNodegroup {
  if (nodegroup?.nodegroupName !== name) throw invalid(object, 'the answer is not about this node group');
  const { createdAt, modifiedAt } = nodegroup;
  if (!isTime(createdAt)) throw invalid(object, 'nodegroup.createdAt is not a time');
  if (modifiedAt != null && !isTime(modifiedAt)) throw invalid(object, 'nodegroup.modifiedAt is not a time');
  return { name, createdAt: createdAt.getTime(), modifiedAt: modifiedAt?.getTime() };
}

/**
 * PEM text out of base64. For one authority the documentation only says "the Base64-encoded public certificate": DER is taken too.
 *
 * @throws AwsError `invalid`
 */
function pemOf(data: unknown, object: string, field: string): string {
  if (!isText(data) || data.length > MAX_CA || !BASE64.test(data))
    throw invalid(object, `${field} is not base64 of at most ${MAX_CA} characters`);
  const bytes = Buffer.from(data, 'base64');
  const isDer = bytes[0] === 0x30 && !bytes.includes('-----BEGIN');
  if (!isDer) return bytes.toString('utf8');
  const lines = bytes.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

// The types of the SDK tell what AWS promises; nothing checks it before us.
function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTime(value: unknown): value is Date {
  return value instanceof Date && value.getTime() >= 0 && value.getTime() <= LAST_INSTANT;
}
