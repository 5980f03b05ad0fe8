import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers';
import { promisify } from 'node:util';
import { ApiError } from './api-error.ts';
import type { ApiResponse } from './api-response.ts';
import type { Fault } from './faults.ts';

// Not that of node:timers/promises, which no-waiting.ts replaces.
const sleep = promisify(setTimeout);

/**
 * Answers a request as the fault wants it.
 *
 * @param right makes the answer that should have been; called only by faults that start from it.
 */
export async function answerFaultily(fault: Fault, response: ServerResponse, right: () => ApiResponse): Promise<void> {
  switch (fault.kind) {
    case 'status': {
      const { code, retryAfterSeconds } = fault;
      const [reason, message] = FAILURES[code];
      if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
      const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
      response.writeHead(code, JSON_HEADERS).end(`${new ApiError(code, reason, message, details).body}\n`);
      return;
    }
    case 'html':
      response
        .writeHead(fault.code ?? 200, { 'content-type': 'text/html; charset=utf-8' })
        .end('<!doctype html><html><body><h1>Sign in</h1></body></html>\n');
      return;
    case 'half-json': {
      const { status, contentType, body } = right();
      response.writeHead(status, { 'content-type': contentType }).end(body.slice(0, body.length / 2));
      return;
    }
    case 'disconnect': {
      const { status, contentType, body } = right();
      response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
      response.write(body.slice(0, body.length / 2), () => response.destroy());
      return;
    }
    case 'redirect':
      response.writeHead(302, { location: fault.location }).end();
      return;
    case 'endless':
      await endless(response);
      return;
    case 'hold': {
      await fault.until();
      const { status, contentType, body } = right();
      response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) }).end(body);
      return;
    }
    case 'hang':
      return;
    case 'drip': {
      const { status, contentType, body } = right();
      response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
      for (const byte of Buffer.from(body)) {
        if (response.destroyed) return;
        response.write(Buffer.of(byte));
        await sleep(fault.millisecondsPerByte);
      }
      response.end();
      return;
    }
    case 'wrong-list': {
      const { status, contentType, body } = right();
      const answer = JSON.parse(body) as { readonly items?: unknown };
      // The table of a list is right.
      if (answer.items !== undefined) fault.spoil(answer);
      response.writeHead(status, { 'content-type': contentType }).end(JSON.stringify(answer));
    }
  }
}

const JSON_HEADERS = { 'content-type': 'application/json' };

const FAILURES: Readonly<Record<Extract<Fault, { kind: 'status' }>['code'], readonly [string, string]>> = {
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden by a fault of the test'],
  404: ['NotFound', 'the server could not find the requested resource'],
  409: ['Conflict', 'the object has been modified; please apply your changes to the latest version and try again'],
  410: ['Expired', 'The resourceVersion for the provided list is too old.'],
  429: ['TooManyRequests', 'Too many requests, please try again later.'],
  500: ['InternalError', 'Internal error occurred: a fault of the test'],
  503: ['ServiceUnavailable', 'apiserver is shutting down'],
};

/** 1 MiB: whatever a client reads at most is over after a few of them, also where the machine has little time for it. */
const PIECE = Buffer.alloc(1024 * 1024, '{"metadata":{"name":"again"}},');

/** Until its client goes. */
async function endless(response: ServerResponse): Promise<void> {
  response.writeHead(200, JSON_HEADERS);
  await pipeline(async function* () {
    yield '{"kind":"List","apiVersion":"v1","metadata":{},"items":[';
    for (;;) {
      await sleep(0);
      yield PIECE;
    }
  }, response).catch(() => undefined);
}
