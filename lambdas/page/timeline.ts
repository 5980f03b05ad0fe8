import { CERTIFICATE_CLASSES, renewedBy, renewedOnceExpired } from '../tables/certificate-classes.ts';
import { type CertificateEnd, URGENCIES, type Urgency } from './ends.ts';
import { type Html, html } from './html.ts';
import { position, share, TICKS, ZONES } from './scale.ts';
import { linkTo, number, timeTag } from './words.ts';

/** Most named certificates; with them the page still fits on a screen. */
const NAMED = 6;
/** If nothing is urgent, the next ones to expire are named all the same. */
const NAMED_WELL = 3;
const COLUMNS = 44;
const HEIGHT = 92;
/** Height of a mark while there is room. */
const MARK = 8;

const SYMBOLS: Readonly<Record<Urgency, string>> = { critical: '✖', warning: '!', well: '✔' };

/**
 * Expiries of the next twelve months: the urgent ones by name, and one mark for each class of each cluster. @param ends
 * in the order of urgency
 */
export function timeline(ends: readonly CertificateEnd[], now: number): Html {
  if (ends.length === 0)
    return html`<p class="calm">No certificate is known yet: no cluster was audited, or none shows one.</p>`;
  // Ordered by due date: three days are three days, also for a mere warning.
  const urgent = ends.filter(({ urgency }) => urgency !== 'well').toSorted((a, b) => a.at - b.at);
  const well = ends.filter(({ urgency }) => urgency === 'well');
  const next = well.slice(0, Math.max(0, NAMED_WELL - urgent.length));
  const named = [...urgent.slice(0, NAMED), ...next];
  const more = urgent.length - NAMED;
  return html`<ol class="expiring">${named.map((end) => row(end, now))}</ol>
${more > 0 && html`<p class="more">and ${number(more)} more that need a person: see the table</p>`}
${histogram(ends, now)}`;
}

function row({ cluster, what, count, at, urgency }: CertificateEnd, now: number): Html {
  const { title } = CERTIFICATE_CLASSES[what];
  const end = position(at, now);
  const from = at <= now ? 0 : ZONES.ahead.from;
  const { provider } = cluster;
  const once = provider !== undefined && at <= now ? renewedOnceExpired(what, provider) : undefined;
  const renewal = once ?? (provider && renewedBy(what, provider));
  return html`<li class="${urgency}"><a href="${linkTo(cluster.id)}" title="${`${cluster.name}, ${title}, renewal: ${renewal ?? 'not known'}`}"><b aria-hidden="true">${SYMBOLS[urgency]}</b> ${cluster.name} <span>${title}${count > 1 && `, first of ${number(count)}`}</span></a>
<svg class="track" aria-hidden="true" focusable="false"><rect class="rail" width="100%" height="4" y="7" rx="2"/><rect class="fill" x="${share(from)}" width="${share(Math.max(end - from, 0.6))}" height="4" y="7" rx="2"/><circle class="fill" cx="${share(end)}" cy="9" r="5"/></svg>
<span class="when">${at <= now ? 'expired ' : ''}${timeTag(new Date(at).toISOString(), 'date')}</span></li>`;
}

type Stack = Record<Urgency, number>;

function histogram(ends: readonly CertificateEnd[], now: number): Html {
  const stacks = new Map<number, Stack>();
  for (const { at, urgency } of ends) {
    const column = columnOf(position(at, now));
    const stack = stacks.get(column) ?? { critical: 0, warning: 0, well: 0 };
    stack[urgency] += 1;
    stacks.set(column, stack);
  }
  const within = ends.filter(({ at }) => position(at, now) <= ZONES.ahead.until && at > now).length;
  const ended = ends.filter(({ at }) => at <= now).length;
  const later = ends.length - within - ended;
  const told = `Each mark is one kind of certificate in one cluster, at its first expiry: ${number(within)} within twelve months, ${number(ended)} expired, ${number(later)} later.`;
  // Later ones are too many to fit, and need no comparison.
  const highest = Math.max(1, ...[...stacks].filter(([column]) => column < COLUMNS).map(([, stack]) => total(stack)));
  const unit = Math.min(MARK, HEIGHT / highest);
  return html`<figure class="axis"><svg role="img" aria-label="${told}" height="${HEIGHT + 22}">
<g class="zones"><rect x="0" width="${share(ZONES.ended.until)}" height="${HEIGHT}" rx="3"/><rect x="${share(ZONES.later.from)}" width="${share(ZONES.later.until - ZONES.later.from)}" height="${HEIGHT}" rx="3"/></g>
<g class="ticks">${TICKS.map((days) => tick(days))}</g>
${[...stacks].toSorted(([a], [b]) => a - b).map(([column, stack]) => bar(column, stack, unit))}
<g class="labels"><text x="${share(ZONES.ended.until / 2)}" y="${HEIGHT + 16}">expired</text>${TICKS.map((days) => tickLabel(days))}<text x="${share((ZONES.later.from + ZONES.later.until) / 2)}" y="${HEIGHT + 16}">later</text>${edgeCount(ZONES.ended, ended)}${edgeCount(ZONES.later, later)}</g>
</svg><figcaption>${told}</figcaption></figure>`;
}

function total(stack: Stack): number {
  return stack.critical + stack.warning + stack.well;
}

/** The number at an edge, where the height does not show it. */
function edgeCount({ from, until }: { readonly from: number; readonly until: number }, count: number): Html {
  return html`<text class="count" x="${share((from + until) / 2)}" y="-5">${number(count)}</text>`;
}

/** The two edges have their own columns. */
function columnOf(percent: number): number {
  if (percent < ZONES.ahead.from) return -1;
  if (percent > ZONES.ahead.until) return COLUMNS;
  const { from, until } = ZONES.ahead;
  return Math.min(COLUMNS - 1, Math.floor(((percent - from) / (until - from)) * COLUMNS));
}

function bar(column: number, stack: Stack, unit: number): Html {
  const width = (ZONES.ahead.until - ZONES.ahead.from) / COLUMNS;
  const zone = column < 0 ? ZONES.ended : ZONES.later;
  const edge = column < 0 || column === COLUMNS;
  const x = edge ? zone.from + (zone.until - zone.from - width) / 2 : ZONES.ahead.from + column * width;
  let y = HEIGHT;
  return html`${URGENCIES.flatMap((urgency) => {
    if (stack[urgency] === 0) return [];
    // Urgent ones stay visible, however many others there are.
    const height = Math.min(y, Math.max(stack[urgency] * unit, urgency === 'well' ? 1 : 3));
    y -= height;
    const marks = unit === MARK && column < COLUMNS ? dividers(x, width, y, stack[urgency]) : [];
    return [
      html`<rect class="${urgency}" x="${share(x + 0.15)}" width="${share(width - 0.3)}" y="${round(y)}" height="${round(height)}"/>`,
      ...marks,
    ];
  })}`;
}

/** Few marks are drawn separately. */
function dividers(x: number, width: number, y: number, count: number): readonly Html[] {
  return Array.from(
    { length: count },
    (_, index) =>
      html`<rect class="gap" x="${share(x)}" width="${share(width)}" y="${round(y + index * MARK)}" height="1"/>`,
  );
}

function tick(days: number): Html {
  const x = share(position(days * 86_400_000, 0));
  return html`<line x1="${x}" x2="${x}" y1="0" y2="${HEIGHT + 3}"/>`;
}

function tickLabel(days: number): Html {
  const label = days < 180 ? `${days} d` : days === 180 ? '6 mo' : '1 y';
  return html`<text class="${days === 365 ? 'to' : 'at'}" x="${share(position(days * 86_400_000, 0))}" y="${HEIGHT + 16}">${label}</text>`;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}
