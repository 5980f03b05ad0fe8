import { beforeAll, expect, test } from 'vitest';
import { tlsSecrets } from '../../../../lambdas/audit/sources/tls-secrets.ts';
import { base64, createPki, LEAF_ENDS, type Pki } from './certificates.ts';
import { certificatesOf, contextOf, failure, fakeClient, observe, outline } from './fake-cluster.ts';

const PATH = '/api/v1/secrets';

let pki: Pki;
let chain: string;
beforeAll(async () => {
  pki = await createPki();
  chain = (await pki.leaf('web')) + pki.ca.certificate;
});

const secret = (name: unknown, certificate: unknown) => ({
  metadata: { namespace: 'shop', name, annotations: { note: pki.keyPem } },
  type: 'kubernetes.io/tls',
  data: { 'tls.crt': certificate, 'tls.key': base64(pki.keyPem), 'ca.crt': base64(pki.ca.certificate) },
});

test('the chain of a Secret, asked for by its type', async () => {
  const client = fakeClient({ [PATH]: [secret('web-tls', base64(chain))] });
  const read = await tlsSecrets.observe(contextOf(client));
  expect(client.calls.map(({ query }) => query)).toEqual([{ fieldSelector: 'type=kubernetes.io/tls', limit: '250' }]);
  expect(outline(read)).toEqual([
    'certificate tls-secret @ Secret shop/web-tls #0',
    'certificate tls-secret @ Secret shop/web-tls #1',
  ]);
  expect(certificatesOf(read)[0]).toMatchObject({ notAfter: LEAF_ENDS, commonName: 'web', basis: 'certificate' });
});

test('the names of Services that a certificate has', async () => {
  const dnsNames = ['web', 'web.shop.svc', 'web.shop.svc.cluster.local'];
  const read = await observe(tlsSecrets, { [PATH]: [secret('web-tls', base64(await pki.leaf('web', { dnsNames })))] });
  expect(certificatesOf(read)).toMatchObject([{ serverNames: ['web.shop.svc'] }]);
});

test('no key gets any further, wherever it stands', async () => {
  const items = [
    secret('ordinary', base64(chain)),
    secret('swapped', base64(pki.keyPem)),
    secret('both', base64(`${pki.keyPem}\n${chain}`)),
    secret('plain', pki.keyPem),
    secret('doubled', base64(base64(pki.keyPem))),
    secret(7, { a: pki.keyPem }),
    pki.keyPem,
  ];
  const read = await observe(tlsSecrets, { [PATH]: items });
  const said = JSON.stringify(read);
  const key = pki.keyPem.replaceAll(/-----.*-----|\s/g, '');
  for (const secretText of [pki.keyPem, key, key.slice(20, 52), base64(pki.keyPem).slice(40, 72), 'PRIVATE'])
    expect(said).not.toContain(secretText);
  expect(outline(read)).toEqual([
    'certificate tls-secret @ Secret shop/ordinary #0',
    'certificate tls-secret @ Secret shop/ordinary #1',
    'unread tls-secret @ Secret shop/swapped: malformed',
    'certificate tls-secret @ Secret shop/both #0',
    'certificate tls-secret @ Secret shop/both #1',
    'unread tls-secret @ Secret shop/plain: malformed',
    'unread tls-secret @ Secret shop/doubled: malformed',
    'unread tls-secret @ Secret shop/(without a name): malformed',
    'unread tls-secret @ Secret (without a name): malformed',
  ]);
});

test.each<[string, unknown, string]>([
  ['without tls.crt', undefined, 'it is empty'],
  ['empty, as one that cert-manager has not filled yet', '', 'it is empty'],
  ['of another type', 7, 'it is not text'],
  ['of a megabyte and more', 'A'.repeat(1024 * 1024 + 4), 'it is larger than 1048576 characters'],
])('strange: %s', async (_, certificate, problem) => {
  const { observations } = await observe(tlsSecrets, { [PATH]: [secret('a', certificate)] });
  expect(observations).toMatchObject([{ kind: 'unread', problem: 'malformed', message: `tls.crt: ${problem}` }]);
});

test('is off unless opted in', () => {
  expect(tlsSecrets.off(contextOf(fakeClient({}), { reach: { secrets: false } }).target)).toBe(
    'not opted in (auditSecrets), so what webhooks serve is not seen',
  );
  expect(tlsSecrets.off(contextOf(fakeClient({})).target)).toBeUndefined();
});

test('a list that breaks off keeps what it had', async () => {
  let pages = 0;
  const items = Array.from({ length: 300 }, (_, n) => secret(`s-${n}`, base64(chain)));
  const read = await observe(tlsSecrets, {
    [PATH]: async () => {
      pages += 1;
      if (pages > 1) throw failure('server');
      return items;
    },
  });
  expect(read.count).toBe(250);
  expect(outline(read).at(-1)).toBe('unread - @ (source): server');
});
