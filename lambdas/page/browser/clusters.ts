import { CLUSTER_STATES, type ClusterState } from '../../tables/cluster-states.ts';
import type { ClusterDetails } from '../cluster-details.ts';
import { data } from './data.ts';
import { detailsOf } from './details.ts';
import { byId, make, onClick } from './dom.ts';

interface Cluster {
  readonly row: HTMLTableRowElement;
  /** Its place in the order of urgency. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly button: HTMLButtonElement;
  readonly details: ClusterDetails | null | undefined;
  readonly state: ClusterState | undefined;
  readonly text: string;
  /** Built at the first search: what only the details contain, such as nodes, addresses and requests. */
  within?: string;
  detail?: HTMLTableRowElement;
  open: boolean;
}

/** Details, filter, sorting and links of the table of clusters. */
export function showClusters(table: HTMLTableElement): void {
  const clusters = [...(table.tBodies[0]?.rows ?? [])].map(clusterOfRow);
  const filter = createFilter(table, clusters, () => address.remember());
  const sorting = createSorting(table, clusters, () => address.remember());
  const address = createAddress(clusters, filter, sorting);
  for (const cluster of clusters)
    onClick(cluster.button, () => {
      toggle(cluster, !cluster.open);
      address.remember();
    });
  addEventListener('hashchange', address.restore);
  address.restore();
  printDetails(clusters);
}

function clusterOfRow(row: HTMLTableRowElement, index: number): Cluster {
  const text = row.textContent.toLowerCase();
  const details = data.clusters[index];
  const [head] = row.cells;
  const small = head?.querySelector('small');
  const first = head?.firstChild;
  const name = first?.textContent ?? '';
  const button = make('button', { type: 'button', 'aria-expanded': 'false' }, name);
  if (first && first !== small) first.replaceWith(button);
  else head?.prepend(button);
  const id = details?.id ?? small?.textContent ?? name;
  const state = CLUSTER_STATES.find((known) => row.classList.contains(known));
  return { row, index, id, name, button, details, state, text, open: false };
}

function toggle(cluster: Cluster, open: boolean): void {
  const { row, details, id, button } = cluster;
  if (open && cluster.detail === undefined) {
    const cell = make(
      'td',
      { colspan: String([...row.cells].filter((shown) => !shown.hidden).length) },
      ...detailsOf(details, id, cluster.state === 'critical'),
    );
    cluster.detail = make('tr', { class: 'detail' }, cell);
    row.after(cluster.detail);
  }
  if (cluster.detail !== undefined) cluster.detail.hidden = !open || row.hidden;
  cluster.open = open;
  button.setAttribute('aria-expanded', String(open));
}

interface Filter {
  readonly words: () => string;
  readonly states: () => readonly ClusterState[];
  readonly set: (words: string, states: readonly string[]) => void;
  readonly apply: () => void;
  /** Says why nothing is found. */
  readonly explain: (text: string) => HTMLElement;
}

function createFilter(table: HTMLTableElement, clusters: readonly Cluster[], changed: () => void): Filter {
  const search = make('input', { type: 'search', id: 'q', autocomplete: 'off', spellcheck: 'false' });
  const shown = make('p', { id: 'shown', role: 'status' });
  const chips = new Map<ClusterState, HTMLButtonElement>();
  for (const state of CLUSTER_STATES) {
    const those = clusters.filter((cluster) => cluster.state === state);
    if (those.length === 0) continue;
    const words = new Set(those.map(({ row }) => row.cells[1]?.textContent));
    const label = `${[...words].join(', ')} ${those.length}`;
    const chip = make('button', { type: 'button', 'aria-pressed': 'false' }, label);
    chips.set(state, chip);
    onClick(chip, () => {
      press(chip, !isPressed(chip));
      update();
    });
  }
  const explanation = make('span', {});
  const showAll = onClick(make('button', { type: 'button' }, 'Show all clusters'), () => {
    set('', []);
    update();
    search.focus();
  });
  const empty = make('p', { id: 'empty', role: 'status' }, explanation, showAll);
  let waiting: ReturnType<typeof setTimeout> | undefined;
  search.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(update, 60);
  });
  const choices = make('fieldset', {}, make('legend', {}, 'Show only'), ...chips.values());
  byId('tools').append(make('label', { for: 'q' }, 'Find'), search, choices, shown);
  explain('');
  table.parentElement?.before(empty);

  function update(): void {
    apply();
    changed();
  }
  function set(words: string, states: readonly string[]): void {
    search.value = words;
    for (const [state, chip] of chips) press(chip, states.includes(state));
  }
  function pressedStates(): readonly ClusterState[] {
    return [...chips].filter(([, chip]) => isPressed(chip)).map(([state]) => state);
  }
  function explain(text: string): HTMLElement {
    empty.hidden = text === '';
    explanation.textContent = text;
    return empty;
  }
  function apply(): void {
    const words = search.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const states = pressedStates();
    let count = 0;
    let hidden = 0;
    for (const cluster of clusters) {
      const inRow = words.every((word) => cluster.text.includes(word));
      const matches =
        (inRow || words.every((word) => cluster.text.includes(word) || withinOf(cluster).includes(word))) &&
        (states.length === 0 || states.some((state) => state === cluster.state));
      cluster.row.hidden = !matches;
      if (cluster.detail !== undefined) cluster.detail.hidden = !matches || !cluster.open;
      if (matches) count += 1;
      if (matches && !inRow) hidden += 1;
    }
    shown.textContent = `${count} of ${clusters.length} shown${hidden > 0 ? `, ${hidden} found in the details` : ''}`;
    const sought = words.length > 0 ? `says “${search.value.slice(0, 100)}”` : 'is in that state';
    const inStates = words.length > 0 && states.length > 0 ? ' in the states that are shown' : '';
    explain(count > 0 ? '' : `No cluster here ${sought}${inStates}. `);
  }
  return { words: () => search.value, states: pressedStates, set, apply, explain };
}

function isPressed(chip: HTMLButtonElement): boolean {
  return chip.getAttribute('aria-pressed') === 'true';
}

function press(chip: HTMLButtonElement, pressed: boolean): void {
  chip.setAttribute('aria-pressed', String(pressed));
}

function withinOf(cluster: Cluster): string {
  return (cluster.within ??= stringsOf(cluster.details).join(' ').toLowerCase());
}

function stringsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

type Direction = 1 | -1;

interface Sorting {
  /** As in the address: the number of the column, with a minus where it is sorted down; nothing in the order of urgency. */
  readonly column: () => string;
  readonly sort: (column: number, direction: Direction) => void;
}

const collator = new Intl.Collator('en', { numeric: true });
/** One for each column. */
const ORDERS: readonly ((a: Cluster, b: Cluster) => number)[] = [
  (a, b) => collator.compare(a.name, b.name),
  by(({ state }) => (state === undefined ? -1 : CLUSTER_STATES.indexOf(state))),
  by(({ index }) => index),
  by((cluster) => timeIn(cluster, 3)),
  by(({ row }) => orLast(provenShare(row.cells[4]?.textContent ?? ''))),
  by((cluster) => timeIn(cluster, 5)),
];

function by(key: (cluster: Cluster) => number): (a: Cluster, b: Cluster) => number {
  return (a, b) => {
    const [one, other] = [key(a), key(b)];
    return one < other ? -1 : Number(one > other);
  };
}

function timeIn({ row }: Cluster, column: number): number {
  return orLast(Date.parse(row.cells[column]?.querySelector('time')?.dateTime ?? ''));
}

/** @param text `✖ 39 of 42` */
function provenShare(text: string): number {
  const [, proven, , all] = text.split(' ');
  return Number(proven) / Number(all);
}

function orLast(value: number): number {
  return Number.isNaN(value) ? Infinity : value;
}

function createSorting(table: HTMLTableElement, clusters: readonly Cluster[], changed: () => void): Sorting {
  let sorted: { readonly column: number; readonly direction: Direction } = { column: -1, direction: 1 };
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map((head, index) => {
    const arrow = make('span', { 'aria-hidden': 'true' });
    const button = make('button', { type: 'button' }, head.textContent, arrow);
    head.replaceChildren(button);
    onClick(button, () => {
      // The third press brings back the order of urgency.
      if (sorted.column !== index) sort(index, 1);
      else if (sorted.direction > 0) sort(index, -1);
      else sort(-1, 1);
      changed();
    });
    return { head, arrow };
  });
  function sort(column: number, direction: Direction): void {
    sorted = { column, direction };
    heads.forEach(({ head, arrow }, index) => {
      if (index === column) head.setAttribute('aria-sort', direction > 0 ? 'ascending' : 'descending');
      else head.removeAttribute('aria-sort');
      arrow.textContent = index === column ? (direction > 0 ? ' ▲' : ' ▼') : '';
    });
    const order = ORDERS[column] ?? (() => 0);
    const rows = clusters.toSorted((a, b) => direction * order(a, b) || a.index - b.index);
    table.tBodies[0]?.append(...rows.flatMap(({ row, detail }) => (detail === undefined ? [row] : [row, detail])));
  }
  return { column: () => (sorted.column < 0 ? '' : `${sorted.direction < 0 ? '-' : ''}${sorted.column}`), sort };
}

interface Address {
  readonly remember: () => void;
  readonly restore: () => void;
}

/** What is shown is in the address, so that it can be linked to. */
function createAddress(clusters: readonly Cluster[], filter: Filter, sorting: Sorting): Address {
  let current: string | undefined;
  function remember(): void {
    const shown = {
      cluster: clusters.findLast(({ open, row }) => open && !row.hidden)?.id ?? '',
      q: filter.words(),
      state: filter.states().join(','),
      sort: sorting.column(),
    };
    const parts = new URLSearchParams(Object.entries(shown).filter(([, value]) => value !== ''));
    current = `#${parts}`;
    history.replaceState(null, '', parts.size === 0 ? location.href.split('#')[0] : current);
  }
  function restore(): void {
    if (location.hash === current) return;
    const parts = new URLSearchParams(location.hash.slice(1));
    const id = parts.get('cluster');
    if (id === null && !['q', 'state', 'sort'].some((name) => parts.has(name))) {
      filter.apply();
      return;
    }
    if (parts.has('q') || parts.has('state') || id === null)
      filter.set(parts.get('q') ?? '', (parts.get('state') ?? '').split(','));
    const [, minus, column] = /^(-?)([0-6])$/.exec(parts.get('sort') ?? '') ?? [];
    if (column !== undefined) sorting.sort(Number(column), minus === '-' ? -1 : 1);
    filter.apply();
    if (id === null) byId('clusters').scrollIntoView({ behavior: 'instant' });
    else show(id);
  }
  function show(id: string): void {
    const cluster = clusters.findLast((one) => one.id === id);
    if (cluster === undefined) {
      const text = `There is no cluster “${id.slice(0, 100)}” in this page. It may be gone, or have another name. `;
      filter.explain(text).scrollIntoView({ block: 'center' });
      return;
    }
    // A reader who follows a link to a cluster wants to see it, whatever was filtered.
    if (cluster.row.hidden) {
      filter.set('', []);
      filter.apply();
    }
    toggle(cluster, true);
    cluster.button.focus({ preventScroll: true });
    cluster.row.scrollIntoView({ behavior: 'instant' });
  }
  return { remember, restore };
}

/** On paper, what is wrong is told in full. */
function printDetails(clusters: readonly Cluster[]): void {
  let printed: readonly Cluster[] = [];
  addEventListener('beforeprint', () => {
    printed = clusters.filter(
      ({ open, details, state }) =>
        !open && details && (state === 'critical' || state === 'warning' || state === 'noted'),
    );
    for (const cluster of printed) {
      toggle(cluster, true);
      if (cluster.detail !== undefined) cluster.detail.hidden = false;
    }
  });
  addEventListener('afterprint', () => {
    for (const cluster of printed) toggle(cluster, false);
    printed = [];
  });
}
