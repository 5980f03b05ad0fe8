import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clientConfig } from './json-service.ts';

/** One call of an SDK client, whatever its protocol. */
export interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly bytes: Buffer;
  /** Of the Query protocol: `body` as parameters. */
  readonly form: URLSearchParams;
  /** The Region that the signature is for. */
  readonly region: string;
}

export interface HttpAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface HttpService extends AsyncDisposable {
  readonly url: string;
  readonly calls: readonly HttpCall[];
  /** For a client of the SDK. */
  readonly config: ReturnType<typeof clientConfig>;
}

/** A service on 127.0.0.1. `answer` returning undefined leaves the call without an answer. */
export async function startHttpService(answer: (call: HttpCall) => HttpAnswer | undefined): Promise<HttpService> {
  const calls: HttpCall[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
      const bytes = Buffer.concat(pieces);
      const body = bytes.toString('utf8');
      const call: HttpCall = {
        method: request.method ?? '',
        path: pathname,
        query: searchParams,
        headers: request.headers,
        body,
        bytes,
        form: new URLSearchParams(body),
        region: request.headers.authorization?.split('/')[2] ?? '',
      };
      calls.push(call);
      const answered = answer(call);
      if (answered === undefined) return;
      response.writeHead(answered.status ?? 200, answered.headers);
      response.end(answered.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    calls,
    config: clientConfig({ url }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An answer of the REST-JSON protocol (EKS). */
export function json(body: unknown): HttpAnswer {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** A refusal of the REST-JSON protocol (EKS). */
export function jsonRefusal(code: string, status = 400): HttpAnswer {
  return { status, headers: { 'x-amzn-errortype': code }, body: JSON.stringify({ message: `${code} of the test` }) };
}

/** A refusal of the Query protocol (STS). */
export function queryRefusal(code: string, status = 403): HttpAnswer {
  const body = `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${code} of the test</Message></Error></ErrorResponse>`;
  return { status, headers: { 'content-type': 'text/xml' }, body };
}

/** A refusal of EC2. */
export function ec2Refusal(code: string, status = 400, message = `${code} of the test`): HttpAnswer {
  const body = `<Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors></Response>`;
  return { status, headers: { 'content-type': 'text/xml' }, body };
}

/** A refusal of S3. */
export function s3Refusal(code: string, status: number): HttpAnswer {
  const body = `<Error><Code>${code}</Code><Message>${code} of the test</Message></Error>`;
  return { status, headers: { 'content-type': 'application/xml' }, body };
}
