import { describe, expect, onTestFinished, test } from 'vitest';
import { createKubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { answer, type Handler, serve, statusBody, TOKEN } from './tls-server.ts';

const CALL = { method: 'GET', path: '/api/v1/nodes/worker-1/proxy/metrics' } as const;
const PLAIN = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };

test('a client tells which authorities it trusts', async () => {
  const { server, client } = await serve((_, response) => answer(response, 200, {}));
  expect(client.caPem).toBe(server.connection.caPem);
  const { caPem: _, ...withoutBundle } = server.connection;
  const other = createKubernetesClient(withoutBundle);
  onTestFinished(() => other.close());
  expect(other).not.toHaveProperty('caPem', expect.anything());
});

describe('text', () => {
  test('is asked for and read as such', async () => {
    const { server, client } = await serve((_, response) => answer(response, 200, 'a 1\nb 2\n', PLAIN));
    expect(await client.requestText?.(CALL)).toBe('a 1\nb 2\n');
    expect(server.received[0]?.headers).toMatchObject({ accept: 'text/plain', authorization: `Bearer ${TOKEN}` });
  });

  test('may be empty', async () => {
    const { client } = await serve((_, response) => answer(response, 200, '', PLAIN));
    expect(await client.requestText?.(CALL)).toBe('');
  });

  test('is bounded as everything else', async () => {
    const { client } = await serve((_, response) => answer(response, 200, 'x'.repeat(2_000), PLAIN));
    await expect(client.requestText?.({ ...CALL, maxResponseBytes: 1_000 })).rejects.toMatchObject({
      kind: 'too-large',
    });
  });

  test('is asked for again when the server fails', async () => {
    let tries = 0;
    const { client } = await serve((_, response) => {
      tries += 1;
      if (tries < 3) answer(response, 503, statusBody(503, 'ServiceUnavailable', 'dial tcp: timeout'));
      else answer(response, 200, 'a 1\n', PLAIN);
    });
    expect(await client.requestText?.(CALL)).toBe('a 1\n');
    expect(client.stats).toMatchObject({ requests: 3, retries: 2 });
  });

  test.each<[string, Handler, string, string]>([
    [
      '403',
      (_, response) => answer(response, 403, statusBody(403, 'Forbidden', 'no')),
      'forbidden',
      'answered 403 Forbidden (no)',
    ],
    [
      'HTML',
      (_, response) => answer(response, 200, '<html>', { 'content-type': 'text/html' }),
      'not-kubernetes',
      'answered 200 with HTML',
    ],
    ['JSON', (_, response) => answer(response, 200, {}), 'not-kubernetes', 'answered with application/json'],
    [
      'no content type',
      (_, response) => {
        response.writeHead(200);
        response.end('a 1');
      },
      'not-kubernetes',
      'answered without a content type',
    ],
    [
      'a content type with a secret in it',
      (_, response) => answer(response, 200, '', { 'content-type': `x/${TOKEN}` }),
      'not-kubernetes',
      'answered with x/[redacted]',
    ],
  ])('is not %s', async (_, handler, kind, problem) => {
    const { client } = await serve(handler);
    await expect(client.requestText?.(CALL)).rejects.toMatchObject({
      kind,
      problem,
      object: `get nodes/worker-1/proxy/metrics on ${client.server}`,
    });
  });
});
