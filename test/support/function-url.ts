import { createServer as createPlainServer, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { createAuthority } from '../control-plane/pki.ts';
import { ended, listening } from './loopback.ts';

/** What stands for the URL while it is not well. */
export type Trouble = 'no answer' | 'slow' | 'garbage' | 'another uid' | 'error';

/** The URL of a Lambda function, on this machine. */
export interface FunctionUrl extends AsyncDisposable {
  /** `https://127.0.0.1:<port>`; `http` if plain. */
  readonly url: string;
  /** The authority of its certificate, PEM; that of a real one is public. */
  readonly caPem: string;
  /** What was sent to it, in order, whatever was answered. */
  readonly calls: readonly FunctionUrlCall[];
  /** How many calls the limits refused. */
  readonly refused: number;
  /** What it does instead of calling the function. @default undefined */
  trouble: Trouble | undefined;
}

export interface FunctionUrlCall {
  readonly path: string;
  readonly body: string;
}

export interface FunctionUrlOptions {
  /** @returns the answer in the form of a function URL */
  readonly handle: (
    event: unknown,
  ) => Promise<{ readonly statusCode: number; readonly headers: object; readonly body: string }>;
  /** Without TLS, for callers that trust no other authority. @default false */
  readonly plain?: boolean;
  /** As reserved concurrency sets them. @default none */
  readonly limits?: { readonly concurrency: number; readonly perSecond: number };
}

/** More than any webhook waits. Milliseconds. */
const SLOW_MS = 3_000;

/**
 * Starts one.
 *
 * Sources: AWS Lambda Developer Guide, "Invoking Lambda function URLs" (request and response payloads), "Creating and managing Lambda function URLs" (throttling).
 */
export async function startFunctionUrl({ handle, limits, plain = false }: FunctionUrlOptions): Promise<FunctionUrl> {
  const authority = await createAuthority('public authority of the test');
  const { certPem, keyPem } = await authority.serverCertificate('function URL');
  const calls: FunctionUrlCall[] = [];
  let [running, second, inSecond, refused] = [0, 0, 0, 0];
  const isLetIn = (): boolean => {
    const now = Math.floor(performance.now() / 1_000);
    inSecond = now === second ? inSecond : 0;
    second = now;
    if (limits !== undefined && (running >= limits.concurrency || inSecond >= limits.perSecond)) return false;
    inSecond += 1;
    return true;
  };
  const url: { trouble: Trouble | undefined } = { trouble: undefined };
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const { pathname, search } = new URL(request.url ?? '', 'https://function.example');
      calls.push({ path: pathname, body });
      const { trouble } = url;
      const send = (status: number, text: string, headers = {}): void =>
        void response.writeHead(status, headers).end(text);
      if (trouble === 'no answer') return;
      if (trouble === 'slow') setTimeout(() => send(200, '{}'), SLOW_MS).unref();
      else if (trouble === 'garbage') send(200, '\u0000<html>{');
      else if (trouble === 'another uid') send(200, JSON.stringify({ response: { uid: 'x', allowed: false } }));
      else if (trouble === 'error') send(502, 'Internal Server Error');
      else if (isLetIn()) {
        running += 1;
        const event = {
          version: '2.0',
          rawPath: pathname,
          rawQueryString: search.slice(1),
          headers: request.headers,
          requestContext: { http: { method: request.method, path: pathname } },
          body,
          isBase64Encoded: false,
        };
        void handle(event)
          .then(
            (answer) => send(answer.statusCode, answer.body, answer.headers),
            () => send(502, 'Internal Server Error'),
          )
          .finally(() => {
            running -= 1;
          });
      } else {
        refused += 1;
        send(429, '{"Message":"Rate Exceeded."}');
      }
    });
  };
  const server = plain ? createPlainServer(listener) : createServer({ cert: certPem, key: keyPem }, listener);
  const port = await listening(server);
  return {
    url: `${plain ? 'http' : 'https'}://127.0.0.1:${port}`,
    caPem: authority.certPem,
    calls,
    get refused() {
      return refused;
    },
    get trouble() {
      return url.trouble;
    },
    set trouble(trouble) {
      url.trouble = trouble;
    },
    [Symbol.asyncDispose]: async () => ended(server),
  };
}
