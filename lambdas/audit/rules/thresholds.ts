import {
  CERTIFICATE_CLASSES,
  type CertificateClass,
  type ClassThresholds,
  type Threshold,
} from '../../tables/certificate-classes.ts';
import { DAY_MS } from '../../time.ts';

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

export const DEFAULT_THRESHOLDS: Thresholds = {
  default: BY_HAND,
  classes: Object.fromEntries(
    Object.entries(CERTIFICATE_CLASSES).flatMap(([what, { thresholds }]) =>
      thresholds === undefined ? [] : [[what, thresholds]],
    ),
  ),
};

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
  return CERTIFICATE_CLASSES[what].authority ? USUAL_AUTHORITY_LIFE_MS : USUAL_LIFE_MS;
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
    const most = CERTIFICATE_CLASSES[what].needsPeople ? Number.POSITIVE_INFINITY : 2 * share * length;
    return life.notAfter - now < Math.min(Math.max(share * length, floorMs), most);
  };
  if (isUnder(critical)) return 'critical';
  return isUnder(warning) ? 'warning' : undefined;
}
