import { type AwsRequest, SERVICES, type ServiceName } from './service.ts';

/** What a signed request says about itself. The signature is not verified: the secrets of the simulation are all alike. */
export interface CredentialScope {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: ServiceName;
  /** Milliseconds since the epoch. */
  readonly signedAt: number;
}

/**
 * Reads the credential scope of an Authorization header or of a presigned URL.
 *
 * Source: AWS Signature Version 4, "Elements of an AWS API request signature".
 *
 * @returns undefined when the request is not signed for a service that is simulated.
 */
export function credentialScope({ headers, url }: AwsRequest): CredentialScope | undefined {
  const { authorization = '' } = headers;
  const credential = /Credential=([^,\s]+)/.exec(authorization)?.[1] ?? url.searchParams.get('X-Amz-Credential') ?? '';
  const date = headers['x-amz-date'] ?? url.searchParams.get('X-Amz-Date');
  const [accessKeyId = '', , region = '', name] = credential.split('/');
  const service = SERVICES.find((one) => one === name);
  if (service === undefined) return undefined;
  return { accessKeyId, region, service, signedAt: instantOf(String(date)) };
}

/** `20261121T091656Z` */
function instantOf(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}
