import type { CertificateObservation } from '../../../lambdas/contracts/observation.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { Severity } from '../../../lambdas/tables/finding-codes.ts';
import { bar } from '../../terminal/bar.ts';
import { counted } from '../../terminal/plural.ts';
import type { Style } from '../../terminal/style.ts';
import { table } from '../../terminal/table.ts';
import { span } from '../../terminal/time.ts';
import { hang } from '../../terminal/wrap.ts';
import type { ProbedEndpoint, ProbeFinding } from './judgement.ts';
import type { ShownNames } from './names.ts';

const BAR = 20;
/** On a terminal narrower than this a bar takes half. */
const NARROW = 100;
const MAX_NAME = 60;
/** Of one endpoint; what is beyond is counted, and in JSON. */
const MOST_CERTIFICATES = 8;
const MOST_FINDINGS = 10;
const MOST_NAMES = 5;

/** What is told of one endpoint. */
export type ShownEndpoint = ProbedEndpoint & ShownNames;

/**
 * What a probe showed as people read it: the whole story, then each endpoint with the lives of its certificates and its findings.
 *
 * @param now milliseconds since the epoch
 * @param width columns of the terminal; undefined wraps nothing
 */
export function renderProbe(
  probed: readonly ShownEndpoint[],
  now: number,
  style: Style,
  width: number | undefined,
): string {
  return [
    ...hang('', headline(probed, now, style), width),
    ...probed.flatMap((each) => ['', ...endpointLines(each, now, style, width)]),
  ].join('\n');
}

/** The whole story: how many are well, and at which something happens first. */
function headline(probed: readonly ProbedEndpoint[], now: number, style: Style): string {
  const findings = probed.flatMap((each) => each.findings);
  const leaves = probed.flatMap(({ endpoint, observations: [leaf] }) =>
    leaf === undefined ? [] : [{ endpoint, leaf }],
  );
  const [first] = leaves.toSorted((a, b) => Date.parse(turn(a.leaf, now)) - Date.parse(turn(b.leaf, now)));
  const [only] = probed;
  const isOne = only !== undefined && probed.length === 1;
  const end = first === undefined ? 'no certificate' : `${left(first.leaf, now)}, ${day(turn(first.leaf, now))}`;
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

/** `9 endpoints: 2 critical, 4 with warnings, 3 well · 3 show no certificate`; each endpoint counts as the worst of it. */
function fleetOf(probed: readonly ProbedEndpoint[]): string {
  const worst = probed.map(({ findings }) => worstOf(findings));
  const count = (wanted: Severity | undefined) => worst.filter((severity) => severity === wanted).length;
  const states = [
    { count: count('critical'), name: 'critical' },
    { count: count('warning'), name: 'with warnings' },
    { count: count(undefined), name: 'well' },
  ].filter((state) => state.count > 0);
  const silent = probed.filter(({ observations }) => observations.length === 0).length;
  return [
    `${counted(probed.length, 'endpoint')}: ${states.map((state) => `${state.count} ${state.name}`).join(', ')}`,
    ...(silent > 0 ? [`${silent} ${silent === 1 ? 'shows' : 'show'} no certificate`] : []),
  ].join(' · ');
}

function endpointLines(
  { endpoint, protocol, observations, findings, names, nameChecked }: ShownEndpoint,
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
    ...namesLines(names, nameChecked, style, width),
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
  const { subject = '', issuer = '', key = '' } = observation;
  const columns = width !== undefined && width < NARROW ? BAR / 2 : BAR;
  const name = subject === '' ? 'no subject' : subject;
  const by = issuer === subject ? 'by itself' : `by ${printable(issuer, MAX_NAME)}`;
  return [
    bar(share(observation, now), columns),
    left(observation, now),
    day(turn(observation, now)),
    `${printable(name, MAX_NAME)}, ${style.faint(`${key}, ${by}`)}`,
  ];
}

/** The names of the first certificate: where an address was asked for, a person has to look at them. */
function namesLines(
  names: readonly string[] | undefined,
  isChecked: boolean | undefined,
  style: Style,
  width: number | undefined,
): readonly string[] {
  if (names === undefined) return [];
  const told = names.slice(0, MOST_NAMES).map((name) => printable(name, MAX_NAME));
  const rest = names.length > told.length ? ` and ${names.length - told.length} more` : '';
  const lines = [
    told.length === 0 ? 'no DNS names and no addresses' : `for ${told.join(', ')}${rest}`,
    ...(isChecked === false ? ['name not checked: asked by address; --sni NAME checks it'] : []),
  ];
  return lines.flatMap((line) => hang('  ', line, width).map(style.faint));
}

/** What of a life is over. */
function share({ notBefore, notAfter }: CertificateObservation, now: number): number {
  const end = Date.parse(notAfter);
  const begin = Date.parse(notBefore ?? notAfter);
  if (now >= end) return 1;
  return now <= begin ? 0 : (now - begin) / (end - begin);
}

/** When that changes: RFC 3339 of its end, or of its begin where that is still to come. */
function turn({ notBefore, notAfter }: CertificateObservation, now: number): string {
  return notBefore !== undefined && Date.parse(notBefore) > now && Date.parse(notAfter) > now ? notBefore : notAfter;
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

/** `2027-01-01`; years beyond 9999 keep their sign. */
function day(time: string): string {
  return time.split('T')[0] ?? '';
}
