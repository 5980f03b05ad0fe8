import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { audit } from '../../lambdas/audit/audit.ts';
import type { AuditTarget } from '../../lambdas/audit/audit-target.ts';
import { DEFAULT_PORTS } from '../../lambdas/audit/audit-target.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import { machines } from '../../lambdas/audit/sources/machines.ts';
import { nodes } from '../../lambdas/audit/sources/nodes.ts';
import { signingRequests } from '../../lambdas/audit/sources/signing-requests.ts';
import { tlsSource } from '../../lambdas/audit/sources/tls.ts';
import { trustConfigMaps } from '../../lambdas/audit/sources/trust-configmaps.ts';
import type { Snapshot } from '../../lambdas/contracts/snapshot.ts';
import { createKubernetesClient, type KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { loadLocalKubeconfig } from '../../lambdas/kubernetes/local-kubeconfig.ts';
import { waitFor } from '../patience.ts';
import { freePorts, listening } from '../support/loopback.ts';
import * as der from '../unit/x509/certificate-writer.ts';
import { oid, sequence, tlv } from '../unit/x509/der-writer.ts';
import {
  extension,
  type KeyKind,
  keyPair,
  makeRequest,
  OID,
  type San,
  subjectAltName,
} from '../unit/x509/request-factory.ts';
import { type Admin, ApiError, connectAdmin, type KubeObject } from './admin.ts';
import { applyCrds } from './crds.ts';
import { CSRS, type Csr, createMachine, createNode, signedCertificate } from './fixtures.ts';
import { realComponents } from './real.ts';
import { type ControlPlane, startControlPlane } from './start.ts';

const real = await realComponents('certificates issued on purpose', 'etcd', 'kubeApiserver', 'kubeControllerManager');

const CLUSTER = 'berlin-prod';
const MINUTE_MS = 60_000;
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

type Told = 'names another’s' | 'not proven' | 'proven';

/** One kind of certificate that an approver let through. */
interface Kind {
  /** Names beside those of the node. */
  readonly beside?: readonly San[];
  /** Instead of all names. */
  readonly sans?: readonly San[];
  readonly key?: KeyKind;
  /** Of its request. */
  readonly annotations?: number;
  /** Who asks. @default the node itself */
  readonly asks?: { readonly user: string; readonly groups: readonly string[] };
  /** The signer of kube-controller-manager refuses it, or dates it back, so the test signs in its place: with this, beside the names. */
  readonly signedByTest?: {
    readonly commonName?: string;
    readonly organizations?: readonly string[];
    readonly usages?: readonly string[];
    readonly authority?: true;
  };
  /** By its request in the first audit, and in the next one. */
  readonly told: readonly [Told, Told];
  /** By its handshake alone, where that is another thing. */
  readonly shown?: readonly [Told, Told];
}

const dns = (value: string): San => ({ kind: 'dNSName', value });
const ip = (value: string): San => ({ kind: 'iPAddress', value });
const VICTIM = { node: 'victim', address: '10.20.0.250', at: '127.0.9.250' };

const ANOTHER: Kind['told'] = ['names another’s', 'names another’s'];
const UNPROVEN: Kind['told'] = ['not proven', 'not proven'];
/** Addresses move: what two audits in a row see is held against a certificate. */
const ADDRESS: Kind['told'] = ['not proven', 'names another’s'];
const MASTERS = ['system:masters', 'system:authenticated'];

/** The hostile kinds of the tables in test/unit/approval/scenarios that a certificate can have, and what is told of each. */
const KINDS: Readonly<Record<string, Kind>> = {
  honest: { told: ['proven', 'proven'] },
  'the name of another node': { beside: [dns(VICTIM.node)], told: ANOTHER },
  'nothing but the name of another node': { sans: [dns(VICTIM.node)], told: ANOTHER },
  'the address of another node': {
    beside: [ip(VICTIM.address)],
    signedByTest: {},
    told: ADDRESS,
  },
  'the name of another node, below 300 annotations': { beside: [dns(VICTIM.node)], annotations: 300, told: ANOTHER },
  'the name of another node, below 1,100 others': {
    beside: [...Array.from({ length: 1_100 }, (_, n) => dns(`n${n}`)), dns(VICTIM.node)],
    signedByTest: {},
    told: ANOTHER,
  },
  'the API server': { beside: [dns('kubernetes.default.svc')], told: ANOTHER },
  'a Service': { beside: [dns('vault.prod.svc.cluster.local')], told: ANOTHER },
  'the address of a Service': { beside: [ip('10.96.0.1')], told: ADDRESS },
  'a wildcard': { beside: [dns('*.berlin.internal')], told: ANOTHER },
  'a foreign name': { beside: [dns('auth.evil.io')], told: UNPROVEN },
  'its own name in a foreign domain': { beside: [dns('NODE.evil.io')], told: UNPROVEN },
  'an address that no one has': { beside: [ip('10.20.9.9')], told: UNPROVEN },
  localhost: { beside: [dns('localhost')], told: UNPROVEN },
  'an address for a name': { beside: [dns(VICTIM.address)], told: UNPROVEN },
  'localhost, to hide another node': { beside: [dns('localhost'), dns(VICTIM.node)], told: ANOTHER },
  'a small RSA key': { key: 'rsa1024', told: UNPROVEN },
  'no name': { sans: [], signedByTest: {}, told: UNPROVEN },
  'an e-mail address': {
    beside: [{ kind: 'rfc822Name', value: 'root@example.com' }],
    signedByTest: {},
    told: UNPROVEN,
  },
  'a URI': { beside: [{ kind: 'uniformResourceIdentifier', value: 'spiffe://a/b' }], signedByTest: {}, told: UNPROVEN },
  'an e-mail address, to hide another node': {
    beside: [{ kind: 'rfc822Name', value: 'root@example.com' }, dns(VICTIM.node)],
    signedByTest: {},
    told: ANOTHER,
  },
  'a client too': { signedByTest: { usages: [SERVER_AUTH, CLIENT_AUTH] }, told: UNPROVEN },
  'an administrator’s organization': {
    signedByTest: { organizations: ['system:nodes', 'system:masters'] },
    told: UNPROVEN,
  },
  'an administrator': {
    signedByTest: { organizations: ['system:masters'], usages: [SERVER_AUTH, CLIENT_AUTH] },
    told: ANOTHER,
  },
  'another node': { signedByTest: { commonName: `system:node:${VICTIM.node}` }, told: ANOTHER },
  'no node': { signedByTest: { commonName: 'web' }, told: UNPROVEN },
  'an authority': { signedByTest: { authority: true }, told: ANOTHER },
  'asked for by a person': { asks: { user: 'jane', groups: MASTERS }, told: ANOTHER, shown: ['proven', 'proven'] },
  'asked for by another node': {
    asks: { user: `system:node:${VICTIM.node}`, groups: MASTERS },
    told: ANOTHER,
    shown: ['proven', 'proven'],
  },
  'asked for by one that is only called like a node': {
    asks: { user: 'system:node:NODE', groups: MASTERS },
    told: ANOTHER,
    shown: ['proven', 'proven'],
  },
  'asked for by a node without a name': {
    asks: { user: 'system:node:', groups: MASTERS },
    told: ANOTHER,
    shown: ['proven', 'proven'],
  },
};

interface Made {
  readonly title: string;
  readonly kind: Kind;
  readonly node: string;
  readonly address: string;
  /** Of the loopback network: where its kubelet listens. */
  readonly at: string;
  pem: string;
}

describe.skipIf(real.missing)('certificates that an approver lets through', () => {
  let controlPlane: ControlPlane;
  let admin: Admin;
  let client: KubernetesClient;
  let signerKey: KeyObject;
  let target: AuditTarget;
  let port = 0;
  const servers: Server[] = [];
  const made = Object.entries(KINDS).map(([title, kind], index): Made => {
    const number = index + 1;
    return { title, kind, node: `worker-${number}`, address: `10.20.0.${number}`, at: `127.0.9.${number}`, pem: '' };
  });

  const look = async (
    previous: Snapshot | undefined,
    { aheadMs = 0, handshakes = true }: { readonly aheadMs?: number; readonly handshakes?: boolean } = {},
  ): Promise<Snapshot> => {
    const { snapshot } = await audit(
      { ...target, reach: { ...target.reach, handshakes } },
      {
        previous,
        thresholds: DEFAULT_THRESHOLDS,
        clock: () => Date.now() + aheadMs,
        signal: new AbortController().signal,
        sources: [nodes, machines, trustConfigMaps, signingRequests, tlsSource],
      },
    );
    return snapshot;
  };

  /** A machine of Cluster API that became a Node; its kubelet listens at the first of its addresses. */
  async function join({ node, address, at }: Pick<Made, 'node' | 'address' | 'at'>): Promise<void> {
    await createMachine(admin, {
      name: `md-0-${node}`,
      clusterName: CLUSTER,
      nodeName: node,
      addresses: [
        { type: 'InternalIP', address: at },
        { type: 'InternalIP', address },
        { type: 'InternalDNS', address: `${node}.berlin.example.com` },
      ],
    });
    await createNode(admin, { name: node, addresses: [{ type: 'InternalIP', address: at }] });
  }

  /** Asks, signs where the signer of the cluster would not, and approves as an approver that looks at nothing. */
  async function issue(one: Made): Promise<void> {
    const { kind, node, address } = one;
    const own = [dns(node), ip(address)];
    const sans = (kind.sans ?? [...own, ...(kind.beside ?? [])]).map((san) =>
      san.kind === 'dNSName' ? { ...san, value: san.value.replace('NODE', node) } : san,
    );
    const { user, groups } = kind.asks ?? {
      user: `system:node:${node}`,
      groups: ['system:nodes', 'system:authenticated'],
    };
    const request = makeRequest({
      commonName: `system:node:${node}`,
      sans: kind.signedByTest === undefined ? sans : own,
      ...(kind.key === undefined ? {} : { key: kind.key }),
    });
    const name = `csr-${node}`;
    const rsa = kind.key?.startsWith('rsa') === true;
    const csr = await admin.as({ user: user.replace('NODE', node), groups: [...groups] }).post<Csr>(CSRS, {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: {
        name,
        annotations: Object.fromEntries(Array.from({ length: kind.annotations ?? 0 }, (_, n) => [`a${n}`, ''])),
      },
      spec: {
        request: request.pem.toString('base64'),
        signerName: 'kubernetes.io/kubelet-serving',
        usages: ['digital signature', ...(rsa ? ['key encipherment'] : []), 'server auth'],
      },
    });
    if (kind.signedByTest !== undefined) {
      const certificate = Buffer.from(signed(node, sans, kind.signedByTest)).toString('base64');
      await admin.put(`${CSRS}/${name}/status`, { ...csr, status: { ...csr.status, certificate } });
    }
    const { status, ...rest } = await admin.get<Csr>(`${CSRS}/${name}`);
    const approved = { type: 'Approved', status: 'True', reason: 'RubberStamp', message: 'looks fine' };
    await admin.put(`${CSRS}/${name}/approval`, { ...rest, status: { ...status, conditions: [approved] } });
    one.pem = await signedCertificate(admin, name);
  }

  function signed(node: string, sans: readonly San[], changed: NonNullable<Kind['signedByTest']>): string {
    const { commonName = `system:node:${node}`, organizations = ['system:nodes'], usages = [SERVER_AUTH] } = changed;
    const organization = (value: string) => der.set(der.attribute(OID.organization, der.utf8(value)));
    const time = (at: number) => der.utcTime(`${new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`);
    return der.pem(
      der.certificate({
        serial: [1, Number(node.slice('worker-'.length))],
        issuer: der.name(der.cn('certmarshal test signer')),
        subject: der.name(...organizations.map(organization), der.cn(commonName)),
        notBefore: time(Date.now()),
        notAfter: time(Date.now() + 24 * 60 * MINUTE_MS),
        key: keyPair('p256').publicKeyInfo,
        signer: signerKey,
        extensions: [
          ...(changed.authority === true ? [extension(OID.basicConstraints, sequence(tlv(1, [0xff])), true)] : []),
          ...(sans.length === 0 ? [] : [subjectAltName(sans)]),
          extension('2.5.29.37', sequence(...usages.map((usage) => oid(usage)))),
        ],
      }),
    );
  }

  /** Plays the kubelet of a node with a certificate, whoever it was issued to. */
  async function serve(host: string, cert: string, kind: KeyKind = 'p256'): Promise<Server> {
    const key = keyPair(kind).privateKey.export({ format: 'pem', type: 'pkcs8' });
    const server = createServer({ cert, key, ciphers: 'DEFAULT:@SECLEVEL=0' });
    server.on('tlsClientError', () => {});
    server.on('secureConnection', (socket) => socket.on('error', () => {}));
    await listening(server, host, port);
    servers.push(server);
    return server;
  }

  beforeAll(async () => {
    controlPlane = await startControlPlane({ binaries: real.binaries });
    admin = connectAdmin(controlPlane);
    await applyCrds(controlPlane);
    await admin.apply(rbacManifests({ group: 'certmarshal' }, [DEFAULT_POLICY]));
    await admin.apply(rbacManifests({ group: 'certmarshal', management: true }, [DEFAULT_POLICY]));
    signerKey = createPrivateKey(await readFile(`${controlPlane.directory}/signer.key`));
    const kubeconfig = await readFile(controlPlane.kubeconfig('certmarshal'), 'utf8');
    client = createKubernetesClient({ ...(await loadLocalKubeconfig(kubeconfig)), addresses: 'local' });
    [port = 0] = await freePorts(1);
    target = {
      id: CLUSTER,
      cluster: { name: CLUSTER, provider: 'eks-anywhere' },
      workload: client,
      management: client,
      machinesNamespace: 'eksa-system',
      reach: { handshakes: true, secrets: false, kubeletMetrics: false },
      ports: { ...DEFAULT_PORTS, kubelet: port },
    };
    await join(VICTIM);
    await Promise.all(made.map(join));
    await waitFor('rights', async () =>
      (await look(undefined, { handshakes: false })).observations.some(
        ({ kind, source }) => kind === 'read' && source === 'signing-requests',
      ),
    );
    await Promise.all(made.map(issue));
    await Promise.all(made.map(({ at, pem, kind }) => serve(at, pem, kind.key)));
  });

  afterAll(async () => {
    client?.close();
    admin?.close();
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    await controlPlane?.stop();
  });

  /** What is told of each node, by its name. */
  function toldIn({ findings }: Snapshot): Readonly<Record<string, Told>> {
    return Object.fromEntries(
      made.map(({ title, node, pem }) => {
        const about = findings.filter(
          ({ code, facts }) => code.startsWith('Issued') && new RegExp(`\\b${node}(?!\\d)`).test(JSON.stringify(facts)),
        );
        const wrong = { title, pem, about };
        if (about.length > 1) throw new Error(JSON.stringify(wrong));
        const [finding] = about;
        if (finding === undefined) return [title, 'proven'];
        const { code, severity } = finding;
        if (code === 'IssuedNamesAnother' && severity === 'critical') return [title, 'names another’s'];
        if (code === 'IssuedUnproven' && severity === 'warning') return [title, 'not proven'];
        throw new Error(JSON.stringify(wrong));
      }),
    );
  }

  const wanted = (told: (kind: Kind) => Told) => Object.fromEntries(made.map(({ title, kind }) => [title, told(kind)]));

  it('are found by their requests, within one audit, with the node that has each', async () => {
    const now = await look(undefined, { handshakes: false });
    expect(toldIn(now)).toEqual(wanted(({ told: [first] }) => first));
    const later = await look(now, { handshakes: false, aheadMs: 15 * MINUTE_MS });
    expect(toldIn(later)).toEqual(wanted(({ told: [, second] }) => second));
    // Who approved it is said.
    for (const { facts } of later.findings.filter(({ code }) => code.startsWith('Issued')))
      expect(facts).toMatchObject({ approvedBy: 'RubberStamp' });
  });

  it('are found by a handshake with their kubelets, without their requests', async () => {
    const requests = await admin.get<{ items: KubeObject[] }>(CSRS);
    await Promise.all(requests.items.map(({ metadata }) => admin.delete(`${CSRS}/${metadata.name}`)));
    const now = await look(undefined);
    expect(toldIn(now)).toEqual(wanted(({ told, shown = told }) => shown[0]));
    const later = await look(now, { aheadMs: 15 * MINUTE_MS });
    expect(toldIn(later)).toEqual(wanted(({ told, shown = told }) => shown[1]));
  });

  it('a kubelet that shows the certificate of another node, with its key, is found when that lasts', async () => {
    const [honest] = made;
    const before = await look(undefined);
    const server = await serve(VICTIM.at, honest?.pem ?? '');
    const about = ({ findings }: Snapshot) =>
      findings.flatMap((one) => {
        const isIssued = one.code === 'IssuedNamesAnother' || one.code === 'IssuedUnproven';
        return isIssued && one.facts.node === 'victim' ? one.code : [];
      });
    const first = await look(before);
    expect(about(first)).toEqual(['IssuedUnproven']);
    const later = await look(first, { aheadMs: 15 * MINUTE_MS });
    expect(about(later)).toEqual(['IssuedNamesAnother']);
    server.close();
  });

  it('refused by the API server are others', async () => {
    const asNode = admin.as({ user: 'system:node:worker-1', groups: ['system:nodes', 'system:authenticated'] });
    const request = makeRequest({ commonName: `system:node:${VICTIM.node}`, sans: [dns(VICTIM.node)] });
    const refused = asNode.post(CSRS, {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'csr-another' },
      spec: {
        request: request.pem.toString('base64'),
        signerName: 'kubernetes.io/kubelet-serving',
        usages: ['digital signature', 'server auth'],
      },
    });
    await expect(refused).rejects.toThrow(ApiError);
    await expect(refused).rejects.toMatchObject({ status: 403 });
  });
});
