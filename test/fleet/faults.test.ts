import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type SimulatedApiServer, startSimulatedApiServer } from './api-server.ts';
import { type Caller, callerOf } from './call.ts';
import { steppedClock } from './clock.ts';
import { type Fault, WRONG_LISTS } from './faults.ts';
import { askFor } from './kubelet.ts';

const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

describe('a fault of the simulated server', () => {
  let server: SimulatedApiServer;
  let call: Caller;
  const injected: (() => void)[] = [];

  beforeAll(async () => {
    server = await startSimulatedApiServer({ clock: steppedClock(Date.UTC(2026, 0, 1)), name: 'faulty' });
    call = callerOf(server.server, server.caPem, server.adminToken);
    for (const name of ['worker-1', 'worker-2']) {
      askFor(server.api, name, { dnsNames: [name], ipAddresses: [] });
    }
  });

  afterEach(() => {
    for (const end of injected.splice(0)) end();
  });

  afterAll(async () => {
    call.close();
    await server.stop();
  });

  const inject = (fault: Fault, rule: { method?: string; after?: number; times?: number } = {}): void => {
    injected.push(server.inject({ fault, path: /certificatesigningrequests/, ...rule }));
  };

  it.each([401, 403, 404, 409, 410, 429, 500, 503] as const)('answers %i with a Status', async (code) => {
    inject({ kind: 'status', code });
    const answer = await call('GET', CSRS);
    expect(answer.status).toBe(code);
    expect(answer.json).toMatchObject({ kind: 'Status', status: 'Failure', code });
  });

  it('says when to come back', async () => {
    inject({ kind: 'status', code: 429, retryAfterSeconds: 2 });
    const answer = await call('GET', CSRS);
    expect(answer.headers['retry-after']).toBe('2');
    expect(answer.json.details).toEqual({ retryAfterSeconds: 2 });
  });

  it('shows a page for people', async () => {
    inject({ kind: 'html' });
    const answer = await call('GET', CSRS);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toContain('text/html');
    expect(answer.text).toContain('<html>');
  });

  it('cuts JSON in half', async () => {
    inject({ kind: 'half-json' });
    const answer = await call('GET', CSRS);
    expect(answer.status).toBe(200);
    expect(() => answer.json).toThrow(SyntaxError);
  });

  it('breaks the connection', async () => {
    inject({ kind: 'disconnect' });
    await expect(call('GET', CSRS)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('redirects', async () => {
    inject({ kind: 'redirect', location: 'https://elsewhere.example.com/' });
    const answer = await call('GET', CSRS);
    expect(answer.status).toBe(302);
    expect(answer.headers['location']).toBe('https://elsewhere.example.com/');
  });

  it.each([
    { fault: { kind: 'hang' }, bytes: 0 },
    { fault: { kind: 'drip', millisecondsPerByte: 5 }, bytes: 1 },
    { fault: { kind: 'endless' }, bytes: 10_000_000 },
  ] as const)('never ends: $fault.kind', async ({ fault, bytes }) => {
    inject(fault);
    const seen = await call.firstBytes(CSRS, { bytes, withinMs: bytes > 0 ? 15_000 : 300 });
    expect(seen.isEnded).toBe(false);
    expect(seen.bytes).toBeGreaterThanOrEqual(bytes);
  });

  it.each([
    { name: 'itemsWithoutMetadata', is: ({ items }) => items.every((item) => item.metadata === undefined) },
    { name: 'itemsWithoutStatus', is: ({ items }) => items.every((item) => item.status === undefined) },
    { name: 'duplicates', is: ({ items }) => items.length === 4 && items[0].metadata.uid === items[2].metadata.uid },
    { name: 'unknownFields', is: ({ items }) => items.every((item) => item.spec.flavour === 'unknown') },
    { name: 'hugeRequest', is: ({ items }) => items[0].spec.request.length > 1024 * 1024 },
    { name: 'nullItems', is: ({ items }) => items === null },
    { name: 'itemsThatAreNoObjects', is: ({ items }) => items[0] === null && items[1] === 'text' && items[2] === 7 },
    // oxlint-disable-next-line typescript/no-explicit-any -- JSON of the server
  ] satisfies { name: keyof typeof WRONG_LISTS; is: (list: { items: any[] }) => boolean }[])(
    'sends a wrong list: $name',
    async ({ name, is }) => {
      expect(is((await call('GET', CSRS)).json)).toBe(false);
      inject({ kind: 'wrong-list', spoil: WRONG_LISTS[name] });
      const { status, json } = await call('GET', CSRS);
      expect(status).toBe(200);
      expect(is(json)).toBe(true);
    },
  );

  it('hits only what it is meant for', async () => {
    inject({ kind: 'status', code: 500 }, { method: 'PUT' });
    expect((await call('GET', CSRS)).status).toBe(200);
    expect((await call('PUT', `${CSRS}/x/approval`, { body: {} })).status).toBe(500);
    expect((await call('GET', '/api/v1/nodes')).status).toBe(200);
  });

  it('comes after some requests and goes after others', async () => {
    inject({ kind: 'status', code: 503 }, { after: 1, times: 2 });
    const statuses: number[] = [];
    for (let index = 0; index < 5; index += 1) statuses.push((await call('GET', CSRS)).status);
    expect(statuses).toEqual([200, 503, 503, 200, 200]);
  });

  it('gives way to the one that was there before', async () => {
    inject({ kind: 'status', code: 503 }, { times: 1 });
    inject({ kind: 'status', code: 429 });
    expect([(await call('GET', CSRS)).status, (await call('GET', CSRS)).status]).toEqual([503, 429]);
  });
});
