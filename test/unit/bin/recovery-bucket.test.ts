import { describe, expect, it } from 'vitest';
import {
  type RecoveryBucket,
  recoveryCloseInBucket,
  recoveryListInBucket,
  recoveryOpenInBucket,
} from '../../../bin/commands/recovery/bucket.ts';
import { withOpened } from '../../../bin/commands/recovery/stored.ts';
import { recoveryWindow } from '../../../bin/commands/recovery/window.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { parseRecoveryWindows, type StoredWindow } from '../../../lambdas/contracts/recovery-window.ts';
import { openWindowOf } from '../../../lambdas/recovery/open-window.ts';
import { BERLIN, DUBLIN, index, indexed, MINUTE, NOW, registered, registry, TROUBLE } from '../fleet/values.ts';
import { outcomeOf, type RecordedIo, recordedIo } from './io.ts';

const ARN = 'arn:aws:sts::111122223333:assumed-role/admin/ada';
const KEY = 'recovery.json';
const signal = new AbortController().signal;

interface Bucket extends RecoveryBucket {
  readonly objects: RecoveryBucket['objects'];
  windows(): readonly StoredWindow[] | undefined;
  put(key: string, value: unknown): void;
  /** What somebody else does before each write. */
  before: () => void;
}

function bucketOf(known: Readonly<Record<string, unknown>> = {}): Bucket {
  const stored = new Map<string, { readonly value: unknown; readonly etag: string }>();
  let etags = 0;
  const put = (key: string, value: unknown): string => {
    etags += 1;
    stored.set(key, { value: JSON.parse(JSON.stringify(value)), etag: `e${etags}` });
    return `e${etags}`;
  };
  const berlin = registered(BERLIN.id, { target: BERLIN });
  put(
    'registry.json.gz',
    registry(berlin, registered(DUBLIN.id, { target: DUBLIN }), registered('rome', { problem: TROUBLE })),
  );
  put('fleet-index.json.gz', index(indexed(BERLIN.id)));
  for (const [key, value] of Object.entries(known)) put(key, value);
  const bucket: Bucket = {
    name: 'certmarshal-state',
    before: () => {},
    put,
    windows: () => parseRecoveryWindows(stored.get(KEY)?.value),
    objects: {
      read: async (key) => stored.get(key),
      write: async (key, value, etag) => {
        bucket.before();
        if (stored.get(key)?.etag !== etag)
          throw new AwsError({ kind: 'conflict', object: key, problem: 'it changed', remedy: 'Read it again.' });
        return put(key, value);
      },
    },
    caller: async () => ARN,
  };
  return bucket;
}

let ids = 0;
/** Runs a command against a bucket, `minutes` after the first one. */
function run(work: (io: RecordedIo) => Promise<number>, minutes = 0) {
  const io = recordedIo({ now: NOW + minutes * MINUTE });
  return outcomeOf(io, work(io));
}
const options = (output: 'table' | 'json' = 'table', yes = true) => ({ output, program: 'certmarshal', yes });
const open = (
  bucket: Bucket,
  minutes = 0,
  {
    cluster = BERLIN.id,
    output,
    yes,
  }: { readonly cluster?: string; readonly output?: 'table' | 'json'; readonly yes?: boolean } = {},
) => {
  ids += 1;
  const id = `w-${ids}`;
  const windowBy = (by: string, now: number) =>
    recoveryWindow({ nodes: 'cp-1,cp-2', for: '30m', by }, { id, cluster, now });
  return run((ports) => recoveryOpenInBucket(bucket, windowBy, options(output, yes), signal, ports), minutes);
};
const close = (bucket: Bucket, minutes = 0, cluster: string = BERLIN.id, yes = true) =>
  run((ports) => recoveryCloseInBucket(bucket, cluster, options('table', yes), signal, ports), minutes);
const list = (bucket: Bucket, minutes = 0, output: 'table' | 'json' = 'table') =>
  run((ports) => recoveryListInBucket(bucket, options(output), signal, ports), minutes);

describe('certmarshal recovery open --bucket', () => {
  it('writes the window, in the name of the caller, and says what follows', async () => {
    const bucket = bucketOf();
    const { status, stdout, stderr } = await open(bucket);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(bucket.windows()).toEqual([
      {
        id: `w-${ids}`,
        cluster: BERLIN.id,
        nodes: ['cp-1', 'cp-2'],
        openedAt: '2026-11-21T10:00:00Z',
        until: '2026-11-21T10:30:00Z',
        by: ARN,
        approvals: 2,
        bootstrapGroups: ['system:bootstrappers:kubeadm:default-node-token'],
      },
    ]);
    expect(stdout).toContain('open for 30 min, until 2026-11-21 10:30 UTC, by arn:aws:sts');
    expect(stdout).toContain('within 2 minutes');
    expect(stdout).toContain('kubectl -n kube-system get lease certmarshal-recovery');
    expect(stdout).toContain(`certmarshal recovery close --bucket certmarshal-state --cluster ${BERLIN.id} --yes`);
  });

  it('without --yes shows what it would write', async () => {
    const bucket = bucketOf();
    const { status, stdout, stderr } = await open(bucket, 0, { yes: false });
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'Nothing was written: --yes opens the window.\n' });
    expect(stdout).toBe(
      `A recovery window of ${BERLIN.id} would be open for 30 min, until 2026-11-21 10:30 UTC, by ${ARN}, for client certificates of cp-1, cp-2: 2 each.\n`,
    );
    expect(bucket.windows()).toBeUndefined();
    expect(JSON.parse((await open(bucket, 0, { yes: false, output: 'json' })).stdout)).toMatchObject({
      kind: 'would-open',
      window: { cluster: BERLIN.id },
    });
  });

  it('refuses another one of the cluster, with the time that the first one has left', async () => {
    const bucket = bucketOf();
    await open(bucket);
    await expect(open(bucket, 10)).rejects.toThrow('is open for 20 min more, until 2026-11-21 10:30 UTC');
    expect(bucket.windows()).toHaveLength(1);
    expect((await open(bucket, 30)).status).toBe(0);
    expect(bucket.windows()?.map(({ replaces }) => replaces)).toEqual([undefined, undefined]);
  });

  it('decides again when somebody else wrote meanwhile: one of two wins', async () => {
    const bucket = bucketOf();
    const other = recoveryWindow(
      { nodes: 'cp-1', for: '30m', by: 'bob' },
      { id: 'other', cluster: BERLIN.id, now: NOW },
    );
    bucket.before = () => {
      bucket.before = () => {};
      bucket.put(KEY, { version: 1, windows: [other] });
    };
    await expect(open(bucket)).rejects.toThrow('Recovery window other of');
    expect(bucket.windows()?.map(({ id }) => id)).toEqual(['other']);
  });

  it('gives up when others write all the time', async () => {
    const bucket = bucketOf();
    bucket.before = () => bucket.put(KEY, { version: 1, windows: [] });
    const { status, stderr } = await open(bucket);
    expect(status).toBe(1);
    expect(stderr).toContain('recovery.json: it changed');
  });

  it.each([
    [
      'that nobody knows',
      'mgmt/eksa-system/berlim',
      /has no cluster .*berlim; did you mean mgmt\/eksa-system\/berlin\?/,
    ],
    ['of EKS', DUBLIN.id, /EKS cluster/],
    ['that is not swept', 'rome', /is not swept: no/],
    ['with a name that objects have', 'constructor', /no cluster constructor/],
  ])('refuses a cluster %s', async (_, cluster, message) => {
    const bucket = bucketOf();
    await expect(open(bucket, 0, { cluster })).rejects.toThrow(message);
    expect(bucket.windows()).toBeUndefined();
  });

  it('refuses a bucket that is not that of a hub', async () => {
    const bucket = bucketOf({ 'registry.json.gz': { hello: 'world' } });
    await expect(open(bucket)).rejects.toThrow('FleetBucketName');
  });

  it('says that the sweep does not reach the cluster, and opens all the same', async () => {
    const finding = { ...TROUBLE, message: 'the certificate\u001b[2J has expired', since: new Date(NOW).toISOString() };
    const bucket = bucketOf({
      'fleet-index.json.gz': index(indexed(BERLIN.id, { readable: false, findings: [finding], findingCount: 1 })),
    });
    const { status, stderr } = await open(bucket);
    expect(status).toBe(0);
    expect(stderr).toContain('The last sweep could not read it');
    expect(stderr).not.toContain('\u001b');
  });

  it('leaves a damaged object as it is: it is evidence', async () => {
    const bucket = bucketOf({ [KEY]: { version: 1, windows: 'mine' } });
    for (const command of [open(bucket), close(bucket), list(bucket)]) {
      const { status, stderr, stdout } = await command;
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
      expect(stderr).toContain('aws s3 rm s3://certmarshal-state/recovery.json');
    }
    expect(bucket.windows()).toBeUndefined();
  });

  it('says in one sentence what AWS does not allow', async () => {
    const bucket = {
      ...bucketOf(),
      caller: async () => {
        throw new AwsError({ kind: 'denied', object: 'sts:GetCallerIdentity', problem: 'denied', remedy: 'Ask.' });
      },
    };
    expect(await open(bucket)).toEqual({ status: 1, stdout: '', stderr: 'sts:GetCallerIdentity: denied. Ask.\n' });
  });

  it('is one document as JSON', async () => {
    const { stdout } = await open(bucketOf(), 0, { output: 'json' });
    expect(JSON.parse(stdout)).toMatchObject({ version: 1, kind: 'opened', window: { cluster: BERLIN.id, by: ARN } });
  });
});

describe('certmarshal recovery close', () => {
  it('closes the window at once, for whoever reads it, and lets another one open', async () => {
    const bucket = bucketOf();
    await open(bucket);
    const first = `w-${ids}`;
    const { status, stdout } = await close(bucket, 5);
    expect(status).toBe(0);
    expect(stdout).toContain(`Recovery window ${first} of ${BERLIN.id} is closed, by ${ARN}.`);
    expect(bucket.windows()).toMatchObject([{ closed: { at: '2026-11-21T10:05:00.000Z', by: ARN } }]);
    expect(openWindowOf(bucket.windows() ?? [], BERLIN.id, NOW)).toBeUndefined();

    await open(bucket, 6);
    expect(bucket.windows()?.at(-1)).toMatchObject({ id: `w-${ids}`, replaces: [first] });
    expect(openWindowOf(bucket.windows() ?? [], BERLIN.id, NOW + 7 * MINUTE)?.id).toBe(`w-${ids}`);
  });

  it('without --yes shows the window, and leaves it open', async () => {
    const bucket = bucketOf();
    await open(bucket);
    const before = bucket.windows();
    expect(await close(bucket, 5, BERLIN.id, false)).toEqual({
      status: 1,
      stdout: `Recovery window w-${ids} of ${BERLIN.id} would be closed, by ${ARN}. It is open until 2026-11-21 10:30 UTC.\n`,
      stderr: 'Nothing was written: --yes closes it.\n',
    });
    expect(bucket.windows()).toEqual(before);
  });

  it('says which are open when that of the cluster is not', async () => {
    const bucket = bucketOf();
    await expect(close(bucket)).rejects.toThrow('None is open at all.');
    await open(bucket);
    await expect(close(bucket, 0, 'paris')).rejects.toThrow(`Open are those of: ${BERLIN.id}.`);
    await expect(close(bucket, 30)).rejects.toThrow('No recovery window of');
  });
});

describe('certmarshal recovery list', () => {
  it('shows those that are open first, and those that were over within a day', async () => {
    const bucket = bucketOf();
    expect((await list(bucket)).stdout).toBe('0 recovery windows are open in s3://certmarshal-state.\n');
    await open(bucket);
    await close(bucket, 5);
    await open(bucket, 6);
    const { stdout } = await list(bucket, 16);
    expect(stdout).toContain('1 recovery window is open');
    expect(stdout).toMatch(
      /! {2}mgmt\/eksa-system\/berlin +open for 20 min more {2}cp-1, cp-2[\s\S]*closed 11 min ago/,
    );
    expect((await list(bucket, 60)).stdout).toContain('ended 24 min ago');
    expect((await list(bucket, 26 * 60)).stdout).not.toContain('cp-1');
    const json = JSON.parse((await list(bucket, 16, 'json')).stdout);
    expect(json.windows.map(({ state }: { state: string }) => state)).toEqual(['open', 'closed']);
  });

  it('keeps what is written there from the terminal', async () => {
    const window = recoveryWindow({ nodes: 'cp-1', for: '30m', by: 'x' }, { id: 'w', cluster: BERLIN.id, now: NOW });
    const { stdout } = await list(bucketOf({ [KEY]: { version: 1, windows: [{ ...window, by: 'a\u001b[2J\nb' }] } }));
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toContain('\nb');
  });
});

describe('what is kept of windows', () => {
  const windowOf = (number: number, openedAt: number): StoredWindow =>
    recoveryWindow({ nodes: 'cp-1', for: '1h', by: 'x' }, { id: `w-${number}`, cluster: `c-${number}`, now: openedAt });

  it('drops those that were over for a day, and as many as have no room', () => {
    const over = Array.from({ length: 100 }, (_, n) => windowOf(n, NOW - (n < 10 ? 26 * 60 : 120) * MINUTE));
    const changed = withOpened(over, windowOf(1_000, NOW), NOW);
    if (changed === 'full' || 'open' in changed) throw new Error('it was refused');
    expect(changed.windows.map(({ id }) => id)).toEqual([...over.slice(10).map(({ id }) => id), 'w-1000']);
    const full = withOpened([...over.slice(10), ...over.slice(90)], windowOf(1_000, NOW), NOW);
    expect(full).toMatchObject({ windows: { length: 100 } });
  });

  it('refuses one more than a hundred that are open', () => {
    const hundred = Array.from({ length: 100 }, (_, n) => windowOf(n, NOW));
    expect(withOpened(hundred, windowOf(1_000, NOW), NOW)).toBe('full');
  });

  it('names at most eight windows that were closed', () => {
    const cluster = 'berlin';
    const closed = { at: new Date(NOW).toISOString(), by: 'x' };
    const windows = Array.from({ length: 12 }, (_, n) => ({ ...windowOf(n, NOW), cluster, closed }));
    const changed = withOpened(windows, { ...windowOf(1_000, NOW), cluster }, NOW);
    expect(changed).toMatchObject({ window: { replaces: windows.slice(4).map(({ id }) => id) } });
  });
});
