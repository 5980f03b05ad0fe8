import { DAY_MS } from '../time.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from './certificate-classes.ts';

/**
 * From when on a certificate is a finding: when less than `share` of its life is left, or less than `floorMs` where that is more, but never more than
 * twice the share: a certificate of ten years, of 45 days and of ten minutes have one rule, and a floor of days does not ring all the time for a short one.
 * What only people renew needs their days however short it lives, so for that the floor counts in full.
 */
export interface Threshold {
  /** Of the life, from 0 to 1. */
  readonly share: number;
  /** Milliseconds. */
  readonly floorMs: number;
}

export interface ClassThresholds {
  readonly warning: Threshold;
  readonly critical: Threshold;
}

/** By class; a class that is not named has `default`. */
export interface Thresholds {
  readonly default: ClassThresholds;
  readonly classes: Readonly<Partial<Record<CertificateClass, ClassThresholds>>>;
}

/** Renewed by hand or by a rollout: there has to be time for that. */
const BY_HAND: ClassThresholds = {
  warning: { share: 0.2, floorMs: 14 * DAY_MS },
  critical: { share: 0.05, floorMs: 3 * DAY_MS },
};
/** Renewed by a kubelet between 70 % and 90 % of its life (client-go, certificate manager): earlier is no news. */
const BY_KUBELET: ClassThresholds = {
  warning: { share: 0.1, floorMs: 0 },
  critical: { share: 0.03, floorMs: 0 },
};

export const DEFAULT_THRESHOLDS: Thresholds = {
  default: BY_HAND,
  classes: {
    'kubelet-serving': BY_KUBELET,
    'kubelet-client': BY_KUBELET,
    'eks-api-server': BY_KUBELET,
    // The kubeadm control plane provider renews it when half of its life is over (Cluster API, util/certs/consts.go).
    'cluster-kubeconfig': { warning: { share: 0.4, floorMs: 0 }, critical: { share: 0.1, floorMs: 3 * DAY_MS } },
  },
};

/** Renewed by a rollout that somebody starts, by hand, or not at all. */
const NEEDS_PEOPLE: ReadonlySet<CertificateClass> = new Set([
  'kube-apiserver',
  'control-plane-clients',
  'etcd-server',
  'etcd-peer',
  'etcd-healthcheck-client',
  'apiserver-etcd-client',
  'cluster-ca',
  'client-ca',
  'front-proxy-ca',
  'etcd-ca',
]);

/** Since when a certificate lives, where that is known, and when it ends. Milliseconds since the epoch. */
export interface Life {
  readonly notBefore?: number | undefined;
  readonly notAfter: number;
}

/** Of kubeadm, etcdadm and kube-controller-manager, and of the authorities that they make. */
const USUAL_LIFE_MS = 365 * DAY_MS;
const USUAL_AUTHORITY_LIFE_MS = 3650 * DAY_MS;

/** From beginning to end; that of its class where the beginning is not known. */
export function lengthOf({ notBefore, notAfter }: Life, what: CertificateClass): number {
  const length = notBefore === undefined ? 0 : notAfter - notBefore;
  if (length > 0) return length;
  return CERTIFICATE_CLASSES[what].layer === 'authority' ? USUAL_AUTHORITY_LIFE_MS : USUAL_LIFE_MS;
}

/** Whether so little of a life is left; undefined while enough is. */
export function expirySeverity(
  life: Life,
  what: CertificateClass,
  thresholds: Thresholds,
  now: number,
): 'critical' | 'warning' | undefined {
  const { critical, warning } = thresholds.classes[what] ?? thresholds.default;
  const length = lengthOf(life, what);
  const isUnder = ({ share, floorMs }: Threshold): boolean => {
    const most = NEEDS_PEOPLE.has(what) ? Number.POSITIVE_INFINITY : 2 * share * length;
    return life.notAfter - now < Math.min(Math.max(share * length, floorMs), most);
  };
  if (isUnder(critical)) return 'critical';
  return isUnder(warning) ? 'warning' : undefined;
}
