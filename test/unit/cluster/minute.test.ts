import { describe, expect, it } from 'vitest';
import type { EksCluster } from '../../../lambdas/aws/eks-clusters.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { KubeconfigSecretError, type ReadKubeconfigSecret } from '../../../lambdas/aws/kubeconfig-secret.ts';
import type { MinuteOptions } from '../../../lambdas/cluster/minute.ts';
import type { SweepOrder } from '../../../lambdas/contracts/order.ts';
import type { EksAccess, Target } from '../../../lambdas/contracts/target.ts';
import { BENCH_CLUSTER, csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import { eksCluster } from '../fleet/values.ts';
import {
  answer,
  createAuthority,
  type Handler,
  LOOPBACK,
  type Received,
  startTlsServer,
  statusBody,
  TOKEN,
} from '../kubernetes/tls-server.ts';
import { kubeconfigOf, minuteOf, minuteOver } from './minute-over-tls.ts';

const arnOf = (name: string) => `arn:aws:secretsmanager:eu-west-1:123456789012:secret:${name}-AbCdEf`;
const TARGET: Target = {
  id: 'berlin',
  cluster: { name: 'berlin', provider: 'eks-anywhere' },
  access: { kind: 'kubeconfig', secret: arnOf('berlin') },
  management: { namespace: 'eksa-system' },
  lane: 'default',
};
const never = new AbortController().signal;

const orderOf = (target: Target, more: Partial<SweepOrder> = {}): SweepOrder => ({
  target,
  tick: 0,
  deadlineMs: 10_000,
  ...more,
});
const ORDER = orderOf(TARGET);

const EMPTY = { kind: 'List', metadata: {}, items: [] };

/** An API server without requests that accepts one token. */
function accepting(token: () => string): Handler {
  return ({ headers }: Received, response) => {
    if (headers.authorization === `Bearer ${token()}`) answer(response, 200, EMPTY);
    else answer(response, 401, statusBody(401, 'Unauthorized', 'Unauthorized'));
  };
}

/** A cluster called bench with one open request of its node 1, and its own Machines. */
function withOneRequest(write: (method: string) => number = () => 200): Handler {
  const csr = csrOf(1, requestOf(1), new Date().toISOString());
  return ({ method, url }, response) => {
    if (method !== 'GET') answer(response, write(method), statusBody(write(method), 'Unauthorized', 'Unauthorized'));
    else if (url.endsWith('/cluster.x-k8s.io')) answer(response, 200, { versions: [{ version: 'v1beta2' }] });
    else if (url.includes('/clusters?')) answer(response, 200, { ...EMPTY, items: [BENCH_CLUSTER] });
    else answer(response, 200, { ...EMPTY, items: [url.includes('/machines?') ? machineOf(1) : csr] });
  };
}

/** Secrets Manager with these texts, and the names of what was read. */
function secretsOf(texts: Readonly<Record<string, () => string>>): {
  reads: string[];
  readSecret: ReadKubeconfigSecret;
} {
  const reads: string[] = [];
  return {
    reads,
    readSecret: async (arn) => {
      reads.push(arn);
      const text = texts[arn];
      if (text === undefined) throw new KubeconfigSecretError('not-found', arn, 'it does not exist');
      return text();
    },
  };
}

/** A server whose kubeconfig is in the secret of berlin. */
async function served(handler: Handler) {
  const server = await startTlsServer(handler);
  const text = await kubeconfigOf(server.connection);
  const { reads, readSecret } = secretsOf({ [arnOf('berlin')]: () => text, [arnOf('moved')]: () => text });
  return { server, reads, sweepOne: minuteOf({ readSecret }) };
}

const BENCH: Target = { ...TARGET, cluster: { name: 'bench', provider: 'eks-anywhere' } };

describe('createMinute', () => {
  it('keeps connections and credentials from one sweep to the next', async () => {
    const { server, reads, sweepOne } = await served(accepting(() => TOKEN));
    for (const sweep of [1, 2, 3])
      expect(await sweepOne(ORDER, never), `sweep ${sweep}`).toMatchObject({
        outcome: { complete: true, problems: [] },
        report: { complete: true },
      });
    expect(reads).toHaveLength(1);
    expect(server.connections()).toBe(1);
  });

  it('reads the secret again when the token was rotated, within the same sweep', async () => {
    let token = TOKEN;
    const server = await startTlsServer(accepting(() => token));
    const texts = {
      old: await kubeconfigOf(server.connection),
      new: await kubeconfigOf({ ...server.connection, token: 'rotated' }),
    };
    const { reads, readSecret } = secretsOf({ [arnOf('berlin')]: () => (token === TOKEN ? texts.old : texts.new) });
    const sweepOne = minuteOf({ readSecret });
    await sweepOne(ORDER, never);
    token = 'rotated';
    expect(await sweepOne(ORDER, never)).toMatchObject({ report: { complete: true } });
    expect(reads).toHaveLength(2);
  });

  it('reads the secret again when the CA was rotated', async () => {
    const stranger = await createAuthority('another-ca');
    const server = await startTlsServer(accepting(() => TOKEN));
    const { connection } = server;
    const texts = [
      await kubeconfigOf({ ...connection, caPem: stranger.certificatePem }),
      await kubeconfigOf(connection),
    ];
    const { readSecret } = secretsOf({ [arnOf('berlin')]: () => texts.shift() ?? '' });
    const sweepOne = minuteOf({ readSecret });
    expect(await sweepOne(ORDER, never)).toMatchObject({ report: { problems: [{ kind: 'certificate' }] } });
    expect(await sweepOne(ORDER, never)).toMatchObject({ report: { complete: true } });
  });

  it('does not repeat a sweep that has written, because only its report knows', async () => {
    const csr = csrOf(1, requestOf(1), new Date().toISOString());
    let items: Readonly<Record<string, readonly object[]>> = {};
    const { reads, sweepOne } = await served(({ method, url }, response) => {
      const resource = /\/(certificatesigningrequests|machines|clusters)\?/.exec(url)?.[1] ?? '';
      if (url.endsWith('/cluster.x-k8s.io')) answer(response, 200, { versions: [{ version: 'v1beta2' }] });
      else if (method === 'GET') answer(response, 200, { kind: 'List', metadata: {}, items: items[resource] ?? [] });
      else answer(response, 401, statusBody(401, 'Unauthorized', 'Unauthorized'));
    });
    await sweepOne(orderOf(BENCH), never);
    items = { certificatesigningrequests: [csr], machines: [machineOf(1)], clusters: [BENCH_CLUSTER] };
    expect(await sweepOne(orderOf(BENCH), never)).toMatchObject({
      report: { counts: { failed: 1 }, requests: { writes: 1 }, problems: [{ kind: 'unauthorized' }] },
    });
    expect(reads).toHaveLength(1);
  });

  it('asks once only with credentials that it has just read', async () => {
    const { server, reads, sweepOne } = await served(accepting(() => 'another token'));
    expect(await sweepOne(ORDER, never)).toMatchObject({ report: { problems: [{ kind: 'unauthorized' }] } });
    expect(reads).toHaveLength(1);
    expect(server.received).toHaveLength(1);
  });

  it('names the server once it lets us in, and has tried it before', async () => {
    let token = 'another token';
    const { server, sweepOne } = await minuteOver(accepting(() => token));
    const refused = (await sweepOne(ORDER, never)).outcome;
    expect(refused).toMatchObject({ readable: false, problems: [{ kind: 'unauthorized' }] });
    expect(refused).not.toHaveProperty('server', expect.anything());
    expect(refused).not.toHaveProperty('untried', expect.anything());
    token = TOKEN;
    expect((await sweepOne(ORDER, never)).outcome.server).toBe(server.connection.server.replace('https://', ''));
  });

  it('opens a target anew when its secret is another one', async () => {
    const { reads, sweepOne } = await served(accepting(() => TOKEN));
    await sweepOne(ORDER, never);
    const access = { kind: 'kubeconfig', secret: arnOf('moved') } as const;
    await sweepOne(orderOf({ ...TARGET, access }), never);
    expect(reads).toEqual([arnOf('berlin'), arnOf('moved')]);
  });

  it('says what is wrong with a target that cannot be opened, and quotes no secret', async () => {
    const exec = await kubeconfigOf({ server: 'https://127.0.0.1:1', user: { exec: { command: 'SENTINEL' } } });
    const data = Buffer.from('SENTINEL').toString('base64');
    const user = { 'client-certificate-data': data, 'client-key-data': data };
    const key = await kubeconfigOf({ server: 'https://127.0.0.1:1', user });
    for (const [name, text, kind, object] of [
      ['missing', undefined, 'secret', `secret ${arnOf('missing')}`],
      ['text', 'SENTINEL', 'kubeconfig', `kubeconfig in secret ${arnOf('text')}`],
      ['exec', exec, 'kubeconfig', `kubeconfig in secret ${arnOf('exec')}`],
      ['key', key, 'certificate', `kubeconfig in secret ${arnOf('key')}`],
    ] as const) {
      const { readSecret } = secretsOf(text === undefined ? {} : { [arnOf(name)]: () => text });
      const access = { kind: 'kubeconfig', secret: arnOf(name) } as const;
      const swept = await minuteOf({ readSecret })(orderOf({ ...TARGET, access }), never);
      expect(swept).toMatchObject({ outcome: { readable: false, complete: false, problems: [{ kind, object }] } });
      expect(swept).not.toHaveProperty('report', expect.anything());
      expect(swept.failures).toEqual([]);
      expect(JSON.stringify(swept)).not.toContain('SENTINEL');
    }
  });

  it.each([
    ['Secrets Manager is silent', new KubeconfigSecretError('unavailable', arnOf('berlin'), 'no answer'), 'secret'],
    ['certmarshal itself fails', new TypeError('a secret SENTINEL'), 'bug'],
  ])('has failed, and tried nothing, when %s', async (_, error, kind) => {
    const swept = await minuteOf({ readSecret: async () => Promise.reject(error) })(ORDER, never);
    expect(swept).toMatchObject({ outcome: { id: 'berlin', untried: true, readable: false, problems: [{ kind }] } });
    expect(swept.failures).toEqual([{ stage: 'approval', error }]);
    expect(JSON.stringify(swept.outcome)).not.toContain('SENTINEL');
  });

  it.each([
    [403, 1],
    [404, 1],
    [401, 3],
  ])('reads secrets again for Machines only when credentials are refused: %i', async (status, reads) => {
    const berlin = await startTlsServer(withOneRequest());
    const management = await startTlsServer((_, response) => answer(response, status, statusBody(status, 'x', 'x')));
    const texts = [await kubeconfigOf(berlin.connection), await kubeconfigOf(management.connection)];
    const secrets = secretsOf({ [arnOf('berlin')]: () => texts[0] ?? '', [arnOf('mgmt')]: () => texts[1] ?? '' });
    const sweepOne = minuteOf(secrets);
    const target = {
      ...BENCH,
      management: { access: { kind: 'kubeconfig', secret: arnOf('mgmt') }, namespace: 'eksa-system' },
    } as const;
    for (let sweep = 1; sweep <= 3; sweep += 1)
      expect(await sweepOne(orderOf(target), never)).toMatchObject({ report: { problems: [{ kind: 'evidence' }] } });
    expect(secrets.reads.filter((arn) => arn === arnOf('mgmt'))).toHaveLength(reads);
  });
});

describe('an order', () => {
  it('writes nothing behind another API server than the last sweep found there, once', async () => {
    const { server, sweepOne } = await minuteOver(withOneRequest());
    const elsewhere = await sweepOne(orderOf(BENCH, { server: 'berlin.example.com:6443' }), never);
    expect(elsewhere.outcome).toMatchObject({
      counts: { approved: 0, wouldWrite: 1 },
      problems: [{ kind: 'held', message: expect.stringContaining('led to berlin.example.com:6443 before') }],
    });
    expect(server.received.filter(({ method }) => method !== 'GET')).toEqual([]);
    const known = elsewhere.outcome.server ?? '';
    expect(await sweepOne(orderOf(BENCH, { server: known }), never)).toMatchObject({
      outcome: { server: known, counts: { approved: 1 }, problems: [] },
    });
  });

  it('counts its CSRs from where the index ends, and none if a webhook asked for it', async () => {
    const { sweepOne } = await served(accepting(() => TOKEN));
    const countedTo = Date.now() - 60_000;
    const { outcome } = await sweepOne(orderOf(TARGET, { countedTo }), never);
    expect(outcome.counted).toEqual({
      from: countedTo,
      to: expect.any(Number) as unknown,
      issued: 0,
      late: 0,
      notProvable: 0,
    });
    const hinted = await sweepOne(orderOf(TARGET, { countedTo, byWebhook: true }), never);
    expect(hinted.outcome).not.toHaveProperty('counted', expect.anything());
  });

  it('that must not write decides, writes nothing and says why', async () => {
    const { server, sweepOne } = await minuteOver(withOneRequest());
    const held = await sweepOne(orderOf(BENCH, { holdWrites: 'two clusters show one API server' }), never);
    expect(held).toMatchObject({
      outcome: {
        complete: false,
        counts: { approved: 0, wouldWrite: 1 },
        problems: [
          {
            kind: 'held',
            object: 'cluster berlin',
            message: 'two clusters show one API server',
            remedy: expect.stringContaining('none is written'),
          },
        ],
      },
      report: { complete: false, rows: [{ mode: 'observe', outcome: 'observed' }], problems: [{ kind: 'held' }] },
    });
    expect(server.received.filter(({ method }) => method !== 'GET')).toEqual([]);
    expect(await sweepOne(orderOf(BENCH), never)).toMatchObject({
      outcome: { complete: true, counts: { approved: 1 } },
    });
  });

  it('ends at its deadline when the cluster hangs, which is then a finding', async () => {
    const { sweepOne } = await minuteOver(() => {});
    expect(await sweepOne(orderOf(TARGET, { deadlineMs: 40 }), never)).toMatchObject({
      outcome: {
        readable: false,
        problems: [{ kind: 'timeout', message: 'not done within the 0.04 s that this cluster has' }],
      },
    });
  });

  it('ends with the batch, which says nothing about the cluster', async () => {
    const batch = new AbortController();
    const { sweepOne } = await minuteOver(() => batch.abort());
    expect(await sweepOne(ORDER, batch.signal)).toMatchObject({ outcome: { problems: [{ kind: 'aborted' }] } });
  });

  const clusters =
    (items: readonly unknown[] | undefined): Handler =>
    ({ url }, response) => {
      if (url.endsWith('/cluster.x-k8s.io')) answer(response, 200, { versions: [{ version: 'v1beta1' }] });
      else if (!url.includes('/clusters?')) answer(response, 200, EMPTY);
      else if (items === undefined) answer(response, 403, statusBody(403, 'Forbidden', 'no'));
      else answer(response, 200, { ...EMPTY, items });
    };

  const LOOKING = orderOf(TARGET, { lookForClusters: ['eksa-system'] });

  it('looks for workload clusters when it is told to', async () => {
    const { server, sweepOne } = await minuteOver(clusters([{ metadata: { namespace: 'eksa-system', name: 'oslo' } }]));
    const found = [{ namespace: 'eksa-system', name: 'oslo' }];
    expect(await sweepOne(LOOKING, never)).toMatchObject({
      outcome: { complete: true, workloadClusters: found },
    });
    const before = server.received.length;
    expect((await sweepOne(ORDER, never)).outcome).not.toHaveProperty('workloadClusters', expect.anything());
    expect(server.received).toHaveLength(before + 1);
  });

  it('tells what is wrong with one workload cluster, and of the others', async () => {
    const items = ['oslo', 'x'.repeat(64)].map((name) => ({ metadata: { namespace: 'eksa-system', name } }));
    const { sweepOne } = await minuteOver(clusters(items));
    expect(await sweepOne(LOOKING, never)).toMatchObject({
      outcome: {
        complete: false,
        problems: [{ kind: 'workload-clusters' }],
        workloadClusters: [{ namespace: 'eksa-system', name: 'oslo' }],
      },
      report: { complete: false, problems: [{ kind: 'workload-clusters' }] },
    });
  });

  it('tells that there are more workload clusters than it looks at', async () => {
    const items = Array.from({ length: 1_001 }, (_, n) => ({ metadata: { namespace: 'eksa-system', name: `c${n}` } }));
    const { outcome } = await (await minuteOver(clusters(items))).sweepOne(LOOKING, never);
    expect(outcome).toMatchObject({ complete: false, workloadClustersCut: true });
    expect(outcome.workloadClusters).toHaveLength(1_000);
  });

  it('tells no workload clusters when they cannot be listed, and why', async () => {
    const { outcome, report } = await (await minuteOver(clusters(undefined))).sweepOne(LOOKING, never);
    expect(outcome).toMatchObject({
      readable: true,
      complete: false,
      problems: [{ kind: 'forbidden', remedy: expect.stringContaining('certmarshal rbac --management') }],
    });
    expect(outcome).not.toHaveProperty('workloadClusters', expect.anything());
    expect(report?.problems).toEqual(outcome.problems);
  });

  it('notices a clock that is ten minutes off, and blames it for a refused token', async () => {
    const date = new Date(Date.now() - 600_000).toUTCString();
    const { sweepOne } = await minuteOver((_, response) => answer(response, 200, EMPTY, { date }));
    expect(await sweepOne(ORDER, never)).toMatchObject({
      outcome: {
        readable: true,
        complete: false,
        problems: [{ kind: 'clock', message: expect.stringMatching(/^its clock is (10 min|59\d s) behind ours/) }],
      },
    });
    const refusing = await minuteOver((_, response) =>
      answer(response, 401, statusBody(401, 'Unauthorized', 'no'), { date }),
    );
    const [message, remedy] = [expect.stringContaining('behind ours'), expect.stringContaining('NTP')];
    expect(await refusing.sweepOne(ORDER, never)).toMatchObject({
      outcome: { problems: [{ kind: 'unauthorized', message, remedy }, { kind: 'clock' }] },
    });
  });
});

describe('an EKS cluster', () => {
  const SCOPE = { account: '111122223333', region: 'eu-central-1' };
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const accessTo = ({ connection }: Awaited<ReturnType<typeof startTlsServer>>) => ({
    endpoint: connection.server,
    certificateAuthority: base64(connection.caPem),
  });

  const eks = (access: Pick<EksAccess, 'endpoint' | 'certificateAuthority'>): Target => ({
    id: '111122223333/eu-central-1/dublin',
    cluster: { name: 'dublin', provider: 'eks' },
    access: { kind: 'eks', scope: SCOPE, ...access },
    instances: SCOPE,
    lane: 'default',
  });

  /** EKS that shows the cluster so, and how often it was asked. */
  function eksOf(shown: Partial<EksCluster> | AwsError) {
    const asked: unknown[] = [];
    const describeCluster: MinuteOptions['describeCluster'] = async (...[scope, name]) => {
      asked.push([scope, name]);
      if (shown instanceof AwsError) throw shown;
      return { ...eksCluster({ name, endpoint: undefined, certificateAuthority: undefined }), ...shown };
    };
    return { asked, sweepOne: minuteOf({ describeCluster, signToken: async () => TOKEN, principalArn: PRINCIPAL }) };
  }
  const PRINCIPAL = 'arn:aws:iam::999988887777:role/certmarshal-sweep';

  /** An API server whose CA is not the one that the registry knows. */
  async function rotated() {
    const authority = await createAuthority('new');
    const server = await startTlsServer(
      accepting(() => TOKEN),
      { serving: await authority.issue(LOOPBACK) },
    );
    const old = accessTo(server);
    return { server, old, fresh: { ...old, certificateAuthority: base64(authority.certificatePem) } };
  }

  it('with a rotated CA is swept in the same sweep, and EKS is not asked again in the next', async () => {
    const { server, old, fresh } = await rotated();
    const { asked, sweepOne } = eksOf(fresh);
    for (const sweep of [1, 2, 3])
      expect(await sweepOne(orderOf(eks(old)), never), `sweep ${sweep}`).toMatchObject({ outcome: { complete: true } });
    expect(asked).toEqual([[SCOPE, 'dublin']]);
    expect(server.connections()).toBe(1);
    // The registry has caught up: its order counts.
    await sweepOne(orderOf(eks(fresh)), never);
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['the registry', false],
    ['EKS itself', true],
  ])('whose endpoint is none of EKS, as %s says, is a finding, and no token is signed for it', async (_, fresh) => {
    const { old } = await rotated();
    const forged = { ...old, endpoint: 'https://attacker.example' };
    const signed: unknown[] = [];
    const describeCluster: MinuteOptions['describeCluster'] = async (...[, name]) => ({
      ...eksCluster({ name }),
      ...forged,
    });
    const signToken = async (...asked: unknown[]) => {
      signed.push(asked);
      return TOKEN;
    };
    const sweepOne = minuteOf({ describeCluster, signToken, principalArn: PRINCIPAL });
    const { outcome, failures } = await sweepOne(orderOf(eks(fresh ? old : forged)), never);
    expect(outcome).toMatchObject({
      readable: false,
      problems: [
        {
          kind: 'endpoint',
          object: 'EKS cluster dublin in 111122223333/eu-central-1',
          message: expect.stringContaining('https://attacker.example is not an EKS endpoint in Region eu-central-1'),
        },
      ],
    });
    expect(failures).toEqual([]);
    // The endpoint of before, which was asked first, is one.
    expect(signed).toHaveLength(fresh ? 1 : 0);
  });

  it('with a CA bundle that cannot be read is asked for again too', async () => {
    const { old, fresh } = await rotated();
    expect(await eksOf(fresh).sweepOne(orderOf(eks({ ...old, certificateAuthority: 'eHg=' })), never)).toMatchObject({
      outcome: { complete: true },
    });
  });

  it.each([
    ['for EKS', 'DNS, proxies', async () => ({})],
    [
      'after it',
      'may have rotated its CA',
      async () => ({ certificateAuthority: base64((await createAuthority('other')).certificatePem) }),
    ],
  ])('whose CA is wrong also %s stays a finding, at one question a sweep', async (_, remedy, shown) => {
    const { server, old } = await rotated();
    const { asked, sweepOne } = eksOf({ ...old, ...(await shown()) });
    const problem = { kind: 'certificate', remedy: expect.stringContaining(remedy) };
    const expected = { outcome: { readable: false, problems: [problem] } };
    expect(await sweepOne(orderOf(eks(old)), never)).toMatchObject(expected);
    expect(asked).toHaveLength(1);
    expect(server.received).toEqual([]);
  });

  it.each([
    [
      'it was deleted',
      new AwsError({ kind: 'not-found', object: 'eks:DescribeCluster dublin', problem: 'none', remedy: 'Wait.' }),
      { kind: 'not-found', object: 'eks:DescribeCluster dublin', message: 'none', remedy: 'Wait.' },
    ],
    ['it has no endpoint', { status: 'FAILED' }, { kind: 'missing', message: expect.stringContaining('FAILED') }],
  ])('says both what TLS and what EKS says: %s', async (_, shown, problem) => {
    const { old } = await rotated();
    expect(await eksOf(shown).sweepOne(orderOf(eks(old)), never)).toMatchObject({
      outcome: { problems: [{ kind: 'certificate' }, problem] },
    });
  });

  it.each([
    [
      401,
      'aws eks create-access-entry --cluster-name dublin --region eu-central-1 --principal-arn arn:aws:iam::999988887777:role/certmarshal-sweep --kubernetes-groups certmarshal',
    ],
    [403, 'certmarshal rbac --group certmarshal | kubectl apply -f -'],
  ])('that answers %i needs a command, and no question to EKS', async (status, command) => {
    const server = await startTlsServer((_, response) => answer(response, status, statusBody(status, 'x', 'x')));
    const { asked, sweepOne } = eksOf({});
    expect(await sweepOne(orderOf(eks(accessTo(server))), never)).toMatchObject({
      outcome: { problems: [{ remedy: expect.stringContaining(command) }] },
    });
    expect(asked).toEqual([]);
  });

  it('is not tried without credentials of our own', async () => {
    const server = await startTlsServer(accepting(() => TOKEN));
    const gone = { kind: 'expired', object: 'token for dublin', problem: 'no credentials', remedy: 'Fix.' } as const;
    const sweepOne = minuteOf({ signToken: async () => Promise.reject(new AwsError(gone)) });
    const { outcome } = await sweepOne(orderOf(eks(accessTo(server))), never);
    expect(outcome).toMatchObject({ untried: true, readable: false, problems: [{ kind: 'credentials' }] });
    expect(server.received).toEqual([]);
  });

  it('whose instances may not be read is swept, and does not lose its connections', async () => {
    const csr = csrOf(1, requestOf(1), new Date(Date.now() - 180_000).toISOString());
    const server = await startTlsServer((_, response) => answer(response, 200, { ...EMPTY, items: [csr] }));
    const denied = { kind: 'denied', object: 'ec2:DescribeInstances', problem: 'denied', remedy: 'Allow it.' } as const;
    const sweepOne = minuteOf({
      signToken: async () => TOKEN,
      // oxlint-disable-next-line require-yield -- it fails before
      async *listInstances() {
        throw new AwsError(denied);
      },
    });
    const order = orderOf(eks(accessTo(server)));
    for (const sweep of [1, 2])
      expect(await sweepOne(order, never), `sweep ${sweep}`).toMatchObject({
        report: {
          rows: [{ reason: 'EvidenceUnreadable' }],
          evidence: [{ source: 'ec2', kind: 'denied' }],
          problems: [{ kind: 'evidence', message: 'ec2:DescribeInstances: denied', remedy: 'Allow it.' }],
        },
      });
    expect(server.connections()).toBe(1);
  });
});
