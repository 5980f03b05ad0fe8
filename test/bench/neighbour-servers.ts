import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import { kubernetesTime } from '../fleet/kube-object.ts';
import { createServingCertificate } from '../fleet/serving-certificate.ts';
import { listening } from '../support/loopback.ts';
import { makeRequest } from '../unit/x509/request-factory.ts';
import { BENCH_CLUSTER, csrOf, machineOf, requestOf } from './fixtures.ts';

// An honest API server and two that want to hold the thread of anyone who sweeps them, in a process of their own. Prints one JSON line, and ends with its
// parent.
const MACHINES = 20_000;
const A_PAGE = 500;
const REQUESTS = 3;
const NAMES = 1_024;

process.stdin.on('end', () => process.exit(0)).resume();
const serving = await createServingCertificate('bench neighbours', new Date(Date.now() + 300 * 86_400_000));

const listOf = (items: readonly object[], next?: string): string =>
  JSON.stringify({ metadata: next === undefined ? {} : { continue: next }, items });
const recently = (): string => kubernetesTime(Date.now() - 12_000);

const honest = await serve({
  machines: () => listOf([machineOf(1)]),
  requests: () => listOf([csrOf(1, requestOf(1), recently())]),
});

/** All Machines have the same names, and each request lists one of them a thousand times. */
const names = ['x0', 'x1', 'x2', 'x3'].map((address) => ({ type: 'Hostname', address }));
const machines = Array.from({ length: MACHINES }, (_, index) => ({
  ...machineOf(index),
  status: { nodeRef: { name: 'a' }, addresses: names },
}));
const machinePages = Array.from({ length: MACHINES / A_PAGE }, (_, page) =>
  listOf(
    machines.slice(page * A_PAGE, (page + 1) * A_PAGE),
    (page + 1) * A_PAGE < MACHINES ? String(page + 1) : undefined,
  ),
);
const request = (node: number): Buffer =>
  makeRequest({
    commonName: `system:node:worker-${node}`,
    sans: Array.from({ length: NAMES }, () => ({ kind: 'dNSName' as const, value: 'x0' })),
  }).pem;
const pems = Array.from({ length: REQUESTS }, (_, node) => request(node));
const contested = await serve({
  machines: (page) => machinePages[page] ?? '',
  requests: () => listOf(pems.map((pem, node) => csrOf(node, pem, recently()))),
});

/** Pages without end, each nearly as hard to parse as one may be: names that no other has, and many small values. */
const hardItems = Array.from({ length: 20 }, (_, page) =>
  Array.from({ length: 1_000 }, (__, item) => ({
    metadata: Object.fromEntries(Array.from({ length: 19 }, (___, name) => [`${page}-${item}-${name}`, 1])),
    status: Array.from({ length: 40 }, () => ({ a: {} })),
  })),
).map((items) => JSON.stringify(items));
const endless = await serve({
  machines: () => listOf([]),
  requests: (page) => `{"metadata":{"continue":"${page + 1}"},"items":${hardItems[page % hardItems.length]}}`,
});
process.stdout.write(`${JSON.stringify({ honest, contested, endless })}\n`);

/** @returns the kubeconfig */
async function serve(bodies: {
  readonly machines: (page: number) => string;
  readonly requests: (page: number) => string;
}): Promise<string> {
  const listener: RequestListener = ({ url = '', method }, response) => {
    const page = Number(/continue=(\d+)/.exec(url)?.[1] ?? 0);
    response.writeHead(200, { 'content-type': 'application/json' });
    if (method !== 'GET') response.end('{}');
    else if (url.endsWith('/cluster.x-k8s.io')) response.end('{"versions":[{"version":"v1beta2"}]}');
    else if (url.includes('/clusters?')) response.end(listOf([BENCH_CLUSTER]));
    else if (url.includes('/machines?')) response.end(bodies.machines(page));
    else if (url.includes('/certificatesigningrequests?')) response.end(bodies.requests(page));
    else response.end(listOf([]));
  };
  const server = createServer({ cert: serving.certificate, key: serving.key }, listener);
  return kubeconfigYaml(`https://127.0.0.1:${await listening(server)}`, serving.caPem, 'certmarshal', {
    token: 'bench',
  });
}
