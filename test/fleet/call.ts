import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';

/** An answer, whatever it is. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** @throws SyntaxError when it is no JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests know what they asked for
  readonly json: any;
}

export interface Call {
  /** Undefined: no token at all. */
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** JSON, or text as it is. */
  readonly body?: unknown;
}

/** Sends requests to one server and shows every answer as it is, failures too. */
export interface Caller {
  (method: string, path: string, call?: Call): Promise<Answer>;
  /** Reads an answer that may not end: until it has so many bytes, it ends or the time (milliseconds) is over. */
  firstBytes(
    path: string,
    limits: { readonly bytes: number; readonly withinMs: number },
  ): Promise<{ readonly bytes: number; readonly isEnded: boolean }>;
  /** Closes the connections. */
  close(): void;
}

/** @param adminToken used by calls that do not name a token. */
export function callerOf(server: string, caPem: string, adminToken: string): Caller {
  const agent = new Agent({ keepAlive: true, ca: caPem, maxSockets: 32 });

  const call = (method: string, path: string, options: Call = {}): Promise<Answer> => {
    const { body, headers = {} } = options;
    const token = 'token' in options ? options.token : adminToken;
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(`${server}${path}`, {
        method,
        agent,
        timeout: 20_000,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(payload === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
          ...headers,
        },
      });
      sent.once('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer for 20 s`)));
      sent.once('error', reject);
      sent.once('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => (text += piece));
        response.once('error', reject);
        response.once('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            get json() {
              return JSON.parse(text);
            },
          }),
        );
      });
      sent.end(payload);
    });
  };
  const firstBytes: Caller['firstBytes'] = (path, { bytes, withinMs }) =>
    new Promise((resolve) => {
      let read = 0;
      const sent = request(`${server}${path}`, { agent, headers: { authorization: `Bearer ${adminToken}` } });
      const finish = (isEnded: boolean): void => {
        clearTimeout(timer);
        sent.destroy();
        resolve({ bytes: read, isEnded });
      };
      const timer = setTimeout(() => finish(false), withinMs);
      // Breaking it off is an error to the client as well, and not the one that is asked about here.
      sent.once('error', () => undefined);
      sent.once('response', (response) => {
        response.once('error', () => undefined);
        response.once('end', () => finish(true));
        response.on('data', (piece: Buffer) => {
          read += piece.length;
          if (bytes > 0 && read >= bytes) finish(false);
        });
      });
      sent.end();
    });

  return Object.assign(call, { firstBytes, close: () => agent.destroy() });
}
