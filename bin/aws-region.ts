import { printable } from '../lambdas/printable.ts';
import { UsageError } from './exit-codes.ts';

/**
 * Asks for the Region before the first call: without one the SDK fails as if the service did not answer.
 *
 * @param client any client of the SDK that was told no Region
 * @throws UsageError when neither the environment nor a profile names one
 */
export async function requireRegion(client: {
  readonly config: { readonly region: () => Promise<string> };
}): Promise<void> {
  try {
    await client.config.region();
  } catch (error) {
    throw new UsageError('No Region is named. Set AWS_REGION, or region in the profile of AWS_PROFILE.', {
      cause: error,
    });
  }
}

/** @throws UsageError for what no S3 bucket can be called */
export function requireBucketName(name: string, limit?: number): string {
  if (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name)) return name;
  throw new UsageError(`--bucket takes the name of an S3 bucket; got ${printable(name, limit)}.`);
}
