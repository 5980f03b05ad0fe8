import {
  BY_HAND,
  CERTIFICATE_CLASSES,
  type CertificateClass,
  type ClassThresholds,
  isDatedBack,
  type Threshold,
} from '../../tables/certificate-classes.ts';
import { DAY_MS } from '../../time.ts';

/** Thresholds by class; other classes have `default`. */
export interface Thresholds {
  readonly default: ClassThresholds;
  readonly classes: Readonly<Partial<Record<CertificateClass, ClassThresholds>>>;
}

export const DEFAULT_THRESHOLDS: Thresholds = {
  default: BY_HAND,
  classes: Object.fromEntries(
    Object.entries(CERTIFICATE_CLASSES).flatMap(([what, { thresholds }]) =>
      thresholds === undefined ? [] : [[what, thresholds]],
    ),
  ),
};

/** Start, if known, and end of a certificate. Milliseconds since the epoch. */
export interface Life {
  readonly notBefore?: number | undefined;
  readonly notAfter: number;
}

/** Defaults of kubeadm, etcdadm and kube-controller-manager, and of the CAs that they make. */
export const USUAL_LIFE_MS = 365 * DAY_MS;
const USUAL_AUTHORITY_LIFE_MS = 3650 * DAY_MS;

/**
 * Length of a life, in milliseconds; the usual one of its class if the start is unknown. kubeadm and etcdadm date a
 * certificate back to its CA, so the start of theirs only tells if it is later.
 *
 * Source: both, `NewSignedCert` in pki_helpers.go.
 */
export function lengthOf({ notBefore, notAfter }: Life, what: CertificateClass): number {
  const usual = CERTIFICATE_CLASSES[what].authority ? USUAL_AUTHORITY_LIFE_MS : USUAL_LIFE_MS;
  const length = notBefore === undefined ? 0 : notAfter - notBefore;
  if (length <= 0) return usual;
  return isDatedBack(what) ? Math.min(length, usual) : length;
}

/**
 * The severity of the time left; undefined while enough is left. If the start is unknown, the usual life of the class
 * counts: for a shorter life, an early finding is better than none.
 */
export function expirySeverity(
  life: Life,
  what: CertificateClass,
  thresholds: Thresholds,
  now: number,
): 'critical' | 'warning' | undefined {
  const { critical, warning } = thresholds.classes[what] ?? thresholds.default;
  const { needsPeople } = CERTIFICATE_CLASSES[what];
  const length = lengthOf(life, what);
  const left = life.notAfter - now;
  if (left < leastLeft(critical, length, needsPeople)) return 'critical';
  return left < leastLeft(warning, length, needsPeople) ? 'warning' : undefined;
}

/**
 * Less time left than this is a finding.
 *
 * @param length of the whole life, milliseconds
 * @param needsPeople the floor counts in full, however short the life is
 * @returns milliseconds
 */
function leastLeft({ share, floorMs, ceilingMs }: Threshold, length: number, needsPeople: boolean): number {
  const byShare = share * length;
  const floor = needsPeople ? floorMs : Math.min(floorMs, 2 * byShare);
  return Math.min(Math.max(byShare, floor), ceilingMs ?? Number.POSITIVE_INFINITY);
}
