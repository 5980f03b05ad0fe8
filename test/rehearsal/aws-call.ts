import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsCredentialIdentity } from '@smithy/types';
import { type MiniStack, REGION } from './ministack.ts';

/** Calls of services for which the project has no client; only the rehearsal needs them. */
export interface AwsCalls {
  /** Query protocol. @returns the XML. */
  query(
    service: string,
    version: string,
    action: string,
    parameters?: Readonly<Record<string, string>>,
  ): Promise<string>;
  /** JSON 1.1 protocol. @param target `Logs_20140328.DescribeLogGroups` */
  json(service: string, target: string, body?: object): Promise<Record<string, unknown>>;
  /** REST: a GET. @returns the body. */
  get(service: string, path: string): Promise<string>;
  /** REST: a POST. @returns the body. */
  post(service: string, path: string, body: object): Promise<string>;
}

/** @throws Error with status and body when the answer is not 2xx. */
export function awsCalls(
  { endpoint, caPem }: Pick<MiniStack, 'endpoint' | 'caPem'>,
  credentials: AwsCredentialIdentity,
): AwsCalls {
  const send = async (
    service: string,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: string,
  ): Promise<string> => {
    const { hostname, port } = new URL(endpoint);
    const [pathname = '/', search = ''] = path.split('?');
    const signer = new SignatureV4({ service, region: REGION, credentials, sha256: Sha256 });
    const signed = await signer.sign({
      method,
      protocol: 'https:',
      hostname,
      port: Number(port),
      path: pathname,
      query: Object.fromEntries(new URLSearchParams(search)),
      headers: { host: `${hostname}:${port}`, ...headers },
      body,
    });
    const sent = request(`${endpoint}${path}`, { method, ca: caPem, agent: false, headers: signed.headers });
    sent.end(body);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the event "response" carries
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const told = await text(answer);
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 299)
      throw new Error(`${service} ${method} ${path} ${headers['x-amz-target'] ?? ''}: ${status} ${told.slice(0, 500)}`);
    return told;
  };
  return {
    query: (service, version, action, parameters = {}) =>
      send(
        service,
        'POST',
        '/',
        { 'content-type': 'application/x-www-form-urlencoded' },
        new URLSearchParams({ Action: action, Version: version, ...parameters }).toString(),
      ),
    json: async (service, target, body = {}) =>
      JSON.parse(
        await send(
          service,
          'POST',
          '/',
          { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target },
          JSON.stringify(body),
        ),
      ),
    get: (service, path) => send(service, 'GET', path),
    post: (service, path, body) => send(service, 'POST', path, {}, JSON.stringify(body)),
  };
}

/** What SignatureV4 wants of a hash; node:crypto has it. */
class Sha256 {
  readonly #hash: Hash | Hmac;
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }
  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {
    // SignatureV4 uses each hash once.
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}
