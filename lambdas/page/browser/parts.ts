import { data } from './data.ts';
import { type Child, draw, make } from './dom.ts';

export function heading(text: string): HTMLElement {
  return make('h3', {}, text);
}

export function soft(text: string, name: 'p' | 'div' = 'p'): HTMLElement {
  return make(name, { class: 'soft' }, text);
}

/**
 * Where a person reads a runbook; nothing if the command above it prints one.
 *
 * @param page its file, below `docs/runbooks`
 */
export function runbookLine(name: string, page: string, above?: string): HTMLElement | undefined {
  const { program, runbooks } = data;
  if (runbooks === undefined && above?.startsWith(`${program} runbook `)) return undefined;
  const command = make('code', {}, `${program} runbook ${name}`);
  return make('div', { class: 'soft' }, 'Runbook: ', command, runbooks !== undefined && ` ${runbooks}/${page}`);
}

/** A heading and a list, where there is anything to list. */
export function list<Entry>(
  title: string,
  entries: readonly Entry[] | undefined,
  view: (entry: Entry) => Node,
  more?: number,
): readonly Child[] {
  if (entries === undefined) return [];
  const items = make('ul', {}, ...entries.map((entry) => view(entry)));
  return [heading(title), items, more !== undefined && soft(`… and ${more} more`)];
}

/** A title and what is said of it; what is false or undefined is left out. */
export type Fact = readonly [title: string, ...values: Child[]] | false | undefined;

export function factList(facts: readonly Fact[]): HTMLElement {
  return make(
    'dl',
    { class: 'facts' },
    ...facts.flatMap((fact) => {
      if (fact === false || fact === undefined) return [];
      const [title, ...values] = fact;
      return [make('dt', {}, title), make('dd', {}, ...values)];
    }),
  );
}

export function labelledTable(
  label: string,
  kind: string | undefined,
  titles: readonly string[],
  rows: readonly Node[],
): HTMLElement {
  const head = make('tr', {}, ...titles.map((title) => make('th', { scope: 'col' }, title)));
  return make('table', { 'aria-label': label, class: kind }, make('thead', {}, head), make('tbody', {}, ...rows));
}

/** How much of a whole, as a bar. @param share from 0 to 1 */
export function bar(share: number, tone: string, label: string): Element {
  const filled = barPart(tone, `${(share * 100).toFixed(1)}%`);
  return draw('svg', { role: 'img', 'aria-label': label }, barPart('rail', '100%'), filled);
}

function barPart(kind: string, width: string): Element {
  return draw('rect', { class: kind, width, height: '8', rx: '4' });
}
