import { EKSClient, type EKSClientConfig } from '@aws-sdk/client-eks';
import type { AwsScope } from '../contracts/target.ts';
import { type Call, callAws } from './call.ts';
import { invalid } from './classify.ts';
import { createScopedClients } from './scoped-clients.ts';
import type { CredentialsOf } from './spoke-credentials.ts';

export interface EksReaderOptions {
  readonly credentials: CredentialsOf;
  /** Options of every client, besides Region and credentials. */
  readonly config?: EKSClientConfig;
}

/**
 * Makes one call to EKS in its turn; retries if throttled or unanswered.
 *
 * @throws AwsError
 */
type CallEks = <T>(call: Call, signal: AbortSignal, send: SendEks<T>) => Promise<T>;
export type SendEks<T> = (client: EKSClient, options: { readonly abortSignal: AbortSignal }) => Promise<T>;

export interface EksPage {
  readonly items: readonly unknown[] | undefined;
  readonly nextToken: string | undefined;
}

/** The largest page of every list (EKS API reference). */
export const PAGE = 100;
/**
 * Calls a second to one account and Region, for all clusters together: 100 clusters in ten seconds. Fewer when EKS
 * throttles.
 */
const CALLS_PER_SECOND = 10;

/** One client and one pace for each scope, kept with its connections. */
export function createEksCalls({ credentials, config = {} }: EksReaderOptions): (scope: AwsScope) => CallEks {
  const scoped = createScopedClients(CALLS_PER_SECOND, (scope) => {
    // The pace retries, not the SDK, so that all calls to one scope count together.
    return new EKSClient({ ...config, maxAttempts: 1, region: scope.region, credentials: credentials(scope) });
  });
  return (scope) => {
    const { client, pace } = scoped(scope);
    return (call, signal, send) =>
      pace(
        () => callAws(call, signal, (abortSignal) => send(client, { abortSignal })),
        signal,
        call.begin !== undefined,
      );
  };
}

/**
 * The pages of a list of EKS. A paginator of the SDK ends at the first failed call; retried, it would return the rest
 * of the list as empty.
 *
 * @param object the call, for the error
 * @throws AwsError `invalid` for an endless list
 */
export async function* eksPages(
  object: string,
  maxPages: number,
  page: (nextToken: string | undefined) => Promise<EksPage>,
): AsyncGenerator<readonly unknown[] | undefined> {
  let token: string | undefined;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const { items, nextToken } = await page(token);
    yield items;
    if (!nextToken) return;
    token = nextToken;
  }
  throw invalid(object, `the list has more than ${maxPages} pages`);
}
