import { CERTIFICATE_CLASSES, type CertificateClass, type Layer } from './certificate-classes.ts';

/** Not the cluster's own, whatever signed them: whoever writes to a namespace or asks for a certificate has as many as they like. */
const OF_WORKLOADS: ReadonlySet<CertificateClass> = new Set(['ca-bundle', 'issued-client']);

/** Of the control plane or of etcd. */
export function isOfControlPlane(what: CertificateClass): boolean {
  const { layer } = CERTIFICATE_CLASSES[what];
  return layer === 'control plane' || layer === 'etcd';
}

/** Whose certificates they are, for what must be kept or shown first. */
export function layerOf(what: CertificateClass): Layer {
  return OF_WORKLOADS.has(what) ? 'workload' : CERTIFICATE_CLASSES[what].layer;
}
