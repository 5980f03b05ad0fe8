import type { Observation, RenewalObservation } from '../../contracts/observation.ts';
import type { KnownCertificate } from '../certificates.ts';
import type { Draft } from './draft.ts';
import { lengthOf } from './thresholds.ts';

/**
 * Share of the lifetime before which a kubelet does not renew (client-go, certificate manager): with a fresher
 * certificate, earlier errors are resolved.
 */
const RENEWS_FROM = 0.7;
/** Kubelets renew between 70 % and 90 % of the lifetime; the margin covers pending requests and changed addresses. */
const USUAL = { from: 0.6, to: 0.95 };

/** Findings from what kubelets report about their renewals. */
export function kubeletFindings(
  observations: readonly Observation[],
  certificates: readonly KnownCertificate[],
  now: number,
): readonly Draft[] {
  const known = new Map(certificates.map((certificate) => [`${certificate.what} ${certificate.member}`, certificate]));
  return observations.flatMap((observation): readonly Draft[] => {
    if (observation.kind !== 'renewal') return [];
    const { what, node, errors, none } = observation;
    const common = { object: `${what} ${node}`, what };
    if (none) return [{ ...common, code: 'NoValidCertificate', severity: 'critical', facts: { node } }];
    const certificate = known.get(`${what} ${node}`);
    const rotations = rotationFindings(observation, certificate).map((draft) => ({ ...common, ...draft }));
    const isFresh =
      certificate !== undefined &&
      certificate.lives.every((life) => life.notAfter - now > (1 - RENEWS_FROM) * lengthOf(life, certificate.what));
    if (!(errors > 0) || isFresh) return rotations;
    return [...rotations, { ...common, code: 'RenewalErrors', severity: 'warning', facts: { node, count: errors } }];
  });
}

/** Assumes that the replaced certificates, which are gone, lived as long as a known one. */
function rotationFindings(
  { node, rotations }: RenewalObservation,
  certificate: KnownCertificate | undefined,
): readonly Pick<Draft<'RotationUnusual'>, 'code' | 'severity' | 'facts'>[] {
  if (rotations === undefined || certificate === undefined) return [];
  const { count, meanSeconds } = rotations;
  const shares = certificate.said.flatMap(({ notBefore, notAfter }) => {
    const seconds = notBefore === undefined ? 0 : (Date.parse(notAfter) - Date.parse(notBefore)) / 1_000;
    return seconds > 0 ? [meanSeconds / seconds] : [];
  });
  const [share] = shares;
  if (share === undefined) return [];
  if (!shares.every((one) => one < USUAL.from) && !shares.every((one) => one > USUAL.to)) return [];
  return [{ code: 'RotationUnusual', severity: 'info', facts: { node, count, share } }];
}

/** EKS and kubelets tolerate at most this. Milliseconds. */
const SKEW_MS = 60_000;

export function clockFindings(observations: readonly Observation[]): readonly Draft[] {
  return observations.flatMap((observation): readonly Draft[] => {
    if (observation.kind !== 'clock' || !(Math.abs(observation.skewMs) > SKEW_MS)) return [];
    const { server, skewMs } = observation;
    return [{ code: 'ClockSkew', severity: 'warning', object: `clock of ${server}`, facts: { server, skewMs } }];
  });
}
