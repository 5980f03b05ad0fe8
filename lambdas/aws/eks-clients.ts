import { EKSClient, type EKSClientConfig } from '@aws-sdk/client-eks';
import type * as z from 'zod/mini';
import { type Contract, type ReadOnly, read } from '../contracts/contract.ts';
import type { AwsScope } from '../contracts/target.ts';
import { invalid } from './classify.ts';
import { createScopedClients, type ScopedClient } from './scoped-clients.ts';
import type { CredentialsOf } from './spoke-credentials.ts';

export interface EksReaderOptions {
  readonly credentials: CredentialsOf;
  readonly config?: EKSClientConfig;
}

/** Pages of one list, by default of 100 items (EKS API reference). */
const MAX_PAGES = 100;
/** Calls a second to one account and Region, for all clusters together: 100 clusters in ten seconds. */
const CALLS_PER_SECOND = 10;
/** Of one call: throttled tries end within 7.5 s, before the ten seconds of a reader, which then says throttled. */
const MAX_ATTEMPTS = 5;

export function createEksClients({
  credentials,
  config,
}: EksReaderOptions): (scope: AwsScope) => ScopedClient<EKSClient> {
  const shared = { ...config, maxAttempts: MAX_ATTEMPTS };
  return createScopedClients(
    CALLS_PER_SECOND,
    (scope) => new EKSClient({ ...shared, region: scope.region, credentials: credentials(scope) }),
  );
}

/** What is used of an answer. @throws AwsError `invalid`; an invalid answer is not used in part */
export function parsed<S extends z.ZodMiniType>(contract: S, answer: unknown, object: string): Contract<S> {
  const reading = read(contract, answer, 'the answer');
  if (!reading.ok) throw invalid(object, reading.problem);
  return reading.value;
}

/** A list of all its pages. @throws AwsError `invalid` also for one without end */
export async function listed<P, T>(
  pages: AsyncIterable<P>,
  itemsOf: (page: P) => unknown,
  contract: z.ZodMiniType<T[]>,
  object: string,
): Promise<readonly ReadOnly<T>[]> {
  const items: ReadOnly<T>[] = [];
  let count = 0;
  for await (const page of pages) {
    count += 1;
    if (count > MAX_PAGES) throw invalid(object, `the list has more than ${MAX_PAGES} pages`);
    items.push(...parsed(contract, itemsOf(page), object));
  }
  return parsed(contract, items, object);
}
