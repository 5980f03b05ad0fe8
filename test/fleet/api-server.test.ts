import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, describe, expect, it } from 'vitest';
import { CONTRACT_USERS, describeApiContract, SIGNING_HOURS } from './api-contract.ts';
import { type SimulatedApiServer, type SimulatedApiServerOptions, startSimulatedApiServer } from './api-server.ts';
import { type Caller, callerOf } from './call.ts';
import { fastClock, steppedClock } from './clock.ts';
import { kubernetesTime } from './kube-object.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { seededRandom } from './random.ts';
import { startSigner } from './signer.ts';

describeApiContract('the simulated server', async () => {
  const clock = fastClock(Date.UTC(2026, 0, 1), 1);
  const server = await startSimulatedApiServer({ clock, name: 'contract', users: CONTRACT_USERS });
  const signer = await startSigner({ api: server.api, durationMs: SIGNING_HOURS * 3_600_000 });
  return {
    ...server,
    signerCaPem: signer.caPem,
    async stop() {
      await signer.stop();
      await server.stop();
    },
  };
});

describe('the simulated server', () => {
  const start = Date.UTC(2026, 0, 1);
  const clock = steppedClock(start);
  const servers: SimulatedApiServer[] = [];

  const startServer = async (options: Partial<SimulatedApiServerOptions> = {}): Promise<SimulatedApiServer> => {
    const server = await startSimulatedApiServer({ clock, name: 'berlin', random: seededRandom(1), ...options });
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  it('dates objects by the clock of the fleet', async () => {
    const server = await startServer();
    await clock.advance(90_000);
    const { json } = await withCaller(server, (call) => call('POST', '/api/v1/nodes', { body: node('worker-1') }));
    expect(json.metadata.creationTimestamp).toBe(kubernetesTime(clock.now()));
  });

  it('makes the same names for the same seed', async () => {
    const names = await Promise.all(
      [1, 1].map(async (seed) => {
        const server = await startServer({ random: seededRandom(seed) });
        const body = { ...node(''), metadata: { generateName: 'worker-' } };
        const { json } = await withCaller(server, (call) => call('POST', '/api/v1/nodes', { body }));
        return json.metadata.name;
      }),
    );
    expect(names[0]).toBe(names[1]);
  });

  it('generates another name when one is taken', async () => {
    const numbers = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5];
    const server = await startServer({ random: () => numbers.shift() ?? 0 });
    const body = { ...node(''), metadata: { generateName: 'worker-' } };
    await withCaller(server, async (call) => {
      expect((await call('POST', '/api/v1/nodes', { body })).json.metadata.name).toBe('worker-bbbbb');
      expect((await call('POST', '/api/v1/nodes', { body })).json.metadata.name).toBe('worker-rrrrr');
    });
  });

  it('forgets the state of a list after five minutes, and offers to go on in the present one', async () => {
    const server = await startServer();
    await withCaller(server, async (call) => {
      for (const name of ['a', 'b', 'c']) await call('POST', '/api/v1/nodes', { body: node(name) });
      const first = await call('GET', '/api/v1/nodes?limit=1');
      await call('DELETE', '/api/v1/nodes/b');
      await clock.advance(5 * 60_000 + 1);
      const late = await call('GET', `/api/v1/nodes?limit=1&continue=${first.json.metadata.continue}`);
      expect(late.status).toBe(410);
      expect(late.json).toMatchObject({ kind: 'Status', reason: 'Expired', code: 410 });
      const present = await call('GET', `/api/v1/nodes?limit=1&continue=${late.json.metadata.continue}`);
      expect(present.json.items).toMatchObject([{ metadata: { name: 'c' } }]);
    });
  });

  it('is no management cluster without versions of Machine', async () => {
    const server = await startServer({ machineVersions: [] });
    const { status, text } = await withCaller(server, (call) => call('GET', '/apis/cluster.x-k8s.io'));
    expect({ status, text }).toEqual({ status: 404, text: '404 page not found\n' });
  });

  it('can have a serving certificate that has expired', async () => {
    const server = await startServer({ certificateNotAfter: new Date(Date.now() - 86_400_000) });
    const answer = withCaller(server, (call) => call('GET', '/version'));
    await expect(answer).rejects.toMatchObject({ code: 'CERT_HAS_EXPIRED' });
  });

  it('remembers what was asked', async () => {
    const server = await startServer();
    await withCaller(server, (call) => call('GET', '/api/v1/nodes?limit=1'));
    expect(server.requests).toMatchObject([{ method: 'GET', url: '/api/v1/nodes?limit=1' }]);
  });

  it('can be stopped twice, also while a client is connected', async () => {
    const server = await startServer();
    await withCaller(server, async (call) => {
      await call('GET', '/version');
      await Promise.all([server.stop(), server.stop()]);
    });
    const later = withCaller(server, (call) => call('GET', '/version'));
    await expect(later).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('comes with kubeconfigs that clients can load', async () => {
    const server = await startServer({ users: [{ name: 'certmarshal' }] });
    const loaded = new KubeConfig();
    loaded.loadFromString(kubeconfigOf(server, 'certmarshal'));
    expect(loaded.getCurrentCluster()).toMatchObject({ server: server.server, skipTLSVerify: false });
    expect(loaded.getCurrentUser()).toMatchObject({ token: server.tokenFor('certmarshal') });
    expect(() => kubeconfigOf(server, 'stranger')).toThrow('no such user: stranger');
  });
});

async function withCaller<T>(server: SimulatedApiServer, use: (call: Caller) => Promise<T>): Promise<T> {
  const call = callerOf(server.server, server.caPem, server.adminToken);
  try {
    return await use(call);
  } finally {
    call.close();
  }
}

function node(name: string) {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name } };
}
