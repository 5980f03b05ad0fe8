import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type ClientOptions,
  createKubernetesClient,
  type KubernetesClient,
} from '../../../lambdas/kubernetes/client.ts';
import type { TokenSource } from '../../../lambdas/kubernetes/connection.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { answer, type Handler, startTlsServer, statusBody, type TlsServer } from './tls-server.ts';

const GET = { method: 'GET', path: '/version' } as const;
const PUT = { method: 'PUT', path: '/apis/g/v1/things/a', body: {} } as const;

async function connect(
  token: TokenSource,
  handler: Handler = (_, response) => answer(response, 200, {}),
  options: ClientOptions = {},
): Promise<{ readonly client: KubernetesClient; readonly server: TlsServer }> {
  const server = await startTlsServer(handler);
  const connection = { ...server.connection, credentials: { kind: 'token', token } } as const;
  const client = createKubernetesClient(connection, { sleep: async () => {}, ...options });
  onTestFinished(() => client.close());
  return { client, server };
}

/** Tokens one after the other. */
function tokens(): TokenSource {
  let count = 0;
  return async () => `token-number-${++count}`;
}

describe('a token from a function', () => {
  test('is asked for before every try', async () => {
    const { client, server } = await connect(tokens(), (_, response) =>
      answer(response, server.received.length < 3 ? 503 : 200, {}),
    );
    await client.request(GET);
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-number-1',
      'Bearer token-number-2',
      'Bearer token-number-3',
    ]);
  });

  test('is never echoed, neither this one nor one that came before', async () => {
    const { client } = await connect(tokens(), (_, response) =>
      answer(response, 403, statusBody(403, 'Forbidden', 'you said token-number-1 and token-number-2')),
    );
    await expect(client.request(GET)).rejects.toThrow(/you said \[redacted\] and token-number-2/);
    await expect(client.request(GET)).rejects.toThrow(/you said \[redacted\] and \[redacted\]/);
  });

  test.each([
    [
      'a failure',
      async () => Promise.reject(new TypeError('SENTINEL')),
      'credentials',
      /its source failed \(TypeError\)/,
    ],
    ['no token', async () => '', 'invalid', /it is empty/],
    ['a token with a line break', async () => 'a\r\nSENTINEL: b', 'invalid', /white space/],
  ])('%s sends nothing, counts nothing and is not tried again', async (_, source, kind, says) => {
    let asked = 0;
    const { client, server } = await connect(async () => {
      asked += 1;
      return source();
    });
    for (const call of [GET, PUT]) {
      const error: unknown = await client.request(call).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(KubernetesError);
      expect(error).toMatchObject({ kind, message: expect.stringMatching(says) });
      expect(JSON.stringify(error) + String(error)).not.toContain('SENTINEL');
    }
    expect(asked).toBe(2);
    expect(server.received).toEqual([]);
    expect(client.stats).toMatchObject({ requests: 0, writes: 0, retries: 0 });
  });

  test('a failure that says what to do is passed on', async () => {
    const expired = new KubernetesError({ kind: 'credentials', object: 'o', problem: 'p', remedy: 'r' });
    const { client } = await connect(async () => Promise.reject(expired));
    await expect(client.request(GET)).rejects.toBe(expired);
  });

  test('that does not come ends with the try', async () => {
    const { client, server } = await connect(() => new Promise(() => {}), undefined, { requestTimeoutMs: 20 });
    await expect(client.request(GET)).rejects.toMatchObject({
      kind: 'credentials',
      problem: 'there was none within 20 ms',
    });
    expect(server.received).toEqual([]);
  });

  test.each(['close', 'signal'] as const)('that does not come ends with %s', async (how) => {
    const { client } = await connect(() => new Promise(() => {}));
    const stop = new AbortController();
    const call = client.request({ ...GET, signal: stop.signal });
    if (how === 'close') client.close();
    else stop.abort();
    await expect(call).rejects.toMatchObject({ kind: 'aborted' });
  });
});
