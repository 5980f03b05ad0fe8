import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One call of an SDK client to a service of the awsJson protocol. */
export interface ServiceCall {
  /** For example `secretsmanager.GetSecretValue`. */
  readonly operation: string;
  /** The Region that the signature is for. */
  readonly region: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ServiceAnswer {
  readonly status?: number;
  readonly body: unknown;
}

export interface JsonService extends AsyncDisposable {
  /** For `endpoint` of a client or `AWS_ENDPOINT_URL_…`. */
  readonly url: string;
  readonly calls: readonly ServiceCall[];
}

/** What a service answers when it refuses. */
export function refusal(type: string, status = 400): ServiceAnswer {
  return { status, body: { __type: type, message: `${type} of the test` } };
}

/** A service on 127.0.0.1. `answer` returning undefined leaves the call without an answer. */
export async function startJsonService(answer: (call: ServiceCall) => ServiceAnswer | undefined): Promise<JsonService> {
  const calls: ServiceCall[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const call: ServiceCall = {
        operation: String(request.headers['x-amz-target']),
        region: request.headers.authorization?.split('/')[2] ?? '',
        input: JSON.parse(Buffer.concat(pieces).toString('utf8')),
      };
      calls.push(call);
      const answered = answer(call);
      if (answered === undefined) return;
      response.writeHead(answered.status ?? 200, { 'content-type': 'application/x-amz-json-1.1' });
      response.end(JSON.stringify(answered.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has such an address
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Made-up settings under which a client calls the service. */
export function clientConfig({ url }: Pick<JsonService, 'url'>) {
  return { endpoint: url, region: 'eu-west-1', credentials: { accessKeyId: '123456789012', secretAccessKey: 'test' } };
}
