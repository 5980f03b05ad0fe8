import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { type AuditReport, audit } from '../../lambdas/audit/audit.ts';
import type { AuditSource } from '../../lambdas/audit/audit-source.ts';
import type { AuditTarget } from '../../lambdas/audit/audit-target.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import { AUDIT_SOURCES } from '../../lambdas/audit/sources.ts';
import type { CertificateObservation } from '../../lambdas/contracts/observation.ts';
import type { Snapshot } from '../../lambdas/contracts/snapshot.ts';
import { createKubernetesClient, type KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { loadLocalKubeconfig } from '../../lambdas/kubernetes/local-kubeconfig.ts';
import { waitFor } from '../patience.ts';
import { type Admin, connectAdmin, type KubeObject } from './admin.ts';
import {
  type Berlin,
  CLUSTER,
  describeCluster,
  endOf,
  machineAt,
  NAMESPACE,
  refreshWhatIsWritten,
  setWebhookBundle,
  WORKER_MACHINES,
} from './berlin.ts';
import { approveCsr, CSRS, type Csr, createCsr, signedCertificate } from './fixtures.ts';
import { type Kubelet, startKubelet } from './kubelets.ts';
import {
  balanceLoad,
  CONTROL_PLANE_MACHINES,
  type ControlPlaneOnMachines,
  ETCD_MACHINES,
  type LoadBalancer,
  type Process,
  type ServingCertificate,
  startOnMachines,
} from './machines.ts';
import { createKubeletRequest } from './pki.ts';
import { applyPublishedCrds, publishedCrds } from './published-crds.ts';
import { realComponents } from './real.ts';
import { makeUserHome, type UserHome } from './user-home.ts';

const run = promisify(execFile);
const real = await realComponents(
  'audits of a real control plane',
  'etcd',
  'kubeApiserver',
  'kubeControllerManager',
  'kubeScheduler',
  'kubectl',
);
const definitions = await publishedCrds();
const missing = real.missing ?? ('missing' in definitions ? definitions.missing : undefined);

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const WEBHOOK = 'ValidatingWebhookConfiguration policy (webhook policy.example.com)';
const [FIRST, SECOND] = CONTROL_PLANE_MACHINES;

/** One certificate that is somewhere, and what openssl says of it. */
interface Expected {
  readonly what: CertificateObservation['what'];
  readonly where: string;
  readonly position?: number;
  readonly notAfter: string;
  readonly fingerprint: string;
}

describe.skipIf(missing)('an audit of a real control plane', () => {
  let controlPlane: ControlPlaneOnMachines;
  let management: LoadBalancer;
  let admin: Admin;
  let berlin: Berlin;
  let kubelets: readonly Kubelet[];
  let target: AuditTarget;
  const clients: KubernetesClient[] = [];

  /** A new connection, with exactly the rights that certmarshal asks for. */
  async function connect(user = 'certmarshal', server = controlPlane.server): Promise<KubernetesClient> {
    const kubeconfig = await readFile(controlPlane.kubeconfig(user), 'utf8');
    const at = kubeconfig.replace(controlPlane.server, server);
    const client = createKubernetesClient({ ...(await loadLocalKubeconfig(at)), addresses: 'local' });
    clients.push(client);
    return client;
  }

  const look = async (
    previous?: Snapshot,
    changed: Partial<AuditTarget> & { readonly aheadMs?: number; readonly sources?: readonly AuditSource[] } = {},
  ): Promise<AuditReport> => {
    const { aheadMs = 0, sources = AUDIT_SOURCES, ...rest } = changed;
    const clock = () => Date.now() + aheadMs;
    const { signal } = new AbortController();
    return audit({ ...target, ...rest }, { previous, thresholds: DEFAULT_THRESHOLDS, clock, signal, sources });
  };

  const kubeletOf = (address: string): Kubelet => {
    const found = kubelets.find((kubelet) => kubelet.address === address);
    if (found === undefined) throw new Error(`no kubelet at ${address}`);
    return found;
  };

  /** Every server that shows a certificate: of which class, and where. */
  function servers(): readonly { readonly what: Expected['what']; readonly host: string; readonly port: number }[] {
    const { ports } = controlPlane;
    const { hostname, port } = new URL(controlPlane.server);
    return [
      { what: 'kube-apiserver', host: hostname, port: Number(port) },
      ...CONTROL_PLANE_MACHINES.flatMap(
        (host) =>
          [
            { what: 'kube-apiserver', host, port: ports.kubeApiserver },
            { what: 'kube-controller-manager', host, port: ports.kubeControllerManager },
            { what: 'kube-scheduler', host, port: ports.kubeScheduler },
          ] as const,
      ),
      ...ETCD_MACHINES.flatMap(
        (host) =>
          [
            { what: 'etcd-server', host, port: ports.etcdClient },
            { what: 'etcd-peer', host, port: ports.etcdPeer },
          ] as const,
      ),
      ...kubelets.map(({ address: host, selfSigned }) => ({
        what: selfSigned ? ('kubelet-self-signed' as const) : ('kubelet-serving' as const),
        host,
        port: ports.kubelet,
      })),
    ];
  }

  /** Every certificate that there is without looking into Secrets; those of servers are asked for with openssl, without a client certificate. */
  async function everyCertificate(): Promise<readonly Expected[]> {
    const { cluster } = controlPlane.authorities;
    const data = async (namespace: string, name: string) =>
      (
        await admin.get<KubeObject & { data: Record<string, string> }>(
          `/api/v1/namespaces/${namespace}/configmaps/${name}`,
        )
      ).data;
    const [root, authentication, requests] = await Promise.all([
      data('kube-system', 'kube-root-ca.crt'),
      data('kube-system', 'extension-apiserver-authentication'),
      admin.get<{ items: Csr[] }>(CSRS),
    ]);
    const issued = requests.items.flatMap(({ spec: { signerName, username }, status: { certificate } }) =>
      certificate === undefined
        ? []
        : [
            {
              signerName,
              node: username.replace('system:node:', ''),
              pem: Buffer.from(certificate, 'base64').toString(),
            },
          ],
    );
    const written: readonly (readonly [Expected['what'], string, string | undefined, number?])[] = [
      ['cluster-ca', 'ConfigMap kube-system/kube-root-ca.crt', root['ca.crt']],
      ['client-ca', 'ConfigMap kube-system/extension-apiserver-authentication', authentication['client-ca-file']],
      [
        'front-proxy-ca',
        'ConfigMap kube-system/extension-apiserver-authentication',
        authentication['requestheader-client-ca-file'],
      ],
      ['cluster-ca', 'ConfigMap kube-public/cluster-info', cluster.certPem],
      ['cluster-ca', `what certmarshal trusts for ${controlPlane.server}`, cluster.certPem],
      ['ca-bundle', WEBHOOK, berlin.webhookAuthority],
      ['ca-bundle', WEBHOOK, berlin.oldWebhookAuthority, 1],
      ['ca-bundle', 'APIService v1beta1.metrics.example.com', berlin.apiServiceAuthority],
      ['ca-bundle', 'CustomResourceDefinition widgets.example.com (conversion)', berlin.conversionAuthority],
      ...issued.map(({ signerName, node, pem }) => {
        return signerName.endsWith('kubelet-serving')
          ? (['kubelet-serving', `kubelet serving of ${node}, issued by request`, pem] as const)
          : (['kubelet-client', `kubelet client of ${node}, issued by request`, pem] as const);
      }),
    ];
    const chains = await Promise.all(
      servers().map(async ({ what, host, port }) => ({
        what,
        where: `${host}:${port}`,
        chain: await shownBy(host, port),
      })),
    );
    const shown = chains.flatMap(({ what, where, chain }) =>
      chain.map(async (pem, position) => ({
        what: position === 0 ? what : ('ca-bundle' as const),
        where,
        position: position === 0 ? undefined : position,
        ...(await opensslOf(pem)),
      })),
    );
    return Promise.all([
      ...shown,
      ...written.map(async ([what, where, pem = '', position = 0]) => ({
        what,
        where,
        position: position === 0 ? undefined : position,
        ...(await opensslOf(pem)),
      })),
    ]);
  }

  /** Waits until a server shows this certificate: some read their file only when they hear that it has changed. */
  async function untilShown(host: string, port: number, pem: string): Promise<void> {
    const { fingerprint } = await opensslOf(pem);
    const shows = async () => (await opensslOf((await shownBy(host, port))[0] ?? '')).fingerprint;
    const isShown = async () => (await shows().catch(() => undefined)) === fingerprint;
    await waitFor(`the new certificate of ${host}:${port}`, isShown, { everyMs: 50 });
  }

  async function renew(
    name: ServingCertificate,
    changed?: Parameters<ControlPlaneOnMachines['renew']>[1],
  ): Promise<string> {
    const pem = await controlPlane.renew(name, changed);
    const space = name.lastIndexOf(' ');
    await untilShown(name.slice(space + 1), portOf(name.slice(0, space)), pem);
    return pem;
  }

  function portOf(kind: string): number {
    const { ports } = controlPlane;
    const known: Readonly<Record<string, number>> = {
      'kube-apiserver': ports.kubeApiserver,
      'kube-controller-manager': ports.kubeControllerManager,
      'kube-scheduler': ports.kubeScheduler,
      'etcd server': ports.etcdClient,
      'etcd peer': ports.etcdPeer,
    };
    return known[kind] ?? 0;
  }

  beforeAll(async () => {
    if ('missing' in definitions) throw new Error(definitions.missing);
    controlPlane = await startOnMachines(real.binaries);
    management = await balanceLoad(CONTROL_PLANE_MACHINES, controlPlane.ports.kubeApiserver);
    admin = connectAdmin(controlPlane);
    await applyPublishedCrds(controlPlane, definitions);
    kubelets = await Promise.all(
      [...CONTROL_PLANE_MACHINES, ...WORKER_MACHINES].map((address) =>
        startKubelet(admin, {
          node: machineAt(address),
          address,
          port: controlPlane.ports.kubelet,
          selfSigned: address === WORKER_MACHINES[3],
          labels: address.startsWith('127.0.0.1') ? { 'node-role.kubernetes.io/control-plane': '' } : {},
        }),
      ),
    );
    berlin = await describeCluster(admin, controlPlane);
    await issueClientCertificate();
    await admin.apply(rbacManifests({ group: 'certmarshal' }, [DEFAULT_POLICY]));
    await admin.apply(rbacManifests({ group: 'certmarshal', management: true }, [DEFAULT_POLICY]));
    target = {
      id: CLUSTER,
      cluster: { name: CLUSTER, provider: 'eks-anywhere' },
      workload: await connect(),
      management: await connect('certmarshal', `https://127.0.0.1:${management.port}`),
      machinesNamespace: NAMESPACE,
      reach: { handshakes: true, secrets: false, kubeletMetrics: false },
      ports: controlPlane.ports,
    };
    // New rights take a moment.
    await waitFor('every source', async () => unreadSources((await look()).snapshot).length === 0);
  });

  /** As kube-controller-manager approves and signs it for a kubelet that has one already. */
  async function issueClientCertificate(): Promise<void> {
    const nodeName = machineAt(WORKER_MACHINES[0]);
    const { requestPem } = await createKubeletRequest({ nodeName });
    await createCsr(admin, {
      name: 'csr-client',
      nodeName,
      requestPem,
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
      expirationSeconds: 3600,
    });
    await approveCsr(admin, 'csr-client');
    await signedCertificate(admin, 'csr-client');
  }

  afterAll(async () => {
    for (const client of clients) client.close();
    admin?.close();
    for (const kubelet of kubelets ?? []) await kubelet.stop();
    await management?.close();
    await controlPlane?.stop();
  });

  it('observes every certificate that exists, and nothing else, as openssl sees it', async () => {
    const { snapshot } = await look();
    expect(seenIn(snapshot)).toEqual(sorted(await everyCertificate()));
    expect(snapshot.findings.filter((one) => one.severity !== 'info' && !isOfLoopback(one))).toEqual([]);
    const notVisible = snapshot.findings.find(({ code }) => code === 'NotVisible');
    expect(notVisible?.places?.filter((place) => !place.startsWith('source '))).toEqual([
      'etcd health check client',
      'etcd CA',
      'kubeconfig of Cluster API',
      "users' kubeconfigs",
    ]);
  });

  it('observes what is written down of certificates', async () => {
    const { snapshot } = await look();
    const told = snapshot.observations.flatMap((seen) =>
      seen.kind === 'certificate' && (seen.basis === 'status' || seen.basis === 'annotation') ? [seen] : [],
    );
    const exact = told.filter(({ precisionMs = 0 }) => precisionMs === 0);
    const end = (name: ServingCertificate) => instantOf(endOf(controlPlane.servingCertificate(name)));
    expect(sortedTexts(exact.map(({ what, where, notAfter }) => `${what} ${where} ${notAfter}`))).toEqual(
      sortedTexts([
        `cert-manager Certificate default/web ${instantOf(berlin.certManagerNotAfter)}`,
        ...CONTROL_PLANE_MACHINES.flatMap((address) =>
          ['KubeadmConfig', 'Machine'].map(
            (kind) => `kube-apiserver ${kind} ${NAMESPACE}/${machineAt(address)} ${end(`kube-apiserver ${address}`)}`,
          ),
        ),
      ]),
    );
    const inDays = told.filter(({ precisionMs }) => precisionMs === DAY_MS);
    expect(sortedTexts(inDays.map(({ member = '' }) => member))).toEqual(
      sortedTexts([...CONTROL_PLANE_MACHINES, ...ETCD_MACHINES].map(machineAt)),
    );
    for (const { member, notAfter } of inDays) {
      const address = [...CONTROL_PLANE_MACHINES, ...ETCD_MACHINES].find((each) => machineAt(each) === member);
      const name =
        CONTROL_PLANE_MACHINES.find((each) => each === address) === undefined ? 'etcd server' : 'kube-apiserver';
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one of the addresses
      const early = Date.parse(end(`${name} ${address}` as ServingCertificate)) - Date.parse(notAfter);
      expect(early).toBeGreaterThanOrEqual(0);
      expect(early).toBeLessThanOrEqual(DAY_MS + MINUTE_MS);
    }
  });

  it('notices every renewal at the next audit', async () => {
    const { snapshot: before } = await look();
    const later = { notAfter: new Date(Date.now() + 375 * DAY_MS) };
    const { webhookAuthority, oldWebhookAuthority } = berlin;
    await Promise.all([
      ...RENEWED_BY_FILE.map((name) => renew(name, later)),
      ...kubelets.map((kubelet) => kubelet.renew()),
      restart(`kube-controller-manager ${SECOND}`),
      restart(`kube-scheduler ${SECOND}`),
      setWebhookBundle(admin, oldWebhookAuthority + webhookAuthority),
    ]);
    berlin = { ...berlin, webhookAuthority: oldWebhookAuthority, oldWebhookAuthority: webhookAuthority };
    const { snapshot: after } = await look(before);
    const expected = await everyCertificate();
    await refreshWhatIsWritten(admin, controlPlane);
    const { snapshot: refreshed } = await look(after);

    expect(seenIn(after)).toEqual(sorted(expected));
    const old = new Set(seenIn(before).map((seen) => `${nameOf(seen)} ${seen.fingerprint}`));
    const unchanged = seenIn(after).filter((seen) => old.has(`${nameOf(seen)} ${seen.fingerprint}`));
    expect(sortedTexts(unchanged.map(({ what }) => what))).toEqual([
      // Of the APIService and the CRD.
      'ca-bundle',
      'ca-bundle',
      'client-ca',
      'cluster-ca',
      'cluster-ca',
      'cluster-ca',
      'front-proxy-ca',
      'kubelet-client',
      // Each but one had its certificate by a request, which is there for an hour.
      ...kubelets.slice(1).map(() => 'kubelet-serving'),
    ]);
    // What was written down once is wrong, until it is written down anew.
    expect(difference(before, after)).toEqual({
      added: [
        ...ETCD_MACHINES.map((address) => `StaleAnnotation etcd-server ${machineAt(address)}`),
        ...CONTROL_PLANE_MACHINES.map((address) => `StaleAnnotation kube-apiserver ${machineAt(address)}`),
      ],
      removed: [],
    });
    expect(difference(before, refreshed)).toEqual(NONE);
  });

  it('reports a certificate that ends soon until it is renewed', async () => {
    const name = `kube-apiserver ${SECOND}` as const;
    const { snapshot: before } = await look();
    const hour = 60 * MINUTE_MS;
    await renew(name, {
      notBefore: new Date(Date.now() - 363 * DAY_MS),
      notAfter: new Date(Date.now() + 2 * DAY_MS + hour),
    });
    await refreshWhatIsWritten(admin, controlPlane);
    const { snapshot: ending } = await look(before);
    const due = instantOf(endOf(controlPlane.servingCertificate(name)));
    await renew(name, newYear());
    await refreshWhatIsWritten(admin, controlPlane);
    const { snapshot: after } = await look(ending);

    expect(difference(before, ending)).toEqual({
      // kubeadm makes the client certificates of a machine together with that of its kube-apiserver.
      added: ['control-plane-clients', 'kube-apiserver'].map(
        (what) => `CertificateExpiring ${what} ${machineAt(SECOND)}`,
      ),
      removed: [],
    });
    const finding = ending.findings.find(({ what }) => what === 'kube-apiserver');
    expect(finding).toMatchObject({ code: 'CertificateExpiring', severity: 'critical', due });
    expect(difference(before, after)).toEqual(NONE);
  });

  describe('stopping one component is exactly the finding that names it', () => {
    it.each<{ name: Process; objects: readonly (readonly [string, keyof AuditPorts])[] }>([
      { name: `kube-apiserver ${SECOND}`, objects: [['kube-apiserver', 'kubeApiserver']] },
      { name: `kube-controller-manager ${FIRST}`, objects: [['kube-controller-manager', 'kubeControllerManager']] },
      { name: `kube-scheduler ${SECOND}`, objects: [['kube-scheduler', 'kubeScheduler']] },
      {
        name: `etcd ${ETCD_MACHINES[1]}`,
        objects: [
          ['etcd-peer', 'etcdPeer'],
          ['etcd-server', 'etcdClient'],
        ],
      },
    ])('$name', async ({ name, objects }) => {
      const { snapshot: before } = await look();
      await controlPlane.stopProcess(name);
      const { snapshot: without } = await look(before);
      await controlPlane.startProcess(name);
      expect(difference(before, without)).toEqual({
        added: objects.map(([what]) => `Unreachable tls ${what}`),
        removed: [],
      });
      const host = name.slice(name.lastIndexOf(' ') + 1);
      const reported = without.findings.filter(({ code }) => code === 'Unreachable');
      expect(sortedTexts(reported.flatMap(({ places = [] }) => places))).toEqual(
        sortedTexts(objects.map(([, port]) => `${host}:${controlPlane.ports[port]}`)),
      );
      // What was seen there is remembered, and then seen again.
      expect(placesOf(without)).toEqual(placesOf(before));
      expect(difference(before, (await look(without)).snapshot)).toEqual(NONE);
    });

    it('a kubelet', async () => {
      const kubelet = kubeletOf(WORKER_MACHINES[2]);
      const { snapshot: before } = await look();
      await kubelet.stop();
      const { snapshot: without } = await look(before);
      await kubelet.start();
      expect(difference(before, without)).toEqual({ added: ['Unreachable tls kubelet-serving'], removed: [] });
      expect(without.findings.find(({ code }) => code === 'Unreachable')?.places).toEqual([
        `${kubelet.address}:${controlPlane.ports.kubelet}`,
      ]);
      expect(difference(before, (await look(without)).snapshot)).toEqual(NONE);
    });

    it('the API of the management cluster', async () => {
      const balancer = await balanceLoad(CONTROL_PLANE_MACHINES, controlPlane.ports.kubeApiserver);
      const server = `https://127.0.0.1:${balancer.port}`;
      const { snapshot: before } = await look(undefined, { management: await connect('certmarshal', server) });
      await balancer.close();
      const { snapshot: without } = await look(before, { management: await connect('certmarshal', server) });
      expect(difference(before, without)).toEqual({
        added: [UNREAD_EVIDENCE, ...MANAGEMENT_SOURCES.map((source) => `SourceUnread source ${source}`)],
        removed: [],
      });
      expect(placesOf(without)).toEqual(placesOf(before));
      // The machines of etcd are in no other list, and are looked at all the same.
      const shown = without.observations.filter(
        ({ source, observedAt }) => source === 'tls' && observedAt >= without.auditedAt,
      );
      expect(shown.filter((seen) => seen.kind === 'certificate' && seen.what === 'etcd-server')).toHaveLength(3);
    });
  });

  it('loses nothing when the API server is gone', async () => {
    const { snapshot: before } = await look();
    await Promise.all(CONTROL_PLANE_MACHINES.map((address) => controlPlane.stopProcess(`kube-apiserver ${address}`)));
    const { snapshot: without } = await look(before);
    await Promise.all(CONTROL_PLANE_MACHINES.map((address) => controlPlane.startProcess(`kube-apiserver ${address}`)));
    expect(difference(before, without)).toEqual({
      added: sortedTexts([...UNREAD_WITHOUT_API_SERVER, 'Unreachable tls kube-apiserver']),
      removed: [],
    });
    expect(placesOf(without)).toEqual(placesOf(before));
    expect(difference(before, (await look(without)).snapshot)).toEqual(NONE);
  });

  it('loses nothing when etcd has no quorum', async () => {
    const { snapshot: before } = await look();
    const stopped = ETCD_MACHINES.slice(1);
    await Promise.all(stopped.map((address) => controlPlane.stopProcess(`etcd ${address}`)));
    const { snapshot: without } = await look(before, { sources: inHaste() });
    await Promise.all(stopped.map((address) => controlPlane.startProcess(`etcd ${address}`)));
    const { added, removed } = difference(before, without);
    expect(removed).toEqual([]);
    // What it answers from memory is read.
    const fromMemory = [...UNREAD_WITHOUT_API_SERVER, ...UNREAD_CONFIG_MAPS];
    expect(added.filter((finding) => !fromMemory.includes(finding))).toEqual([
      'Unreachable tls etcd-peer',
      'Unreachable tls etcd-server',
    ]);
    expect(added.length).toBeGreaterThan(2);
    expect(placesOf(without)).toEqual(placesOf(before));
    await waitFor('every source', async () => unreadSources((await look()).snapshot).length === 0);
    expect(difference(before, (await look(without)).snapshot)).toEqual(NONE);
  });

  it('reports a request that is approved and that nobody signs', async () => {
    const { snapshot: before } = await look();
    await controlPlane.stopProcess(`kube-controller-manager ${FIRST}`);
    const nodeName = machineAt(WORKER_MACHINES[0]);
    const request = { name: 'csr-unsigned', nodeName, requestPem: (await requestOf(nodeName)).requestPem };
    await createCsr(admin, request);
    await approveCsr(admin, request.name);
    const { snapshot: soon } = await look(before);
    const { snapshot: late } = await look(before, { aheadMs: 11 * MINUTE_MS });
    await controlPlane.startProcess(`kube-controller-manager ${FIRST}`);
    await signedCertificate(admin, request.name);

    const ofRequests = ({ findings }: Snapshot) => findings.filter(({ code }) => code.startsWith('Request'));
    expect(ofRequests(soon)).toEqual([]);
    expect(ofRequests(late)).toMatchObject([
      {
        code: 'RequestNotIssued',
        object: `system:node:${nodeName} kubernetes.io/kubelet-serving`,
        severity: 'warning',
      },
    ]);
    expect(late.findings.find(({ code }) => code === 'RequestNotIssued')?.facts).toMatchObject({
      request: request.name,
    });
    expect(ofRequests((await look(late, { aheadMs: 12 * MINUTE_MS })).snapshot)).toEqual([]);
  });

  it('reports a request that the signer refuses', async () => {
    const { snapshot: before } = await look();
    const nodeName = machineAt(WORKER_MACHINES[1]);
    const { requestPem } = await requestOf(nodeName);
    await createCsr(admin, { name: 'csr-refused', nodeName, requestPem, usages: ['digital signature', 'client auth'] });
    await approveCsr(admin, 'csr-refused');
    await waitFor('the failure of csr-refused', async () => {
      const { status } = await admin.get<Csr>(`${CSRS}/csr-refused`);
      return status.conditions?.some(({ type }) => type === 'Failed') === true;
    });
    const { snapshot: refused } = await look(before);
    expect(difference(before, refused)).toEqual({
      added: [`RequestFailed system:node:${nodeName} kubernetes.io/kubelet-serving`],
      removed: [],
    });
    expect(refused.findings.find(({ code }) => code === 'RequestFailed')?.facts).toMatchObject({
      condition: expect.stringContaining('SignerValidationFailure'),
    });
    await admin.delete(`${CSRS}/csr-refused`);
    expect(difference(before, (await look(refused)).snapshot)).toEqual(NONE);
  });

  it('says that the certificate of the API server has ended, although nobody can ask it for anything', async () => {
    const { snapshot: before } = await look();
    const names = CONTROL_PLANE_MACHINES.map((address) => `kube-apiserver ${address}` as const);
    const hour = 60 * MINUTE_MS;
    const notAfter = new Date(Date.now() - hour);
    await Promise.all(names.map((name) => renew(name, { notBefore: new Date(Date.now() - 365 * DAY_MS), notAfter })));
    // A connection that is open stays so; another process has none.
    const [workload, managementClient] = await Promise.all([connect(), connect('certmarshal')]);
    const { snapshot: expired } = await look(before, { workload, management: managementClient });
    await Promise.all(names.map((name) => renew(name, newYear())));
    await refreshWhatIsWritten(admin, controlPlane);
    const { snapshot: after } = await look(expired);

    expect(difference(before, expired)).toEqual({
      added: sortedTexts([
        ...UNREAD_WITHOUT_API_SERVER,
        ...CONTROL_PLANE_MACHINES.flatMap((address) => [
          `CertificateExpired kube-apiserver ${machineAt(address)}`,
          // Not seen by anyone; kubeadm made them in the same run.
          `ExpiryUnknown control-plane-clients ${machineAt(address)}`,
          `StaleAnnotation kube-apiserver ${machineAt(address)}`,
        ]),
      ]),
      removed: [],
    });
    expect(expired.findings[0]).toMatchObject({ code: 'CertificateExpired', severity: 'critical' });
    // The load balancer shows that of the first machine.
    const first = expired.findings.find(({ object }) => object === `kube-apiserver ${machineAt(FIRST)}`);
    expect(first?.places).toContain(new URL(controlPlane.server).host);
    expect(placesOf(expired)).toEqual(placesOf(before));
    expect(difference(before, after)).toEqual(NONE);
  });

  describe('with exactly the rights that certmarshal rbac prints', () => {
    it('reads every source of a default audit, in at most 25 requests', async () => {
      const { snapshot, requests } = await look();
      expect(unreadSources(snapshot)).toEqual([]);
      expect(requests).toBeLessThanOrEqual(25);
    });

    it('names each source that it must not read, and reads it with the right to', async () => {
      const reach = { handshakes: true, secrets: true, kubeletMetrics: false };
      const { snapshot: refused } = await look(undefined, { reach });
      expect(sortedTexts(unreadSources(refused))).toEqual(['cluster-secrets', 'tls-secrets']);

      const secretsOf = { auditSecrets: true, clusterSecretsOf: [`${NAMESPACE}/${CLUSTER}`] };
      await admin.apply(rbacManifests({ group: 'certmarshal', auditSecrets: true }, [DEFAULT_POLICY]));
      await admin.apply(rbacManifests({ group: 'certmarshal', management: true, ...secretsOf }, [DEFAULT_POLICY]));
      await waitFor(
        'every source',
        async () => unreadSources((await look(undefined, { reach })).snapshot).length === 0,
      );
      const { snapshot } = await look(refused, { reach });
      const { cluster, etcd, frontProxy } = controlPlane.authorities;
      const secret = (name: string) => `Secret ${NAMESPACE}/${CLUSTER}-${name}`;
      const inSecrets = [
        ['cluster-ca', `${secret('ca')} tls.crt`, cluster.certPem],
        ['front-proxy-ca', `${secret('proxy')} tls.crt`, frontProxy.certPem],
        ['etcd-ca', `${secret('etcd')} tls.crt`, etcd.certPem],
        ['apiserver-etcd-client', `${secret('apiserver-etcd-client')} tls.crt`, controlPlane.etcdClient.certPem],
        ['cluster-kubeconfig', `${secret('kubeconfig')} value`, berlin.kubeconfig.certPem],
        ['tls-secret', 'Secret default/web-tls', berlin.web.certPem],
      ] as const;
      const expected = await Promise.all(
        inSecrets.map(async ([what, where, pem]) => ({ what, where, ...(await opensslOf(pem)) })),
      );
      expect(seenIn(snapshot)).toEqual(sorted([...(await everyCertificate()), ...expected]));
      const keys = [cluster, etcd, frontProxy, controlPlane.etcdClient, berlin.kubeconfig, berlin.web].map(
        ({ keyPem }) => keyPem.split('\n').slice(1, -2).join('').slice(0, 40),
      );
      for (const key of keys) expect(JSON.stringify(snapshot)).not.toContain(key);
    });
  });

  describe('certmarshal audit', () => {
    let home: UserHome;
    let command: string;

    beforeAll(async () => {
      home = await makeUserHome(real.binaries.kubectl, await readFile(controlPlane.kubeconfig('admin'), 'utf8'));
      await writeFile(
        join(home.directory, 'berlin.yaml'),
        await readFile(controlPlane.kubeconfig('certmarshal'), 'utf8'),
      );
      const { ports } = controlPlane;
      const flags = {
        'kube-apiserver': ports.kubeApiserver,
        kubelet: ports.kubelet,
        etcd: ports.etcdClient,
        'etcd-peer': ports.etcdPeer,
        'kube-controller-manager': ports.kubeControllerManager,
        'kube-scheduler': ports.kubeScheduler,
      };
      command = [
        `certmarshal audit --kubeconfig berlin.yaml --management-kubeconfig berlin.yaml --cluster ${CLUSTER}`,
        ...Object.entries(flags).map(([name, port]) => `--port ${name}=${port}`),
      ].join(' ');
    });
    afterAll(() => home?.remove());

    it('prints what an audit sees, for people and for programs', async () => {
      const [table, json] = await Promise.all([home.shell(command), home.shell(`${command} --output json`)]);
      expect(table).toMatchObject({ status: 0, stderr: '' });
      expect(json).toMatchObject({ status: 0, stderr: '' });
      for (const title of ['kube-apiserver', 'kube-scheduler', 'etcd server', 'kubelet serving', 'cert-manager'])
        expect(table.stdout).toContain(title);
      const printed: { certificates: CertificateObservation[]; sources: { unread: unknown[] } } = JSON.parse(
        json.stdout,
      );
      expect(printed.sources.unread).toEqual([]);
      expect(seenIn({ ...EMPTY, observations: printed.certificates })).toEqual(sorted(await everyCertificate()));
    });

    it('fails on a finding that is severe enough', async () => {
      const entry = { cluster: CLUSTER, code: 'IssuedUnproven', until: '2099-01-01T00:00:00Z', reason: 'loopback' };
      const accepting = JSON.stringify({ version: 1, audit: { accept: [entry] } });
      await writeFile(join(home.directory, 'fleet.yaml'), accepting);
      const failing = `${command} --policy fleet.yaml --fail-on warning`;
      expect(await home.shell(failing)).toMatchObject({ status: 0 });
      const kubelet = kubeletOf(WORKER_MACHINES[1]);
      await kubelet.stop();
      const failed = await home.shell(failing);
      await kubelet.start();
      expect(failed.status).toBe(1);
      expect(failed.stdout).toContain(`${kubelet.address}:${controlPlane.ports.kubelet}`);
      expect(await home.shell(failing)).toMatchObject({ status: 0 });
    });
  });

  async function restart(name: Process): Promise<void> {
    await controlPlane.stopProcess(name);
    await controlPlane.startProcess(name);
  }

  const requestOf = (nodeName: string) => createKubeletRequest({ nodeName, dnsNames: [nodeName] });
});

type AuditPorts = ControlPlaneOnMachines['ports'];

/** Those whose processes make no certificate of their own. */
const RENEWED_BY_FILE: readonly ServingCertificate[] = [
  ...CONTROL_PLANE_MACHINES.map((address) => `kube-apiserver ${address}` as const),
  `kube-controller-manager ${FIRST}`,
  `kube-scheduler ${FIRST}`,
  ...ETCD_MACHINES.flatMap((address) => [`etcd server ${address}`, `etcd peer ${address}`] as const),
];

const WORKLOAD_SOURCES = ['api-services', 'cert-manager', 'crd-conversions', 'nodes', 'signing-requests', 'webhooks'];
const MANAGEMENT_SOURCES = ['eks-anywhere', 'etcdadm-cluster', 'kubeadm-configs', 'kubeadm-control-plane', 'machines'];

/** Of the certificates that kubelets show. */
const UNREAD_EVIDENCE = 'SourceUnread evidence of kubelet-serving';

const UNREAD_WITHOUT_API_SERVER: readonly string[] = [
  UNREAD_EVIDENCE,
  ...[...WORKLOAD_SOURCES, ...MANAGEMENT_SOURCES].map((source) => `SourceUnread source ${source}`),
  // What it trusts itself it knows without asking.
  'SourcePartial source trust-configmaps',
];

/** One of its ConfigMaps may be answered from memory, and another not. */
const UNREAD_CONFIG_MAPS: readonly string[] = ['client-ca', 'cluster-ca', 'front-proxy-ca'].map(
  (what) => `Unreachable trust-configmaps ${what}`,
);

/** All sources with an end that comes soon: an API server without etcd lets every request wait. */
function inHaste(): readonly AuditSource[] {
  return AUDIT_SOURCES.map((source) => (source.id === 'tls' ? source : { ...source, deadlineMs: 1500 }));
}

const NONE = { added: [], removed: [] };

const EMPTY: Snapshot = {
  version: 1,
  cluster: CLUSTER,
  provider: 'eks-anywhere',
  auditedAt: new Date(0).toISOString(),
  observations: [],
  findings: [],
};

/** Findings by what names them from one audit to the next. */
function difference(
  before: Snapshot,
  after: Snapshot,
): { readonly added: readonly string[]; readonly removed: readonly string[] } {
  const named = ({ findings }: Snapshot) =>
    findings.filter((one) => !isOfLoopback(one)).map(({ code, object }) => `${code} ${object}`);
  const [old, now] = [new Set(named(before)), new Set(named(after))];
  return {
    added: sortedTexts([...now].filter((finding) => !old.has(finding))),
    removed: sortedTexts([...old].filter((finding) => !now.has(finding))),
  };
}

/** The machines have loopback addresses, which are never proven. */
function isOfLoopback({ code }: Snapshot['findings'][number]): boolean {
  return code === 'IssuedUnproven';
}

/** As an observation writes it. */
function instantOf(time: string): string {
  return new Date(time).toISOString();
}

function sortedTexts(texts: Iterable<string>): readonly string[] {
  return [...texts].toSorted();
}

/** Every certificate of which anything is known, and until when it is valid. */
function placesOf({ observations }: Snapshot): readonly string[] {
  return sortedTexts(
    observations.flatMap((seen) =>
      seen.kind === 'certificate' ? [`${seen.what} ${seen.where} ${seen.position ?? 0} ${seen.basis}`] : [],
    ),
  );
}

/** What a server shows to a client that has no certificate, the leaf first, PEM. */
async function shownBy(host: string, port: number): Promise<readonly string[]> {
  const connected = run('openssl', ['s_client', '-showcerts', '-connect', `${host}:${port}`]);
  connected.child.stdin?.end();
  // Who insists on a client certificate ends the connection after it has shown its own.
  const { stdout } = await connected.catch((error: { stdout: string }) => error);
  const chain = stdout.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (chain === null) throw new Error(`${host}:${port} shows no certificate`);
  return chain;
}

/** What openssl says of the first certificate of a PEM text. */
async function opensslOf(pem: string): Promise<Pick<Expected, 'notAfter' | 'fingerprint'>> {
  const asked = run('openssl', ['x509', '-noout', '-enddate', '-dateopt', 'iso_8601', '-fingerprint', '-sha256']);
  asked.child.stdin?.end(pem);
  const { stdout } = await asked;
  const notAfter = /notAfter=(.+)/.exec(stdout)?.[1] ?? '';
  const fingerprint = /Fingerprint=(.+)/i.exec(stdout)?.[1] ?? '';
  return {
    notAfter: new Date(notAfter.replace(' ', 'T')).toISOString(),
    fingerprint: fingerprint.replaceAll(':', '').toLowerCase(),
  };
}

/** What an audit read itself, as {@link Expected} has it. */
function seenIn({ observations }: Snapshot): readonly Expected[] {
  const certificates = observations.filter((seen) => seen.kind === 'certificate');
  const read = certificates.filter(({ basis }) => basis === 'certificate');
  return sorted(
    read.map(({ what, where, position = 0, notAfter, fingerprint = '' }) => ({
      what,
      where,
      position: position === 0 ? undefined : position,
      notAfter,
      fingerprint,
    })),
  );
}

function sorted(all: readonly Expected[]): readonly Expected[] {
  const key = (one: Expected) => `${nameOf(one)} ${one.fingerprint}`;
  return all.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

function nameOf({ what, where, position = 0 }: Expected): string {
  return `${what} ${where} ${position}`;
}

/** A life that begins now. */
function newYear(): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(), notAfter: new Date(Date.now() + 365 * DAY_MS) };
}

function unreadSources({ observations }: Snapshot): readonly string[] {
  return observations.flatMap((seen) => (seen.kind === 'unread' && seen.where === undefined ? [seen.source] : []));
}
