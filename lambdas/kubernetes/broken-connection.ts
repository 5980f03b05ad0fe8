import type { X509Certificate } from 'node:crypto';
import { ForbiddenAddressError } from '../allowed-addresses.ts';
import { DAY_MS } from '../time.ts';
import type { Connection } from './connection.ts';
import { KubernetesError, type KubernetesErrorDetails } from './errors.ts';
import type { ExchangeFailure } from './exchange.ts';
import { OldCertificateError, OTHER_CERTIFICATE } from './expired-server.ts';
import { printable } from './printable.ts';

/** Facts for explaining a failed connection. */
interface TrustContext {
  readonly object: string;
  /** The name that the serving certificate must carry. */
  readonly serverName: string;
  /** The pinned bundle; undefined for Node's built-in roots. */
  readonly bundle: readonly X509Certificate[] | undefined;
  readonly expiredServer?: Connection['expiredServer'];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Explanation = Pick<KubernetesErrorDetails, 'kind' | 'problem' | 'remedy'>;

/**
 * Explains a failed connection to the engineer who fixes it, by our own refusal or the system or TLS error code of Node
 * and OpenSSL.
 */
export function connectionError(
  { code, cause }: Pick<ExchangeFailure, 'code' | 'cause'>,
  context: TrustContext,
): KubernetesError {
  if (cause instanceof ForbiddenAddressError) return forbiddenAddress(context.object, cause);
  if (cause instanceof OldCertificateError) return oldCertificate(context, cause);
  return new KubernetesError({ object: context.object, ...explain(code, context), ...(code === '' ? {} : { code }) });
}

/** Nothing was sent there. */
export function forbiddenAddress(object: string, { host, address }: ForbiddenAddressError): KubernetesError {
  const found = host === address ? printable(address) : `${printable(host)} leads to ${printable(address)}, which`;
  return new KubernetesError({
    kind: 'invalid',
    object,
    problem: `${found} is a loopback, link-local, multicast or metadata address; no API server of another machine has one`,
    remedy:
      'Find out who wrote the server into the kubeconfig, or the name into DNS; certmarshal does not connect to it.',
  });
}

function oldCertificate({ object, now }: TrustContext, error: OldCertificateError): KubernetesError {
  const { notAfter, expiredAtMostMs, replacedBefore } = error;
  const days = Math.floor((now - notAfter) / DAY_MS);
  const why =
    replacedBefore === undefined
      ? `more than the ${Math.floor(expiredAtMostMs / DAY_MS)} days that recovery mode allows`
      : `and the last audit saw none that expires before ${new Date(replacedBefore).toISOString()}: this one was replaced`;
  return new KubernetesError({
    kind: 'certificate',
    code: error.code,
    object,
    problem: `the certificate of the endpoint expired ${days} days ago, ${why}`,
    remedy:
      'Renew it on the machine, or compare its SHA-256 there and pin that: a fingerprint is accepted at any age. Without that check, an attacker may answer with the key of an old backup.',
  });
}

const UNTIL_THEN =
  'To connect until then, add --tolerate-expired authority; deployed, name the cluster under recovery in fleet.yaml.';
/** An impostor with the key of an old backup would have its Machines prove names in a cluster that is genuine. */
const NEVER_TOLERATED =
  'Neither --tolerate-expired nor recovery in fleet.yaml applies here: its Machines prove names in another cluster. Recover this cluster first, with its own kubeconfig as --kubeconfig.';

function explain(code: string, { serverName, bundle, expiredServer, now }: TrustContext): Explanation {
  const isOver = ({ validToDate }: X509Certificate): boolean => validToDate.getTime() <= now;
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return bundle?.every(isOver)
        ? {
            kind: 'certificate',
            problem: 'every certificate of the CA bundle has expired',
            remedy: 'Replace the CA bundle with the current one of the cluster.',
          }
        : {
            kind: 'certificate-expired',
            problem: `a certificate of the endpoint${bundle === undefined || bundle.some(isOver) ? ', or its CA,' : ''} has expired`,
            remedy: `Renew the certificate of the API server: certmarshal runbook recovery. ${expiredServer === 'never' ? NEVER_TOLERATED : UNTIL_THEN}`,
          };
    case OTHER_CERTIFICATE:
      return {
        kind: 'certificate',
        problem: 'the certificate of the endpoint has expired, and is not the one that recovery mode accepts',
        remedy:
          'Compare its SHA-256, on the machine itself, with the pin under recovery in fleet.yaml; if they differ, another server answers here.',
      };
    case 'CERT_NOT_YET_VALID':
      return {
        kind: 'certificate',
        problem: 'the certificate of the endpoint is not valid yet',
        remedy: 'Compare the clocks of the API server and of this machine.',
      };
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return {
        kind: 'certificate',
        problem: `the certificate of the endpoint is not for ${serverName}`,
        remedy: 'Use a server name that the certificate has, or set tls-server-name in the kubeconfig.',
      };
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'CERT_SIGNATURE_FAILURE':
      return {
        kind: 'certificate',
        problem: `the certificate of the endpoint is not trusted (${code})`,
        remedy: bundle
          ? 'The CA bundle does not sign this endpoint: read the current bundle of the cluster, which may have rotated its CA, or check that the server is the right one.'
          : "No CA bundle is given and no public CA signs this endpoint: add the cluster's CA bundle.",
      };
    case 'CERT_UNTRUSTED':
    case 'CERT_REJECTED':
    case 'CERT_REVOKED':
    case 'CERT_CHAIN_TOO_LONG':
    case 'INVALID_CA':
    case 'INVALID_PURPOSE':
    case 'PATH_LENGTH_EXCEEDED':
    case 'HOSTNAME_MISMATCH':
      return {
        kind: 'certificate',
        problem: `the certificate of the endpoint is not usable (${code})`,
        remedy: 'The endpoint needs a serving certificate issued by its cluster CA.',
      };
    case 'ECONNREFUSED':
      return {
        kind: 'unreachable',
        problem: 'the connection was refused',
        remedy: 'Check that the API server runs and that host and port are right.',
      };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        kind: 'unresolved',
        problem: `the name of the server cannot be resolved (${code})`,
        remedy: 'Check the host name, and that this network resolves it.',
      };
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return {
        kind: 'not-kubernetes',
        problem: 'the endpoint does not speak TLS',
        remedy: 'Check the port: an API server serves https only.',
      };
    default:
      if (/^ERR_SSL_.*ALERT.*(CERTIFICATE|UNKNOWN_CA)/.test(code)) {
        return {
          kind: 'unauthorized',
          problem: `the endpoint did not accept the client certificate (${code})`,
          remedy: 'Renew the credentials.',
        };
      }
      if (code.startsWith('ERR_SSL_')) {
        return {
          kind: 'unreachable',
          problem: `the TLS handshake failed (${code})`,
          remedy: 'The endpoint must offer TLS 1.2 or later with a common cipher.',
        };
      }
      if (code.startsWith('HPE_')) {
        return {
          kind: 'not-kubernetes',
          problem: `the answer is not HTTP (${code})`,
          remedy: 'Check that the server is an API server and that no proxy rewrites its answers.',
        };
      }
      return {
        kind: 'unreachable',
        problem: code === '' ? 'the connection broke' : `the connection broke (${code})`,
        remedy: 'Check the route, security groups and firewalls between here and the API server.',
      };
  }
}
