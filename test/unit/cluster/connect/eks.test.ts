import { describe, expect, it } from 'vitest';
import { adviseForEks, mayHaveMoved } from '../../../../lambdas/cluster/connect/eks.ts';
import type { EksAccess } from '../../../../lambdas/contracts/target.ts';
import { connectionError } from '../../../../lambdas/kubernetes/broken-connection.ts';
import { TROUBLE } from '../../fleet/values.ts';

it.each([
  ['ENOTFOUND', true],
  ['EAI_AGAIN', true],
  ['SELF_SIGNED_CERT_IN_CHAIN', true],
  ['ERR_TLS_CERT_ALTNAME_INVALID', true],
  ['ECONNREFUSED', false],
  ['ETIMEDOUT', false],
])('after %s EKS is asked again: %s', (code, expected) => {
  const { kind, object, problem, remedy } = connectionError(
    { code },
    { object: 'list x', serverName: 'h', bundle: undefined, now: 0 },
  );
  expect(mayHaveMoved([{ kind, object, message: problem, remedy }])).toBe(expected);
});

const ACCESS: EksAccess = {
  kind: 'eks',
  endpoint: 'https://0A1B.gr7.ap-southeast-5.eks.amazonaws.com',
  certificateAuthority: 'Q0E=',
  scope: { account: '222233334444', region: 'ap-southeast-5' },
};
const ROLE = 'arn:aws:iam::111122223333:role/CertMarshal-sweep-eu-central-1';

describe('adviseForEks', () => {
  const remedyOf = (kind: string, ...others: string[]) => {
    const problems = [kind, ...others].map((one) => ({ ...TROUBLE, kind: one }));
    return adviseForEks(problems, 'kuala', ACCESS, ROLE)[0]?.remedy;
  };

  it('lets the role in, in the account of the cluster, and names what the account of the role needs', () => {
    const remedy = remedyOf('unauthorized');
    expect(remedy).toContain(
      'In account 222233334444, let the role in: aws eks create-access-entry --cluster-name kuala',
    );
    expect(remedy).toContain(`--region ap-southeast-5 --principal-arn ${ROLE} --kubernetes-groups certmarshal`);
    expect(remedy).toContain('in the account of that role too');
  });

  it('grants what is forbidden to the group', () => {
    expect(remedyOf('forbidden')).toContain('certmarshal rbac --group certmarshal');
  });

  it.each([['unauthorized', 'clock'], ['timeout']])('leaves the remedy of %s %s as it is', (kind, ...others) => {
    expect(remedyOf(kind, ...others)).toBe(TROUBLE.remedy);
  });
});
