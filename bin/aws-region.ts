import { UsageError } from './exit-codes.ts';

/** How to name the Region. Everything at the keyboard that needs one is in the account and Region of the hub. */
export const REGION_REMEDY =
  'Set AWS_REGION, or region in the profile of AWS_PROFILE, to the Region of the hub, where CertMarshal is deployed; that of a cluster may differ.';

/**
 * Requires a Region before the first call: without one the SDK fails as if the service did not answer.
 *
 * @param client any SDK client without an explicit Region
 * @throws UsageError if neither the environment nor a profile names one
 */
export async function requireRegion(client: {
  readonly config: { readonly region: () => Promise<string> };
}): Promise<void> {
  try {
    await client.config.region();
  } catch (error) {
    throw new UsageError(`No Region is named. ${REGION_REMEDY}`, { cause: error });
  }
}
