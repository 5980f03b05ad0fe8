import { expect, it } from 'vitest';
import { proveExpired } from '../../../lambdas/x509/expired-server.ts';

// What servers really send is tested with the client that asks: test/unit/kubernetes/expired-server.test.ts.
it.each([
  ['nothing', []],
  ['no certificate', [Buffer.from('no certificate')]],
])('proves nothing by %s', (_, chain) => {
  expect(proveExpired({ chain, authorities: [], now: 0 })).toMatchObject({ ok: false, code: 'CERT_REJECTED' });
});
