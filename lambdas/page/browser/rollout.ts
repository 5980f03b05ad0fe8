import type { RolloutDetails } from '../rollout-details.ts';
import { type Child, make } from './dom.ts';
import { bar, factList, heading, labelledTable, runbookLine, soft } from './parts.ts';
import { localDate, when } from './times.ts';

const STATES: Readonly<Record<RolloutDetails['state'], string>> = {
  off: '– off',
  idle: '✔ nothing is due',
  waiting: '○ waits',
  refused: '! a check fails',
  assist: '! a person renews it',
  ready: '○ ready',
  rolling: '◐ rolls',
  verifying: '◐ checks for new certificates',
  held: '✖ held',
  done: '✔ done',
  aborted: '– aborted',
  foreign: '! someone else rolls it',
  expired: '✖ not in time',
};
const TONES: Readonly<Partial<Record<RolloutDetails['state'], string>>> = {
  held: 'critical',
  expired: 'critical',
  refused: 'warning',
  assist: 'warning',
};

type Progress = NonNullable<RolloutDetails['machines']>;
type MachineState = Progress[3][number][2];
const MACHINE_STATES: Readonly<Record<MachineState, string>> = {
  old: '○ waits',
  new: '◐ is made',
  replaced: '◐ replaced',
  verified: '✔ new certificate',
  leaving: '◐ is removed',
};

/** State, times, reasons or checks, and machines of the rollout of one cluster. */
export function rolloutPart(rollout: RolloutDetails): readonly Child[] {
  const { state, since, end, span, window, began, aborted, took, reasons, moreReasons, machines, etcd } = rollout;
  const tone = TONES[state];
  const facts = factList([
    since !== undefined && ['In this state since', when(since, 'both')],
    end !== undefined && ['Expires first', when(end, 'both')],
    span && ['May start', 'from ', when(span[0], 'both'), ' until ', when(span[1], 'both')],
    window !== undefined && ['Next window', when(window, 'both')],
    began && ['Started', when(began[0], 'both'), began[1] === 'person' ? ', by a person' : ', by the schedule'],
    aborted !== undefined && ['Aborted', when(aborted, 'both')],
    took !== undefined && ['Took', `${took} minutes`],
  ]);
  return [
    heading('Rollout'),
    make('p', {}, make('b', { class: tone }, STATES[state]), ` ${rollout.message}`),
    facts.children.length > 0 && facts,
    reasons && make('ul', {}, ...reasons.map((reason) => reasonItem(reason, tone))),
    moreReasons !== undefined && soft(`… and ${moreReasons} more`),
    rollout.command !== undefined && make('code', {}, rollout.command),
    ...(machines === undefined ? [] : machinesPart('control plane machines', machines)),
    ...(etcd === undefined ? [] : machinesPart('etcd machines', etcd)),
  ];
}

type Reason = NonNullable<RolloutDetails['reasons']>[number];

function reasonItem({ id, text, remedy, passing }: Reason, tone: string | undefined): HTMLElement {
  return make(
    'li',
    { class: passing ? undefined : tone },
    make('b', {}, id),
    ` ${text}`,
    make('div', {}, remedy),
    runbookLine(id, `rollouts.md#${id}`),
  );
}

function machinesPart(what: string, [wanted, replaced, verified, machines]: Progress): readonly Child[] {
  const text = `${verified} of ${wanted} ${what} show a new certificate, ${replaced} replaced`;
  const share = wanted > 0 ? Math.min(1, verified / wanted) : 0;
  const progress = make('div', { class: 'life' }, bar(share, 'well', text));
  if (machines.length === 0) return [make('p', {}, text), progress];
  const rows = machines.map(([name, node, state, from, until]) =>
    make(
      'tr',
      {},
      make('th', { scope: 'row' }, name),
      make('td', { class: 'soft' }, node || '–'),
      make('td', {}, MACHINE_STATES[state]),
      make('td', {}, certificateSpan(from, until)),
    ),
  );
  const titles = ['Machine', 'Node', 'State', 'Certificate'];
  return [make('p', {}, text), progress, labelledTable(`Machines: ${what}`, 'machines', titles, rows)];
}

function certificateSpan(from: string, until: string): string {
  if (until === '') return 'not seen';
  return from === '' ? `until ${localDate(until)}` : `${localDate(from)} → ${localDate(until)}`;
}
