import { createCertificateAuthority, issueCertificate } from '../peculiar.ts';
import type { SimulatedApi } from './api.ts';
import { type Background, inBackground } from './background.ts';
import { type CertificationRequest, parseCertificationRequest } from './certification-request.ts';
import { type CsrCondition, kubernetesTime, type StoredCsr } from './kube-object.ts';

export interface SignerOptions {
  readonly api: SimulatedApi;
  /** Milliseconds between two certificates: what upstream's 20 requests a second come to. @default 50 */
  readonly intervalMs?: number;
  /** Lifetime of certificates, milliseconds. @default upstream's, 365 days */
  readonly durationMs?: number;
  /** When its authority was made, milliseconds since the epoch. @default an hour ago */
  readonly madeAt?: number;
}

export interface Signer extends Background {
  /** Its authority, PEM. */
  readonly caPem: string;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * The controller `csrsigning` for the signer `kubernetes.io/kubelet-serving`: issues what is approved, or fails what
 * breaks the signer's rules. It does not ask whether a node owns the names. (pkg/controller/certificates/signer)
 */
export async function startSigner(options: SignerOptions): Promise<Signer> {
  const { api, intervalMs = 50, durationMs = 365 * DAY } = options;
  const { clock, csrs } = api;
  const { madeAt = clock.now() - HOUR } = options;
  const authority = await createCertificateAuthority({
    commonName: 'certmarshal simulated signer',
    notBefore: new Date(madeAt),
    notAfter: new Date(madeAt + 10 * 365 * DAY),
  });

  /** Reads the request anew: it may have gone or changed while it was waiting. */
  const sign = async (key: string): Promise<void> => {
    const csr = waiting(csrs.get(key));
    if (csr === undefined) return;
    const pem = Buffer.from(csr.spec.request, 'base64').toString('latin1');
    const violation = violationOf(parseCertificationRequest(pem), csr.spec.usages);
    if (violation !== undefined) {
      const time = kubernetesTime(clock.now());
      const failed: CsrCondition = {
        type: 'Failed',
        status: 'True',
        reason: 'SignerValidationFailure',
        message: violation,
        lastUpdateTime: time,
        lastTransitionTime: time,
      };
      csrs.put({ ...csr, status: { ...csr.status, conditions: [...(csr.status.conditions ?? []), failed] } });
      return;
    }
    const validity = validityOf(clock.now(), durationMs, csr.spec.expirationSeconds);
    const certificate = await clock.during(issueCertificate(authority, pem, validity));
    const current = waiting(csrs.get(key));
    if (current?.metadata.uid !== csr.metadata.uid) return;
    csrs.put({ ...current, status: { ...current.status, certificate: Buffer.from(certificate).toString('base64') } });
  };

  const background = inBackground(async (signal) => {
    const queue = new Set(
      csrs
        .all()
        .filter(waiting)
        .map(({ metadata }) => metadata.name),
    );
    let work = Promise.withResolvers<void>();
    const unwatch = csrs.watchAll((object, key) => {
      if (waiting(object) === undefined) return;
      queue.add(key);
      work.resolve();
    });
    signal.addEventListener('abort', () => work.resolve(), { once: true });
    try {
      while (!signal.aborted) {
        const [next] = queue;
        if (next === undefined) {
          await work.promise;
          work = Promise.withResolvers();
          continue;
        }
        await clock.sleep(intervalMs, signal);
        queue.delete(next);
        await sign(next);
      }
    } finally {
      unwatch();
    }
  });

  return { caPem: authority.certificate, stop: () => background.stop() };
}

/** The request, if it is one that this signer has to deal with. */
function waiting(csr: StoredCsr | undefined): StoredCsr | undefined {
  if (csr === undefined) return undefined;
  const { certificate, conditions = [] } = csr.status;
  const has = (type: string): boolean => conditions.some((condition) => condition.type === type);
  const isOurs = csr.spec.signerName === 'kubernetes.io/kubelet-serving' && certificate === undefined;
  return isOurs && has('Approved') && !has('Denied') && !has('Failed') ? csr : undefined;
}

/** pkg/apis/certificates/helpers.go, ValidateKubeletServingCSR */
function violationOf(request: CertificationRequest, usages: readonly string[]): string | undefined {
  const { commonName, organizations, subjectAltNames } = request;
  const has = (...types: readonly string[]): boolean => subjectAltNames.some(({ type }) => types.includes(type));
  if (organizations.length !== 1 || organizations[0] !== 'system:nodes') {
    return 'subject organization is not system:nodes';
  }
  if (!has('dns', 'ip')) return 'DNS or IP subjectAltName is required';
  if (has('email')) return 'email subjectAltNames are not allowed';
  if (has('url')) return 'URI subjectAltNames are not allowed';
  const wanted = new Set(usages);
  wanted.delete('key encipherment');
  if (wanted.size !== 2 || !wanted.has('digital signature') || !wanted.has('server auth')) {
    return 'usages did not match [digital signature server auth]';
  }
  if (!commonName.startsWith('system:node:')) return 'subject common name does not begin with system:node: ';
  return undefined;
}

/** pkg/controller/certificates/signer/signer.go, duration, and authority/policies.go */
function validityOf(
  now: number,
  durationMs: number,
  expirationSeconds: number | undefined,
): { readonly notBefore: Date; readonly notAfter: Date } {
  const asked = Math.max(expirationSeconds === undefined ? durationMs : expirationSeconds * 1000, 10 * MINUTE);
  const lifetime = Math.min(asked, durationMs);
  // Certificates of less than eight hours keep their whole life ahead of them.
  const backdate = 5 * MINUTE;
  const notAfter = now + lifetime - (lifetime < 8 * HOUR ? 0 : backdate);
  return { notBefore: new Date(now - backdate), notAfter: new Date(notAfter) };
}
