import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { DescribeAccessEntryCommand, type EKSClient } from '@aws-sdk/client-eks';
import { stringify } from 'yaml';

export interface ClusterWebhookOptions {
  /** Name of the EKS cluster that it decides for. */
  readonly cluster: string;
  readonly region: string;
  /** Where the emulated STS and EKS are. */
  readonly emulator: { readonly endpoint: string; readonly caPem: string };
  /** Reads access entries as somebody who may. */
  readonly eks: EKSClient;
  /** When a role was made, by its ARN. */
  readonly roleMadeAt: (arn: string) => Promise<Date>;
}

/** A part of the test: what EKS runs beside a kube-apiserver to tell who a bearer token is. */
export interface ClusterWebhook {
  /** The kubeconfig for `--authentication-token-webhook-config-file`. */
  readonly kubeconfig: string;
  /** What was decided so far: a principal and its groups, or why a token was refused. Never a token. */
  readonly decisions: readonly string[];
  stop(): Promise<void>;
}

interface Identity {
  readonly username: string;
  readonly groups: readonly string[];
}

const TOKEN_PREFIX = 'k8s-aws-v1.';
const LIFETIME_MS = 15 * 60_000;
/** Those of a presigned GetCallerIdentity, in lower case, and no others. */
const PARAMETERS = new Set([
  'action',
  'version',
  'x-amz-algorithm',
  'x-amz-content-sha256',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-security-token',
  'x-amz-signature',
  'x-amz-signedheaders',
]);

/**
 * A webhook as aws-iam-authenticator is one (its pkg/token, `tokenVerifier.Verify`): it looks at the form of the presigned URL, lets STS
 * say whose signature it is, with the name of *this* cluster as the signed header, and asks the access entries of the cluster for the
 * groups of that principal. The emulator verifies the signature.
 */
export async function startClusterWebhook(options: ClusterWebhookOptions): Promise<ClusterWebhook> {
  const decisions: string[] = [];
  const review = async (token: string): Promise<object> => {
    try {
      const { username, groups } = await identify(token, options);
      decisions.push(`${username} [${groups.join(', ')}]`);
      return { authenticated: true, user: { username, uid: username, groups } };
    } catch (error) {
      decisions.push(`refused: ${error instanceof Error ? error.message : String(error)}`);
      return { authenticated: false };
    }
  };
  const listener = createServer((incoming, outgoing) => {
    tokenOf(incoming)
      .then(review)
      .then(
        (status) => {
          const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status };
          outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        },
        () => outgoing.writeHead(400).end(),
      );
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- listening on a port, not on a pipe
  const { port } = listener.address() as AddressInfo;
  return {
    kubeconfig: stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'webhook', cluster: { server: `http://127.0.0.1:${port}/` } }],
      contexts: [{ name: 'webhook', context: { cluster: 'webhook', user: '' } }],
      'current-context': 'webhook',
    }),
    decisions,
    async stop() {
      listener.close();
      listener.closeAllConnections();
      await once(listener, 'close');
    },
  };
}

async function identify(token: string, options: ClusterWebhookOptions): Promise<Identity> {
  const { cluster, region, emulator, eks, roleMadeAt } = options;
  const url = presignedUrl(token, region);
  const { arn } = await callerIdentity(url, cluster, emulator);
  const principalArn = roleOf(arn);
  const { accessEntry } = await eks.send(new DescribeAccessEntryCommand({ clusterName: cluster, principalArn }));
  if (accessEntry === undefined) throw new Error(`no access entry for ${principalArn}`);
  // EKS keeps the id that the role had, which the emulator does not: a role that was made after it has another one. The time of an entry is in whole seconds.
  if (Number(accessEntry.createdAt) < Number(await roleMadeAt(principalArn)) - 1_000)
    throw new Error(`the access entry is older than ${principalArn}`);
  return { username: accessEntry.username || arn, groups: accessEntry.kubernetesGroups ?? [] };
}

/** @throws Error saying what is wrong with the form of the token. */
export function presignedUrl(token: string, region: string, now: number = Date.now()): URL {
  if (!token.startsWith(TOKEN_PREFIX)) throw new Error('no token of EKS');
  const encoded = token.slice(TOKEN_PREFIX.length);
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) throw new Error('not base64url without padding');
  const url = new URL(Buffer.from(encoded, 'base64url').toString('utf8'));
  const query = new Map([...url.searchParams].map(([name, value]) => [name.toLowerCase(), value]));
  if (url.protocol !== 'https:' || url.host !== `sts.${region}.amazonaws.com` || url.pathname !== '/')
    throw new Error(`not the STS of ${region}: ${url.origin}${url.pathname}`);
  if (query.size !== [...url.searchParams].length) throw new Error('a parameter is there twice');
  for (const name of query.keys()) if (!PARAMETERS.has(name)) throw new Error(`unexpected parameter ${name}`);
  if (query.get('action') !== 'GetCallerIdentity') throw new Error('not GetCallerIdentity');
  const signed = query.get('x-amz-signedheaders')?.split(';') ?? [];
  if (!signed.includes('x-k8s-aws-id') || !signed.includes('host'))
    throw new Error('x-k8s-aws-id or host is not signed');
  const date = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(query.get('x-amz-date') ?? '');
  if (date === null) throw new Error('no X-Amz-Date');
  const [year = 0, month = 0, ...rest] = date.slice(1).map(Number);
  const age = now - Date.UTC(year, month - 1, ...rest);
  if (age > LIFETIME_MS || age < -LIFETIME_MS) throw new Error('expired, or from the future');
  return url;
}

async function callerIdentity(
  url: URL,
  cluster: string,
  { endpoint, caPem }: ClusterWebhookOptions['emulator'],
): Promise<{ readonly arn: string }> {
  const sent = request(`${endpoint}/${url.search}`, {
    ca: caPem,
    // The Host header is that of the real STS, because it is signed; the certificate is the emulator's.
    servername: 'localhost',
    agent: false,
    headers: { host: url.host, 'x-k8s-aws-id': cluster, accept: 'application/json' },
  });
  sent.end();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the event "response" carries
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const body = await text(answer);
  const arn = /<Arn>([^<]+)<\/Arn>/.exec(body)?.[1] ?? /"Arn":\s*"([^"]+)"/.exec(body)?.[1];
  if (answer.statusCode !== 200 || arn === undefined)
    throw new Error(`STS: ${answer.statusCode} ${/<Code>([^<]+)</.exec(body)?.[1] ?? ''}`);
  return { arn };
}

/** `arn:aws:sts::A:assumed-role/NAME/SESSION` is a session of `arn:aws:iam::A:role/NAME`. */
function roleOf(arn: string): string {
  const [, partition, account, name] = /^arn:([^:]+):sts::(\d{12}):assumed-role\/([^/]+)\//.exec(arn) ?? [];
  return name === undefined ? arn : `arn:${partition}:iam::${account}:role/${name}`;
}

async function tokenOf(incoming: IncomingMessage): Promise<string> {
  const review: { spec: { token: string } } = JSON.parse(await text(incoming));
  return review.spec.token;
}
