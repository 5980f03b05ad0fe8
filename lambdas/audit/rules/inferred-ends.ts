import type { Observation } from '../../contracts/observation.ts';
import { CERTIFICATE_CLASSES } from '../../tables/certificate-classes.ts';
import { isoOf, timeOf } from '../../words.ts';
import type { KnownCertificate } from '../certificates.ts';

/**
 * Bounds each inferred end. It follows from the age of a Machine, and `clusterctl move` or a restore from a backup
 * creates Machines again. So it is never later than the creation of the machine's Node allows, nor than the known end
 * of any certificate made on it in the same run. Pure.
 *
 * @param nodes the Node of each member, by its names
 */
export function withinEvidence(
  certificates: readonly KnownCertificate[],
  observations: readonly Observation[],
  nodes: ReadonlyMap<string, string>,
): readonly KnownCertificate[] {
  if (!certificates.some(({ best }) => best.basis === 'inference')) return certificates;
  const seen = earliestEnds(certificates);
  const nodeSince = earliest(
    observations.flatMap((observation) =>
      observation.kind === 'member' && observation.source === 'nodes'
        ? [[nodes.get(observation.name) ?? observation.name, timeOf(observation.createdAt)] as const]
        : [],
    ),
  );
  const etcdMachines = observations.flatMap((observation) =>
    observation.kind === 'member' && observation.role === 'etcd'
      ? (nodes.get(observation.name) ?? observation.name)
      : [],
  );
  const ofEtcd = etcdMachines.flatMap((member) => seen.get(member) ?? []);
  return certificates.map((certificate) => {
    const { best, what, member } = certificate;
    if (best.basis !== 'inference') return certificate;
    // Made at the end of an etcd rollout: not before its oldest machine.
    if (what === 'apiserver-etcd-client' && member === undefined) return bounded(certificate, undefined, ofEtcd);
    if (member === undefined || !CERTIFICATE_CLASSES[what].ofOneRun) return certificate;
    const end = seen.get(member);
    return bounded(certificate, nodeSince.get(member), end === undefined ? [] : [end]);
  });
}

/** @param ends all times in milliseconds since the epoch */
function bounded(certificate: KnownCertificate, since: number | undefined, ends: readonly number[]): KnownCertificate {
  const { best, notAfter } = certificate;
  const notBefore = timeOf(best.notBefore);
  // An end from an annotation has no beginning; it is bounded like any other.
  const byNode = notBefore === undefined || since === undefined ? notAfter : notAfter + (since - notBefore);
  const end = Math.min(notAfter, byNode, ...ends);
  const atMost = notBefore !== undefined && since === undefined && ends.length === 0;
  if (end === notAfter) return atMost ? { ...certificate, atMost } : certificate;
  const begun = notBefore === undefined ? undefined : end - (notAfter - notBefore);
  return {
    ...certificate,
    best: { ...best, ...(begun === undefined ? {} : { notBefore: isoOf(begun) }), notAfter: isoOf(end) },
    lives: [{ notBefore: begun, notAfter: end }],
    notAfter: end,
  };
}

/** By member, the earliest end of a certificate of its run that is not inferred. */
function earliestEnds(certificates: readonly KnownCertificate[]): ReadonlyMap<string, number> {
  return earliest(
    certificates.flatMap(({ what, member, said }) =>
      member === undefined || !CERTIFICATE_CLASSES[what].ofOneRun
        ? []
        : said.flatMap(({ basis, position = 0, isAuthority, notAfter }) =>
            basis === 'inference' || position > 0 || isAuthority === true ? [] : [[member, timeOf(notAfter)] as const],
          ),
    ),
  );
}

function earliest(times: readonly (readonly [name: string, at: number | undefined])[]): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const [name, at] of times) if (at !== undefined) first.set(name, Math.min(at, first.get(name) ?? at));
  return first;
}
