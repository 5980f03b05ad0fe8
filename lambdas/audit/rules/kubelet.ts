import type { Observation } from '../../contracts/observation.ts';
import { counted, firstOf } from '../../words.ts';
import type { KnownCertificate } from '../certificates.ts';
import type { Draft } from './draft.ts';
import { lengthOf } from './thresholds.ts';

/** A kubelet does not renew before that (client-go, certificate manager), so until then what failed was mended. */
const RENEWS_FROM = 0.7;

/** What kubelets say of their own renewals. */
export function kubeletFindings(
  observations: readonly Observation[],
  certificates: readonly KnownCertificate[],
  now: number,
): readonly Draft[] {
  const known = new Map(certificates.map((certificate) => [`${certificate.what} ${certificate.member}`, certificate]));
  return observations.flatMap((observation): readonly Draft[] => {
    if (observation.kind !== 'renewal') return [];
    const { what, node, errors, none } = observation;
    const common = { object: `${what} ${node}`, what, words: { node } };
    if (none)
      return [
        {
          ...common,
          code: 'NoValidCertificate',
          severity: 'critical',
          message: `the kubelet of ${node} says that it has no valid ${what === 'kubelet-serving' ? 'serving' : 'client'} certificate`,
        },
      ];
    const certificate = known.get(`${what} ${node}`);
    const isFresh =
      certificate !== undefined &&
      certificate.lives.every((life) => life.notAfter - now > (1 - RENEWS_FROM) * lengthOf(life, certificate.what));
    if (!(errors > 0) || isFresh) return [];
    return [
      {
        ...common,
        code: 'RenewalErrors',
        severity: 'warning',
        message: `the kubelet of ${node} says that renewing its ${what === 'kubelet-serving' ? 'serving' : 'client'} certificate failed ${counted(errors, 'time')} since it started`,
      },
    ];
  });
}

/** A minute: EKS and kubelets bear no more. */
const SKEW_MS = 60_000;

export function clockFindings(observations: readonly Observation[]): readonly Draft[] {
  return observations.flatMap((observation): readonly Draft[] => {
    if (observation.kind !== 'clock' || !(Math.abs(observation.skewMs) > SKEW_MS)) return [];
    const { server, skewMs } = observation;
    return [
      {
        code: 'ClockSkew',
        severity: 'warning',
        object: `clock of ${server}`,
        message: `the clock of ${firstOf([server])} is at least ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} ours, so every time of an end is that much off`,
        words: { source: 'clock' },
      },
    ];
  });
}
