import { createServer as createTcpServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { startSimulatedApiServer } from '../fleet/api-server.ts';
import { fastClock } from '../fleet/clock.ts';
import { kubernetesTime } from '../fleet/kube-object.ts';
import { kubeconfigOf } from '../fleet/kubeconfig.ts';
import { createServingCertificate } from '../fleet/serving-certificate.ts';
import { freePorts, listening } from '../support/loopback.ts';

// One API server with many Nodes, and their kubelets on addresses of 127/8, in a process of their own. Every tenth kubelet takes connections and
// says nothing. Prints one JSON line, and ends with its parent.
const [, , nodes = '200', silent = 'none'] = process.argv;

process.stdin.on('end', () => process.exit(0)).resume();
const api = await startSimulatedApiServer({
  clock: fastClock(Date.now(), 1),
  name: 'bench',
  users: [{ name: 'certmarshal', groups: ['system:masters'] }],
});
const serving = await createServingCertificate('bench kubelets', new Date(Date.now() + 300 * 86_400_000));
const [port = 0] = await freePorts(1);
for (let index = 0; index < Number(nodes); index += 1) {
  const name = `worker-${index}`;
  const address = `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`;
  api.api.nodes.put({
    metadata: { name, uid: `node-${name}`, creationTimestamp: kubernetesTime(Date.now()) },
    status: { addresses: [{ type: 'InternalIP', address }] },
  });
  await listen(kubelet(index), address);
}
process.stdout.write(`${JSON.stringify({ kubeconfig: kubeconfigOf(api, 'certmarshal'), port })}\n`);

function kubelet(index: number): Server {
  if (silent === 'silent' && index % 10 === 0) return createTcpServer(() => {});
  return createTlsServer({ cert: serving.certificate, key: serving.key }, (socket) => socket.on('error', () => {}));
}

async function listen(server: Server, address: string): Promise<void> {
  server.on('connection', (socket) => socket.on('error', () => {}));
  await listening(server, address, port);
}
