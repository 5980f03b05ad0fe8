import { beforeAll, describe, expect, it, test } from 'vitest';
import { eksAuthorities, eksCluster } from '../../../../lambdas/audit/sources/eks.ts';
import type { EksAuthority } from '../../../../lambdas/aws/eks-audit.ts';
import { AwsError } from '../../../../lambdas/aws/errors.ts';
import { CA_ENDS, createPki, type Pki } from './certificates.ts';
import { contextOf, expectHarmless, fakeClient, outline, TOLD } from './fake-cluster.ts';
import { eksContext } from './fake-management.ts';

let first: Pki;
let second: Pki;
beforeAll(async () => {
  [first, second] = await Promise.all([createPki(), createPki()]);
});

const DENIED = new AwsError({ kind: 'denied', object: 'eks:X', problem: 'access is denied', remedy: 'Allow it.' });
const AUTHORITY: EksAuthority = {
  id: 'ca-1',
  createdAt: Date.UTC(2026, 0, 1),
  notBefore: Date.UTC(2026, 0, 1),
  notAfter: Date.UTC(2031, 0, 1),
  signingStatus: 'NOT_USED',
  distributionStatus: 'COMPLETE',
  firstAutoActivation: Date.UTC(2028, 5, 1),
  finalAutoActivation: Date.UTC(2028, 10, 1),
};
const STATUS = {
  kind: 'authority',
  source: 'eks-authorities',
  ...TOLD,
  id: 'ca-1',
  createdAt: '2026-01-01T00:00:00.000Z',
  notAfter: '2031-01-01T00:00:00.000Z',
  signingStatus: 'NOT_USED',
  distributionStatus: 'COMPLETE',
  firstAutoActivation: '2028-06-01T00:00:00.000Z',
  finalAutoActivation: '2028-11-01T00:00:00.000Z',
};

describe('eks-cluster', () => {
  it('tells each authority, and hands them to the second stage', async () => {
    const pem = `${first.ca.certificate}${second.ca.certificate}`;
    const read = await eksCluster.observe(eksContext({ certificateAuthority: async () => pem }));
    expect(eksCluster.stage).toBe('first');
    expect(read.count).toBe(1);
    expect(outline(read)).toEqual([
      'certificate eks-cluster-ca @ EKS certificateAuthority.data #0',
      'certificate eks-cluster-ca @ EKS certificateAuthority.data #1',
    ]);
    expect(read.observations[0]).toMatchObject({
      source: 'eks-cluster',
      ...TOLD,
      basis: 'certificate',
      notAfter: CA_ENDS,
      renewedBy: 'EKS; you can activate the successor earlier',
    });
    expect(read.authorities?.map(({ isAuthority, fingerprint }) => [isAuthority, fingerprint.length])).toEqual([
      [true, 64],
      [true, 64],
    ]);
  });

  it('says so when there is no certificate', async () => {
    const read = await eksCluster.observe(eksContext({ certificateAuthority: async () => 'no PEM' }));
    expect(outline(read)).toEqual(['unread eks-cluster-ca @ EKS certificateAuthority.data: malformed']);
    expect(read.authorities).toEqual([]);
  });
});

describe('eks-authorities', () => {
  const observe = async (...authorities: EksAuthority[]) => {
    const read = await eksAuthorities.observe(eksContext({ authorities: async () => authorities }));
    for (const observation of read.observations) expectHarmless(observation);
    return read;
  };

  it('tells the certificate where it is shown', async () => {
    const read = await observe({ ...AUTHORITY, certificate: first.ca.certificate });
    expect(read.count).toBe(1);
    expect(read.observations).toHaveLength(2);
    expect(read.observations[0]).toEqual(STATUS);
    expect(read.observations[1]).toMatchObject({
      kind: 'certificate',
      what: 'eks-cluster-ca',
      where: 'EKS certificate authority ca-1',
      basis: 'certificate',
      notAfter: CA_ENDS,
    });
  });

  it('tells the validity where it is not', async () => {
    expect((await observe(AUTHORITY)).observations).toEqual([
      STATUS,
      {
        kind: 'certificate',
        source: 'eks-authorities',
        ...TOLD,
        what: 'eks-cluster-ca',
        where: 'EKS certificate authority ca-1',
        basis: 'status',
        notBefore: '2026-01-01T00:00:00.000Z',
        notAfter: '2031-01-01T00:00:00.000Z',
        renewedBy: 'EKS; you can activate the successor earlier',
      },
    ]);
  });

  it('tells only its state where there is neither', async () => {
    const { id, createdAt, signingStatus } = AUTHORITY;
    const bare = { id, createdAt, signingStatus, distributionStatus: 'FAILED' } as const;
    expect((await observe(bare)).observations).toEqual([
      {
        kind: 'authority',
        source: 'eks-authorities',
        ...TOLD,
        id,
        createdAt: '2026-01-01T00:00:00.000Z',
        signingStatus,
        distributionStatus: 'FAILED',
      },
    ]);
  });

  it('bounds what it quotes', async () => {
    const read = await observe({
      ...AUTHORITY,
      id: `\u001b[2J${'x'.repeat(10_000)}`,
      certificate: 'x'.repeat(100_000),
    });
    expect(outline(read)[1]).toMatch(/^unread eks-cluster-ca @ EKS certificate authority .*: malformed$/);
  });
});

test.each([eksCluster, eksAuthorities])('$id is only of EKS, and throws what it is denied', async (source) => {
  expect(source.off(contextOf(fakeClient({})).target)).toBe(false);
  const denied = async (): Promise<never> => {
    throw DENIED;
  };
  const context = eksContext({ certificateAuthority: denied, authorities: denied });
  expect(source.off(context.target)).toBeUndefined();
  await expect(source.observe(context)).rejects.toBe(DENIED);
});
