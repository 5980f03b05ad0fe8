import {
  type CertificateAuthority,
  DescribeCertificateAuthorityCommand,
  DescribeNodegroupCommand,
  ListCertificateAuthoritiesCommand,
  ListNodegroupsCommand,
} from '@aws-sdk/client-eks';
import type { AwsScope } from '../contracts/target.ts';
import type { Call } from './call.ts';
import { type EksReaderOptions, PAGE } from './eks-calls.ts';
import { createEksObjects, type Wrong } from './eks-objects.ts';
import { isCa, isTime, MAX_CA } from './eks-values.ts';

/** A certificate authority of a cluster. Times are milliseconds since the epoch. */
export interface EksAuthority {
  readonly id: string;
  readonly createdAt: number;
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly signingStatus: 'NOT_USED' | 'ACTIVATING' | 'IN_USE';
  readonly distributionStatus: 'IN_PROGRESS' | 'COMPLETE' | 'FAILED' | 'DELETING';
  readonly firstAutoActivation?: number;
  /** When EKS activates it finally, after a person reverted an activation. */
  readonly finalAutoActivation?: number;
  /** PEM. */
  readonly certificate?: string;
}

export interface EksNodegroup {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Asks EKS about one cluster. `begin` is called when the first call is sent. */
export interface EksAuditReader {
  /** PEM of `certificateAuthority.data`, now. @throws AwsError */
  certificateAuthority(signal: AbortSignal, begin?: () => void): Promise<string>;
  /** @throws AwsError */
  authorities(signal: AbortSignal, begin?: () => void): Promise<readonly EksAuthority[]>;
  /** @throws AwsError */
  nodegroups(signal: AbortSignal, begin?: () => void): Promise<readonly EksNodegroup[]>;
}

/** A cluster has at most two; leaves room for more. */
const MAX_AUTHORITIES = 20;
/** The quota is 30, and can be raised. */
const MAX_NODEGROUPS = 500;

/** The format of ids is undocumented: any printable text that is valid in a path. */
const AUTHORITY_ID = /^[\x21-\x7e]{1,256}$/;
/** EKS API reference, CreateNodegroup. */
const NODEGROUP_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
const SIGNING: ReadonlySet<unknown> = new Set(['NOT_USED', 'ACTIVATING', 'IN_USE']);
const DISTRIBUTION: ReadonlySet<unknown> = new Set(['IN_PROGRESS', 'COMPLETE', 'FAILED', 'DELETING']);

const WITHOUT_API = 'in a Region without this API, the CA is read from certificateAuthority.data of the cluster.';
const LIST_AUTHORITIES_REMEDIES: NonNullable<Call['remedies']> = {
  denied: `Allow eks:ListCertificateAuthorities and eks:DescribeCertificateAuthority to the role that makes the call; ${WITHOUT_API}`,
  'not-found': `If the cluster was deleted, the next discovery forgets it; ${WITHOUT_API}`,
  invalid: `Update certmarshal; ${WITHOUT_API}`,
};

/** @returns the reader of the cluster with this name */
export function createEksAuditReader(
  options: EksReaderOptions,
): (scope: AwsScope, clusterName: string) => EksAuditReader {
  const objectsOf = createEksObjects(options);
  return (scope, clusterName) => {
    const eks = objectsOf(scope, clusterName);
    return {
      certificateAuthority: (signal, begin) =>
        eks.cluster(signal, begin, ({ certificateAuthority }, wrong) => {
          const { data } = certificateAuthority ?? {};
          if (data === undefined)
            throw wrong('the cluster has no CA yet', 'The next audit tries again, once EKS has created the cluster.');
          return pemOf(data, 'cluster.certificateAuthority.data', wrong);
        }),

      authorities: (signal, begin) =>
        eks.each(
          {
            list: 'eks:ListCertificateAuthorities',
            describe: 'eks:DescribeCertificateAuthority',
            remedies: LIST_AUTHORITIES_REMEDIES,
            max: MAX_AUTHORITIES,
            id: AUTHORITY_ID,
            idWords: 'id of a CA',
            page: (nextToken) => async (client, sending) => {
              const command = new ListCertificateAuthoritiesCommand({ clusterName, maxResults: PAGE, nextToken });
              const { certificateAuthorities: found, nextToken: next } = await client.send(command, sending);
              return { items: Array.isArray(found) ? found.map((summary) => summary?.id) : undefined, nextToken: next };
            },
            one: (certificateAuthorityId) => (client, sending) =>
              client.send(new DescribeCertificateAuthorityCommand({ clusterName, certificateAuthorityId }), sending),
            read: ({ certificateAuthority }, id, wrong) => readAuthority(certificateAuthority, id, wrong),
          },
          signal,
          begin,
        ),

      nodegroups: (signal, begin) =>
        eks.each(
          {
            list: 'eks:ListNodegroups',
            describe: 'eks:DescribeNodegroup',
            max: MAX_NODEGROUPS,
            id: NODEGROUP_NAME,
            idWords: 'name of a node group',
            page: (nextToken) => async (client, sending) => {
              const command = new ListNodegroupsCommand({ clusterName, maxResults: PAGE, nextToken });
              const answer = await client.send(command, sending);
              return { items: answer.nodegroups, nextToken: answer.nextToken };
            },
            one: (nodegroupName) => (client, sending) =>
              client.send(new DescribeNodegroupCommand({ clusterName, nodegroupName }), sending),
            read({ nodegroup }, name, wrong) {
              if (nodegroup?.nodegroupName !== name) throw wrong('the answer is not about this node group');
              const { createdAt } = nodegroup;
              if (!isTime(createdAt)) throw wrong('nodegroup.createdAt is not a time');
              return { name, createdAt: createdAt.getTime() };
            },
          },
          signal,
          begin,
        ),
    };
  };
}

/** @throws AwsError `invalid` */
function readAuthority(authority: CertificateAuthority | undefined, id: string, wrong: Wrong): EksAuthority {
  if (authority?.id !== id) throw wrong('the answer is about another CA');
  const { signingStatus, distributionStatus, validity, scheduledEvents, data } = authority;
  const wrongField = (field: string, what: string) => wrong(`certificateAuthority.${field} ${what}`);
  const at = (field: string, value: unknown): number | undefined => {
    if (value == null) return undefined;
    if (!isTime(value)) throw wrongField(field, 'is not a time');
    return value.getTime();
  };
  const createdAt = at('createdAt', authority.createdAt);
  if (createdAt === undefined) throw wrongField('createdAt', 'is missing');
  if (signingStatus === undefined || !SIGNING.has(signingStatus))
    throw wrongField('signingStatus', 'is not a known status');
  if (distributionStatus === undefined || !DISTRIBUTION.has(distributionStatus))
    throw wrongField('distributionStatus', 'is not a known status');
  return {
    id,
    createdAt,
    notBefore: at('validity.notBefore', validity?.notBefore),
    notAfter: at('validity.notAfter', validity?.notAfter),
    signingStatus,
    distributionStatus,
    firstAutoActivation: at('scheduledEvents.firstAutoActivation', scheduledEvents?.firstAutoActivation),
    finalAutoActivation: at('scheduledEvents.finalAutoActivation', scheduledEvents?.finalAutoActivation),
    certificate: data == null ? undefined : pemOf(data, 'certificateAuthority.data', wrong),
  };
}

/**
 * Decodes PEM from base64. The documentation only says "the Base64-encoded public certificate", so DER is accepted too.
 *
 * @throws AwsError `invalid`
 */
function pemOf(data: unknown, field: string, wrong: Wrong): string {
  if (!isCa(data)) throw wrong(`${field} is not base64 of at most ${MAX_CA} characters`);
  const bytes = Buffer.from(data, 'base64');
  const isDer = bytes[0] === 0x30 && !bytes.includes('-----BEGIN');
  if (!isDer) return bytes.toString('utf8');
  const lines = bytes.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
