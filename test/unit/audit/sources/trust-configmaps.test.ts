import { beforeAll, describe, expect, it, test } from 'vitest';
import { trustConfigMaps } from '../../../../lambdas/audit/sources/trust-configmaps.ts';
import { base64, CA_ENDS, createPki, type Pki } from './certificates.ts';
import {
  type Answers,
  certificatesOf,
  contextOf,
  failure,
  fakeClient,
  observe,
  outline,
  SERVER,
} from './fake-cluster.ts';

const ROOT_CA = '/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt';
const AUTHENTICATION = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
const CLUSTER_INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';

let clusterCa: Pki;
let clientCa: Pki;
let frontProxyCa: Pki;
beforeAll(async () => {
  [clusterCa, clientCa, frontProxyCa] = await Promise.all([createPki(), createPki(), createPki()]);
});

const configMap = (data: unknown) => ({ kind: 'ConfigMap', data });

function published(change: Answers = {}): Answers {
  const kubeconfig = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${base64(clusterCa.ca.certificate)}
    server: https://10.0.0.1:6443
  name: ""
kind: Config
`;
  return {
    [ROOT_CA]: configMap({ 'ca.crt': clusterCa.ca.certificate }),
    [AUTHENTICATION]: configMap({
      'client-ca-file': clientCa.ca.certificate,
      'requestheader-client-ca-file': frontProxyCa.ca.certificate,
      'requestheader-allowed-names': '["front-proxy-client"]',
    }),
    [CLUSTER_INFO]: configMap({ kubeconfig, 'jws-kubeconfig-abcdef': 'x' }),
    ...change,
  };
}

test('the client certificates of the kubeconfigs in use, even if they are refused', async () => {
  const client = { ...fakeClient({}), clientCertificatePem: await clientCa.leaf('kubernetes-admin') };
  const { target, ...context } = contextOf(client);
  const management = { ...client, server: 'https://10.0.0.2:6443' };
  const read = await trustConfigMaps.observe({ ...context, target: { ...target, management } });
  expect(outline(read).slice(-2)).toEqual([
    `certificate user-kubeconfig @ the kubeconfig for ${SERVER} #0`,
    'certificate user-kubeconfig @ the kubeconfig for https://10.0.0.2:6443 #0',
  ]);
  expect(read.authorities).toEqual([]);
});

test('the authorities of a cluster, and who signs for it', async () => {
  const read = await observe(trustConfigMaps, published());
  expect(read.count).toBe(3);
  expect(outline(read)).toEqual([
    'certificate cluster-ca @ ConfigMap kube-system/kube-root-ca.crt #0',
    'certificate client-ca @ ConfigMap kube-system/extension-apiserver-authentication #0',
    'certificate front-proxy-ca @ ConfigMap kube-system/extension-apiserver-authentication #0',
    'certificate cluster-ca @ ConfigMap kube-public/cluster-info #0',
  ]);
  expect(certificatesOf(read).map(({ notAfter }) => notAfter)).toEqual([CA_ENDS, CA_ENDS, CA_ENDS, CA_ENDS]);
  const fingerprints = certificatesOf(read).map(({ fingerprint }) => fingerprint);
  expect(read.authorities?.map(({ fingerprint }) => fingerprint)).toEqual(fingerprints.slice(0, 2));
});

test('EKS has no cluster-info, which is usual, and a CA of its own class', async () => {
  const answers = published({ [CLUSTER_INFO]: failure('not-found') });
  const read = await observe(trustConfigMaps, answers, { provider: 'eks' });
  expect(read.observations.at(-1)).toMatchObject({ kind: 'unread', usual: true });
  expect(outline(read)).toEqual([
    'certificate eks-cluster-ca @ ConfigMap kube-system/kube-root-ca.crt #0',
    'certificate client-ca @ ConfigMap kube-system/extension-apiserver-authentication #0',
    'certificate front-proxy-ca @ ConfigMap kube-system/extension-apiserver-authentication #0',
    'unread eks-cluster-ca @ ConfigMap kube-public/cluster-info: not-found',
  ]);
});

test('a kubeconfig of one line in JSON, whose CA may have signed too', async () => {
  const kubeconfig = JSON.stringify({
    clusters: [{ cluster: { 'certificate-authority-data': base64(frontProxyCa.ca.certificate) } }],
  });
  const read = await observe(trustConfigMaps, published({ [CLUSTER_INFO]: configMap({ kubeconfig }) }));
  expect(outline(read)).toContain('certificate cluster-ca @ ConfigMap kube-public/cluster-info #0');
  expect(read.authorities).toHaveLength(3);
});

describe('what the connection trusts', () => {
  it('is observed, and may have signed', async () => {
    const bundle = clientCa.ca.certificate + frontProxyCa.ca.certificate;
    const read = await trustConfigMaps.observe(contextOf(fakeClient(published(), bundle)));
    expect(outline(read).slice(-2)).toEqual([
      `certificate cluster-ca @ what certmarshal trusts for ${SERVER} #0`,
      `certificate cluster-ca @ what certmarshal trusts for ${SERVER} #1`,
    ]);
    expect(read.authorities).toHaveLength(3);
    expect(read.count).toBe(4);
  });

  it('is all that is left where no ConfigMap can be read', async () => {
    const none = {
      [ROOT_CA]: failure('unreachable'),
      [AUTHENTICATION]: failure('forbidden'),
      [CLUSTER_INFO]: failure('forbidden'),
    };
    const read = await trustConfigMaps.observe(contextOf(fakeClient(none, clientCa.ca.certificate)));
    expect(outline(read)).toEqual([
      expect.stringMatching(/^unread .*: unreachable$/),
      `certificate cluster-ca @ what certmarshal trusts for ${SERVER} #0`,
    ]);
    expect(read.count).toBe(1);
    await expect(observe(trustConfigMaps, none)).rejects.toMatchObject({ kind: 'unreachable' });
  });
});

describe('what cannot be read', () => {
  it('is a place of its own, with a word about each that is there', async () => {
    const read = await observe(trustConfigMaps, published({ [AUTHENTICATION]: failure('aborted', 'get configmaps') }));
    expect(outline(read)).toEqual([
      'certificate cluster-ca @ ConfigMap kube-system/kube-root-ca.crt #0',
      'unread client-ca @ ConfigMap kube-system/extension-apiserver-authentication: timeout',
      'unread front-proxy-ca @ ConfigMap kube-system/extension-apiserver-authentication: timeout',
      'certificate cluster-ca @ ConfigMap kube-public/cluster-info #0',
    ]);
    expect(read.authorities).toHaveLength(1);
  });

  it.each<[string, string, unknown, readonly string[]]>([
    ['ca.crt', ROOT_CA, {}, ['unread cluster-ca @ ConfigMap kube-system/kube-root-ca.crt: malformed']],
    ['data', ROOT_CA, 7, ['unread cluster-ca @ ConfigMap kube-system/kube-root-ca.crt: malformed']],
    ['text', ROOT_CA, { 'ca.crt': 7 }, ['unread cluster-ca @ ConfigMap kube-system/kube-root-ca.crt: malformed']],
    [
      'PEM',
      ROOT_CA,
      { 'ca.crt': '\u0000\u001b[2J' },
      ['unread cluster-ca @ ConfigMap kube-system/kube-root-ca.crt: malformed'],
    ],
    // Neither client certificates nor aggregation are needed.
    [
      'client CA',
      AUTHENTICATION,
      {},
      [
        'unread client-ca @ ConfigMap kube-system/extension-apiserver-authentication: not-found',
        'unread front-proxy-ca @ ConfigMap kube-system/extension-apiserver-authentication: not-found',
      ],
    ],
    ['kubeconfig', CLUSTER_INFO, {}, ['unread cluster-ca @ ConfigMap kube-public/cluster-info: malformed']],
    [
      'base64',
      CLUSTER_INFO,
      { kubeconfig: 'certificate-authority-data: AAAAA' },
      ['unread cluster-ca @ ConfigMap kube-public/cluster-info: malformed'],
    ],
  ])('without %s', async (_, path, data, expected) => {
    const read = await observe(trustConfigMaps, published({ [path]: configMap(data) }));
    expect(outline(read).filter((line) => line.startsWith('unread'))).toEqual(expected);
  });
});
