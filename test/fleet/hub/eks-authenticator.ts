import { createHash, createHmac } from 'node:crypto';
import { tokenRefusal, urlOf } from '../../unit/aws/authenticator.ts';
import { authenticated, type User } from '../authorization.ts';
import { assumedRoleArn, type Identity } from '../aws/identity.ts';
import type { Clock } from '../clock.ts';

export interface EksAuthenticatorOptions {
  readonly identity: Identity;
  readonly clock: Clock;
  readonly region: string;
  /** Name of the cluster: a token that is signed for another one is refused. */
  readonly cluster: string;
  /** ARNs of roles that may enter. */
  readonly accessEntries: ReadonlySet<string>;
}

/**
 * What EKS does with a bearer token: the checks of aws-iam-authenticator, those of the STS that it then calls with the name of its own
 * cluster in the signed header, and the access entries.
 */
export function eksAuthenticator(options: EksAuthenticatorOptions): (token: string) => User | undefined {
  const { identity, clock, region, cluster, accessEntries } = options;
  return (token) => {
    if (tokenRefusal(token, [`sts.${region}.amazonaws.com`], clock.now()) !== undefined) return undefined;
    const url = urlOf(token);
    const [accessKeyId = ''] = (url.searchParams.get('X-Amz-Credential') ?? '').split('/');
    const keys = identity.issued.find((issued) => issued.accessKeyId === accessKeyId);
    const identified = identity.identify(accessKeyId);
    if (keys === undefined || !identified.ok) return undefined;
    if (url.searchParams.get('X-Amz-Security-Token') !== keys.sessionToken) return undefined;
    if (url.searchParams.get('X-Amz-Signature') !== signatureOf(url, cluster, keys.secretAccessKey)) return undefined;
    const { role = '' } = identified.principal;
    return accessEntries.has(role) ? authenticated(eksUser(role), ['certmarshal']) : undefined;
  };
}

/** The user that an access entry makes of a role, unless it says otherwise. */
export function eksUser(role: string): string {
  return assumedRoleArn(role, 'runtime');
}

/** AWS Signature Version 4 of a presigned GET, as STS computes it. Source: IAM User Guide, "Create a signed AWS API request". */
function signatureOf({ host, searchParams }: URL, cluster: string, secret: string): string {
  const parameters = [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .toSorted();
  const request = `GET\n/\n${parameters.join('&')}\nhost:${host}\nx-k8s-aws-id:${cluster}\n\nhost;x-k8s-aws-id\n${sha256('')}`;
  const [, ...scope] = (searchParams.get('X-Amz-Credential') ?? '').split('/');
  const text = `AWS4-HMAC-SHA256\n${searchParams.get('X-Amz-Date')}\n${scope.join('/')}\n${sha256(request)}`;
  const key = scope.reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${secret}`);
  return hmac(key, text).toString('hex');
}

function escaped(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
