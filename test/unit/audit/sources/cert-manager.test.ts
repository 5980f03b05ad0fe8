import { expect, test } from 'vitest';
import { certManager } from '../../../../lambdas/audit/sources/cert-manager.ts';
import { failure, observe, outline, TOLD } from './fake-cluster.ts';

const PATH = '/apis/cert-manager.io/v1/certificates';

const certificate = (status: unknown, name: unknown = 'web', namespace: unknown = 'shop') => ({
  metadata: { namespace, name },
  spec: { secretName: 'web-tls' },
  status,
});
const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: 'Certificate is up to date and has not expired',
};
const ISSUED = {
  notBefore: '2026-11-01T00:00:00Z',
  notAfter: '2027-01-30T00:00:00Z',
  renewalTime: '2026-12-31T00:00:00Z',
};

test('a Certificate that is issued', async () => {
  expect(
    await observe(certManager, { [PATH]: [certificate({ ...ISSUED, conditions: [READY], revision: 3 })] }),
  ).toEqual({
    count: 1,
    observations: [
      {
        kind: 'certificate',
        source: 'cert-manager',
        ...TOLD,
        what: 'cert-manager',
        where: 'Certificate shop/web',
        basis: 'status',
        notBefore: '2026-11-01T00:00:00.000Z',
        notAfter: '2027-01-30T00:00:00.000Z',
        renewedBy: 'cert-manager, automatically, from 2026-12-31 on',
        renewal: { due: '2026-12-31T00:00:00.000Z' },
      },
    ],
  });
});

// Source: cert-manager/cert-manager#4683; its status while an order fails.
test('one that is overdue and fails says both', async () => {
  const issuing = { type: 'Issuing', status: 'False', reason: 'Failed', message: 'order is in "invalid" state' };
  const overdue = { ...ISSUED, renewalTime: '2026-11-21T12:00:00Z', conditions: [READY, issuing] };
  expect((await observe(certManager, { [PATH]: [certificate(overdue)] })).observations).toMatchObject([
    {
      renewedBy: 'cert-manager, automatically, due since 2026-11-21',
      renewal: {
        due: '2026-11-21T12:00:00.000Z',
        failure: 'Issuing is False: Failed (order is in "invalid" state)',
      },
    },
  ]);
  const renewing = { ...overdue, conditions: [{ ...issuing, reason: 'DoesNotExist' }] };
  const { observations } = await observe(certManager, { [PATH]: [certificate(renewing)] });
  expect(observations).toMatchObject([{ renewal: { failure: undefined } }]);
});

test('times that RFC 3339 cannot write in UTC are the nearest ones that it can', async () => {
  const status = { notBefore: '0000-01-01T00:00:00+23:59', notAfter: '9999-12-31T23:59:59-23:59' };
  const { observations } = await observe(certManager, { [PATH]: [certificate(status)] });
  expect(observations).toMatchObject([{ notBefore: '0000-01-01T00:00:00.000Z', notAfter: '9999-12-31T23:59:59.999Z' }]);
});

test('one that cannot be renewed says why', async () => {
  const conditions = [{ type: 'Ready', status: 'False', message: 'no issuer\u001b[31m' }];
  const { observations } = await observe(certManager, { [PATH]: [certificate({ ...ISSUED, conditions })] });
  expect(observations).toMatchObject([
    {
      renewedBy:
        'cert-manager, automatically, from 2026-12-31 on; now not Ready: no reason given (no issuer\\u{1b}[31m)',
    },
  ]);
});

test('one that was never issued is not read, with the reason', async () => {
  const conditions = [{ type: 'Ready', status: 'False', reason: 'DoesNotExist', message: 'Issuing certificate' }];
  const { observations } = await observe(certManager, { [PATH]: [certificate({ conditions })] });
  expect(observations).toMatchObject([
    {
      kind: 'unread',
      where: 'Certificate shop/web',
      what: 'cert-manager',
      problem: 'missing',
      message: expect.stringContaining('not Ready: DoesNotExist (Issuing certificate)'),
    },
  ]);
});

test.each<[string, unknown, string]>([
  ['no object', 7, 'unread cert-manager @ Certificate (without a name): missing'],
  ['no status', { metadata: { name: 'a' } }, 'unread cert-manager @ Certificate a: missing'],
  [
    'times of another type',
    certificate({ notAfter: 7, notBefore: {} }),
    'unread cert-manager @ Certificate shop/web: missing',
  ],
  ['no time', certificate({ notAfter: 'soon' }), 'unread cert-manager @ Certificate shop/web: missing'],
  ['only an end', certificate({ notAfter: ISSUED.notAfter }), 'certificate cert-manager @ Certificate shop/web #0'],
  [
    'conditions of another type',
    certificate({ ...ISSUED, conditions: 7 }),
    'certificate cert-manager @ Certificate shop/web #0',
  ],
  ['a control character', certificate(ISSUED, 'a\n'), 'certificate cert-manager @ Certificate shop/a\\u{a} #0'],
])('strange: %s', async (_, item, expected) => {
  expect(outline(await observe(certManager, { [PATH]: [item] }))).toEqual([expected]);
});

test('texts of a megabyte are cut', async () => {
  const long = 'a'.repeat(1024 * 1024);
  const conditions = [{ type: 'Ready', status: 'False', reason: long, message: long }];
  const { observations } = await observe(certManager, {
    [PATH]: [certificate({ ...ISSUED, conditions }, long, long), certificate({ conditions }, long)],
  });
  expect(observations).toHaveLength(2);
});

test('a cluster need not have cert-manager', async () => {
  expect(certManager.optional).toBe('always');
  await expect(observe(certManager, {})).rejects.toMatchObject({ kind: 'not-found' });
});

test('a cluster that does not let us look does', async () => {
  await expect(observe(certManager, { [PATH]: failure('forbidden') })).rejects.toMatchObject({ kind: 'forbidden' });
});

test('of more than are kept the source is not read to its end', async () => {
  const many = Array.from({ length: 10_001 }, (_, n) => certificate(ISSUED, `c-${n}`));
  const { observations } = await observe(certManager, { [PATH]: many });
  expect(observations).toHaveLength(10_001);
  expect(outline({ observations }).at(-1)).toBe('unread - @ (source): too-large');
});
