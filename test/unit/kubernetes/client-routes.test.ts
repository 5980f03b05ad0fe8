import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createKubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { answer, listen, startTlsServer, TOKEN } from './tls-server.ts';

// The credentials of a cluster go to the server that was named, and nowhere else that it, or the environment, may name.

const LIST = { method: 'GET', path: '/api/v1/nodes' } as const;
const WRITE = { method: 'PUT', path: '/api/v1/nodes/x', body: { a: 1 } } as const;

describe('a redirect is not followed', () => {
  test.each([300, 301, 302, 303, 305, 307, 308])('%d', async (status) => {
    const other = await startTlsServer((_, response) => answer(response, 200, {}));
    const server = await startTlsServer((_, response) =>
      answer(response, status, '', { location: `${other.connection.server}/api/v1/nodes` }),
    );
    const client = createKubernetesClient(server.connection, { sleep: async () => {} });
    onTestFinished(() => client.close());
    for (const call of [LIST, WRITE]) {
      const error: unknown = await client.request(call).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(KubernetesError);
      expect(error).toMatchObject({ status });
    }
    expect(server.received.map(({ method }) => method)).toEqual(['GET', 'PUT']);
    expect([other.connections(), other.received]).toEqual([0, []]);
  });

  test('not on the same server either', async () => {
    const server = await startTlsServer(({ url }, response) =>
      answer(response, url === LIST.path ? 302 : 200, {}, { location: '/other' }),
    );
    const client = createKubernetesClient(server.connection, { sleep: async () => {} });
    onTestFinished(() => client.close());
    await expect(client.request(LIST)).rejects.toMatchObject({ status: 302 });
    expect(server.received.map(({ url }) => url)).toEqual([LIST.path]);
  });
});

test('no proxy of the environment is used, also where Node.js is told to use them', async () => {
  let asked = 0;
  const proxy = createServer((socket) => {
    asked += 1;
    socket.destroy();
  });
  const url = `http://127.0.0.1:${await listen(proxy)}`;
  const server = await startTlsServer((_, response) => answer(response, 200, { kind: 'List' }));
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'https_proxy', 'http_proxy', 'all_proxy'];
  const script = `
    import { createKubernetesClient } from ${JSON.stringify(join(import.meta.dirname, '../../../lambdas/kubernetes/client.ts'))};
    const client = createKubernetesClient(JSON.parse(process.env.CONNECTION));
    console.log(JSON.stringify(await client.request({ method: 'GET', path: '/api/v1/nodes' })));
    client.close();`;
  // Node.js reads NODE_USE_ENV_PROXY once, when it starts.
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_USE_ENV_PROXY: '1',
      NO_PROXY: '',
      CONNECTION: JSON.stringify(server.connection),
      ...Object.fromEntries(names.map((name) => [name, url])),
    },
  });
  expect(JSON.parse(stdout)).toEqual({ kind: 'List' });
  expect(server.received[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  expect(asked).toBe(0);
});
