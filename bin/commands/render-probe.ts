import type { Severity } from '../../lambdas/expiry/finding.ts';
import type { CertificateObservation } from '../../lambdas/expiry/observation.ts';
import { printable } from '../../lambdas/printable.ts';
import { bar } from '../terminal/bar.ts';
import { counted } from '../terminal/plural.ts';
import type { Style } from '../terminal/style.ts';
import { table } from '../terminal/table.ts';
import { span } from '../terminal/time.ts';
import { hang } from '../terminal/wrap.ts';
import type { ProbedEndpoint, ProbeFinding } from './probe-judgement.ts';

const BAR = 20;
/** On a terminal narrower than this a bar takes half. */
const NARROW = 100;
const MAX_NAME = 60;
/** Of one endpoint; what is beyond is counted, and in JSON. */
const MOST_CERTIFICATES = 8;
const MOST_FINDINGS = 10;

/**
 * What a probe showed as people read it: the whole story, then each endpoint with the lives of its certificates and its findings.
 *
 * @param now milliseconds since the epoch
 * @param width columns of the terminal; undefined wraps nothing
 */
export function renderProbe(
  probed: readonly ProbedEndpoint[],
  now: number,
  style: Style,
  width: number | undefined,
): string {
  return [
    ...hang('', headline(probed, now, style), width),
    ...probed.flatMap((each) => ['', ...endpointLines(each, now, style, width)]),
  ].join('\n');
}

/** The whole story: how many are well, and which certificate ends first. */
function headline(probed: readonly ProbedEndpoint[], now: number, style: Style): string {
  const findings = probed.flatMap((each) => each.findings);
  const leaves = probed.flatMap(({ endpoint, observations: [leaf] }) =>
    leaf === undefined ? [] : [{ endpoint, leaf }],
  );
  const [first] = leaves.toSorted((a, b) => Date.parse(a.leaf.notAfter) - Date.parse(b.leaf.notAfter));
  const [only] = probed;
  const isOne = only !== undefined && probed.length === 1;
  const end = first === undefined ? 'no certificate' : `${left(first.leaf, now)}, ${day(first.leaf.notAfter)}`;
  const story = isOne
    ? `${printable(only.endpoint)}: ${countsOf(findings)} · ${end}`
    : `${fleetOf(probed)} · ${first === undefined ? '' : `${printable(first.endpoint)} first: `}${end}`;
  return `${mark(worstOf(findings), style)} ${style.strong(story)}`;
}

/** `1 critical, 2 warnings`. */
function countsOf(findings: readonly ProbeFinding[]): string {
  const count = (wanted: Severity) => findings.filter(({ severity }) => severity === wanted).length;
  const told = [
    ...(count('critical') > 0 ? [`${count('critical')} critical`] : []),
    ...(count('warning') > 0 ? [counted(count('warning'), 'warning')] : []),
  ];
  return told.length === 0 ? 'well' : told.join(', ');
}

function fleetOf(probed: readonly ProbedEndpoint[]): string {
  const unwell = probed.filter(({ findings }) => isUnwell(findings)).length;
  const silent = probed.filter(({ observations }) => observations.length === 0).length;
  return [
    `${counted(probed.length, 'endpoint')}: ${probed.length - unwell} well`,
    `${unwell} with warnings`,
    ...(silent > 0 ? [`${silent} of these without a certificate`] : []),
  ].join(', ');
}

function endpointLines(
  { endpoint, protocol, observations, findings }: ProbedEndpoint,
  now: number,
  style: Style,
  width: number | undefined,
): readonly string[] {
  const about = [
    ...(protocol === undefined ? [] : [protocol]),
    ...(observations.length === 0 ? [] : [counted(observations.length, 'certificate')]),
  ];
  const shown = observations.slice(0, MOST_CERTIFICATES);
  const told = findings.slice(0, MOST_FINDINGS);
  return [
    [style.strong(printable(endpoint)), ...about].join(' · '),
    ...table(
      shown.map((observation) => certificateRow(observation, now, style, width)),
      { width, stackBelow: NARROW },
    ),
    ...more(observations.length - shown.length, 'certificate', style),
    ...told.flatMap((finding) => findingLines(finding, style, width)),
    ...more(findings.length - told.length, 'finding', style),
  ];
}

function certificateRow(
  observation: CertificateObservation,
  now: number,
  style: Style,
  width: number | undefined,
): readonly string[] {
  const { notAfter, subject = '', issuer = '', key = '' } = observation;
  const columns = width !== undefined && width < NARROW ? BAR / 2 : BAR;
  const name = subject === '' ? 'no subject' : subject;
  const by = issuer === subject ? 'by itself' : `by ${printable(issuer, MAX_NAME)}`;
  return [
    bar(share(observation, now), columns),
    left(observation, now),
    day(notAfter),
    `${printable(name, MAX_NAME)}, ${style.faint(`${key}, ${by}`)}`,
  ];
}

/** What of a life is over. */
function share({ notBefore, notAfter }: CertificateObservation, now: number): number {
  const end = Date.parse(notAfter);
  const begin = Date.parse(notBefore ?? notAfter);
  if (now >= end) return 1;
  return now <= begin ? 0 : (now - begin) / (end - begin);
}

function left({ notBefore, notAfter }: CertificateObservation, now: number): string {
  const end = Date.parse(notAfter);
  if (end <= now) return `ended ${span(now - end)} ago`;
  const begin = Date.parse(notBefore ?? notAfter);
  return begin > now ? `begins in ${span(begin - now)}` : `${span(end - now)} left`;
}

function findingLines(
  { code, severity, message, remedy }: ProbeFinding,
  style: Style,
  width: number | undefined,
): readonly string[] {
  return [
    ...hang(`  ${mark(severity, style)} `, `${severity} ${code}: ${message}`, width),
    ...hang('    → ', remedy, width),
  ];
}

function more(count: number, what: string, style: Style): readonly string[] {
  return count > 0 ? [style.faint(`  … and ${counted(count, `more ${what}`)}: --output json has all`)] : [];
}

function mark(severity: Severity | undefined, style: Style): string {
  switch (severity) {
    case 'critical':
      return style.bad('✖');
    case 'warning':
      return style.warn('!');
    case 'info':
      return style.faint('·');
    case undefined:
      return style.good('✔');
  }
}

/** They are in the order of their severity, endpoint by endpoint. */
function worstOf(findings: readonly ProbeFinding[]): Severity | undefined {
  const found = new Set(findings.map(({ severity }) => severity));
  if (found.has('critical')) return 'critical';
  return found.has('warning') ? 'warning' : undefined;
}

function isUnwell(findings: readonly ProbeFinding[]): boolean {
  return worstOf(findings) !== undefined;
}

/** `2027-01-01`; years beyond 9999 keep their sign. */
function day(time: string): string {
  return time.split('T')[0] ?? '';
}
