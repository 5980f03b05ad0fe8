import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { REGION } from './ministack.ts';

/** Where the API server of an emulated EKS cluster is. */
export interface ApiServerAddress {
  /** `https://` URL. */
  readonly server: string;
  readonly caPem: string;
}

/** A part of the test: what stands between the app and the emulator's EKS. */
export interface EksEndpoints {
  /** `http://127.0.0.1:<port>`, for `AWS_ENDPOINT_URL_EKS`. */
  readonly endpoint: string;
  /** From now on DescribeCluster says that this cluster is there. */
  set(cluster: string, address: ApiServerAddress): void;
  stop(): Promise<void>;
}

/**
 * MiniStack takes `endpoint` and `certificateAuthority` of a cluster from a container that it starts itself; without Docker the one is a
 * port where nobody listens, and the other is empty. It also puts clusters and instances into different VPCs. This passes every call of EKS on as
 * it is, signature included, and replaces those three fields in the answer of DescribeCluster.
 *
 * @param emulator endpoint and authority of the emulator, known once it runs
 */
export async function startEksEndpoints(
  emulator: () => { readonly endpoint: string; readonly caPem: string },
): Promise<EksEndpoints> {
  const addresses = new Map<string, ApiServerAddress>();
  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/' } = incoming;
    const { endpoint, caPem } = emulator();
    const sent = request(`${endpoint}${url}`, { method, ca: caPem, headers: incoming.headers, agent: false });
    sent.end(await buffer(incoming));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the event "response" carries
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const { 'content-length': _, 'transfer-encoding': __, ...headers } = answer.headers;
    const bytes = await buffer(answer);
    const name = /^\/clusters\/([^/?]+)$/.exec(url)?.[1];
    const address = method === 'GET' && answer.statusCode === 200 && name !== undefined && addresses.get(name);
    const body = address ? withAddress(bytes, address) : bytes;
    outgoing.writeHead(answer.statusCode ?? 502, { ...headers, 'content-length': body.length }).end(body);
  };
  const listener = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch((error: unknown) => outgoing.writeHead(502).end(String(error)));
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- listening on a port, not on a pipe
  const { port } = listener.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    set: (cluster, address) => void addresses.set(cluster, address),
    async stop() {
      listener.close();
      listener.closeAllConnections();
      await once(listener, 'close');
    },
  };
}

/** Where the EC2 of MiniStack runs instances. */
const DEFAULT_VPC = 'vpc-00000001';

function withAddress(bytes: Buffer, { server, caPem }: ApiServerAddress): Buffer {
  const answer: { cluster: Record<string, unknown> & { resourcesVpcConfig?: object } } = JSON.parse(
    bytes.toString('utf8'),
  );
  Object.assign(answer.cluster, {
    resourcesVpcConfig: { ...answer.cluster.resourcesVpcConfig, vpcId: DEFAULT_VPC },
    // Only hosts of EKS get its tokens; eks-on-loopback.ts leads there. The emulator takes requests to amazonaws.com for its own.
    endpoint: `https://port-${new URL(server).port}.eks-cluster.${REGION}.api.aws`,
    certificateAuthority: { data: Buffer.from(caPem).toString('base64') },
  });
  return Buffer.from(JSON.stringify(answer));
}
