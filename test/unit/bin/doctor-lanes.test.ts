import { describe, expect, it } from 'vitest';
import { runGroup } from '../../../bin/doctor/check.ts';
import { type Server, type SweptFrom, serverChecks } from '../../../bin/doctor/server-checks.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';

const never = new AbortController().signal;
const FRANKFURT = { lane: 'frankfurt', vpcId: 'vpc-0123456789abcdef0' };
const DEFAULT = { lane: 'default' };

/** What the first checks of a server come to. */
async function tried(host: string, sweptFrom: SweptFrom | undefined) {
  const credentials = { kind: 'token' as const, token: 'x' };
  const server: Server = { connection: { server: `https://${host}`, addresses: 'local', credentials } };
  const options = {
    after: 'token',
    object: host,
    renew: { text: 'Renew.' },
    sweptFrom,
    thresholds: DEFAULT_THRESHOLDS,
    now: Date.now,
  };
  const checks = serverChecks(server, options)
    .filter(({ id }) => ['resolve', 'lane', 'connect'].includes(id))
    .map((check) => (check.id === 'resolve' ? { ...check, needs: [] } : check));
  // That of a private address would be waited for.
  const some = host.startsWith('127.') ? checks : checks.filter(({ id }) => id !== 'connect');
  return Object.fromEntries(
    (await runGroup({ subject: host, checks: some }, never)).checks.map((one) => [one.id, one]),
  );
}

describe('an API server that nobody reaches from here', () => {
  it('is a failure where the functions are outside of every VPC', async () => {
    expect(await tried('127.0.0.1:1', DEFAULT)).toMatchObject({ connect: { status: 'failed' } });
  });

  it.each(['127.0.0.1:1', 'no.such.name.invalid'])('is none where a lane in a VPC sweeps it: %s', async (host) => {
    const { resolve, connect, lane } = await tried(host, FRANKFURT);
    expect(connect ?? resolve).toMatchObject({
      status: 'warning',
      found: expect.stringMatching(/^cannot be tried from here: /),
      fix: { text: expect.stringContaining('lane frankfurt in vpc-0123456789abcdef0') },
    });
    expect(lane).toBeUndefined();
  });
});

describe('an API server that is swept from outside of every VPC', () => {
  it.each(['10.1.2.3', '172.31.0.1', '192.168.1.1', '100.64.0.1', '[fd12::1]'])(
    'and has the private address %s is reached by no lane, whatever this desk reaches',
    async (host) => {
      expect(await tried(host, DEFAULT)).toMatchObject({
        resolve: { status: 'passed' },
        lane: { status: 'failed', fix: { text: expect.stringContaining('add to lanes one in a VPC') } },
      });
    },
  );

  it.each(['203.0.113.7', '172.32.0.1', '[2001:db8::1]'])('and has the address %s may be reached', async (host) => {
    expect((await tried(host, DEFAULT))['lane']).toMatchObject({
      status: 'passed',
      found: 'lane default, outside of every VPC',
    });
  });

  it('is not judged by the addresses of its name here, where they may be others there', async () => {
    expect((await tried('10.1.2.3', undefined))['lane']).toBeUndefined();
  });
});
