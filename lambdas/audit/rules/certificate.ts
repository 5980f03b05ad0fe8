import type { CertificateFacts, Statement } from '../../contracts/facts.ts';
import { namesOf } from '../../contracts/facts.ts';
import type { CertificateObservation } from '../../contracts/observation.ts';
import { finished } from '../../steps.ts';
import { CERTIFICATE_CLASSES, type CertificateClass, isDatedBack } from '../../tables/certificate-classes.ts';
import type { FindingCode } from '../../tables/finding-codes.ts';
import { DAY_MS, timestamp } from '../../time.ts';
import { timeOf } from '../../words.ts';
import { classOf, type KnownCertificate } from '../certificates.ts';
import type { Draft } from './draft.ts';
import { isOfAnother } from './proof.ts';
import { type Stake, stakes, WHOLE_STAKE } from './stakes.ts';
import { expirySeverity, type Life, lengthOf, type Thresholds } from './thresholds.ts';

export interface JudgedCertificate {
  readonly observation: CertificateObservation;
  /** What its server shows; differs from `observation` if it is not believed. */
  readonly shown: CertificateObservation;
  readonly what: CertificateClass;
  readonly facts: CertificateFacts;
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

export type Judgement<C extends FindingCode = FindingCode> = {
  readonly [K in C]: Pick<Draft<K>, 'code' | 'severity' | 'due' | 'facts'>;
}[C];

type Rule = (judged: JudgedCertificate) => Judgement | undefined;

/** Clocks differ by up to this. Milliseconds. */
const SKEW_MS = 5 * 60_000;
/** So long that its renewal is forgotten. */
const VERY_LONG_MS = 3 * 365.25 * DAY_MS;

/** An API server that is silent for longer may have lost its certificates, or etcd. */
const SILENT_MS = DAY_MS;

/** All rules for one certificate; each gives at most one finding. */
const CERTIFICATE_RULES: readonly Rule[] = [
  function expired(judged) {
    const { stake, notAfter } = judged;
    if (!hasEnded(judged) || judged.unknown || isNeverValid(judged.observation)) return undefined;
    return { code: 'CertificateExpired', severity: stake.severity, due: timestamp(notAfter), facts: expiryOf(judged) };
  },
  function unknown(judged) {
    const { notAfter, now, estimate, renewed, lastAnswer = now } = judged;
    if (!judged.unknown) return undefined;
    const isAnswered = lastAnswer >= Math.max(notAfter, now - SILENT_MS);
    return {
      code: 'ExpiryUnknown',
      severity: renewed !== undefined || isAnswered ? 'warning' : 'critical',
      facts: {
        of: 'certificate',
        ...judged.facts,
        estimate,
        notAfter: timestamp(notAfter),
        renewed: renewed && statementOf(renewed),
        lastAnswer: isAnswered || lastAnswer === 0 ? undefined : timestamp(lastAnswer),
      },
    };
  },
  function overdue(judged) {
    const { lives, what, notAfter, facts } = judged;
    if (hasEnded(judged) || !isOverdue(judged)) return undefined;
    // A kubelet reports when its certificate expires, but not since when it is valid.
    const assumed = lives.find(({ notBefore }) => notBefore === undefined);
    return {
      code: 'KubeletRenewalOverdue',
      severity: severityOf(judged) ?? 'warning',
      due: timestamp(notAfter),
      facts: { ...facts, lifeMs: assumed && lengthOf(assumed, what) },
    };
  },
  function expiring(judged) {
    const facts = expiryOf(judged);
    const isLate = facts.renewalDue !== undefined || facts.renewalFailure !== undefined;
    const severity = severityOf(judged) ?? (isLate ? 'warning' : undefined);
    if (severity === undefined || hasEnded(judged) || isOverdue(judged) || judged.unknown) return undefined;
    if (isNeverValid(judged.observation)) return undefined;
    return { code: 'CertificateExpiring', severity, due: timestamp(judged.notAfter), facts };
  },
  function notYetValid(judged) {
    const { observation, stake, now, facts } = judged;
    const notBefore = timeOf(observation.notBefore) ?? now;
    const isNever = isNeverValid(observation);
    if (stake.severity === 'info' || (!isNever && notBefore - now <= SKEW_MS)) return undefined;
    const times = { notBefore: timestamp(notBefore), notAfter: timestamp(timeOf(observation.notAfter) ?? 0) };
    return {
      code: 'CertificateNotYetValid',
      severity: stake.severity,
      facts: { ...facts, ...stakeOf(judged), ...times, isNever: isNever || undefined },
    };
  },
  function refused(judged) {
    const { observation, stake, facts } = judged;
    if (observation.refused === undefined) return undefined;
    return {
      code: 'CertificateUnreadable',
      severity: stake.severity,
      facts: { of: 'certificate', ...facts, ...stakeOf(judged), refused: observation.refused },
    };
  },
  function veryLong({ facts, observation, what, now }) {
    const notBefore = timeOf(observation.notBefore);
    const notAfter = timeOf(observation.notAfter);
    const isLeaf = observation.isAuthority !== true && !CERTIFICATE_CLASSES[what].authority;
    if (!isLeaf || observation.basis !== 'certificate' || notBefore === undefined || notAfter === undefined)
      return undefined;
    const lifeMs = notAfter - (isDatedBack(what) ? Math.max(notBefore, now) : notBefore);
    if (lifeMs <= VERY_LONG_MS) return undefined;
    return { code: 'VeryLongLived', severity: 'info', facts: { ...facts, notAfter: timestamp(notAfter), lifeMs } };
  },
  function weakKey({ facts, observation: { weakKey: why } }) {
    return why === undefined ? undefined : { code: 'WeakKey', severity: 'warning', facts: { ...facts, why } };
  },
  function weakSignature({ facts, observation: { weakSignature: why } }) {
    return why === undefined ? undefined : { code: 'WeakSignature', severity: 'warning', facts: { ...facts, why } };
  },
  function issuerUnknown({ facts, what, authorityKnown, shown }) {
    const { issuedByCluster, issuedBefore, issuer, subject = 'another' } = shown;
    const common = { code: 'IssuerUnknown', severity: 'warning' } as const;
    if (isOfAnother(shown)) return { ...common, facts: { ...facts, subject } };
    if (issuedBefore) return { ...common, facts: { ...facts, isIssuedBefore: true } };
    if (issuedByCluster !== false || CERTIFICATE_CLASSES[what].anyIssuer || !authorityKnown) return undefined;
    return { ...common, facts: { ...facts, issuer } };
  },
  function nameMismatch({ facts, what, node, observation: { basis, subject, commonName } }) {
    const isKnown = basis === 'certificate' && (commonName !== undefined || subject !== undefined);
    if (what !== 'kubelet-serving' || node === undefined || !isKnown) return undefined;
    if (commonName === `system:node:${node}`) return undefined;
    return { code: 'KubeletNameMismatch', severity: 'info', facts: { ...facts, node, commonName } };
  },
  function addressMissing({ facts, what, shown: { lacksAddress: address } }) {
    if (address === undefined) return undefined;
    const severity = what === 'kubelet-self-signed' ? 'info' : 'warning';
    return { code: 'KubeletAddressMissing', severity, facts: { ...facts, address } };
  },
];

/** Judges one certificate among all that a server shows and the CAs that are trusted, for a check of this server. */
export function judgeCertificate(
  observation: CertificateObservation,
  among: readonly CertificateObservation[],
  { thresholds, now }: { readonly thresholds: Thresholds; readonly now: number },
): readonly Judgement[] {
  const notAfter = timeOf(observation.notAfter);
  const facts = certificateFacts({ best: observation });
  if (notAfter === undefined)
    return [{ code: 'CertificateUnreadable', severity: 'warning', facts: { of: 'certificate', ...facts } }];
  return judgeByRules({
    observation,
    shown: observation,
    what: classOf(observation),
    facts,
    lives: [{ notBefore: timeOf(observation.notBefore), notAfter }],
    notAfter,
    stake: finished(stakes(among, now)).get(observation) ?? WHOLE_STAKE,
    places: [],
    authorityKnown: true,
    thresholds,
    now,
  });
}

export function judgeByRules(judged: JudgedCertificate): readonly Judgement[] {
  return CERTIFICATE_RULES.flatMap((rule) => rule(judged) ?? []);
}

/** Which certificate it is. */
export function certificateFacts({ best, member }: Pick<KnownCertificate, 'best' | 'member'>): CertificateFacts {
  const { what, where, position = 0, source } = best;
  const isOfChain = (position > 0 && !CERTIFICATE_CLASSES[what].authority) || undefined;
  return { where, position: position || undefined, member, isOfChain, source };
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
function stakeOf({ stake: { effect }, what, places, observation }: JudgedCertificate) {
  const others = what === 'ca-bundle' ? places.filter((place) => place !== observation.where) : [];
  return { effect, alsoAt: others.length === 0 ? undefined : namesOf(others, 5) };
}

/** It is late if its manager fails, or has let a tenth of the time that was left pass. */
function expiryOf(judged: JudgedCertificate): Judgement<'CertificateExpired'>['facts'] {
  const { observation, estimate, notAfter, now } = judged;
  const { basis, renewal = {} } = observation;
  const due = timeOf(renewal.due);
  return {
    ...judged.facts,
    ...stakeOf(judged),
    basis,
    estimate,
    renewalDue: due !== undefined && now - due > (notAfter - due) / 10 ? timestamp(due) : undefined,
    renewalFailure: renewal.failure,
  };
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

export function statementOf({ source, basis, where, notAfter }: CertificateObservation): Statement {
  return { source, basis, where, notAfter };
}
