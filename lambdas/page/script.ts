/**
 * The script of the page. Its hash is in the page's policy: no other script runs. It makes elements and text, never markup, so that what a cluster says
 * stays text. Without it the page is complete but for filter, sorting, details and the reader's own clock.
 */
export const SCRIPT = String.raw`
'use strict';
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId('data').textContent);
  const MINUTE = 60000;

  /* Elements and text; attributes are only ever those named in this script. */
  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) if (value !== undefined) element.setAttribute(key, value);
    element.append(...children.filter((child) => child !== undefined && child !== ''));
    return element;
  };
  const draw = (name, attributes, ...children) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  /* Times in the reader's zone, with words for how far away they are. */
  const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
  const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  const localDate = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });
  const zone = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts().find(({ type }) => type === 'timeZoneName').value;
  const UNITS = [['year', 525960], ['month', 43830], ['day', 1440], ['hour', 60], ['minute', 1]];
  /* What an old page says was true when it was made: a time from now beside it would contradict it. */
  const old = Date.now() - data.at > 30 * MINUTE;
  const away = (time) => (old ? local.format(time) : distance(time));
  const distance = (time) => {
    const minutes = (time - Date.now()) / MINUTE;
    const size = Math.abs(minutes);
    if (size < 1) return minutes > 0 ? 'within a minute' : 'just now';
    /* Never rounded up; years only from two on, months only from six. */
    const [unit, length] = UNITS.find(([name, length]) => size >= length * (name === 'year' ? 2 : name === 'month' ? 6 : name === 'minute' ? 1 : 2));
    return relative.format(Math.trunc(minutes / length), unit);
  };
  const utc = (time) => new Date(time).toISOString().slice(0, 16).replace('T', ' ') + ' UTC';
  const when = (time, style) => {
    const element = make('time', { datetime: new Date(time).toISOString() });
    say(element, time, style);
    return element;
  };
  const say = (element, time, style) => {
    element.textContent = style === 'both' ? (old && !element.closest('#made') ? '' : distance(time) + ', ') + local.format(time) + ' ' + zone : away(time);
    if (style) entitle(element, time);
  };
  const entitle = (element, time) => { element.title = utc(time) + ' · ' + local.format(time) + ' ' + zone; };
  /* A table has thousands of times, and few of them are ever pointed at. */
  document.addEventListener('mouseover', ({ target }) => {
    if (target instanceof HTMLTimeElement && target.title === '' && !Number.isNaN(Date.parse(target.dateTime))) entitle(target, Date.parse(target.dateTime));
  });
  for (const element of document.querySelectorAll('time')) {
    const time = Date.parse(element.getAttribute('datetime'));
    if (Number.isNaN(time)) continue;
    const inTable = element.closest('tbody') !== null;
    say(element, time, element.closest('#made') ? 'both' : inTable ? undefined : 'plain');
    if (inTable && element.parentNode.cellIndex === 3 && old) element.textContent = localDate.format(time) + ' ';
    else if (inTable && element.parentNode.cellIndex === 3) element.after(' · ' + localDate.format(time) + ' ');
  }
  if (old) {
    for (const element of document.querySelectorAll('.bites time')) {
      const text = element.previousSibling;
      element.textContent = localDate.format(Date.parse(element.dateTime));
      if (Date.parse(element.dateTime) <= Date.now() && !(text && text.textContent.includes('ended'))) element.before('ended ');
    }
    document.documentElement.classList.add('old');
    document.querySelector('main').prepend(make('p', { id: 'old', role: 'status' }, make('b', {}, '! This page is old: it was made ' + distance(data.at) + '.'), ' What it says was true then, and may be wrong by now. Make it again before you act.'));
  }

  const table = byId('table');
  if (!table) return;
  const body = table.tBodies[0];
  const STATES = ['critical', 'warning', 'new', 'maintenance', 'well', 'gone'];
  const rows = [...body.rows].map((row, index) => {
    const head = row.cells[0];
    const small = head.querySelector('small');
    const name = head.firstChild ? head.firstChild.textContent : '';
    const details = data.clusters[index];
    const id = details ? details.id : small ? small.textContent : name;
    const button = make('button', { type: 'button', 'aria-expanded': 'false' }, name);
    if (head.firstChild && head.firstChild !== small) head.firstChild.replaceWith(button);
    else head.prepend(button);
    const entry = { row, index, id, name, button, details, state: STATES.find((state) => row.classList.contains(state)), text: row.textContent.toLowerCase(), within: undefined, detail: null };
    button.addEventListener('click', () => { toggle(entry, button.getAttribute('aria-expanded') !== 'true'); remember(); });
    return entry;
  });
  const byClusterId = new Map(rows.map((entry) => [entry.id, entry]));

  const toggle = (entry, open) => {
    if (open && !entry.detail) {
      entry.detail = make('tr', { class: 'detail' }, make('td', { colspan: String(entry.row.cells.length) }, ...detailsOf(entry)));
      entry.row.after(entry.detail);
    }
    if (entry.detail) entry.detail.hidden = !open || entry.row.hidden;
    entry.open = open;
    entry.button.setAttribute('aria-expanded', String(open));
  };

  /* One cluster. */
  const SYMBOLS = { critical: '✖ critical', warning: '! warning', info: '· info' };
  const heading = (text) => make('h3', {}, text);
  const detailsOf = ({ details, id, row }) => {
    if (!details) return [make('p', { class: 'soft' }, 'There was no room in this page for the details of this cluster. '), make('p', {}, make('code', {}, 'certmarshal report --output json'), ' has them.')];
    const parts = [];
    const list = (title, entries, view, more) => {
      if (!entries) return;
      parts.push(heading(title), make('ul', {}, ...entries.map(view)));
      if (more) parts.push(make('p', { class: 'soft' }, '… and ' + more + ' more'));
    };
    list('What to do', details.signals, ({ story, since, due, command }) =>
      make('li', { class: row.classList.contains('critical') ? 'critical' : 'warning' }, make('b', {}, story),
        make('div', { class: 'soft' }, ...(since ? ['since ', when(Date.parse(since)), ' '] : []), ...(due ? ['· bites ', when(Date.parse(due), 'both')] : [])),
        make('code', {}, command)));
    if (details.rollout) parts.push(...rollout(details.rollout));
    if (details.ends) parts.push(heading('Certificates, by class'), certificates(details));
    list('Findings of the audit', details.findings, (finding) =>
      make('li', { class: finding.severity }, make('b', {}, SYMBOLS[finding.severity] + ' ' + finding.code), ' ' + finding.message,
        make('div', { class: 'soft' }, finding.object + ' · since ', when(Date.parse(finding.since)),
          ...(finding.due ? [' · bites ', when(Date.parse(finding.due), 'both')] : []), ...(finding.seen ? [' · last seen ', when(Date.parse(finding.seen))] : []),
          finding.renewal ? ' · renewed by ' + finding.renewal : ''),
        make('code', {}, finding.command), make('div', { class: 'soft' }, 'Runbook: ' + finding.runbook)), details.moreFindings);
    if (!details.findings && details.moreFindings) parts.push(make('p', { class: 'soft' }, details.moreFindings + ' findings are not shown here'));
    if (details.verdicts) parts.push(heading('Requests and verdicts'), verdicts(details.verdicts), details.moreVerdicts ? make('p', { class: 'soft' }, '… and ' + details.moreVerdicts + ' more in the journal') : '');
    list('Problems of the sweeps', details.problems, ({ object, message, remedy, since }) =>
      make('li', { class: 'warning' }, make('b', {}, object), ' ' + message + ' ', make('small', {}, 'since ', when(Date.parse(since))), make('div', {}, remedy)), details.moreProblems);
    parts.push(heading('What is seen of it'), facts(details, id));
    if (details.cut) parts.push(make('p', { class: 'soft' }, 'Shortened, for want of room; certmarshal report --output json has all of it.'));
    return parts.filter((part) => part !== '');
  };

  const rowsTable = (titles, lines, caption, kind) =>
    make('table', { 'aria-label': caption, class: kind }, make('thead', {}, make('tr', {}, ...titles.map((title) => make('th', { scope: 'col' }, title)))), make('tbody', {}, ...lines));

  const certificates = ({ ends, provider }) => rowsTable(['Class', 'Life used', 'First end', 'Renewed by', 'Where'], ends.map(([what, count, life, left, urgency, where]) => {
    const [title, eks, anywhere] = data.classes[what];
    const ends = data.at + left * MINUTE;
    const used = life > 0 ? Math.min(1, Math.max(0, 1 - (ends - Date.now()) / (life * MINUTE))) : undefined;
    const tone = ['well', 'warning', 'critical'][urgency];
    return make('tr', {}, make('th', { scope: 'row' }, title + (count > 1 ? ' ×' + count : '')),
      make('td', { class: 'life' }, used === undefined ? 'unknown' : draw('svg', { role: 'img', 'aria-label': Math.floor(used * 100) + ' % of its life used' },
        draw('rect', { class: 'rail', width: '100%', height: '8', rx: '4' }), draw('rect', { class: tone, width: (used * 100).toFixed(1) + '%', height: '8', rx: '4' }))),
      make('td', { class: tone === 'well' ? undefined : tone }, ['', '! ', '✖ '][urgency], ends <= Date.now() ? 'ended ' : '', when(ends), ' · ' + localDate.format(ends)),
      make('td', {}, (provider === 'eks' ? eks : provider ? anywhere : '') || 'not known'), make('td', { class: 'soft' }, where));
  }), 'Certificates by class', 'classes');

  const ROLLOUT = { off: '– off', idle: '✔ nothing is due', waiting: '○ waits', refused: '! a check fails', assist: '! a person renews it', ready: '○ ready', rolling: '◐ rolls', verifying: '◐ new certificates are looked for', held: '✖ held', done: '✔ done', aborted: '– aborted', foreign: '! somebody else rolls it', expired: '✖ not in time' };
  const URGENT = { held: 'critical', expired: 'critical', refused: 'warning', assist: 'warning' };
  const MACHINE = { old: '○ waits', new: '◐ is made', replaced: '◐ replaced', verified: '✔ new certificate', leaving: '◐ goes' };
  const pageOf = (id) => make('div', { class: 'soft' }, 'Runbook: docs/runbooks/rollouts/' + id + '.md');
  const rollout = ({ state, message, since, end, span, window, began, aborted, reasons, failed, moreFailed, machines, etcd, took, command }) => {
    const tone = URGENT[state];
    const parts = [heading('Rollout'), make('p', {}, make('b', { class: tone }, ROLLOUT[state] || state), ' ' + message)];
    const list = make('dl', { class: 'facts' });
    const fact = (title, ...values) => list.append(make('dt', {}, title), make('dd', {}, ...values));
    if (since) fact('So since', when(Date.parse(since), 'both'));
    if (end) fact('First end', when(Date.parse(end), 'both'));
    if (span) fact('May begin', 'from ', when(Date.parse(span[0]), 'both'), ' until ', when(Date.parse(span[1]), 'both'));
    if (window) fact('Next window', when(Date.parse(window), 'both'));
    if (began) fact('Began', when(Date.parse(began[0]), 'both'), began[1] === 'person' ? ', by a person' : ', by the schedule');
    if (aborted) fact('Aborted', when(Date.parse(aborted), 'both'));
    if (took !== undefined) fact('Took', took + ' minutes');
    if (list.children.length > 0) parts.push(list);
    if (reasons) parts.push(make('ul', {}, ...reasons.map(({ id, text, remedy }) => make('li', { class: tone }, make('b', {}, id), ' ' + text, make('div', {}, remedy), pageOf(id)))));
    else if (failed) parts.push(make('ul', {}, ...failed.map(({ id, text, remedy, passing }) => make('li', { class: passing ? undefined : tone }, make('b', {}, id), ' ' + text, remedy ? make('div', {}, remedy) : '', pageOf(id)))));
    if (!reasons && moreFailed) parts.push(make('p', { class: 'soft' }, '… and ' + moreFailed + ' more checks'));
    if (command) parts.push(make('code', {}, command));
    if (machines) parts.push(...machinesOf('control plane machines', machines));
    if (etcd) parts.push(...machinesOf('etcd machines', etcd));
    return parts;
  };
  const machinesOf = (what, [wanted, replaced, verified, rows]) => {
    const share = wanted > 0 ? Math.min(1, verified / wanted) : 0;
    const text = verified + ' of ' + wanted + ' ' + what + ' show a new certificate, ' + replaced + ' replaced';
    const bar = make('div', { class: 'life' }, draw('svg', { role: 'img', 'aria-label': text },
      draw('rect', { class: 'rail', width: '100%', height: '8', rx: '4' }), draw('rect', { class: 'well', width: (share * 100).toFixed(1) + '%', height: '8', rx: '4' })));
    if (rows.length === 0) return [make('p', {}, text), bar];
    return [make('p', {}, text), bar, rowsTable(['Machine', 'Node', 'State', 'Certificate'], rows.map(([name, node, state, from, until]) =>
      make('tr', {}, make('th', { scope: 'row' }, name), make('td', { class: 'soft' }, node || '–'), make('td', {}, MACHINE[state] || state),
        make('td', {}, ...(from && until ? [localDate.format(Date.parse(from)) + ' → ' + localDate.format(Date.parse(until))] : until ? ['until ' + localDate.format(Date.parse(until))] : ['not seen'])))), 'Machines: ' + what, 'machines')];
  };

  const verdicts = (lines) => rowsTable(['Verdict', 'Node', 'Reason', 'Why', 'Request', 'When'], lines.map(({ at, csr, node, verdict, reason, message, hostile }) =>
    make('tr', {}, make('td', { class: hostile ? 'critical' : verdict === 'approve' ? 'well' : 'warning' }, (hostile ? '✖ ' : verdict === 'approve' ? '✔ ' : '◌ ') + verdict + (hostile ? ', hostile' : '')),
      make('th', { scope: 'row' }, node), make('td', {}, reason), make('td', {}, message), make('td', { class: 'soft' }, csr), make('td', {}, when(Date.parse(at))))), 'Requests and verdicts');

  const facts = (details, id) => {
    const list = make('dl', { class: 'facts' });
    const fact = (title, ...values) => list.append(make('dt', {}, title), make('dd', {}, ...values));
    const names = (indexes) => indexes.map((index) => data.sources[index]).join(', ');
    if (details.readableAt) fact('Requests', ...(details.readableAt === 'never' ? ['✖ could never be listed'] : ['✖ cannot be listed; the last time ', when(Date.parse(details.readableAt), 'both')]));
    else fact('Requests', details.incomplete ? '! listed, but not everything could be read, judged or written' : '✔ listed');
    if (details.auditedAt) fact('Audited', when(Date.parse(details.auditedAt), 'both'));
    else fact('Audited', '! never: nothing is known of its certificates');
    if (details.unread) fact('Not read', '! ' + names(details.unread));
    if (details.read) fact('Read', names(details.read));
    if (details.off) fact('Switched off', names(details.off));
    if (details.partial) fact('Before', '! The audit does not know what was seen before');
    if (details.snapshotProblem) fact('Snapshot', '! ' + details.snapshotProblem);
    if (details.slo) {
      const [us, others, missed, refused, unprovable, objective, left] = details.slo;
      const kept = us + others;
      fact('Requests in 30 days', us + ' approved by certmarshal, ' + others + ' by others, ' + missed + ' missed, ' + refused + ' refused, ' + unprovable + ' without proof');
      fact('Objective', (kept + missed > 0 ? Math.floor((kept / (kept + missed)) * 10000) / 100 + ' % in time; ' : '') + 'objective ' + +(objective * 100).toFixed(3) + ' %, ' + Math.floor(left * 100) + ' % of the budget left');
    } else fact('Requests in 30 days', 'none that counts');
    if (details.maintenance) fact('Maintenance', 'until ', when(Date.parse(details.maintenance[0]), 'both'), details.maintenance[1] ? ': ' + details.maintenance[1] : '');
    if (details.gone) fact('Gone', 'its source no longer shows it, since ', when(Date.parse(details.gone), 'both'));
    fact('Found by', details.source);
    fact('Id', id + ' ', make('a', { href: linkTo(id) }, 'link to this cluster'));
    return list;
  };
  const linkTo = (id) => '#cluster=' + encodeURIComponent(id);

  /* Filter. */
  const search = make('input', { type: 'search', id: 'q', autocomplete: 'off', spellcheck: 'false' });
  const shown = make('p', { id: 'shown', role: 'status' });
  const present = STATES.filter((state) => rows.some((entry) => entry.state === state));
  const chips = new Map(present.map((state) => {
    const chip = make('button', { type: 'button', 'aria-pressed': 'false' }, rows.find((entry) => entry.state === state).row.cells[1].textContent + ' ' + rows.filter((entry) => entry.state === state).length);
    chip.addEventListener('click', () => { chip.setAttribute('aria-pressed', String(chip.getAttribute('aria-pressed') !== 'true')); filter(); remember(); });
    return [state, chip];
  }));
  byId('tools').append(make('label', { for: 'q' }, 'Find'), search, make('fieldset', {}, make('legend', {}, 'Show only'), ...chips.values()), shown);
  const all = make('button', { type: 'button' }, 'Show all clusters');
  all.addEventListener('click', () => { clear(); filter(); remember(); search.focus(); });
  const empty = make('p', { id: 'empty', role: 'status' }, make('span', {}), all);
  empty.hidden = true;
  table.parentNode.before(empty);
  const clear = () => { search.value = ''; for (const chip of chips.values()) chip.setAttribute('aria-pressed', 'false'); };
  let waiting;
  search.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(() => { filter(); remember(); }, 60); });

  const pressed = () => present.filter((state) => chips.get(state).getAttribute('aria-pressed') === 'true');
  /* What a cluster says in its details: nodes, addresses, requests. Made when somebody looks for it. */
  const within = (entry) => (entry.within ??= stringsOf(entry.details).join(' ').toLowerCase());
  const stringsOf = (value) => (typeof value === 'string' ? [value] : value && typeof value === 'object' ? Object.values(value).flatMap(stringsOf) : []);
  const tellNone = (text) => {
    empty.hidden = text === '';
    empty.firstChild.textContent = text;
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const states = pressed();
    let count = 0;
    let hidden = 0;
    for (const entry of rows) {
      const inRow = words.every((word) => entry.text.includes(word));
      const matches = (inRow || words.every((word) => entry.text.includes(word) || within(entry).includes(word))) && (states.length === 0 || states.includes(entry.state));
      entry.row.hidden = !matches;
      if (entry.detail) entry.detail.hidden = !matches || !entry.open;
      if (matches) count += 1;
      if (matches && !inRow) hidden += 1;
    }
    shown.textContent = count + ' of ' + rows.length + ' shown' + (hidden > 0 ? ', ' + hidden + ' found in the details' : '');
    tellNone(count > 0 ? '' : 'No cluster here ' + (words.length > 0 ? 'says “' + search.value.slice(0, 100) + '”' : 'is in that state') + (words.length > 0 && states.length > 0 ? ' in the states that are shown' : '') + '. ');
  };

  /* Sorting. The first order, by urgency, comes back with the third press. */
  const cellTime = (cell) => { const time = cell.querySelector('time'); return time ? Date.parse(time.getAttribute('datetime')) : Infinity; };
  const collator = new Intl.Collator('en', { numeric: true });
  const KEYS = [
    (a, b) => collator.compare(a.name, b.name),
    (a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state),
    (a, b) => a.index - b.index,
    (a, b) => order(cellTime(a.row.cells[3]), cellTime(b.row.cells[3])),
    (a, b) => order(rate(a), rate(b)),
    (a, b) => order(cellTime(a.row.cells[5]), cellTime(b.row.cells[5])),
  ];
  const order = (a, b) => (a < b ? -1 : Number(a > b));
  const rate = (entry) => { const value = parseFloat(entry.row.cells[4].textContent); return Number.isNaN(value) ? Infinity : value; };
  const heads = [...table.tHead.rows[0].cells];
  let sorted = { column: -1, direction: 1 };
  const sort = (column, direction) => {
    sorted = { column, direction };
    heads.forEach((head, index) => {
      if (index === column) head.setAttribute('aria-sort', direction > 0 ? 'ascending' : 'descending');
      else head.removeAttribute('aria-sort');
      head.firstChild.lastChild.textContent = index === column ? (direction > 0 ? ' ▲' : ' ▼') : '';
    });
    const compare = column < 0 ? (a, b) => a.index - b.index : (a, b) => direction * KEYS[column](a, b) || a.index - b.index;
    body.append(...rows.toSorted(compare).flatMap((entry) => (entry.detail ? [entry.row, entry.detail] : [entry.row])));
  };
  heads.forEach((head, index) => {
    const button = make('button', { type: 'button' }, head.textContent, make('span', { 'aria-hidden': 'true' }));
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      if (sorted.column !== index) sort(index, 1);
      else if (sorted.direction > 0) sort(index, -1);
      else sort(-1, 1);
      remember();
    });
  });

  /* What is shown is in the address, so that it can be linked to. */
  let current;
  const remember = () => {
    const parts = new URLSearchParams();
    const open = rows.filter((entry) => entry.open && !entry.row.hidden);
    if (open.length > 0) parts.set('cluster', open.at(-1).id);
    if (search.value !== '') parts.set('q', search.value);
    if (pressed().length > 0) parts.set('state', pressed().join(','));
    if (sorted.column >= 0) parts.set('sort', (sorted.direction < 0 ? '-' : '') + sorted.column);
    const hash = parts.toString();
    current = '#' + hash;
    history.replaceState(null, '', hash === '' ? location.href.split('#')[0] : '#' + hash);
  };
  const restore = () => {
    if (location.hash === current) return;
    const parts = new URLSearchParams(location.hash.slice(1));
    const id = parts.get('cluster');
    if (id === null && !parts.has('q') && !parts.has('state') && !parts.has('sort')) { filter(); return; }
    if (parts.has('q') || parts.has('state') || id === null) {
      search.value = parts.get('q') || '';
      const states = (parts.get('state') || '').split(',');
      for (const [state, chip] of chips) chip.setAttribute('aria-pressed', String(states.includes(state)));
    }
    const sortBy = /^(-?)([0-5])$/.exec(parts.get('sort') || '');
    if (sortBy) sort(Number(sortBy[2]), sortBy[1] === '-' ? -1 : 1);
    filter();
    if (id === null) { byId('clusters').scrollIntoView({ behavior: 'instant' }); return; }
    const entry = byClusterId.get(id);
    if (!entry) { tellNone('There is no cluster “' + id.slice(0, 100) + '” in this page. It may be gone, or have another name. '); empty.scrollIntoView({ block: 'center' }); return; }
    /* Who follows a link to a cluster wants to see it, whatever was filtered. */
    if (entry.row.hidden) { clear(); filter(); }
    toggle(entry, true);
    entry.button.focus({ preventScroll: true });
    entry.row.scrollIntoView({ behavior: 'instant' });
  };
  addEventListener('hashchange', restore);
  restore();

  /* On paper, what is wrong is told in full. */
  let printed = [];
  addEventListener('beforeprint', () => {
    printed = rows.filter((entry) => !entry.open && entry.details && (entry.state === 'critical' || entry.state === 'warning'));
    for (const entry of printed) { toggle(entry, true); entry.detail.hidden = false; }
  });
  addEventListener('afterprint', () => { for (const entry of printed) toggle(entry, false); printed = []; });
  document.documentElement.dataset.ready = 'true';
})();
`;
