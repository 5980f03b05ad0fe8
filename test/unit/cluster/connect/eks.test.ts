import { expect, it } from 'vitest';

import { mayHaveMoved } from '../../../../lambdas/cluster/connect/eks.ts';
import { connectionError } from '../../../../lambdas/kubernetes/broken-connection.ts';

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
    {
      object: 'list x',
      serverName: 'h',
      bundle: undefined,
      now: 0,
    },
  );
  expect(mayHaveMoved([{ kind, object, message: problem, remedy }])).toBe(expected);
});
