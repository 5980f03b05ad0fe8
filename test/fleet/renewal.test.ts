import { expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { handshake } from '../../lambdas/tls/handshake.ts';
import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import { type CertificateAuthority, createCertificateAuthority, issuePair } from '../peculiar.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { listenTls } from '../unit/tls/tls-servers.ts';
import { type SimulatedApiServer, startSimulatedApiServer } from './api-server.ts';
import { startSimulatedAws } from './aws/simulated-aws.ts';
import { steppedClock } from './clock.ts';
import { grantedRules } from './demo-cluster.ts';
import { startHub } from './hub/hub.ts';
import { HUB } from './hub/places.ts';
import { fleetOf, MINUTE, START } from './hub/world.ts';
import { kubernetesTime, type StoredCsr } from './kube-object.ts';
import { askFor } from './kubelet.ts';

const KUBELET_PORT = 10_250;
const DAY = 24 * 60 * MINUTE;
const VALIDITY = { notBefore: new Date(START - DAY), notAfter: new Date(START + DAY) };

/** Nodes: the address that each has and asks for, and the one in the certificate that it serves. */
const NODES = [
  { name: 'renews', address: '10.1.0.1', served: '10.1.0.1' },
  { name: 'asks-for-more', address: '10.1.0.2', served: '10.1.0.22' },
  { name: 'hidden', address: '10.1.0.3', served: undefined },
] as const;

const fleetText = (near: string, far: string) => `
version: 1
lanes:
  - { name: near, vpcId: vpc-0a1b2c3d, subnetIds: [subnet-0a1b2c3d4e5f60718], securityGroupIds: [sg-0a1b2c3d] }
  - { name: far, vpcId: vpc-0a1b2c3d, subnetIds: [subnet-0a1b2c3d4e5f60718], securityGroupIds: [sg-0a1b2c3d], handshakes: false }
clusters:
  - { name: near, provider: eks-anywhere, lane: near, serviceCidrs: [10.96.0.0/12], kubeconfigSecret: '${near}' }
  - { name: far, provider: eks-anywhere, lane: far, serviceCidrs: [10.96.0.0/12], kubeconfigSecret: '${far}' }
policies:
  - { name: renewals, mode: enforce, evidence: [renewal], age: { min: 0s } }
`;

it('approves in each sweep of a lane that reaches nodes the renewal of exactly what a node serves, and nothing else', async () => {
  const output = captureStdout();
  try {
    const clock = steppedClock(START);
    await using parts = new AsyncDisposableStack();
    const aws = parts.use(await startSimulatedAws({ clock }));
    const authority = await createCertificateAuthority({
      commonName: 'kubernetes',
      ...VALIDITY,
    });
    const rules = grantedRules([{ ...DEFAULT_POLICY, evidence: ['renewal'] }]);
    const start = async (name: string): Promise<{ server: SimulatedApiServer; secret: string }> => {
      const users = [{ name: 'certmarshal', groups: ['certmarshal'], rules }];
      const server = await startSimulatedApiServer({ clock, name, users });
      parts.defer(async () => server.stop());
      for (const node of NODES) {
        server.api.nodes.put({
          metadata: { name: node.name, uid: node.name, creationTimestamp: kubernetesTime(clock.now()) },
          status: {
            addresses: [
              { type: 'InternalIP', address: node.address },
              { type: 'Hostname', address: node.name },
            ],
          },
        });
        askFor(server.api, node.name, { dnsNames: [node.name], ipAddresses: [node.address] });
      }
      const token = server.tokenFor('certmarshal');
      const kubeconfig = kubeconfigYaml(server.server, server.caPem + authority.certificate, 'certmarshal', { token });
      return { server, secret: aws.secretsManager.putSecret(HUB, `certmarshal/${name}`, kubeconfig) };
    };
    const [near, far] = [await start('near'), await start('far')];
    const ports = new Map<string, number>();
    for (const { name, address, served } of NODES)
      if (served !== undefined) ports.set(address, await listenTls(await kubeletPair(authority, name, served)));

    const dialled: string[] = [];
    const hub = parts.use(
      startHub({
        aws,
        clock,
        fleet: fleetOf(fleetText(near.secret, far.secret)),
        audits: false,
        // The nodes of this test are on loopback, each at a port of its own.
        handshakeOf: () => async (target, signal) => {
          dialled.push(`${target.host}:${target.port}`);
          const port = ports.get(target.host) ?? 1;
          return handshake({ host: '127.0.0.1', port }, { signal, timeoutMs: 3_000, addresses: 'local' });
        },
      }),
    );
    for (let minute = 0; minute < 4; minute += 1) {
      await hub.dispatch();
      await clock.advance(MINUTE);
    }

    expect(new Set(dialled)).toEqual(new Set(NODES.map(({ address }) => `${address}:${KUBELET_PORT}`)));
    expect(approvedNodes(near.server)).toEqual(['system:node:renews']);
    expect(approvedNodes(far.server)).toEqual([]);
    expect(output.text()).toContain('this lane cannot reach nodes');
  } finally {
    output.restore();
  }
});

function kubeletPair(authority: CertificateAuthority, node: string, address: string) {
  return issuePair(authority, {
    commonName: `system:node:${node}`,
    organizations: ['system:nodes'],
    dnsNames: [node],
    ipAddresses: [address],
    ...VALIDITY,
  });
}

function approvedNodes({ api }: SimulatedApiServer): readonly (string | undefined)[] {
  return (api.csrs.all() as StoredCsr[])
    .filter(({ status: { conditions = [] } }) => conditions.some(({ type }) => type === 'Approved'))
    .map(({ spec }) => spec.username);
}
