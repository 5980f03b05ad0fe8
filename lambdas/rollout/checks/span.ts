import { DEFAULT_VALIDITY_DAYS } from '../../resources/kubeadm-control-plane.ts';
import { DAY_MS } from '../../time.ts';
import type { ObservedRollout } from '../observed.ts';
import { DEFAULT_ROLLOUT_POLICY, FLOOR_DAYS, type Lead, type RolloutPolicy } from '../policy.ts';
import { serversOf, stayingMachines } from './verdict.ts';

/** When a rollout is due, and from when it is too late. Milliseconds since the epoch. */
export interface RolloutSpan {
  readonly from: number;
  readonly until: number;
  readonly soonestEnd: number;
}

interface Lived {
  readonly notBefore: number;
  readonly notAfter: number;
}

/**
 * Certificates that a rollout renews and that were seen: those that machines serve, that of the API
 * server, and the client certificate of external etcd.
 */
export function renewedCertificates(observed: ObservedRollout): readonly Lived[] {
  const { apiServer } = observed;
  const client = observed.etcd?.clientCertificate;
  return [
    ...stayingMachines(observed)
      .flatMap(serversOf)
      .flatMap(({ served }) => (served.kind === 'certificate' ? [served] : [])),
    ...(apiServer === undefined ? [] : [apiServer]),
    ...(client === undefined ? [] : [client]),
  ];
}

/**
 * The span in which the schedule may begin, from the certificate with the soonest values; undefined without
 * certificates. Empty if certificates live so briefly that the floor of 7 days is before the lead. Pure.
 *
 * @param certificates see `renewedCertificates`
 * @param policy @default the defaults
 */
export function rolloutSpan(
  certificates: readonly Lived[],
  { controlPlane }: Pick<ObservedRollout, 'controlPlane'>,
  policy: Pick<RolloutPolicy, 'begin' | 'stop'> = DEFAULT_ROLLOUT_POLICY,
): RolloutSpan | undefined {
  const validityMs = (controlPlane?.certificateValidityDays ?? DEFAULT_VALIDITY_DAYS) * DAY_MS;
  const spans = certificates.map(({ notBefore, notAfter }) => {
    // kubeadm dates a leaf back to its CA's notBefore: it did not live that long.
    const lifeMs = Math.max(0, Math.min(notAfter - notBefore, validityMs));
    return {
      from: notAfter - leadMs(policy.begin, lifeMs),
      until: notAfter - Math.max(FLOOR_DAYS * DAY_MS, leadMs(policy.stop, lifeMs)),
      soonestEnd: notAfter,
    };
  });
  const soonest = (key: keyof RolloutSpan): number =>
    spans.reduce((first, span) => Math.min(first, span[key]), Number.POSITIVE_INFINITY);
  if (spans.length === 0) return undefined;
  return { from: soonest('from'), until: soonest('until'), soonestEnd: soonest('soonestEnd') };
}

function leadMs({ days, share }: Lead, lifeMs: number): number {
  return Math.min(days * DAY_MS, share * lifeMs);
}
