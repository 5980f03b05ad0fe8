import { isNeverValid } from '../../../lambdas/audit/rules/certificate.ts';
import { pasteable, readRunbook } from '../../../lambdas/command.ts';
import type { CertificateObservation } from '../../../lambdas/contracts/observation.ts';
import { printable } from '../../../lambdas/printable.ts';
import { NOT_READ, type Severity } from '../../../lambdas/tables/finding-codes.ts';
import { counted, firstOf } from '../../../lambdas/words.ts';
import { bar } from '../../terminal/bar.ts';
import { hang, type Lines, table } from '../../terminal/draw.ts';
import { faint, strong } from '../../terminal/paint.ts';
import { MARKS, nextLine } from '../../terminal/phrases.ts';
import { day, joined, span } from '../../terminal/words.ts';
import type { ProbedEndpoint, ProbeFinding, ProbeRules } from './judgement.ts';

const BAR = 20;
/** A narrower terminal gets half-length bars. Columns. */
const NARROW = 100;
const MAX_NAME = 60;
/** Limits per endpoint; the rest is counted, and JSON has all. */
const MAX_CERTIFICATES = 8;
const MAX_FINDINGS = 10;
const MAX_NAMES = 5;

/**
 * A probe for people: a summary, then each endpoint with its certificates and findings. Without CAs to check the issuer
 * against, no endpoint is called healthy: anyone can make a certificate.
 */
export function probeLines(
  probed: readonly ProbedEndpoint[],
  rules: Pick<ProbeRules, 'authorities' | 'now'>,
  program: string,
): Lines {
  const found = probed.flatMap(({ findings }) =>
    findings.flatMap(({ code, severity }) => (severity === 'info' || NOT_READ.has(code) ? [] : [code])),
  );
  const next =
    (['CertificateExpired', 'CertificateExpiring'] as const).find((code) => found.includes(code)) ?? found[0];
  const servers = probed.flatMap(({ observations: [leaf] }) => (leaf?.what === 'kube-apiserver' ? [leaf] : []));
  const isServerExpired = servers.some(({ notAfter }) => Date.parse(notAfter) <= rules.now);
  return [
    hang('', headline(probed, rules)),
    probed.map((each) => ['', endpointLines(each, rules.now)]),
    rules.authorities === undefined && servers.length > 0 && ['', hang('  ', WHERE_CA)],
    next !== undefined && ['', nextLine(pasteable(readRunbook(isServerExpired ? 'recovery' : next), program))],
  ];
}

/** Summary: how many are healthy, and which expires first. */
function headline(
  probed: readonly ProbedEndpoint[],
  { authorities, now }: Pick<ProbeRules, 'authorities' | 'now'>,
): string {
  const isChecked = authorities !== undefined;
  const findings = probed.flatMap((each) => each.findings);
  const leaves = probed.flatMap(({ endpoint, observations: [leaf] }) =>
    leaf === undefined ? [] : [{ endpoint, leaf }],
  );
  const [first] = leaves.toSorted((a, b) => Date.parse(turn(a.leaf, now)) - Date.parse(turn(b.leaf, now)));
  const [only] = probed;
  const end = first === undefined ? 'no certificate' : `${left(first.leaf, now)}, ${day(turn(first.leaf, now))}`;
  const story =
    only !== undefined && probed.length === 1
      ? `${printable(only.endpoint)}: ${countsOf(findings) || (isChecked ? 'healthy' : unchecked(only))} · ${end}`
      : `${fleetOf(probed, isChecked)} · ${first === undefined ? '' : `${printable(first.endpoint)} first: `}${end}`;
  const worst = worstOf(findings);
  return `${mark(worst === 'well' && !isChecked ? 'info' : worst)} ${strong(story)}`;
}

const UNCHECKED = 'not checked against a CA: add --ca';

const WHERE_CA = '--ca FILE: certificate-authority-data of your kubeconfig, base64 -d';

function unchecked({ observations: [leaf] }: ProbedEndpoint): string {
  return joined([leaf !== undefined && isSelfIssued(leaf) && 'self-signed', UNCHECKED]);
}

/** As the certificate claims; not verified. */
function isSelfIssued({ subject = '', issuer = '' }: CertificateObservation): boolean {
  return issuer === subject;
}

/** `1 critical, 2 warnings`; empty without either. */
function countsOf(findings: readonly ProbeFinding[]): string {
  const count = (wanted: Severity) => findings.filter(({ severity }) => severity === wanted).length;
  const [critical, warnings] = [count('critical'), count('warning')];
  return joined([critical > 0 && `${critical} critical`, warnings > 0 && counted(warnings, 'warning')]);
}

/**
 * `9 endpoints: 2 critical, 4 with warnings, 3 healthy · 3 show no certificate`; each endpoint counts by its worst
 * finding.
 */
function fleetOf(probed: readonly ProbedEndpoint[], isChecked: boolean): string {
  const worst = probed.map(({ findings }) => worstOf(findings));
  const states = STATES.map(([wanted, name]) => {
    const count = worst.filter((severity) => severity === wanted).length;
    return count > 0 && `${count} ${wanted === 'well' && !isChecked ? UNCHECKED : name}`;
  });
  const silent = probed.filter(({ observations }) => observations.length === 0).length;
  const told = `${counted(probed.length, 'endpoint')}: ${joined(states)}`;
  return joined([told, silent > 0 && `${silent} ${silent === 1 ? 'shows' : 'show'} no certificate`], ' · ');
}

const STATES = [
  ['critical', 'critical'],
  ['warning', 'with warnings'],
  ['well', 'healthy'],
] as const;

function endpointLines({ endpoint, protocol, observations, findings, names }: ProbedEndpoint, now: number): Lines {
  const [leaf] = observations;
  const certificates = observations.length > 0 && counted(observations.length, 'certificate');
  return [
    joined([strong(printable(endpoint)), protocol, certificates], ' · '),
    (width) =>
      table(
        observations.slice(0, MAX_CERTIFICATES).map((observation) => certificateRow(observation, now, width)),
        NARROW,
      ),
    more(observations.length - MAX_CERTIFICATES, 'certificate'),
    names && nameLine(names),
    leaf?.fingerprint !== undefined &&
      Date.parse(leaf.notAfter) <= now &&
      hang('  ', `sha256:${leaf.fingerprint}`, faint),
    findings
      .slice(0, MAX_FINDINGS)
      .map(({ code, severity, message, remedy }) => [
        hang(`  ${mark(severity)} `, `${severity} ${code}: ${message}`),
        hang('    → ', remedy),
      ]),
    more(findings.length - MAX_FINDINGS, 'finding'),
  ];
}

function certificateRow(
  observation: CertificateObservation,
  now: number,
  width: number | undefined,
): readonly string[] {
  const { subject = '', issuer = '', key = '' } = observation;
  const columns = width !== undefined && width < NARROW ? BAR / 2 : BAR;
  const name = subject === '' ? 'no subject' : subject;
  const by = isSelfIssued(observation) ? 'self-signed' : `by ${printable(issuer, MAX_NAME)}`;
  return [
    bar(share(observation, now), columns),
    left(observation, now),
    day(turn(observation, now)),
    `${printable(name, MAX_NAME)}, ${faint(`${key}, ${by}`)}`,
  ];
}

function nameLine(names: readonly string[]): Lines {
  const told = firstOf(
    names.slice(0, MAX_NAMES).map((name) => printable(name, MAX_NAME)),
    MAX_NAMES,
    names.length,
  );
  return hang('  ', names.length === 0 ? 'no DNS names and no addresses' : `for ${told}`, faint);
}

/** Elapsed share of the lifetime, from 0 to 1. */
function share({ notBefore, notAfter }: CertificateObservation, now: number): number {
  const end = Date.parse(notAfter);
  const begin = Date.parse(notBefore ?? notAfter);
  if (now >= end || begin > end) return 1;
  return now <= begin ? 0 : (now - begin) / (end - begin);
}

/** RFC 3339 of the expiry, or of the start if that is in the future. */
function turn({ notBefore, notAfter }: CertificateObservation, now: number): string {
  return notBefore !== undefined && Date.parse(notBefore) > now && Date.parse(notAfter) > now ? notBefore : notAfter;
}

function left(observation: CertificateObservation, now: number): string {
  if (isNeverValid(observation)) return 'never valid';
  const { notBefore, notAfter } = observation;
  const end = Date.parse(notAfter);
  if (end <= now) return `expired ${span(now - end)} ago`;
  const begin = Date.parse(notBefore ?? notAfter);
  return begin > now ? `begins in ${span(begin - now)}` : `${span(end - now)} left`;
}

function more(count: number, what: string): Lines {
  return count > 0 && faint(`  … and ${counted(count, `more ${what}`)}: --output json has all`);
}

function mark(severity: keyof typeof MARKS): string {
  const [symbol, paint] = MARKS[severity];
  return paint(symbol);
}

function worstOf(findings: readonly ProbeFinding[]): 'critical' | 'warning' | 'well' {
  const found = new Set(findings.map(({ severity }) => severity));
  return found.has('critical') ? 'critical' : found.has('warning') ? 'warning' : 'well';
}
