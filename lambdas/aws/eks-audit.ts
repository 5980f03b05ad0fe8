import {
  type CertificateAuthority,
  DescribeCertificateAuthorityCommand,
  ListCertificateAuthoritiesCommand,
} from '@aws-sdk/client-eks';
import type { AwsScope } from '../contracts/target.ts';
import type { ObservedAuthority } from '../resources/eks.ts';
import type { Call } from './call.ts';
import { type EksReaderOptions, PAGE } from './eks-calls.ts';
import { createEksObjects, type NamedNodegroup, type Wrong } from './eks-objects.ts';
import { isCa, isTime, MAX_CA } from './eks-values.ts';

/** A certificate authority of a cluster. */
export interface EksAuthority extends ObservedAuthority {
  readonly notBefore?: number;
  readonly notAfter?: number;
  /** PEM. */
  readonly certificate?: string;
}

export interface EksNodegroup extends NamedNodegroup {
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

/** A cluster has at most two; leaves room for more. */
const MAX_AUTHORITIES = 20;

/** The format of ids is undocumented: any printable text that is valid in a path. */
const AUTHORITY_ID = /^[\x21-\x7e]{1,256}$/;
const SIGNING: ReadonlySet<unknown> = new Set(['NOT_USED', 'ACTIVATING', 'IN_USE']);
const DISTRIBUTION: ReadonlySet<unknown> = new Set(['IN_PROGRESS', 'COMPLETE', 'FAILED', 'DELETING']);

const WITHOUT_API = 'in a Region without this API, the CA is read from certificateAuthority.data of the cluster.';
const LIST_AUTHORITIES_REMEDIES: NonNullable<Call['remedies']> = {
  denied: `Allow eks:ListCertificateAuthorities and eks:DescribeCertificateAuthority to the role that makes the call; ${WITHOUT_API}`,
  'not-found': `If the cluster was deleted, the next discovery forgets it; ${WITHOUT_API}`,
  invalid: `Update certmarshal; ${WITHOUT_API}`,
};
const DESCRIBE_CLUSTER_REMEDIES: NonNullable<Call['remedies']> = {
  'not-found': 'It was deleted or renamed; the next discovery forgets it.',
};

/** @returns the reader of the cluster with this name */
export function createEksAuditReader(
  options: EksReaderOptions,
): (scope: AwsScope, clusterName: string) => EksAuditReader {
  const objectsOf = createEksObjects(options);
  return (scope, clusterName) => {
    const eks = objectsOf(scope, clusterName);
    return {
      certificateAuthority: (signal) =>
        eks.cluster(DESCRIBE_CLUSTER_REMEDIES, signal, ({ certificateAuthority }, wrong) => {
          const { data } = certificateAuthority ?? {};
          if (data === undefined)
            throw wrong('the cluster has no CA yet', 'The next audit tries again, once EKS has created the cluster.');
          return pemOf(data, 'cluster.certificateAuthority.data', wrong);
        }),

      authorities: (signal) =>
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
        ),

      nodegroups: (signal) =>
        eks.nodegroups(signal, (named, { modifiedAt }, wrong) => {
          if (modifiedAt != null && !isTime(modifiedAt)) throw wrong('nodegroup.modifiedAt is not a time');
          return { ...named, modifiedAt: modifiedAt?.getTime() };
        }),
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
