/**
 * What an aws-iam-authenticator wants of a token before it asks STS about it.
 *
 * Source: aws-iam-authenticator v0.6.13, pkg/token/token.go, `Verify`.
 *
 * @param hosts of the STS of the partition
 * @returns why it refuses; undefined when it goes on to STS
 */
export function tokenRefusal(token: string, hosts: readonly string[], now: number): string | undefined {
  if (Buffer.byteLength(token) > 4096) return 'too large';
  const [prefix, encoded = '', ...rest] = token.split('.');
  if (prefix !== 'k8s-aws-v1' || rest.length > 0) return 'prefix';
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) return 'not unpadded base64url';
  const text = Buffer.from(encoded, 'base64url').toString('utf8');
  if (!URL.canParse(text)) return 'no URL';
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'scheme';
  if (!hosts.includes(url.host)) return 'host';
  if (url.pathname !== '/' || !text.startsWith(`https://${url.host}/?`)) return 'path';

  const parameters = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    const key = name.toLowerCase();
    if (!WHITELIST.has(key)) return `non-whitelisted ${key}`;
    if (parameters.has(key)) return `duplicate ${key}`;
    parameters.set(key, value);
  }
  if (parameters.get('action') !== 'GetCallerIdentity') return 'action';
  if (!parameters.get('x-amz-signedheaders')?.split(';').includes('x-k8s-aws-id')) return 'id is not signed';
  const expires = parameters.get('x-amz-expires') ?? '';
  if (!/^\d+$/.test(expires) || Number(expires) > 900) return 'expires';
  const date = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(parameters.get('x-amz-date') ?? '');
  if (date === null) return 'date';
  const [year = 0, month = 0, ...others] = date.slice(1).map(Number);
  const signedAt = Date.UTC(year, month - 1, ...(others as [number, number, number, number]));
  return now > signedAt + 15 * 60_000 ? 'expired' : undefined;
}

const WHITELIST: ReadonlySet<string> = new Set([
  'action',
  'version',
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-security-token',
  'x-amz-signature',
  'x-amz-signedheaders',
]);

/** The URL in a token. */
export function urlOf(token: string): URL {
  return new URL(Buffer.from(token.slice(token.indexOf('.') + 1), 'base64url').toString('utf8'));
}

/** A token of another URL. */
export function tokenOf(url: URL | string): string {
  return `k8s-aws-v1.${Buffer.from(String(url)).toString('base64url')}`;
}
