import { beforeAll, describe, expect, it, test } from 'vitest';
import type { AuditSource } from '../../../../lambdas/audit/audit-source.ts';
import { apiServices, crdConversions, webhooks } from '../../../../lambdas/audit/sources/ca-bundles.ts';
import { base64, CA_ENDS, createPki, type Pki } from './certificates.ts';
import { type Answers, certificatesOf, failure, observe, outline, TOLD } from './fake-cluster.ts';

const VALIDATING = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const MUTATING = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

let pki: Pki;
let bundle: string;
beforeAll(async () => {
  pki = await createPki();
  bundle = base64(pki.ca.certificate);
});

const webhook = (name: unknown, caBundle: unknown) => ({ name, clientConfig: { service: {}, caBundle } });
const configuration = (name: string, ...hooks: unknown[]) => ({ metadata: { name }, webhooks: hooks });

test('webhooks, with the certificate itself', async () => {
  const read = await observe(webhooks, {
    [VALIDATING]: [configuration('cert-manager-webhook', webhook('webhook.cert-manager.io', bundle))],
    [MUTATING]: [configuration('pod-identity-webhook', webhook('iam.amazonaws.com', bundle), webhook('b', undefined))],
  });
  expect(read.count).toBe(2);
  expect(outline(read).toSorted()).toEqual([
    'certificate ca-bundle @ MutatingWebhookConfiguration pod-identity-webhook (webhook iam.amazonaws.com) #0',
    'certificate ca-bundle @ ValidatingWebhookConfiguration cert-manager-webhook (webhook webhook.cert-manager.io) #0',
  ]);
  expect(certificatesOf(read)[0]).toMatchObject({
    source: 'webhooks',
    ...TOLD,
    basis: 'certificate',
    notAfter: CA_ENDS,
    isAuthority: true,
    renewedBy: 'the person or tool that wrote it',
  });
});

test('what fails without each', async () => {
  const rules = [
    { operations: ['CREATE', 'UPDATE'], resources: ['pods'] },
    { operations: ['CREATE'], resources: ['jobs', 7] },
  ];
  const service = { name: 'hook', namespace: 'shop' };
  const hook = (name: string, failurePolicy?: unknown) => ({
    name,
    failurePolicy,
    rules,
    clientConfig: { service, caBundle: bundle },
  });
  const read = await observe(webhooks, {
    [VALIDATING]: [configuration('a', hook('fails', 'Fail'), hook('ignores', 'Ignore'), hook('default'))],
    [MUTATING]: [configuration('b', { ...hook('broken'), clientConfig: { service, caBundle: base64('x') } })],
  });
  const calls = 'CREATE, UPDATE of pods, jobs';
  const fails = { blocks: true, effect: `${calls} fails (failurePolicy Fail)`, server: 'hook.shop.svc' };
  expect(read.observations.map((one) => ('usedBy' in one ? one.usedBy : undefined))).toEqual([
    fails,
    { ...fails, blocks: false, effect: `${calls} skips it (failurePolicy Ignore)` },
    fails,
    fails,
  ]);
});

test('APIServices and conversions; those that trust the machine say nothing', async () => {
  const services = await observe(apiServices, {
    [API_SERVICES]: [
      { metadata: { name: 'v1.apps' }, spec: { service: null } },
      { metadata: { name: 'v1beta1.metrics.k8s.io' }, spec: { caBundle: bundle } },
      { metadata: { name: 'v1.empty' }, spec: { caBundle: '' } },
    ],
  });
  expect(services.count).toBe(3);
  expect(outline(services)).toEqual(['certificate ca-bundle @ APIService v1beta1.metrics.k8s.io #0']);

  const conversions = await observe(crdConversions, {
    [DEFINITIONS]: [
      { metadata: { name: 'a.example.com' }, spec: { conversion: { strategy: 'None' } } },
      {
        metadata: { name: 'machines.cluster.x-k8s.io' },
        spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig: { caBundle: bundle } } } },
      },
    ],
  });
  expect(conversions.count).toBe(2);
  expect(outline(conversions)).toEqual([
    'certificate ca-bundle @ CustomResourceDefinition machines.cluster.x-k8s.io (conversion) #0',
  ]);
});

test('each certificate of a bundle has its position', async () => {
  const two = base64(`# old\n${pki.ca.certificate}# new\n${await pki.leaf('other')}`);
  const read = await observe(apiServices, { [API_SERVICES]: [{ metadata: { name: 'a' }, spec: { caBundle: two } }] });
  expect(outline(read)).toEqual(['certificate ca-bundle @ APIService a #0', 'certificate ca-bundle @ APIService a #1']);
});

describe('a caBundle that is none', () => {
  it.each<[string, unknown]>([
    ['a number', 7],
    ['an object', { a: 1 }],
    ['no base64', 'Cg==!'],
    ['PEM itself', '-----BEGIN CERTIFICATE-----'],
    ['no PEM', base64('hello')],
    ['a certificate that is none', base64('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')],
    ['a megabyte and more', 'A'.repeat(1024 * 1024 + 4)],
  ])('%s', async (_, caBundle) => {
    const items = [
      { metadata: { name: 'bad' }, spec: { caBundle } },
      { metadata: { name: 'good' }, spec: { caBundle: bundle } },
    ];
    expect(outline(await observe(apiServices, { [API_SERVICES]: items }))).toEqual([
      'unread ca-bundle @ APIService bad: malformed',
      'certificate ca-bundle @ APIService good #0',
    ]);
  });

  it('names with control characters, of a megabyte, and missing', async () => {
    const names = ['a\u0000\u001b[31m', 'b'.repeat(1024 * 1024), undefined, 7];
    const items = names.map((name) => ({
      metadata: { name },
      webhooks: [webhook(name, bundle), 7, null, webhook(name, 8)],
    }));
    const read = await observe(webhooks, { [VALIDATING]: items, [MUTATING]: [] });
    expect(read.observations).toHaveLength(8);
  });

  it('objects of another shape', async () => {
    const items = [7, null, 'a', {}, { spec: 7 }, { webhooks: 7 }, { spec: { conversion: [] } }];
    const everywhere: Answers = { [VALIDATING]: items, [MUTATING]: items, [API_SERVICES]: items, [DEFINITIONS]: items };
    for (const source of [webhooks, apiServices, crdConversions])
      expect((await observe(source, everywhere)).observations).toEqual([]);
  });
});

test('of more bundles than are kept the source is not read to its end', async () => {
  const many = Array.from({ length: 2_500 }, (_, n) => ({ metadata: { name: `s-${n}` }, spec: { caBundle: bundle } }));
  const read = await observe(apiServices, { [API_SERVICES]: many });
  expect(certificatesOf(read)).toHaveLength(2_000);
  expect(outline(read).at(-1)).toBe('unread - @ (source): too-large');
});

test.each<[string, AuditSource, string]>([
  ['webhooks', webhooks, VALIDATING],
  ['api-services', apiServices, API_SERVICES],
  ['crd-conversions', crdConversions, DEFINITIONS],
])('%s that may not be listed', async (_, source, path) => {
  const none: Answers = source === webhooks ? { [MUTATING]: failure('forbidden') } : {};
  await expect(observe(source, { [path]: failure('forbidden'), ...none })).rejects.toMatchObject({ kind: 'forbidden' });
});

test('one kind of webhook configurations that may not be listed does not hide the other', async () => {
  const read = await observe(webhooks, {
    [VALIDATING]: [configuration('a', webhook('b', bundle))],
    [MUTATING]: failure('forbidden'),
  });
  expect(outline(read)).toEqual([
    'certificate ca-bundle @ ValidatingWebhookConfiguration a (webhook b) #0',
    'unread - @ (source): forbidden',
  ]);
});
