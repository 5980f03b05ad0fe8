import { describe, expect, it } from 'vitest';
import { KubeconfigSecretError } from '../../../../lambdas/aws/kubeconfig-secret.ts';
import { type ConnectOptions, createConnect } from '../../../../lambdas/cluster/connect/connect.ts';
import type { SweepOrder } from '../../../../lambdas/contracts/order.ts';
import { isOnLoopback } from '../../../fleet/loopback.ts';
import { DUBLIN, PARIS, TROUBLE } from '../../fleet/values.ts';
import { defaultCertificates } from '../../kubernetes/tls-server.ts';
import { reportOf } from '../../telemetry/reports.ts';
import { kubeconfigOf } from '../minute-over-tls.ts';

const never = new AbortController().signal;
const ORDER: SweepOrder = { target: PARIS, tick: 0, deadlineMs: 10_000 };
const refused = { problems: [{ ...TROUBLE, kind: 'unauthorized' }], report: reportOf({ readable: false }) };
const untrusted = { problems: [{ ...TROUBLE, kind: 'certificate' }], report: reportOf({ readable: false }) };
const well = { problems: [], report: reportOf({}) };

async function connecting(options: Partial<ConnectOptions> = {}) {
  const text = await kubeconfigOf({ server: 'https://127.0.0.1:1' });
  const { authority } = await defaultCertificates();
  const certificateAuthority = Buffer.from(authority.certificatePem).toString('base64');
  const reads: string[] = [];
  const asked: string[] = [];
  const connect = createConnect({
    addresses: 'local',
    readSecret: async (arn) => {
      reads.push(arn);
      return text;
    },
    signToken: async () => 'token',
    isEksEndpoint: isOnLoopback,
    describeCluster: async (_, name) => {
      asked.push(name);
      const moved = { endpoint: 'https://127.0.0.1:2', certificateAuthority };
      return { name, arn: 'arn', status: 'ACTIVE', tags: {}, endpointAccess: 'public', serviceCidrs: [], ...moved };
    },
    async *listInstances() {},
    ...options,
  });
  return { connect, reads, asked };
}

describe('a connection', () => {
  it('is kept for the next minute of the same target, once it was used without a doubt', async () => {
    const { connect, reads } = await connecting();
    for (const seen of [well, well, well]) {
      const connection = connect(ORDER);
      expect(await connection.open(never)).toHaveProperty('open');
      expect(await connection.doubt(seen, never)).toEqual([]);
      connection.release();
    }
    expect(reads).toHaveLength(1);
    await connect({ ...ORDER, expiredServer: { pin: 'authority' } }).open(never);
    expect(reads).toHaveLength(2);
  });

  it('is not kept when nobody said what was seen over it, and not when certmarshal failed', async () => {
    const { connect, reads } = await connecting();
    const first = connect(ORDER);
    await first.open(never);
    first.release();
    const second = connect(ORDER);
    await second.open(never);
    await second.doubt({ ...well, bug: {} }, never);
    second.release();
    await connect(ORDER).open(never);
    expect(reads).toHaveLength(3);
  });

  it('that was kept is opened anew once when credentials are refused; a new one is not', async () => {
    const { connect, reads } = await connecting();
    const first = connect(ORDER);
    await first.open(never);
    await first.doubt(well, never);
    first.release();
    const second = connect(ORDER);
    await second.open(never);
    expect(await second.doubt(refused, never)).toBeUndefined();
    await second.open(never);
    expect(await second.doubt(refused, never)).toEqual(refused.problems);
    second.release();
    expect(reads).toHaveLength(2);
    await connect(ORDER).open(never);
    expect(reads).toHaveLength(3);
  });

  it.each<[string, object, AbortSignal]>([
    ['something was written', { report: reportOf({ requests: { sent: 1, writes: 1, retries: 0 } }) }, never],
    ['certmarshal failed', { bug: {} }, never],
    ['no time is left', {}, AbortSignal.abort()],
  ])('is not tried again where %s', async (_, more, signal) => {
    const { connect, asked } = await connecting();
    const connection = connect({ ...ORDER, target: DUBLIN });
    await connection.open(never);
    expect(await connection.doubt({ ...untrusted, ...more }, signal)).toEqual(untrusted.problems);
    expect(asked).toEqual([]);
  });

  it('to an EKS cluster that moved is opened where EKS says, which is asked once', async () => {
    const { connect, asked } = await connecting();
    const connection = connect({ ...ORDER, target: DUBLIN });
    await connection.open(never);
    expect(await connection.doubt(untrusted, never)).toBeUndefined();
    const opened = await connection.open(never);
    expect('open' in opened ? opened.open.workload.server : opened.problem).toBe('https://127.0.0.1:2');
    expect(await connection.doubt(untrusted, never)).toEqual(untrusted.problems);
    expect(asked).toEqual(['dublin']);
  });

  it('says why no client can be made, and throws where nothing is known about the target', async () => {
    const broken = await connecting({ readSecret: async () => 'no kubeconfig' });
    expect(await broken.connect(ORDER).open(never)).toMatchObject({ problem: { kind: 'kubeconfig' } });
    const error = new KubeconfigSecretError('unavailable', 'arn', 'no answer');
    const unknown = await connecting({ readSecret: async () => Promise.reject(error) });
    await expect(unknown.connect(ORDER).open(never)).rejects.toBe(error);
  });
});
