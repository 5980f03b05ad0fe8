import type { CertificateObservation } from '../../contracts/observation.ts';
import { isOfControlPlane } from '../../tables/certificate-classes.ts';

/**
 * Whether a handshake showed it as the certificate of a control plane or etcd server. For kubelets, the class says so.
 */
export function isOfServer({ source, what, position = 0 }: CertificateObservation): boolean {
  return source === 'tls' && position === 0 && isOfControlPlane(what);
}

/**
 * Whether a handshake showed a CA, or the certificate of a kubelet, instead of the server's. Anyone in the network has
 * the first, and root on a node has the second with its key.
 */
export function isOfAnother(shown: CertificateObservation): boolean {
  return isOfServer(shown) && (shown.isAuthority === true || shown.commonName?.startsWith('system:node:') === true);
}

/**
 * Whether it is believed alone, whatever else is known about its place. Anyone in the network can show a certificate
 * without its key, or one of their own.
 */
export function isProven(said: CertificateObservation): boolean {
  return !isOfServer(said) || (said.issuedByCluster !== false && said.keyProven !== false && !isOfAnother(said));
}

/** Whether the current certificate proves less than the previous one, and so does not replace it. */
export function provesLess(now: CertificateObservation, before: CertificateObservation): boolean {
  return (
    (isProven(before) && !isProven(now)) ||
    (before.keyProven === true && now.keyProven !== true) ||
    (before.issuedByCluster === true && now.issuedByCluster !== true)
  );
}
