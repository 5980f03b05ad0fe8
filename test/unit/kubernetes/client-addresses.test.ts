import { lookup } from 'node:dns';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createKubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import type { Connection } from '../../../lambdas/kubernetes/connection.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { answer, createAuthority, startTlsServer } from './tls-server.ts';

vi.mock('node:dns', () => ({ lookup: vi.fn<() => void>() }));

/** Each look-up gets the next answer. */
function resolvesTo(...answers: readonly (readonly string[])[]): void {
  let asked = 0;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the form with `all`, the only one that is called
  vi.mocked(lookup).mockImplementation(((_: string, __: object, callback: (...args: unknown[]) => void) => {
    const addresses = answers[asked] ?? [];
    asked += 1;
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  }) as unknown as typeof lookup);
}

async function serve() {
  const authority = await createAuthority('ca');
  const serving = await authority.issue({ type: 'dns', value: 'api.example' });
  const server = await startTlsServer((_, response) => answer(response.setHeader('connection', 'close'), 200, {}), {
    serving,
    caPem: authority.certificatePem,
  });
  return { server, url: server.connection.server.replace('127.0.0.1', 'api.example') };
}

function connect(connection: Connection) {
  const client = createKubernetesClient(connection, { sleep: async () => {} });
  onTestFinished(() => client.close());
  return client;
}

const GET = { method: 'GET', path: '/version' } as const;

test.each([
  ['an ordinary connection', {}],
  ['a connection of recovery', { expiredServer: { pin: 'authority' } }],
] as const)('%s judges the address of every socket, not of the first', async (_, more) => {
  const { server, url } = await serve();
  resolvesTo(['127.0.0.1'], ['127.0.0.1'], ['169.254.169.254']);
  const client = connect({ ...server.connection, ...more, server: url });
  await client.request(GET);
  await client.request(GET);
  const error: unknown = await client.request(GET).catch((reason: unknown) => reason);
  if (!(error instanceof KubernetesError)) throw new Error('expected a KubernetesError', { cause: error });
  expect(error).toMatchObject({
    kind: 'invalid',
    object: `get /version on ${url}`,
    problem: expect.stringContaining('api.example leads to 169.254.169.254, which is a loopback'),
    remedy: expect.stringContaining('Find out who wrote the server'),
  });
  expect(lookup).toHaveBeenCalledTimes(3);
  expect(server.connections()).toBe(2);
});

test('a name that leads to this machine is not connected to, nor tried again, by the rule of what is deployed', async () => {
  const { server, url } = await serve();
  resolvesTo(['10.0.0.1', '127.0.0.1']);
  const client = connect({ ...server.connection, server: url, addresses: 'cluster' });
  await expect(client.request(GET)).rejects.toMatchObject({ kind: 'invalid' });
  expect(client.stats).toMatchObject({ requests: 1, retries: 0 });
  expect(server.connections()).toBe(0);
});

test.each(['169.254.169.254', '[fe80::1]', '[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]', '0.0.0.0'])(
  'an address of no other machine is refused before a client is made, at the keyboard too: %s',
  (host) => {
    const connection: Connection = {
      server: `https://${host}`,
      credentials: { kind: 'token', token: 'x' },
      addresses: 'local',
    };
    expect(() => createKubernetesClient(connection)).toThrow(/link-local/);
  },
);
