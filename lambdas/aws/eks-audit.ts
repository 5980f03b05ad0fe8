import { DescribeCertificateAuthorityCommand, paginateListCertificateAuthorities } from '@aws-sdk/client-eks';
import * as z from 'zod/mini';
import { type Contract, list, matching } from '../contracts/contract.ts';
import { type AwsScope, EksAccess } from '../contracts/target.ts';
import { printable } from '../printable.ts';
import { LAST_INSTANT } from '../time.ts';
import { type Call, callAws, describeCall } from './call.ts';
import { invalid } from './classify.ts';
import { createEksClients, type EksReaderOptions, listed, parsed } from './eks-clients.ts';
import { describeCluster } from './eks-clusters.ts';
import { AwsError } from './errors.ts';

/** Asks EKS about one cluster. */
export interface EksAuditReader {
  /** Waits before the first call: many clusters of one account are audited at once. */
  readonly turn: (signal: AbortSignal) => Promise<void>;
  /** PEM of `certificateAuthority.data`, now. @throws AwsError */
  certificateAuthority(signal: AbortSignal): Promise<string>;
  /** @throws AwsError */
  authorities(signal: AbortSignal): Promise<readonly EksAuthority[]>;
}

const Moment = z.pipe(
  z.date('is not a time').check(z.refine((at) => at.getTime() >= 0 && at.getTime() <= LAST_INSTANT, 'is not a time')),
  z.transform((at) => at.getTime()),
);
const Authority = z.object({
  id: z.string(),
  createdAt: Moment,
  signingStatus: z.enum(['NOT_USED', 'ACTIVATING', 'IN_USE']),
  distributionStatus: z.enum(['IN_PROGRESS', 'COMPLETE', 'FAILED', 'DELETING']),
});
const Validity = z.object({ notBefore: z.optional(Moment), notAfter: z.optional(Moment) });
const ScheduledEvents = z.object({
  firstAutoActivation: z.optional(Moment),
  /** When EKS activates it finally, after a person reverted an activation. */
  finalAutoActivation: z.optional(Moment),
});
const DescribedAuthority = z.extend(Authority, {
  validity: z.optional(Validity),
  scheduledEvents: z.optional(ScheduledEvents),
  data: z.optional(z.pipe(EksAccess.shape.certificateAuthority, z.transform(pemOf))),
});

/** A certificate authority of a cluster. Times are milliseconds since the epoch. */
export interface EksAuthority
  extends Contract<typeof Authority>,
    Contract<typeof Validity>,
    Contract<typeof ScheduledEvents> {
  /** PEM. */
  readonly certificate?: string;
}

/** The format of ids is undocumented: any printable text that is valid in a path. A cluster has at most two. */
const AuthoritySummaries = list(z.object({ id: matching(/^[\x21-\x7e]{1,256}$/, 'the id of a CA') }), 20);

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
  const clients = createEksClients(options);
  return (scope, clusterName) => {
    const { client, turn } = clients(scope);
    const objectOf = (action: string) => describeCall(`${action} ${printable(clusterName)}`, scope);
    return {
      turn,
      async certificateAuthority(signal) {
        const { certificateAuthority } = await describeCluster(client, scope, clusterName, signal);
        if (certificateAuthority !== undefined) return pemOf(certificateAuthority);
        const remedy = 'The next audit tries again, once EKS has created the cluster.';
        throw invalid(objectOf('eks:DescribeCluster'), 'the cluster has no CA yet', remedy);
      },

      async authorities(signal) {
        const object = objectOf('eks:ListCertificateAuthorities');
        const call = { object, remedies: LIST_AUTHORITIES_REMEDIES };
        const summaries = await callAws(call, signal, async (abortSignal) => {
          const pages = paginateListCertificateAuthorities({ client }, { clusterName }, { abortSignal });
          return listed(pages, ({ certificateAuthorities }) => certificateAuthorities, AuthoritySummaries, object);
        });
        const one = objectOf('eks:DescribeCertificateAuthority');
        return each(summaries, async ({ id: certificateAuthorityId }) => {
          const command = new DescribeCertificateAuthorityCommand({ clusterName, certificateAuthorityId });
          const answer = await callAws({ object: one }, signal, (abortSignal) => client.send(command, { abortSignal }));
          const described = parsed(DescribedAuthority, answer.certificateAuthority, one);
          const { validity, scheduledEvents, data: certificate, ...authority } = described;
          if (authority.id !== certificateAuthorityId) throw invalid(one, 'the answer is about another CA');
          return {
            ...authority,
            ...validity,
            ...scheduledEvents,
            certificate,
          };
        });
      },
    };
  };
}

/** Without those that were deleted since they were listed. */
async function each<I, T>(items: readonly I[], describe: (item: I) => Promise<T>): Promise<readonly T[]> {
  const described = await Promise.all(
    items.map(async (item) => {
      try {
        return [await describe(item)];
      } catch (error) {
        if (error instanceof AwsError && error.kind === 'not-found') return [];
        throw error;
      }
    }),
  );
  return described.flat();
}

/** Decodes PEM from base64. The documentation only says "the Base64-encoded public certificate", so DER is accepted too. */
function pemOf(data: string): string {
  const bytes = Buffer.from(data, 'base64');
  const isDer = bytes[0] === 0x30 && !bytes.includes('-----BEGIN');
  if (!isDer) return bytes.toString('utf8');
  const lines = bytes.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
