import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PROVIDERS } from '../../lambdas/identifiers.ts';
import { SOURCE_IDS } from '../../lambdas/tables/audit-sources.ts';
import { CERTIFICATE_CLASSES, type CertificateClass, renewedBy } from '../../lambdas/tables/certificate-classes.ts';

const page = readFileSync(new URL('../../docs/coverage.md', import.meta.url), 'utf8');

/** Cells of the rows of the table under a heading, without its head. */
function rowsUnder(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [body = ''] = section.split('\n## ');
  return body
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

interface Row {
  readonly certificate: string;
  readonly what: string;
  readonly where: string;
  readonly known: string;
  readonly renewed: string;
}

const rows: readonly Row[] = rowsUnder('Certificates').map(
  ([certificate = '', where = '', known = '', renewed = '']) => ({
    certificate,
    what: /: `([^`]+)`$/.exec(certificate)?.[1] ?? '',
    where,
    known,
    renewed,
  }),
);
const rowOf = (what: string) => rows.find((row) => row.what === what);
const classes = Object.keys(CERTIFICATE_CLASSES) as CertificateClass[];
const SOURCES = new Set<string>(SOURCE_IDS);
const sourcesIn = (text: string) =>
  [...text.matchAll(/`([^`]+)`/g)].flatMap(([, word = '']) => (SOURCES.has(word) ? [word] : []));

/** Every certificate of a cluster, whoever made the cluster: the name in the page, its class, and where it lives. */
const CERTIFICATES: readonly (readonly [certificate: string, what: CertificateClass, where: string])[] = [
  ['kube-apiserver', 'kube-apiserver', 'pki/apiserver.crt'],
  ['apiserver-kubelet-client', 'control-plane-clients', 'control plane machine'],
  ['front-proxy-client', 'control-plane-clients', 'control plane machine'],
  ['controller-manager.conf', 'control-plane-clients', 'control plane machine'],
  ['scheduler.conf', 'control-plane-clients', 'control plane machine'],
  ['admin.conf', 'control-plane-clients', 'control plane machine'],
  ['super-admin.conf', 'control-plane-clients', 'control plane machine'],
  ['etcd server, stacked', 'etcd-server', 'pki/etcd'],
  ['etcd peer, stacked', 'etcd-peer', 'the same'],
  ['etcd health check client, stacked', 'etcd-healthcheck-client', 'pki/etcd'],
  ['etcd server, stacked or external', 'etcd-server', '/etc/etcd/pki'],
  ['etcd peer, stacked or external', 'etcd-peer', 'the same'],
  ['apiserver-etcd-client, external', 'apiserver-etcd-client', 'CLUSTER-apiserver-etcd-client'],
  ['apiserver-etcd-client, external', 'apiserver-etcd-client', 'server-etcd-client.crt'],
  ['etcd CA, managed', 'etcd-ca', 'CLUSTER-managed-etcd'],
  ['cluster CA', 'cluster-ca', 'CLUSTER-ca'],
  ['front proxy CA', 'front-proxy-ca', 'CLUSTER-proxy'],
  ['kubeconfig of Cluster API', 'cluster-kubeconfig', 'CLUSTER-kubeconfig'],
  ["users' copies of kubeconfigs", 'user-kubeconfig', 'people'],
  ['kubelet, client', 'kubelet-client', '/var/lib/kubelet/pki'],
  ['serverTLSBootstrap', 'kubelet-serving', '/var/lib/kubelet/pki'],
  ['self-signed', 'kubelet-self-signed', '/var/lib/kubelet/pki'],
  ['EKS cluster CA', 'eks-cluster-ca', 'AWS'],
  ['EKS API endpoint', 'eks-api-server', 'AWS'],
  ['EKS app-serving', 'app-serving', 'workloads'],
  ['IAM Roles Anywhere', 'hybrid-node', '/etc/iam/pki'],
  ['activation of Systems Manager', 'hybrid-activation', 'Systems Manager'],
  ['IAM authenticator CA', 'aws-iam-authenticator-ca', 'CLUSTER-aws-iam-authenticator-ca'],
];

describe('docs/coverage.md', () => {
  it('has one row for each class, and no other', () => {
    expect(rows.map(({ what }) => what).toSorted()).toEqual([...classes].toSorted());
  });

  it.each(CERTIFICATES)('has a row for %s', (certificate, what, where) => {
    const row = rowOf(what);
    expect(row?.certificate).toContain(certificate);
    expect(row?.where).toContain(where);
  });

  it.each(rows)(
    'says of $what how its expiry is known: by a source, by inference, or not at all',
    ({ what, known }) => {
      const says = sourcesIn(known).length > 0 || /\binferred by `/.test(known) || /\bnot visible: \w/.test(known);
      expect(says || what === 'endpoint').toBe(true);
      expect(known).not.toBe('');
    },
  );

  it.each(rows)('has what renews $what as the code has it', ({ what, renewed }) => {
    const words = PROVIDERS.flatMap((provider) => renewedBy(what as CertificateClass, provider) ?? []);
    expect(words.length).toBeGreaterThan(0);
    expect(words.filter((text) => !renewed.includes(text))).toEqual([]);
  });

  it.each(['/var/lib/kubeadm/pki', '/var/lib/etcd/pki', '`etcdctl-etcd-client`', '`sa.key`'])(
    'says what %s is, which no class has for itself',
    (word) => expect(page).toContain(word),
  );

  it('describes every source once, and no other', () => {
    expect(rowsUnder('Sources').map(([id]) => id)).toEqual(SOURCE_IDS.map((id) => `\`${id}\``));
  });

  it('says of every source that shows certificates which ones', () => {
    // These only tell which members there are, or how many, or what the time is.
    const none = new Set<string>(['nodes', 'kubeadm-control-plane', 'etcdadm-cluster', 'clock']);
    const named = new Set(rows.flatMap(({ known }) => sourcesIn(known)));
    expect(SOURCE_IDS.filter((id) => named.has(id) === none.has(id))).toEqual([]);
  });

  it.each(SOURCE_IDS)('names %s where its code names a class', (id) => {
    const code = [id, `${id}-targets`]
      .map((name) => new URL(`../../lambdas/audit/sources/${name}.ts`, import.meta.url))
      .flatMap((file) => (existsSync(file) ? [readFileSync(file, 'utf8')] : []))
      .join('\n');
    const shown = classes.filter((what) => new RegExp(`(?:what:|what =|\\?|:|\\[|,|\\()\\s*'${what}'`).test(code));
    expect(shown.filter((what) => sourcesIn(rowOf(what)?.known ?? '').includes(id))).toEqual(shown);
  });

  it('says of every source that reads private keys that it is an opt-in', () => {
    const optIn = rowsUnder('Sources').filter(([, read = '']) => read.startsWith('opt-in'));
    expect(optIn.map(([id]) => id)).toEqual(['`tls-secrets`', '`kubelet-metrics`', '`cluster-secrets`']);
  });
});
