import { X509Certificate } from 'node:crypto';
import type { SimulatedApi } from './api.ts';
import { authenticated, type User } from './authorization.ts';
import { type Background, inBackground } from './background.ts';
import type { StoredCsr } from './kube-object.ts';
import type { Random } from './random.ts';
import { createServingRequest, type ServingNames } from './serving-request.ts';

/** A node and what it really owns. */
export interface SimulatedNode extends ServingNames {
  readonly name: string;
}

export interface KubeletOptions {
  readonly api: SimulatedApi;
  readonly node: SimulatedNode;
  /** Decides when it renews, and the jitter of its retries. */
  readonly random: Random;
  /** The names it asks for. @default the node's own */
  readonly asksFor?: ServingNames;
}

/** How an attempt to get a certificate ended. */
export type Outcome =
  | 'issued'
  | 'denied'
  | 'failed'
  /** Nobody decided, or nobody signed, for 15 minutes. */
  | 'timed out'
  /** The request was deleted or replaced while the kubelet was waiting. */
  | 'gone'
  /** The API server did not accept the request. */
  | 'refused';

/** One request for a certificate. */
export interface Attempt {
  /** Name of the CertificateSigningRequest; undefined when there was none because it was refused. */
  readonly csr: string | undefined;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
}

export interface Kubelet extends Background {
  readonly node: SimulatedNode;
  /** The certificate it serves with. */
  readonly certificate: X509Certificate | undefined;
  /** The attempts that have ended. */
  readonly attempts: readonly Attempt[];
}

const CSRS_URL = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** How long it waits for a certificate before it gives a request up: certificateWaitTimeout. */
const WAIT_MS = 15 * 60_000;

/**
 * A kubelet with `serverTLSBootstrap`: asks for a serving certificate at once and renews it in time, with a new key and
 * a new request at each attempt. (client-go, util/certificate/certificate_manager.go)
 *
 * It speaks to the API without a network: what travels there is the traffic of whom is tested.
 */
export function startKubelet({ api, node, random, asksFor = node }: KubeletOptions): Kubelet {
  const { clock } = api;
  const attempts: Attempt[] = [];
  let certificate: X509Certificate | undefined;

  const attempt = async (signal: AbortSignal): Promise<Outcome> => {
    const askedAt = clock.now();
    const { pem, privateKey } = createServingRequest(node.name, asksFor);
    const csr = createCsr(api, node.name, pem);
    const end = (outcome: Outcome): Outcome => {
      attempts.push({ csr: csr?.metadata.name, askedAt, endedAt: clock.now(), outcome });
      return outcome;
    };
    if (csr === undefined) return end('refused');

    const settled = await settledWithin(api, csr, signal);
    if (settled.outcome === 'issued') {
      const issued = new X509Certificate(Buffer.from(settled.certificate, 'base64'));
      if (!issued.checkPrivateKey(privateKey)) throw new Error(`${csr.metadata.name}: issued for another key`);
      certificate = issued;
    }
    return end(settled.outcome);
  };

  const background = inBackground(async (signal) => {
    for (;;) {
      for (let failures = 0; (await attempt(signal)) !== 'issued'; failures += 1) {
        await clock.sleep(backoffMs(failures, random), signal);
      }
      if (certificate !== undefined) await clock.sleep(renewalAt(certificate, random) - clock.now(), signal);
    }
  });

  return {
    node,
    get certificate() {
      return certificate;
    },
    attempts,
    stop: () => background.stop(),
  };
}

/** A kubelet's identity. */
function nodeUser(nodeName: string): User {
  return authenticated(`system:node:${nodeName}`, ['system:nodes']);
}

/**
 * Creates a request for a serving certificate as a kubelet does.
 *
 * @returns undefined when the API server does not accept it.
 */
export function createCsr(api: SimulatedApi, nodeName: string, requestPem: string): StoredCsr | undefined {
  const { status, body } = api.handle({
    method: 'POST',
    url: CSRS_URL,
    user: nodeUser(nodeName),
    body: JSON.stringify({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'csr-' },
      spec: {
        request: Buffer.from(requestPem).toString('base64'),
        signerName: 'kubernetes.io/kubelet-serving',
        usages: ['digital signature', 'server auth'],
      },
    }),
  });
  return status === 201 ? JSON.parse(body) : undefined;
}

/** {@link createCsr} for these names, with a new key. */
export function askFor(api: SimulatedApi, nodeName: string, names: ServingNames): StoredCsr | undefined {
  return createCsr(api, nodeName, createServingRequest(nodeName, names).pem);
}

type Settled =
  | { readonly outcome: 'issued'; readonly certificate: string }
  | { readonly outcome: Exclude<Outcome, 'issued' | 'refused'> };

/** client-go, util/certificate/csr, WaitForCertificate */
async function settledWithin(api: SimulatedApi, csr: StoredCsr, signal: AbortSignal): Promise<Settled> {
  const { promise, resolve } = Promise.withResolvers<Settled>();
  const { name, uid } = csr.metadata;
  const look = (current: StoredCsr | undefined): void => {
    const settled = settledAs(current, uid);
    if (settled !== undefined) resolve(settled);
  };
  const unwatch = api.csrs.watch(name, look);
  // It may have been decided while it was created.
  look(api.csrs.get(name));
  const timer = new AbortController();
  try {
    const timeout = api.clock.sleep(WAIT_MS, AbortSignal.any([signal, timer.signal]));
    return await Promise.race([promise, timeout.then((): Settled => ({ outcome: 'timed out' }))]);
  } finally {
    unwatch();
    timer.abort();
  }
}

function settledAs(csr: StoredCsr | undefined, uid: string): Settled | undefined {
  if (csr?.metadata.uid !== uid) return { outcome: 'gone' };
  const { conditions = [], certificate } = csr.status;
  const has = (type: string): boolean => conditions.some((condition) => condition.type === type);
  if (has('Denied')) return { outcome: 'denied' };
  if (has('Failed')) return { outcome: 'failed' };
  return has('Approved') && certificate !== undefined ? { outcome: 'issued', certificate } : undefined;
}

/** 2, 4, 8 and 16 seconds with up to a tenth more, then 32 for ever. */
function backoffMs(failures: number, random: Random): number {
  return failures < 4 ? 2000 * 2 ** failures * (1 + 0.1 * random()) : 32_000;
}

/** nextRotationDeadline: when 70 to 90 % of the life are over. */
function renewalAt({ validFromDate, validToDate }: X509Certificate, random: Random): number {
  const from = validFromDate.getTime();
  return from + (validToDate.getTime() - from) * (0.7 + 0.2 * random());
}
