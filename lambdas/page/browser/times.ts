import { MINUTE_MS } from '../../time.ts';
import { data } from './data.ts';
import { make } from './dom.ts';

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });
const parts = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts();
const zone = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';

/** Minutes of each unit, and from how many of it on it is used. */
const UNITS = [
  ['year', 525_960, 2],
  ['month', 43_830, 6],
  ['day', 1_440, 2],
  ['hour', 60, 2],
  ['minute', 1, 1],
] as const;

/** What an old page says was true when it was made: a time from now beside it would contradict it. */
const old = Date.now() - data.at > 30 * MINUTE_MS;

/** `both`: how far away and when; `plain`: how far away. Both say when it is pointed at. */
type Style = 'both' | 'plain';

/** A time in the reader's zone, with words for how far away it is. */
export function when(at: string | number, style?: Style): HTMLTimeElement {
  const time = new Date(at);
  const element = make('time', { datetime: time.toISOString() });
  say(element, time.getTime(), style);
  return element;
}

export function localDate(at: string | number): string {
  return date.format(new Date(at));
}

/** Makes the reader's own of all times of the page. */
export function localizeTimes(): void {
  for (const element of document.querySelectorAll('time')) {
    const time = Date.parse(element.dateTime);
    if (Number.isNaN(time)) continue;
    const inTable = element.closest('tbody') !== null;
    say(element, time, element.closest('#made') !== null ? 'both' : inTable ? undefined : 'plain');
    if (!inTable || !isFirstEnd(element.parentElement)) continue;
    if (old) element.textContent = `${localDate(time)} `;
    else element.after(` · ${localDate(time)} `);
  }
  if (old) sayThatItIsOld();
  // A table has thousands of times, and few of them are ever pointed at.
  document.addEventListener('mouseover', ({ target }) => {
    if (!(target instanceof HTMLTimeElement) || target.title !== '') return;
    const time = Date.parse(target.dateTime);
    if (!Number.isNaN(time)) addTitle(target, time);
  });
}

function isFirstEnd(cell: Element | null): boolean {
  return cell instanceof HTMLTableCellElement && cell.cellIndex === 3;
}

function sayThatItIsOld(): void {
  for (const element of document.querySelectorAll<HTMLTimeElement>('.expiring time')) {
    const time = Date.parse(element.dateTime);
    const says = element.previousSibling?.textContent ?? '';
    element.textContent = localDate(time);
    if (time <= Date.now() && !says.includes('expired')) element.before('expired ');
  }
  document.documentElement.classList.add('old');
  const title = make('b', {}, `! This page is old: it was made ${distance(data.at)}.`);
  const warning = ' What it says was true then, and may be wrong by now. Make it again before you act.';
  document.querySelector('main')?.prepend(make('p', { id: 'old', role: 'status' }, title, warning));
}

function say(element: HTMLTimeElement, time: number, style: Style | undefined): void {
  const near = old && (style !== 'both' || element.closest('#made') === null) ? undefined : distance(time);
  const text = local.format(time);
  element.textContent = style === 'both' ? `${near === undefined ? '' : `${near}, `}${text} ${zone}` : (near ?? text);
  if (style !== undefined) addTitle(element, time);
}

function addTitle(element: HTMLTimeElement, time: number): void {
  const utc = new Date(time).toISOString().slice(0, 16).replace('T', ' ');
  element.title = `${utc} UTC · ${local.format(time)} ${zone}`;
}

/** Never rounded up. */
function distance(time: number): string {
  const minutes = (time - Date.now()) / MINUTE_MS;
  const unit = UNITS.find(([, length, least]) => Math.abs(minutes) >= length * least);
  if (unit === undefined) return minutes > 0 ? 'within a minute' : 'just now';
  const [name, length] = unit;
  return relative.format(Math.trunc(minutes / length), name);
}
