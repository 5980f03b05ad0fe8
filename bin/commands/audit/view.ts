import type { CertificateGroup } from '../../../lambdas/audit/rules/certificate-groups.ts';
import { pasteable } from '../../../lambdas/command.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type { OffObservation, UnreadObservation } from '../../../lambdas/contracts/observation.ts';
import type { Provider } from '../../../lambdas/identifiers.ts';
import type { Basis, SourceId } from '../../../lambdas/tables/audit-sources.ts';
import { type FindingCode, NOT_READ } from '../../../lambdas/tables/finding-codes.ts';
import { headlineOf, messageOf } from '../../../lambdas/words/findings.ts';
import { expiredServerRunbook, isExpiredServer } from '../../../lambdas/words/next.ts';
import { compare, counted, firstOf, kebab } from '../../../lambdas/words.ts';
import type { NamedServer } from '../../target.ts';
import { bar } from '../../terminal/bar.ts';
import { hang, type Lines, table } from '../../terminal/draw.ts';
import { bad, faint, type Paint, strong } from '../../terminal/paint.ts';
import { MARKS, nextLine, type Places, PROVIDER_NAMES, runbookPlace, serverLine } from '../../terminal/phrases.ts';
import { day, joined, span, took } from '../../terminal/words.ts';
import { visibleWidth } from '../../terminal/wrap.ts';
import { type AuditView, severityCounts } from './groups.ts';
import { issuedLines } from './issued.ts';
import { type AuditRepeat, nextOfFinding } from './repeat.ts';
import { type AuditedSources, auditedSources, handshakesOf } from './sources.ts';

/** Limits without --verbose. */
const MAX_FINDINGS = 30;
const MAX_OBJECTS = 3;
/** On a narrower terminal, what renews a certificate has its own line. Columns. */
const NARROW = 110;

export interface AuditRendering extends AuditRepeat, Places {
  readonly verbose: boolean;
  readonly provider: Provider;
  readonly server?: NamedServer | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * An audit for people: a summary, a timeline of what expires first, the findings with their next commands, and what was
 * not seen.
 */
export function auditLines(view: AuditView, rendering: AuditRendering): Lines {
  const { findings, observations } = view.report.snapshot;
  const sources = auditedSources(observations);
  const notVisible = findings.filter(({ code }) => code === 'NotVisible');
  const notRead = findings.filter(({ code }) => NOT_READ.has(code));
  const others = findings.filter(({ code }) => code !== 'NotVisible' && !NOT_READ.has(code));
  const first = worstOf(view);
  const found = findingsBlock(counted(others.length, 'finding'), others, rendering);
  const unread = notReadBlocks(notRead, rendering);
  return [
    timelineLines(view, rendering.now, rendering.server),
    issuedLines(view.issued),
    first !== undefined && NOT_READ.has(first.code) ? [unread, found] : [found, unread],
    notVisibleBlock(notVisible),
    offBlock(sources.off),
    ['', nextLine(nextCommand(view, sources, rendering))],
    '',
    hang('', cost(view, sources), faint),
  ];
}

/** What to do first, for one cluster and for each of a fleet. */
function nextCommand(
  view: AuditView,
  sources: AuditedSources,
  rendering: AuditRepeat & Pick<AuditRendering, 'program'>,
): string {
  if (isUnreadable(sources)) return unreadableNext(view, sources, rendering);
  const { program, repeat, repeatAudit } = rendering;
  const worst = worstOf(view);
  // An audit judges no requests.
  if (worst === undefined) return `${program} run${repeat}`;
  return worst.code === 'Unreachable' && makesHandshakes(rendering) && isWithoutRoute(view)
    ? `${program} audit${repeatAudit} --no-handshakes`
    : nextOfFinding(worst, view.report.snapshot.provider, program, rendering);
}

function worstOf({ report }: AuditView): ExpiryFinding | undefined {
  return report.snapshot.findings.find(({ severity }) => severity !== 'info');
}

/** Whether machines were to be reached. */
function makesHandshakes({ repeatAudit }: AuditRepeat): boolean {
  return !repeatAudit.includes(' --no-handshakes');
}

/** More places are silent than answered: then it is the network, not a place. */
function isWithoutRoute({ report: { snapshot } }: AuditView): boolean {
  const silentPlaces = placesOf(snapshot.findings.filter(({ code }) => code === 'Unreachable'));
  const answers = snapshot.observations.filter(({ kind, source }) => kind === 'certificate' && source === 'tls');
  return silentPlaces > Math.max(1, answers.length);
}

function unreadableNext(
  view: AuditView,
  { unread }: AuditedSources,
  { program, repeat, repeatNames }: AuditRepeat & Pick<AuditRendering, 'program'>,
): string {
  return expiredServer(view) === undefined || !isOfExpiry(unread.find(isOfServer))
    ? `${program} doctor${repeat}`
    : `${pasteable(expiredServerRunbook(view.report.snapshot.provider), program)}${repeatNames}`;
}

function expiredServer({ report }: AuditView): ExpiryFinding | undefined {
  return report.snapshot.findings.find(isExpiredServer);
}

/** One of several servers may have expired long before, and not be the reason. */
function isOfExpiry(unread: UnreadObservation | undefined): boolean {
  return unread?.problem === 'certificate-expired';
}

/** The first lines: a summary, the server, and the timeline of what expires first. */
export function timelineLines(view: AuditView, now: number, server?: NamedServer): Lines {
  const sources = auditedSources(view.report.snapshot.observations);
  return [headline(view, sources, now), serverLine(server), takenForLine(view, sources), timeline(view, now)];
}

/** These sources can be read although nothing else of the cluster can. */
const FROM_OUTSIDE: ReadonlySet<SourceId> = new Set(['clock', 'tls', 'eks-cluster', 'eks-authorities']);

function isUnreadable({ read, unread }: Pick<AuditedSources, 'read' | 'unread'>): boolean {
  return unread.some(isOfServer) && !read.some(isOfServer);
}

function isOfServer({ source }: { readonly source: SourceId }): boolean {
  return !FROM_OUTSIDE.has(source);
}

function headline(view: AuditView, sources: AuditedSources, now: number): Lines {
  if (isUnreadable(sources)) return unreadableLine(view, sources, now);
  const worst = worstOf(view);
  // Without any certificate nothing is known to be healthy, and without the machines not all of it.
  const isPartial = view.groups.length === 0 || isWithoutMachines(sources);
  const [symbol, paint] = MARKS[worst?.severity ?? (isPartial ? 'info' : 'well')];
  return hang(paint(`${symbol} `), readLine(view, sources, worst, now));
}

function isWithoutMachines({ off }: AuditedSources): boolean {
  return off.some(({ source }) => source === 'tls');
}

function unreadableLine(view: AuditView, sources: AuditedSources, now: number): Lines {
  const { report } = view;
  const unread = sources.unread.find(isOfServer);
  const server = expiredServer(view);
  const expired = server && messageOf(server, now);
  // The finding says it with a date.
  const why = joined([(expired === undefined || !isOfExpiry(unread)) && unread?.message, expired], '; ');
  return hang(bad('✖ '), bad(`${nameOf(report)} · not readable: ${why}`));
}

function nameOf({ snapshot: { cluster, provider } }: AuditView['report']): string {
  return `${cluster} · ${PROVIDER_NAMES[provider]}`;
}

/** Only its endpoint says what it is, and nothing of EKS Anywhere was found: its Machines are off only then. */
function isTakenFor({ off }: AuditedSources): boolean {
  return off.some(({ source }) => source === 'machines');
}

function takenForLine({ report: { snapshot } }: AuditView, sources: AuditedSources): Lines {
  return (
    isTakenFor(sources) &&
    hang(
      '  ',
      faint(`taken for ${PROVIDER_NAMES[snapshot.provider]}, but no Cluster API was found; use --provider eks for EKS`),
    )
  );
}

function readLine(
  { report, groups }: AuditView,
  sources: AuditedSources,
  worst: ExpiryFinding | undefined,
  now: number,
): string {
  const certificates = counted(
    groups.reduce((sum, { count }) => sum + count, 0),
    'certificate',
  );
  const healthy = isWithoutMachines(sources)
    ? 'those read are healthy, the machines were not looked at'
    : 'all healthy';
  const [, paint] = MARKS[worst?.severity ?? (isWithoutMachines(sources) ? 'info' : 'well')];
  const { cluster, provider } = report.snapshot;
  const name = isTakenFor(sources) ? `${cluster} · taken for ${PROVIDER_NAMES[provider]}` : nameOf(report);
  return `${strong(name)} · ${certificates}: ${paint(story(worst, report.snapshot.findings, groups, healthy, now))}`;
}

// oxlint-disable-next-line max-params -- internal
function story(
  worst: ExpiryFinding | undefined,
  findings: readonly ExpiryFinding[],
  groups: readonly CertificateGroup[],
  healthy: string,
  now: number,
): string {
  const [first] = groups
    .filter(({ first: { notAfter, unknown } }) => Date.parse(notAfter) > now && !unknown)
    .toSorted((a, b) => Date.parse(a.first.notAfter) - Date.parse(b.first.notAfter));
  const soonest =
    first === undefined
      ? undefined
      : `${first.title} expires first, in ${span(Date.parse(first.first.notAfter) - now)} (${day(first.first.notAfter)})`;
  const trouble = worst && headlineOf(worst, now);
  // What was not seen says nothing about what expires.
  if (worst !== undefined && UNSEEN.has(worst.code)) {
    // A healthy certificate may expire earlier and be renewed automatically.
    const expiring = soonestOf(findings);
    const soon = expiring === undefined ? soonest : headlineOf(expiring, now);
    const silence = silent(placesOf(findings.filter(({ code }) => code === 'Unreachable')));
    if (soon !== undefined) return `${worst.code === 'Unreachable' ? silence : trouble}; of what is known, ${soon}`;
  }
  if (trouble !== undefined) return trouble;
  return soonest === undefined ? 'none was seen' : `${healthy}; ${soonest}`;
}

/** Of the worst severity, the earliest: findings are sorted by layer before date. */
function soonestOf(findings: readonly ExpiryFinding[]): ExpiryFinding | undefined {
  const expiring = findings.filter(({ severity, code }) => severity !== 'info' && EXPIRY.has(code));
  return expiring
    .filter(({ severity }) => severity === expiring[0]?.severity)
    .toSorted((a, b) => compare(a.due ?? '', b.due ?? ''))[0];
}

const EXPIRY: ReadonlySet<FindingCode> = new Set([
  'CertificateExpired',
  'CertificateExpiring',
  'KubeletRenewalOverdue',
]);

const UNSEEN: ReadonlySet<FindingCode> = new Set(['Unreachable', 'ExpiryUnknown']);

/** One bar per class: the elapsed lifetime of its first certificate to expire. */
function timeline({ groups }: AuditView, now: number): Lines {
  if (groups.length === 0) return ['', '  0 certificates'];
  const titles = groups.map(({ title, count }) => `${title}${count > 1 ? ` ×${count}` : ''}`);
  const fixed = 2 + 10 + 2 + Math.max(...titles.map(visibleWidth), 'CLASS'.length) + 2 + 2 + 11 + 2 + 10 + 2;
  return (width) => {
    const narrow = width !== undefined && width < NARROW;
    const barWidth = Math.min(44, (width ?? 140) - fixed - (narrow ? 0 : 40));
    // A terminal without room for a bar shows what is beside it as one sentence.
    const isTight = barWidth < 8;
    const rows = groups.map((group, index) => {
      const { first, renewedBy = 'nothing that is known' } = group;
      const [symbol, paint, word] = standing(group);
      const left = Date.parse(first.notAfter) - now;
      const due = first.unknown
        ? ['unknown', '']
        : [left > 0 ? `${span(left)} left` : paint(`${span(left)} ago`), day(first.notAfter)];
      const notes = [renewedBy, ...asides(group)];
      return [
        paint(`${symbol} ${word}`),
        titles[index] ?? '',
        ...(isTight ? [] : [lifeBar(group, now, barWidth, paint), ...due]),
        joined(isTight ? [due.join(', '), ...notes] : notes, '; '),
      ];
    });
    const head = ['CLASS', ...(isTight ? [] : ['LIFE USED', 'LEFT', 'EXPIRES'])].map(faint);
    return ['', table([['', ...head, faint(isTight ? 'EXPIRES; RENEWED BY' : 'RENEWED BY')], ...rows], NARROW)];
  };
}

function standing({ severity }: CertificateGroup): readonly [symbol: string, paint: Paint, word: string] {
  const word = severity === 'info' ? 'healthy' : severity;
  return [...MARKS[severity === 'info' ? 'well' : severity], word];
}

const TOLD_BY: Readonly<Record<Basis, string | undefined>> = {
  certificate: undefined,
  status: 'expiry from a status field',
  annotation: 'expiry from an annotation',
  inference: 'expiry inferred, not seen',
};

function asides({ count, ended, first: { basis } }: CertificateGroup) {
  return [ended > 0 && count > 1 && `${ended} of ${count} have expired`, TOLD_BY[basis]];
}

function lifeBar(
  { first: { notBefore, notAfter, unknown } }: CertificateGroup,
  now: number,
  width: number,
  paint: Paint,
): string {
  if (notBefore === undefined || unknown) return 'life unknown'.slice(0, width).padEnd(width);
  const begin = Date.parse(notBefore);
  return paint(bar((now - begin) / Math.max(1, Date.parse(notAfter) - begin), width));
}

function findingsBlock(title: string, findings: readonly ExpiryFinding[], rendering: AuditRendering): Lines {
  const { verbose } = rendering;
  const kinds = verbose ? findings.map((finding) => [finding]) : alike(findings);
  const shown = verbose ? kinds : kinds.slice(0, MAX_FINDINGS);
  const hidden = kinds.length - shown.length;
  const { critical, warning, info } = severityCounts(findings);
  const counts = joined([
    critical > 0 && `${critical} critical`,
    warning > 0 && counted(warning, 'warning'),
    info > 0 && `${info} info`,
  ]);
  return [
    '',
    `  ${strong(title)}${counts === '' ? '' : `: ${counts}`}`,
    shown.map((kind) => ['', findingLines(kind, rendering)]),
    hidden > 0 && ['', `  … and ${hidden} more kinds; --verbose shows them all`],
  ];
}

/** Groups findings with the same code, severity and class, in the order of the findings: each group is printed once. */
function alike(findings: readonly ExpiryFinding[]): readonly (readonly ExpiryFinding[])[] {
  return [...Map.groupBy(findings, ({ severity, code, what }) => `${severity} ${code} ${what ?? ''}`).values()];
}

function findingLines(kind: readonly ExpiryFinding[], rendering: AuditRendering): Lines {
  const [first] = kind;
  if (first === undefined) return [];
  const { severity, code } = first;
  const { program } = rendering;
  const message = pasteable(messageOf(first, rendering.now), program);
  const [symbol, paint] = MARKS[severity];
  const many = kind.length > 1;
  const objects = firstOf(
    kind.slice(0, MAX_OBJECTS).map(({ object }) => object),
    MAX_OBJECTS,
    kind.length,
  );
  const runbook = runbookPlace(kebab(code), rendering);
  const command = nextOfFinding(first, rendering.provider, program, rendering);
  return [
    hang(`  ${paint(`${symbol} ${severity}`)}  `, `${strong(code)}${many ? ` ×${kind.length}` : ''}  ${objects}`),
    hang('      ', many ? `${message} (the first one; --verbose shows each)` : message),
    !command.includes(' runbook ') && hang('      ', faint(runbook)),
    // A command is one line, however long, so that it can be pasted.
    `      → ${command}`,
  ];
}

/** A source is a list of objects or the like; a place is one server, or one Secret. */
function notReadBlocks(findings: readonly ExpiryFinding[], rendering: AuditRendering): Lines {
  const { sources = [], places = [] } = Object.groupBy(findings, (finding) =>
    isSource(finding) ? 'sources' : 'places',
  );
  return [
    sources.length > 0 && findingsBlock(`${counted(sources.length, 'source')} not read`, sources, rendering),
    places.length > 0 && [
      findingsBlock(silent(placesOf(places)), places, rendering),
      makesHandshakes(rendering) && [
        '',
        hang('  ', faint('If your network does not reach the machines: --no-handshakes')),
      ],
    ],
  ];
}

function isSource({ object }: ExpiryFinding): boolean {
  return object.startsWith('source ');
}

function placesOf(findings: readonly ExpiryFinding[]): number {
  return findings.reduce((sum, { placeCount = 1 }) => sum + placeCount, 0);
}

function silent(places: number): string {
  return `${counted(places, 'place')} did not answer`;
}

function notVisibleBlock(findings: readonly ExpiryFinding[]): Lines {
  // Disabled sources have their own lines.
  const places = findings.flatMap((finding) => finding.places ?? []).filter((place) => !place.startsWith('source '));
  return (
    places.length > 0 && [
      '',
      `  ${strong(`${places.length} not visible`)}: neither seen from here nor inferred`,
      hang('  · ', places.join(', ')),
    ]
  );
}

function offBlock(off: readonly OffObservation[]): Lines {
  return (
    off.length > 0 && [
      '',
      `  ${strong(`${counted(off.length, 'source')} not checked`)}`,
      [...Map.groupBy(off, reason)].map(([why, sources]) =>
        hang('  · ', `${sources.map(({ source }) => source).join(', ')}: ${why}`),
      ),
    ]
  );
}

/** Where an option is the reason. */
const BY_OPTION: Readonly<Partial<Record<SourceId, string>>> = {
  'tls-secrets': 'only with --secrets',
  'cluster-secrets': 'only with --secrets',
  'kubelet-metrics': 'only with --kubelet-metrics',
  tls: 'only the API endpoint, because of --no-handshakes',
};

function reason({ source, why }: OffObservation): string {
  return BY_OPTION[source] ?? why;
}

function cost({ report: { durationMs, requests, snapshot } }: AuditView, sources: AuditedSources): string {
  const places = placesOf(snapshot.findings.filter((finding) => NOT_READ.has(finding.code) && !isSource(finding)));
  return joined([
    took(durationMs),
    counted(requests, 'API request'),
    counted(handshakesOf(sources), 'handshake'),
    `${counted(sources.read.length, 'source')} read`,
    sources.unread.length > 0 && `${sources.unread.length} not read`,
    places > 0 && silent(places),
  ]);
}
