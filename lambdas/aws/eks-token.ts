import { createHash, createHmac } from 'node:crypto';
import { STSClient } from '@aws-sdk/client-sts';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsCredentialIdentityProvider, Checksum, HttpRequest, SourceData } from '@smithy/types';
import { callAws } from './call.ts';
import { invalid } from './classify.ts';
import { AwsError } from './errors.ts';

/**
 * What aws-iam-authenticator accepts, EKS's own included (aws-iam-authenticator pkg/token/token.go: `v1Prefix`,
 * `maxTokenLenBytes`).
 */
const PREFIX = 'k8s-aws-v1.';
const MAX_TOKEN = 4_096;
const CLUSTER_HEADER = 'x-k8s-aws-id';
/** X-Amz-Expires in seconds, the same as in all clients; the authenticator ignores it. */
const EXPIRES = 60;
/**
 * Age at which a token is renewed. It expires 15 minutes after X-Amz-Date, clients assume 14, and one minute is for the
 * sweep that uses it. Milliseconds.
 */
const RENEW_AFTER_MS = 13 * 60_000;
/** A token dies with its credentials; renewed this long before, for the same reason. Milliseconds. */
const BEFORE_CREDENTIALS_END_MS = 60_000;
/** Most cached tokens; each has about a kilobyte. */
const MAX_TOKENS = 1_000;

const AUTHENTICATOR_ID = /^[\x21-\x7e]{1,255}$/;
const REGION = /^[a-z]{2,10}(?:-[a-z]{1,20}){1,3}-\d{1,2}$/;

/**
 * A bearer token for one cluster, from the cache or new.
 *
 * @param authenticatorId for EKS the name of the cluster, for EKS Anywhere its id in aws-iam-authenticator
 * @param region of the STS that the cluster calls: that of the EKS cluster
 * @throws AwsError `expired` without usable credentials, `invalid` if no token can be made
 */
export type SignToken = (authenticatorId: string, region: string) => Promise<string>;

export interface TokenSignerOptions {
  /** @default the default chain of the SDK */
  readonly credentials?: AwsCredentialIdentityProvider;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

interface KeptToken {
  readonly token: string;
  readonly renewAt: number;
}

/**
 * Signs tokens for aws-iam-authenticator: a presigned call of `GetCallerIdentity` at the STS of the Region, which the
 * authenticator makes to identify the caller. The header with the id is signed, so a token is valid for one cluster
 * only.
 *
 * Source: aws-iam-authenticator, pkg/token/token.go (`Verify`). It accepts a fixed list of query parameters, so no
 * presigning helper of the SDK is used: those add `x-id` or `X-Amz-Content-Sha256`.
 */
export function createTokenSigner({ credentials, now = Date.now }: TokenSignerOptions = {}): SignToken {
  // Makes no calls: it knows the default credential chain and the endpoints of all partitions.
  const sts = new STSClient(credentials === undefined ? {} : { credentials });
  const provider = credentials ?? sts.config.credentials;
  const kept = new Map<string, KeptToken>();

  return async (authenticatorId, region) => {
    const key = `${region} ${authenticatorId}`;
    const found = kept.get(key);
    if (found !== undefined && now() < found.renewAt) return found.token;

    const object = `token for ${region}`;
    if (!AUTHENTICATOR_ID.test(authenticatorId))
      throw invalid(object, 'the id of the cluster is not valid', CORRECT_ID);
    if (!REGION.test(region))
      throw invalid(object, 'it is not a valid name of a Region', 'Correct the Region in fleet.yaml.');
    const never = new AbortController().signal;
    const identity = await callAws({ object }, never, () => provider());
    const signedAt = now();
    const endsAt = identity.expiration === undefined ? Infinity : identity.expiration.getTime();
    if (endsAt <= signedAt)
      throw new AwsError({ kind: 'expired', object, problem: 'the credentials have expired', remedy: RENEW });

    const { url } = sts.config.endpointProvider({
      Region: region,
      UseFIPS: false,
      UseDualStack: false,
      UseGlobalEndpoint: false,
    });
    const signer = new SignatureV4({ service: 'sts', region, credentials: identity, sha256: Sha256 });
    const request = callerIdentityRequest(url.host, authenticatorId);
    const { query = {} } = await signer.presign(request, {
      expiresIn: EXPIRES,
      signingDate: new Date(signedAt),
      unhoistableHeaders: new Set([CLUSTER_HEADER]),
    });
    const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
    const token = `${PREFIX}${Buffer.from(`https://${url.host}/?${parameters.join('&')}`).toString('base64url')}`;
    if (token.length > MAX_TOKEN) throw invalid(object, `it is longer than ${MAX_TOKEN} bytes`, SHORTER);

    kept.delete(key);
    const renewAt = Math.min(signedAt + RENEW_AFTER_MS, endsAt - BEFORE_CREDENTIALS_END_MS);
    kept.set(key, { token, renewAt });
    const [oldest] = kept.keys();
    if (kept.size > MAX_TOKENS && oldest !== undefined) kept.delete(oldest);
    return token;
  };
}

const CORRECT_ID = 'Correct authenticatorId in fleet.yaml.';
const RENEW = 'Renew the credentials of this process; in a function the next run has new ones.';
const SHORTER = 'Give the role of the sweep fewer session tags: they are in the session token.';

function callerIdentityRequest(host: string, authenticatorId: string): HttpRequest {
  return {
    method: 'GET',
    protocol: 'https:',
    hostname: host,
    path: '/',
    query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
    headers: { host, [CLUSTER_HEADER]: authenticatorId },
  };
}

/** SHA-256 and its HMAC with node:crypto, in the interface that the SDK's signers expect. */
class Sha256 implements Checksum {
  #hash;
  readonly #secret: SourceData | undefined;

  constructor(secret?: SourceData) {
    this.#secret = secret;
    this.#hash = hashOf(secret);
  }
  update(data: Uint8Array): void {
    this.#hash.update(data);
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {
    this.#hash = hashOf(this.#secret);
  }
}

function hashOf(secret: SourceData | undefined) {
  if (secret === undefined) return createHash('sha256');
  if (typeof secret === 'string') return createHmac('sha256', secret);
  if (!ArrayBuffer.isView(secret)) return createHmac('sha256', new Uint8Array(secret));
  return createHmac('sha256', new Uint8Array(secret.buffer, secret.byteOffset, secret.byteLength));
}
