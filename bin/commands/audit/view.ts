import type { CertificateGroup } from '../../../lambdas/audit/rules/certificate-groups.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type { OffObservation, UnreadObservation } from '../../../lambdas/contracts/observation.ts';
import type { Basis, SourceId } from '../../../lambdas/tables/audit-sources.ts';
import type { FindingCode, Severity } from '../../../lambdas/tables/finding-codes.ts';
import { type NamedServer, serverWords } from '../../target.ts';
import { bar } from '../../terminal/bar.ts';
import { counted } from '../../terminal/plural.ts';
import type { Style } from '../../terminal/style.ts';
import { table } from '../../terminal/table.ts';
import { span, took } from '../../terminal/time.ts';
import { hang, visibleWidth } from '../../terminal/wrap.ts';
import { type AuditView, severityCounts } from './groups.ts';
import { type AuditRepeat, asTyped } from './repeat.ts';
import { type AuditedSources, auditedSources, handshakesOf } from './sources.ts';

const PROVIDER_NAMES = { eks: 'EKS', 'eks-anywhere': 'EKS Anywhere' } as const;
/** What is said without --verbose. */
const MOST_FINDINGS = 30;
const MOST_OBJECTS = 3;
/** Narrower than this, what renews a certificate gets a line of its own. */
const NARROW = 110;
/** An audit takes less; what is older was found by one before. */
const NEW_MS = 60_000;

export interface AuditRendering extends AuditRepeat {
  /** Every finding by itself. */
  readonly verbose: boolean;
  /** How the user starts this program, for the commands it recommends. */
  readonly program: string;
  readonly server?: NamedServer | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * An audit as people read it: the whole story, a timeline of what bites first, the findings with the next command of each, and what was not seen.
 *
 * @param width columns of the terminal; undefined wraps nothing
 */
export function renderAudit(
  view: AuditView,
  rendering: AuditRendering,
  style: Style,
  width: number | undefined,
): string {
  const { snapshot } = view.report;
  const sources = auditedSources(snapshot.observations);
  const { findings } = snapshot;
  const notVisible = findings.filter(({ code }) => code === 'NotVisible');
  const notRead = findings.filter(({ code }) => NOT_READ.has(code));
  const others = findings.filter(({ code }) => code !== 'NotVisible' && !NOT_READ.has(code));
  const first = findings.find(({ severity }) => severity !== 'info');
  // What is the matter with the way to a cluster is found by trying each step of it.
  const doctor = isUnreadable(sources) ? `${rendering.program} doctor${rendering.repeat}` : undefined;
  const next = doctor ?? (first === undefined ? undefined : asTyped(first, rendering.program, rendering));
  return [
    ...renderTimeline(view, rendering.now, style, width, rendering.server),
    ...findingsBlock('', others, rendering, style, width),
    ...(notRead.length === 0 ? [] : findingsBlock('not read', notRead, rendering, style, width)),
    ...notVisibleBlock(notVisible, style, width),
    ...offBlock(sources.off, style, width),
    ...(next === undefined ? [] : ['', `  ${style.strong('Next')}  ${next}`]),
    '',
    style.faint(cost(view, sources)),
  ].join('\n');
}

/** Its first lines: the whole story, which server it is about, and the timeline of what bites first. */
// oxlint-disable-next-line max-params -- the server is not known of an audit that was made elsewhere
export function renderTimeline(
  view: AuditView,
  now: number,
  style: Style,
  width: number | undefined,
  server?: NamedServer,
): string[] {
  const sources = auditedSources(view.report.snapshot.observations);
  return [
    ...headline(view, sources, now, style, width),
    ...(server === undefined ? [] : hang('  ', style.faint(serverWords(server)), width)),
    ...timeline(view, now, style, width),
  ];
}

const NOT_READ: ReadonlySet<FindingCode> = new Set(['SourceUnread', 'SourceLost', 'Unreachable']);

/** They tell something of a cluster of which nothing else can be read. */
const FROM_OUTSIDE: ReadonlySet<SourceId> = new Set([
  'clock',
  'tls',
  'eks-cluster',
  'eks-authorities',
  'eks-nodegroups',
]);

function isUnreadable({ read, unread }: Pick<AuditedSources, 'read' | 'unread'>): boolean {
  return unread.some(({ source }) => !FROM_OUTSIDE.has(source)) && read.every(({ source }) => FROM_OUTSIDE.has(source));
}

function headline(
  { report, groups }: AuditView,
  { read, unread }: Pick<AuditedSources, 'read' | 'unread'>,
  now: number,
  style: Style,
  width: number | undefined,
): string[] {
  const { cluster, provider, findings } = report.snapshot;
  const name = `${cluster} · ${PROVIDER_NAMES[provider]}`;
  if (isUnreadable({ read, unread }))
    return hang(
      style.bad('✖ '),
      style.bad(`${name} · not readable: ${answerOf(unread[0])}${remembered(groups, now)}`),
      width,
    );
  const certificates = counted(
    groups.reduce((sum, { count }) => sum + count, 0),
    'certificate',
  );
  const worst = findings.find(({ severity }) => severity !== 'info');
  const paint = worst === undefined ? style.good : STYLES[worst.severity].paint(style);
  return hang('', `${style.strong(name)} · ${certificates}: ${paint(story(worst, groups, now))}`, width);
}

/** Whichever list failed first, the server is what does not answer. */
function answerOf(unread: UnreadObservation | undefined): string | undefined {
  return unread?.message.replace(/^(?:list|get) .{1,200}? on (?=https:)/, '');
}

/** What is shown of a cluster that nobody can look at. */
function remembered(groups: readonly CertificateGroup[], now: number): string {
  const oldest = groups.flatMap(({ first: { lastSeen } }) => lastSeen ?? []).toSorted()[0];
  return oldest === undefined ? '' : `; shown is what was seen ${span(now - Date.parse(oldest))} ago`;
}

function story(worst: ExpiryFinding | undefined, [first]: readonly CertificateGroup[], now: number): string {
  if (worst !== undefined) return worst.message;
  if (first === undefined) return 'none was seen';
  const { notAfter } = first.first;
  return `all well; ${first.title} ends first, in ${span(Date.parse(notAfter) - now)} (${day(notAfter)})`;
}

/** One bar a class: how much of its life is used by the certificate that ends first. */
function timeline({ groups }: AuditView, now: number, style: Style, width: number | undefined): string[] {
  if (groups.length === 0) return ['', '  0 certificates'];
  const narrow = width !== undefined && width < NARROW;
  const titles = groups.map(({ title, count }) => `${title}${count > 1 ? ` ×${count}` : ''}`);
  const fixed = 2 + 10 + 2 + Math.max(...titles.map(visibleWidth), 'CLASS'.length) + 2 + 2 + 11 + 2 + 10 + 2;
  const barWidth = Math.max(8, Math.min(44, (width ?? 140) - fixed - (narrow ? 0 : 40)));
  return [
    '',
    ...table(
      [
        ['', ...['CLASS', 'LIFE USED', 'LEFT', 'ENDS'].map(style.faint), narrow ? '' : style.faint('RENEWED BY')],
        ...groups.map((group, index) => {
          const { first, severity, renewedBy = 'nothing that is known' } = group;
          const { symbol, word, paint } = STYLES[severity === 'info' ? standing(group) : severity];
          const left = Date.parse(first.notAfter) - now;
          return [
            paint(style)(`${symbol} ${word}`),
            titles[index] ?? '',
            lifeBar(group, now, barWidth, paint(style)),
            left > 0 ? `${span(left)} left` : paint(style)(`${span(left)} ago`),
            day(first.notAfter),
            [renewedBy, ...asides(group, now)].join('; '),
          ];
        }),
      ],
      { width, stackBelow: NARROW },
    ),
  ];
}

/** What could not be looked at now was well when it was. */
function standing({ first: { lastSeen } }: CertificateGroup): 'well' | 'not seen' {
  return lastSeen === undefined ? 'well' : 'not seen';
}

const TOLD_BY: Readonly<Record<Basis, string | undefined>> = {
  certificate: undefined,
  status: 'the end is what a status says',
  annotation: 'the end is what an annotation says',
  inference: 'the end is inferred from the age of a machine',
};

function asides({ count, ended, first: { basis, lastSeen } }: CertificateGroup, now: number): string[] {
  return [
    ended > 0 && count > 1 ? `${ended} of ${count} have ended` : undefined,
    TOLD_BY[basis],
    lastSeen === undefined ? undefined : `last seen ${span(now - Date.parse(lastSeen))} ago`,
  ].filter((aside) => aside !== undefined);
}

function lifeBar(
  { first: { notBefore, notAfter } }: CertificateGroup,
  now: number,
  width: number,
  paint: (text: string) => string,
): string {
  if (notBefore === undefined) return 'life unknown'.slice(0, width).padEnd(width);
  const begin = Date.parse(notBefore);
  return paint(bar((now - begin) / Math.max(1, Date.parse(notAfter) - begin), width));
}

interface SeverityStyle {
  readonly symbol: string;
  readonly word: string;
  readonly paint: (style: Style) => (text: string) => string;
}

const STYLES: Readonly<Record<Severity | 'well' | 'not seen', SeverityStyle>> = {
  'not seen': { symbol: '?', word: 'not seen', paint: ({ warn }) => warn },
  critical: { symbol: '✖', word: 'critical', paint: ({ bad }) => bad },
  warning: { symbol: '!', word: 'warning', paint: ({ warn }) => warn },
  info: { symbol: '·', word: 'info', paint: ({ faint }) => faint },
  well: { symbol: '✔', word: 'well', paint: ({ good }) => good },
};

function findingsBlock(
  what: string,
  findings: readonly ExpiryFinding[],
  rendering: AuditRendering,
  style: Style,
  width: number | undefined,
): string[] {
  const { verbose } = rendering;
  const kinds = verbose ? findings.map((finding) => [finding]) : alike(findings);
  const shown = verbose ? kinds : kinds.slice(0, MOST_FINDINGS);
  const hidden = kinds.length - shown.length;
  const { critical, warning, info } = severityCounts(findings);
  const counts = [
    critical === 0 ? undefined : `${critical} critical`,
    warning === 0 ? undefined : counted(warning, 'warning'),
    info === 0 ? undefined : `${info} info`,
  ].filter((count) => count !== undefined);
  return [
    '',
    `  ${style.strong(what === '' ? counted(findings.length, 'finding') : `${findings.length} ${what}`)}${counts.length === 0 ? '' : `: ${counts.join(', ')}`}`,
    ...shown.flatMap((kind) => ['', ...findingLines(kind, rendering, style, width)]),
    ...(hidden > 0 ? ['', `  … and ${hidden} more kinds; --verbose shows them all`] : []),
  ];
}

/** Those of one code, severity and class are one kind: a person reads it once. In the order of the findings. */
function alike(findings: readonly ExpiryFinding[]): readonly (readonly ExpiryFinding[])[] {
  return [...Map.groupBy(findings, ({ severity, code, what }) => `${severity} ${code} ${what ?? ''}`).values()];
}

function findingLines(
  kind: readonly ExpiryFinding[],
  rendering: AuditRendering,
  style: Style,
  width: number | undefined,
): string[] {
  const [first] = kind;
  if (first === undefined) return [];
  const { severity, code, message, since, runbook } = first;
  const { symbol, word, paint } = STYLES[severity];
  const many = kind.length > 1;
  const objects = kind.slice(0, MOST_OBJECTS).map(({ object }) => object);
  const others = kind.length - objects.length;
  return [
    ...hang(
      `  ${paint(style)(`${symbol} ${word}`)}  `,
      `${style.strong(code)}${many ? ` ×${kind.length}` : ''}  ${objects.join(', ')}${others > 0 ? ` and ${others} more` : ''}`,
      width,
    ),
    ...hang('      ', many ? `${message} (the first one; --verbose shows each)` : message, width),
    ...hang('      ', style.faint(`${sinceWhen(since, rendering.now)} · ${runbook}`), width),
    // A command is pasted: it is one line, however long.
    `      → ${asTyped(first, rendering.program, rendering)}`,
  ];
}

function notVisibleBlock(findings: readonly ExpiryFinding[], style: Style, width: number | undefined): string[] {
  if (seenNowhere(findings).length === 0) return [];
  return [
    '',
    `  ${style.strong(`${seenNowhere(findings).length} not visible`)}: neither seen from here nor inferred`,
    // Sources that are off have lines of their own.
    ...hang('  · ', seenNowhere(findings).join(', '), width),
  ];
}

function seenNowhere(findings: readonly ExpiryFinding[]): readonly string[] {
  return findings.flatMap(({ places = [] }) => places).filter((place) => !place.startsWith('source '));
}

function offBlock(off: readonly OffObservation[], style: Style, width: number | undefined): string[] {
  if (off.length === 0) return [];
  return [
    '',
    `  ${style.strong(`${off.length} not looked at`)}`,
    ...[...Map.groupBy(off, reason)].flatMap(([why, sources]) =>
      hang('  · ', `${sources.map(({ source }) => source).join(', ')}: ${why}`, width),
    ),
  ];
}

const OPT_INS: Readonly<Partial<Record<SourceId, string>>> = {
  'tls-secrets': '--secrets',
  'cluster-secrets': '--secrets',
  'kubelet-metrics': '--kubelet-metrics',
};

function reason({ source, why }: OffObservation): string {
  const option = OPT_INS[source];
  return option === undefined ? why : `only with ${option}`;
}

function cost({ report: { durationMs, requests, snapshot } }: AuditView, sources: AuditedSources): string {
  const places = snapshot.findings.reduce(
    (sum, { code, object, placeCount = 0 }) =>
      sum + (NOT_READ.has(code) && !object.startsWith('source ') ? placeCount : 0),
    0,
  );
  return [
    took(durationMs),
    counted(requests, 'API request'),
    counted(handshakesOf(sources), 'handshake'),
    `${counted(sources.read.length, 'source')} read, ${sources.unread.length} not`,
    ...(places === 0 ? [] : [`${counted(places, 'place')} not`]),
  ].join(', ');
}

function sinceWhen(since: string, now: number): string {
  const age = now - Date.parse(since);
  return age < NEW_MS ? 'new' : `since ${day(since)}, ${span(age)} ago`;
}

/** `2026-12-03`. */
function day(time: string): string {
  return time.split('T', 1)[0] ?? time;
}
