import { X509Certificate } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { ExpiredServer } from '../../../lambdas/contracts/order.ts';
import { createKubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { answer, defaultCertificates, LOOPBACK, startTlsServer } from './tls-server.ts';

const HOUR = 3_600_000;

// OpenSSL goes by the clock of this machine; what is proven goes by the clock that everything else is judged by.
test.each<[string, (sha256: string) => ExpiredServer]>([
  ['of an authority', () => ({ pin: 'authority' })],
  ['with a fingerprint', (sha256) => ({ pin: 'fingerprint', sha256 })],
])('an expired certificate %s proves nothing before it is valid, by the clock that judges', async (_, pinOf) => {
  const { authority } = await defaultCertificates();
  const serving = await authority.issue(LOOPBACK, -3);
  const { fingerprint256, validFromDate, validToDate } = new X509Certificate(serving.certificatePem);
  const server = await startTlsServer((__, response) => answer(response, 200, {}), { serving });
  const request = async (now: number) => {
    const expiredServer = pinOf(fingerprint256.replaceAll(':', '').toLowerCase());
    const client = createKubernetesClient({ ...server.connection, expiredServer }, { now: () => now });
    onTestFinished(() => client.close());
    return client.request({ method: 'GET', path: '/api/v1/nodes' });
  };
  await expect(request(validFromDate.getTime() - HOUR)).rejects.toMatchObject({ code: 'CERT_NOT_YET_VALID' });
  await expect(request(validToDate.getTime() - HOUR)).rejects.toMatchObject({ code: 'CERT_HAS_EXPIRED' });
  expect(server.received).toEqual([]);
  expect(await request(Date.now())).toEqual({});
});
