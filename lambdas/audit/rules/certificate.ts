import type { CertificateObservation } from '../../contracts/observation.ts';
import { printable } from '../../printable.ts';
import { finished } from '../../steps.ts';
import { CERTIFICATE_CLASSES, type CertificateClass, isDatedBack } from '../../tables/certificate-classes.ts';
import type { FindingCode, Severity } from '../../tables/finding-codes.ts';
import { DAY_MS } from '../../time.ts';
import { date, firstOf, isoOf, span, timeOf } from '../../words.ts';
import { classOf, type KnownCertificate } from '../certificates.ts';
import { isOfAnother } from './proof.ts';
import { type Stake, stakes, WHOLE_STAKE } from './stakes.ts';
import { expirySeverity, type Life, lengthOf, type Thresholds } from './thresholds.ts';

export interface JudgedCertificate {
  readonly observation: CertificateObservation;
  /** What its server shows; differs from `observation` if it is not believed. */
  readonly shown: CertificateObservation;
  readonly what: CertificateClass;
  /** `the kube-apiserver certificate of berlin-cp-1`. */
  readonly name: string;
  /** Each is believed; the earliest end counts. */
  readonly lives: readonly Life[];
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  readonly stake: Stake;
  readonly places: readonly string[];
  /** Name of its Node, if known. */
  readonly node?: string;
  /** As in `KnownCertificate`. */
  readonly estimate?: KnownCertificate['estimate'];
  readonly renewed?: CertificateObservation | undefined;
  readonly unknown?: boolean;
  /** Of the API server, if it does not answer now; 0 if there was none. Milliseconds since the epoch. */
  readonly lastAnswer?: number | undefined;
  /** Whether the CAs of its layer are known, so that an unknown issuer is a finding. */
  readonly authorityKnown: boolean;
  readonly thresholds: Thresholds;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface Judgement {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** One sentence, without a full stop. */
  readonly message: string;
  /** RFC 3339. */
  readonly due?: string;
}

interface Rule {
  readonly id: FindingCode;
  readonly judge: (judged: JudgedCertificate) => Omit<Judgement, 'code'> | undefined;
}

/** Clocks differ by up to this. Milliseconds. */
const SKEW_MS = 5 * 60_000;
/** So long that its renewal is forgotten. */
const VERY_LONG_MS = 3 * 365.25 * DAY_MS;

/** An API server that is silent for longer may have lost its certificates, or etcd. */
const SILENT_MS = DAY_MS;

const warning = (message: string): Omit<Judgement, 'code'> => ({ severity: 'warning', message });
const info = (message: string): Omit<Judgement, 'code'> => ({ severity: 'info', message });

/** All rules for one certificate; each gives at most one finding. */
const CERTIFICATE_RULES = [
  {
    id: 'CertificateExpired',
    judge: (judged) => {
      const { name, notAfter, now } = judged;
      if (!hasEnded(judged) || judged.unknown || isNeverValid(judged.observation)) return undefined;
      return {
        severity: judged.stake.severity,
        message: `${name} expired ${span(now - notAfter)} ago, on ${date(notAfter)}${basisOf(judged)}${lateBy(judged)}${effectOf(judged)}`,
        due: isoOf(notAfter),
      };
    },
  },
  {
    id: 'ExpiryUnknown',
    judge: (judged) => {
      const { name, notAfter, now, estimate = 'age', renewed, lastAnswer = now } = judged;
      if (!judged.unknown) return undefined;
      const ago = hasEnded(judged) ? `, ${span(now - notAfter)} ago` : '';
      const guess = `it is unknown when ${name} expires: by ${ESTIMATES[estimate]} on ${date(notAfter)}${ago}`;
      if (renewed !== undefined)
        return warning(
          `${guess}, but ${saysOf(renewed)}: its machine was renewed in place, perhaps without it; look at it on its machine`,
        );
      if (lastAnswer >= Math.max(notAfter, now - SILENT_MS))
        return warning(`${guess}, but the API server has answered since; look at it on its machine`);
      const answer = lastAnswer === 0 ? 'does not answer' : `last answered ${span(now - lastAnswer)} ago`;
      return { severity: 'critical', message: `${guess}, and the API server ${answer}; look at it on its machine` };
    },
  },
  {
    id: 'KubeletRenewalOverdue',
    judge: (judged) => {
      const { name, notAfter, now } = judged;
      if (hasEnded(judged) || !isOverdue(judged)) return undefined;
      return {
        severity: severityOf(judged) ?? 'warning',
        message: `${name} expires in ${span(notAfter - now)}, on ${date(notAfter)}; the kubelet should have renewed it before 90 % of its lifetime${lengthBasis(judged)}`,
        due: isoOf(notAfter),
      };
    },
  },
  {
    id: 'CertificateExpiring',
    judge: (judged) => {
      const { name, notAfter, now } = judged;
      const late = lateBy(judged);
      const severity = severityOf(judged) ?? (late === '' ? undefined : 'warning');
      if (severity === undefined || hasEnded(judged) || isOverdue(judged) || judged.unknown) return undefined;
      if (isNeverValid(judged.observation)) return undefined;
      return {
        severity,
        message: `${name} expires in ${span(notAfter - now)}, on ${date(notAfter)}${basisOf(judged)}${late}${effectOf(judged, '; then ')}`,
        due: isoOf(notAfter),
      };
    },
  },
  {
    id: 'CertificateNotYetValid',
    judge: (judged) => {
      const { name, observation, stake, now } = judged;
      const notBefore = timeOf(observation.notBefore) ?? now;
      const starts = date(notBefore);
      if (isNeverValid(judged.observation) && stake.severity !== 'info') {
        const message = `${name} ends on ${date(timeOf(observation.notAfter) ?? 0)}, before it begins on ${starts}, so it is never valid: issue it again`;
        return { severity: stake.severity, message: message + effectOf(judged) };
      }
      if (notBefore - now <= SKEW_MS || stake.severity === 'info') return undefined;
      const message = `${name} is not valid before ${starts}, ${span(notBefore - now)} from now; clients refuse it until then`;
      return { severity: stake.severity, message: message + effectOf(judged) };
    },
  },
  {
    id: 'CertificateUnreadable',
    judge: (judged) => {
      const { refused } = judged.observation;
      if (refused === undefined) return undefined;
      const message = `Go programs, and so all of Kubernetes, refuse ${judged.name}: ${printable(refused)}`;
      return { severity: judged.stake.severity, message: message + effectOf(judged) };
    },
  },
  {
    id: 'VeryLongLived',
    judge: ({ name, observation, what, now }) => {
      const notBefore = timeOf(observation.notBefore);
      const notAfter = timeOf(observation.notAfter);
      const isLeaf = observation.isAuthority !== true && !CERTIFICATE_CLASSES[what].authority;
      if (!isLeaf || observation.basis !== 'certificate' || notBefore === undefined || notAfter === undefined)
        return undefined;
      const life = notAfter - (isDatedBack(what) ? Math.max(notBefore, now) : notBefore);
      if (life <= VERY_LONG_MS) return undefined;
      return info(`${name} is valid for ${span(life)}, until ${date(notAfter)}: its renewal will be forgotten`);
    },
  },
  {
    id: 'WeakKey',
    judge: ({ name, observation: { weakKey } }) =>
      weakKey === undefined ? undefined : warning(`the key of ${name} is too weak: ${printable(weakKey)}`),
  },
  {
    id: 'WeakSignature',
    judge: ({ name, observation: { weakSignature } }) =>
      weakSignature === undefined
        ? undefined
        : warning(`the signature of ${name} is too weak: ${printable(weakSignature)}`),
  },
  {
    id: 'IssuerUnknown',
    judge: ({ name, what, authorityKnown, shown }) => {
      const { issuedByCluster, issuedBefore, issuer = 'an unknown issuer', subject = 'another' } = shown;
      if (isOfAnother(shown))
        return warning(
          `where ${name} should be, a server presents that of ${printable(subject)}: something else answers there`,
        );
      if (issuedBefore)
        return warning(
          `${name} is self-signed, but the earlier one was issued by the cluster: the kubelet lost serverTLSBootstrap, or something else answers in its place`,
        );
      if (issuedByCluster !== false || CERTIFICATE_CLASSES[what].anyIssuer || !authorityKnown) return undefined;
      return warning(`${name} is not signed by a CA of the cluster; its issuer is ${printable(issuer)}`);
    },
  },
  {
    id: 'KubeletNameMismatch',
    judge: ({ name, what, node, observation: { basis, subject, commonName } }) => {
      const isKnown = basis === 'certificate' && (commonName !== undefined || subject !== undefined);
      if (what !== 'kubelet-serving' || node === undefined || !isKnown) return undefined;
      if (commonName === `system:node:${node}`) return undefined;
      const found = commonName === undefined ? 'absent' : printable(commonName);
      return info(
        `the common name of ${name} is ${found}, not system:node:${printable(node)}, which API servers can be told to verify (KEP-4872)`,
      );
    },
  },
  {
    id: 'KubeletAddressMissing',
    judge: ({ name, what, shown: { lacksAddress } }) => {
      if (lacksAddress === undefined) return undefined;
      const message = `${name} is not for ${printable(lacksAddress)}, the first address of its Node: clients that verify it fail there, such as metrics-server without --kubelet-insecure-tls, and kubectl logs and exec through an API server with --kubelet-certificate-authority`;
      return what === 'kubelet-self-signed' ? info(message) : warning(message);
    },
  },
] as const satisfies readonly Rule[];

/** Judges one certificate among all that a server shows and the CAs that are trusted, for a check of this server. */
export function judgeCertificate(
  observation: CertificateObservation,
  among: readonly CertificateObservation[],
  { thresholds, now }: { readonly thresholds: Thresholds; readonly now: number },
): readonly Judgement[] {
  const notAfter = timeOf(observation.notAfter);
  const what = classOf(observation);
  const name = nameOf(what, observation);
  if (notAfter === undefined)
    return [{ code: 'CertificateUnreadable', severity: 'warning', message: `the expiry of ${name} is not a time` }];
  const lives = [{ notBefore: timeOf(observation.notBefore), notAfter }];
  return judgeByRules({
    observation,
    shown: observation,
    what,
    name,
    lives,
    notAfter,
    stake: finished(stakes(among, now)).get(observation) ?? WHOLE_STAKE,
    places: [],
    authorityKnown: true,
    thresholds,
    now,
  });
}

export function judgeByRules(judged: JudgedCertificate): readonly Judgement[] {
  const judgements: Judgement[] = [];
  for (const { id, judge } of CERTIFICATE_RULES) {
    const judgement = judge(judged);
    if (judgement !== undefined) judgements.push({ code: id, ...judgement });
  }
  return judgements;
}

/** `the kube-apiserver certificate of berlin-cp-1`, `certificate 2 of the chain at 10.0.1.31:6443`. */
export function nameOf(
  what: CertificateClass,
  { what: shownAs, where, position = 0 }: CertificateObservation,
  member?: string,
): string {
  if (position > 0 && !CERTIFICATE_CLASSES[shownAs].authority)
    return `certificate ${position + 1} of the chain at ${printable(where)}`;
  const { title } = CERTIFICATE_CLASSES[what];
  const owner = member === undefined || position > 0 ? `at ${printable(where)}` : `of ${printable(member)}`;
  return `the ${title} certificate ${position > 0 ? `(number ${position + 1}) ` : ''}${owner}`;
}

/** The worst severity of its believed lives. */
function severityOf(judged: JudgedCertificate) {
  const { lives, what, thresholds, now } = judged;
  if (judged.stake.severity === 'info') return undefined;
  const severities = lives.map((life) => expirySeverity(life, what, thresholds, now));
  if (severities.includes('critical')) return judged.stake.severity === 'critical' ? 'critical' : 'warning';
  return severities.includes('warning') ? 'warning' : undefined;
}

/** What fails, and where else. */
function effectOf({ stake: { effect }, what, places, observation }: JudgedCertificate, before = ': '): string {
  const others = what === 'ca-bundle' ? places.filter((place) => place !== observation.where) : [];
  const also = others.length === 0 ? '' : `; also at ${firstOf(others, 5)}`;
  return `${effect === undefined ? '' : before + effect}${also}`;
}

/** A certificate itself; other sources may each be wrong about one of the times. */
export function isNeverValid({ basis, notBefore, notAfter }: CertificateObservation): boolean {
  return basis === 'certificate' && Date.parse(notBefore ?? notAfter) > Date.parse(notAfter);
}

function hasEnded({ notAfter, now }: JudgedCertificate): boolean {
  return notAfter <= now;
}

function isOverdue({ what, lives, stake, now }: JudgedCertificate): boolean {
  const { overdueAfter } = CERTIFICATE_CLASSES[what];
  return (
    overdueAfter !== undefined &&
    stake.severity !== 'info' &&
    lives.some((life) => life.notAfter - now <= (1 - overdueAfter) * lengthOf(life, what))
  );
}

/** Its manager fails, or has let a tenth of the time that was left pass. */
function lateBy({ observation: { renewal = {} }, notAfter, now }: JudgedCertificate): string {
  const due = timeOf(renewal.due);
  const isLate = due !== undefined && now - due > (notAfter - due) / 10;
  const since = isLate ? `; it should have been renewed on ${date(due)}` : '';
  return `${since}${renewal.failure === undefined ? '' : `; ${printable(renewal.failure)}`}`;
}

/** A kubelet reports when its certificate expires, but not since when it is valid. */
function lengthBasis({ lives, what }: JudgedCertificate): string {
  const [assumed] = lives.filter(({ notBefore }) => notBefore === undefined);
  return assumed === undefined
    ? ''
    : `; its issue date is not known, so a lifetime of ${span(lengthOf(assumed, what))} is assumed`;
}

/** `the annotation (machines, Machine eksa-system/cp-1) says 2027-09-28`. */
export function saysOf({ source, basis, where, notAfter }: CertificateObservation): string {
  return `${SAYS[basis]} (${source}, ${printable(where)}) says ${date(timeOf(notAfter) ?? 0)}`;
}

const SAYS = { certificate: 'a certificate', status: 'the status', annotation: 'the annotation', inference: 'the age' };
const ESTIMATES = {
  age: 'the age of its machine',
  run: 'another certificate of its machine',
  latest: 'the age of its Machine',
};

function basisOf({ observation: { basis }, estimate = 'age' }: JudgedCertificate): string {
  switch (basis) {
    case 'certificate':
      return '';
    case 'status':
      return ', according to a status';
    case 'annotation':
      return ', according to an annotation';
    case 'inference':
      return estimate === 'latest'
        ? ' at the latest, estimated from the age of its Machine: neither its Node nor a certificate of that machine was seen'
        : `, estimated from ${ESTIMATES[estimate]}: the certificate itself was not seen`;
  }
}
