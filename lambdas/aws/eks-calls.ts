import { EKSClient, type EKSClientConfig } from '@aws-sdk/client-eks';
import type { AwsScope } from '../contracts/target.ts';
import { type Call, callAws } from './call.ts';
import { invalid } from './classify.ts';
import { createScopedClients } from './scoped-clients.ts';
import type { CredentialsOf } from './spoke-credentials.ts';

export interface EksReaderOptions {
  readonly credentials: CredentialsOf;
  /** Of every client, beside Region and credentials. */
  readonly config?: EKSClientConfig;
}

/**
 * Makes one call to EKS when it is its turn, and again where it is throttled or not answered.
 *
 * @throws AwsError
 */
export type CallEks = <T>(call: Call, signal: AbortSignal, send: SendEks<T>) => Promise<T>;
export type SendEks<T> = (client: EKSClient, options: { readonly abortSignal: AbortSignal }) => Promise<T>;

export interface EksPage {
  readonly items: readonly unknown[] | undefined;
  readonly nextToken: string | undefined;
}

/** The largest page of every list (EKS API reference). */
export const PAGE = 100;
/** All calls to one account and Region, of all its clusters together: 100 clusters in ten seconds. Fewer when EKS throttles. */
const CALLS_PER_SECOND = 10;

/** One client and one pace for each scope, kept with its connections. */
export function createEksCalls({ credentials, config = {} }: EksReaderOptions): (scope: AwsScope) => CallEks {
  const scoped = createScopedClients(CALLS_PER_SECOND, (scope) => {
    // The pace tries again, not the SDK: only so are all calls to one scope counted together.
    return new EKSClient({ ...config, maxAttempts: 1, region: scope.region, credentials: credentials(scope) });
  });
  return (scope) => {
    const { client, pace } = scoped(scope);
    return (call, signal, send) =>
      pace(() => callAws(call, signal, (abortSignal) => send(client, { abortSignal })), signal);
  };
}

/**
 * The pages of a list of EKS. The paginators of the SDK end with the first call that fails: tried again, they would show the rest of the list as empty.
 *
 * @param object what is attempted, for the error
 * @throws AwsError `invalid` for a list that does not end
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
  throw invalid(object, `the list does not end after ${maxPages} pages`);
}
