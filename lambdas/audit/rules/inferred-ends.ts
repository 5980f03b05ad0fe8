import type { CertificateObservation, Observation } from '../../contracts/observation.ts';
import { CERTIFICATE_CLASSES } from '../../tables/certificate-classes.ts';
import { DAY_MS, timestamp } from '../../time.ts';
import { compare, timeOf } from '../../words.ts';
import type { KnownCertificate } from '../certificates.ts';
import { isProven } from './proof.ts';
import { USUAL_LIFE_MS } from './thresholds.ts';

/** Ends that differ by more than this are not of the same certificate. */
export const AGREE_MS = 2 * DAY_MS;

/**
 * Finds the end of each certificate that is known only from the age of a Machine. `clusterctl move` and a restore
 * create Machines again, so an older Node decides. A seen certificate of the same component decides before both:
 * kubeadm and etcdadm issue and renew them together. Any other evidence of the machine makes the end earlier, or shows
 * that the machine was renewed in place: then its age says nothing. Pure.
 *
 * Source: kubeadm, `renewCertsByComponent`: an upgrade of the API server renews its certificates, and not those of etcd.
 *
 * @param nodes the Node of each member, by its names
 * @param now milliseconds since the epoch
 */
export function withinEvidence(
  certificates: readonly KnownCertificate[],
  observations: readonly Observation[],
  nodes: ReadonlyMap<string, string>,
  now: number,
): readonly KnownCertificate[] {
  const members = observations
    .filter((observation) => observation.kind === 'member')
    .map(({ name, role, source, createdAt }) => ({ id: nodes.get(name) ?? name, role, source, createdAt }));
  const machines = Map.groupBy(members, ({ id }) => id);
  const ofRuns = certificates.filter((certificate) => isOfRun(certificate) && !isGuess(certificate));
  const runs = Map.groupBy(ofRuns, ({ member }) => member);
  const estimated = certificates.map((certificate) => {
    const { member = '' } = certificate;
    return isGuess(certificate) && isOfRun(certificate)
      ? estimate(certificate, machines.get(member) ?? [], runs.get(member) ?? [])
      : certificate;
  });
  const etcd = new Set<string | undefined>(members.flatMap(({ role, id }) => (role === 'etcd' ? id : [])));
  const [first] = estimated
    .filter((certificate) => isOfRun(certificate) && etcd.has(certificate.member))
    .toSorted(byEnd);
  // The client certificate of external etcd is that of one of its machines.
  return estimated.map((certificate) => {
    const { best, what } = certificate;
    if (!isGuess(certificate)) return certificate;
    const model = what === 'apiserver-etcd-client' ? first : certificate;
    const { notAfter, renewed, estimate: from = 'run' } = model ?? { ...certificate, estimate: 'latest' };
    const notBefore = Math.min(now, notAfter - guessedLife(best));
    return {
      ...certificate,
      best: { ...best, notBefore: timestamp(notBefore), notAfter: timestamp(notAfter) },
      lives: [{ notBefore, notAfter }],
      notAfter,
      estimate: from,
      renewed,
      unknown: renewed !== undefined || notAfter <= now,
    };
  });
}

/**
 * @param machine its Machine and its Node
 * @param run what is known of the certificates of its run, without guesses
 */
function estimate(
  certificate: KnownCertificate,
  machine: readonly { readonly source: string; readonly createdAt: string }[],
  run: readonly KnownCertificate[],
): KnownCertificate {
  const { best, what, notAfter } = certificate;
  const { layer } = CERTIFICATE_CLASSES[what];
  const proven = run.filter((one) => isProven(one.best));
  const ofLayer = proven.filter(
    (one) => one.best.basis === 'certificate' && CERTIFICATE_CLASSES[one.what].layer === layer,
  );
  if (ofLayer.length > 0) return { ...certificate, notAfter: earliest(ofLayer), estimate: 'run' };
  const life = guessedLife(best);
  const births = machine.flatMap(({ createdAt }) => timeOf(createdAt) ?? []);
  const byAge = births.length === 0 ? notAfter : Math.min(...births) + life;
  // A Machine can wait for hardware, and a move makes it anew; its Node tells when kubeadm ran.
  const registered = timeOf(machine.find(({ source }) => source === 'nodes')?.createdAt);
  const latest = registered === undefined ? byAge : registered + life;
  const renewed = proven.toSorted(byEnd).findLast(({ best: { notAfter: end } }) => Date.parse(end) > latest + AGREE_MS);
  if (renewed !== undefined) return { ...certificate, notAfter: byAge, estimate: 'age', renewed: renewed.best };
  const end = Math.min(byAge, earliest(run));
  const byMachine = run.length > 0 || registered !== undefined ? 'age' : 'latest';
  return { ...certificate, notAfter: end, estimate: end < byAge ? 'run' : byMachine };
}

/** Of a certificate by age; undefined without its start. Milliseconds. */
export function inferredLife({ notBefore, notAfter }: CertificateObservation): number | undefined {
  const [from, to] = [timeOf(notBefore), timeOf(notAfter)];
  return from === undefined || to === undefined ? undefined : to - from;
}

function guessedLife(best: CertificateObservation): number {
  return inferredLife(best) ?? USUAL_LIFE_MS;
}

function byEnd(a: KnownCertificate, b: KnownCertificate): number {
  return a.notAfter - b.notAfter || compare(a.object, b.object);
}

function earliest(certificates: readonly KnownCertificate[]): number {
  return Math.min(...certificates.map(({ notAfter }) => notAfter));
}

function isGuess({ best }: KnownCertificate): boolean {
  return best.basis === 'inference';
}

function isOfRun({ what, member, best: { position = 0, isAuthority } }: KnownCertificate): boolean {
  return member !== undefined && CERTIFICATE_CLASSES[what].ofOneRun && position === 0 && isAuthority !== true;
}
