import type { RawLine } from '../../../lambdas/journal/chain.ts';
import type { SearchResult } from '../../../lambdas/journal/search.ts';
import type { Verification } from '../../../lambdas/journal/verify.ts';
import type { ChainProblem, TamperKind, VerifiedChain } from '../../../lambdas/journal/verify-chain.ts';
import { printable } from '../../../lambdas/printable.ts';
import { quote } from '../../target.ts';
import { counted } from '../../terminal/plural.ts';
import type { Style } from '../../terminal/style.ts';
import { table } from '../../terminal/table.ts';
import { ago } from '../../terminal/time.ts';
import { hang } from '../../terminal/wrap.ts';

export interface JournalView {
  readonly style: Style;
  /** Columns of the terminal; undefined wraps nothing. */
  readonly width: number | undefined;
  /** How the user starts this program. */
  readonly program: string;
}

/** What was verified. */
export interface VerifiedWhat {
  readonly since: string | undefined;
  readonly cluster: string | undefined;
  /** `--bucket certmarshal-journal`. */
  readonly source: string;
}

/** Problems that are shown of each chain. */
const SHOWN_PROBLEMS = 10;
/** More chains than these are summed up; JSON has all. */
const SHOWN_ANCHORS = 50;

const NUMBERS = new Intl.NumberFormat('en-US');

const EARLIER_VERSION =
  'The bucket keeps every version: aws s3api list-object-versions --bucket BUCKET --prefix KEY shows what stood there and when it changed; CloudTrail says who did it.';
const HEAD =
  'Compare the versions of the head: aws s3api list-object-versions --bucket BUCKET --prefix heads/. The next sweep with a decision writes a new one.';

/** What a person does about each kind. */
export const TAMPER_REMEDIES: Readonly<Record<TamperKind, string>> = {
  edited: EARLIER_VERSION,
  unlinked: EARLIER_VERSION,
  'removed-line': EARLIER_VERSION,
  'removed-object': EARLIER_VERSION,
  reordered: EARLIER_VERSION,
  duplicated: EARLIER_VERSION,
  fork: EARLIER_VERSION,
  'other-cluster': EARLIER_VERSION,
  misplaced: EARLIER_VERSION,
  unreadable: EARLIER_VERSION,
  'too-large': EARLIER_VERSION,
  'head-missing': HEAD,
  'head-damaged': HEAD,
  truncated: EARLIER_VERSION,
  'forged-tail': 'Find out with CloudTrail who wrote these objects, or put an older head back in place of the newest.',
  'head-mismatch': EARLIER_VERSION,
  anchor: 'What was noted down is the proof: the chain was written anew since. Compare the versions in the bucket.',
  stray: 'Find out with CloudTrail who put it there; only the role of the sweep may write to this bucket.',
};

/** A verification for people: the first line is the whole story. */
export function renderVerification(
  { chains, strays, strayCount }: Verification,
  what: VerifiedWhat,
  { style, width, program }: JournalView,
): string {
  const broken = chains.filter(({ problemCount }) => problemCount > 0);
  const lines = chains.reduce((sum, chain) => sum + chain.lines, 0);
  const head = headline(chains, broken, lines, strayCount);
  const isFine = broken.length === 0 && strayCount === 0;
  const out: string[] = hang(isFine ? '✔ ' : '✖ ', head, width).map(isFine ? style.good : style.bad);
  if (what.since !== undefined)
    out.push(
      ...hang(
        '  ',
        `Looked at from ${what.since} on. What was before is taken as it is; without --since everything is.`,
        width,
      ),
    );
  for (const chain of broken) out.push('', ...brokenLines(chain, { style, width }));
  if (strayCount > 0) {
    out.push(
      '',
      style.strong(counted(strayCount, 'object that does not', 'objects that do not') + ' belong to the journal'),
    );
    for (const stray of strays.slice(0, SHOWN_PROBLEMS)) out.push(...hang('  ✖ ', printable(stray.object, 300), width));
    out.push(...hang('    → ', TAMPER_REMEDIES.stray, width));
  }
  const pending = chains.filter((chain) => chain.pending);
  if (pending.length > 0)
    out.push(
      '',
      ...hang(
        '  · ',
        `${counted(pending.length, 'chain')} whose last lines are in its head only: a sweep was interrupted. Nothing is lost; the next decision completes it.`,
        width,
      ),
    );
  out.push(...anchorLines(chains, what, { program, width }));
  return out.join('\n');
}

function headline(
  chains: readonly VerifiedChain[],
  broken: readonly VerifiedChain[],
  lines: number,
  strayCount: number,
): string {
  const all = `${counted(chains.length, 'chain')}, ${NUMBERS.format(lines)} ${lines === 1 ? 'line' : 'lines'}`;
  const [first] = broken;
  const [problem] = first?.problems ?? [];
  if (first !== undefined && problem !== undefined) {
    const which = `${broken.length} of ${counted(chains.length, 'chain')} ${broken.length === 1 ? 'is' : 'are'} broken`;
    return `${which}: ${printable(first.cluster)}, ${printable(problem.message, 300)}`;
  }
  if (chains.length === 0 && strayCount === 0) return 'the journal has no line yet (0 chains, 0 lines)';
  return strayCount > 0
    ? `${all}, unbroken; ${counted(strayCount, 'object does', 'objects do')} not belong there`
    : `${all}, unbroken`;
}

function brokenLines(chain: VerifiedChain, { style, width }: Omit<JournalView, 'program'>): string[] {
  const out = [`${style.strong(printable(chain.cluster))}  ${counted(chain.problemCount, 'problem')}`];
  const shown = chain.problems.slice(0, SHOWN_PROBLEMS);
  for (const problem of shown) {
    out.push(...hang(`  ${style.bad('✖')} `, `${printable(problem.message, 300)}  ${problem.kind}`, width));
    out.push(...hang('    ', style.faint(placeOf(problem)), undefined));
  }
  if (chain.problemCount > shown.length) out.push(`  … ${chain.problemCount - shown.length} more`);
  for (const remedy of new Set(shown.map(({ kind }) => TAMPER_REMEDIES[kind])))
    out.push(...hang('  → ', remedy, width));
  return out;
}

function placeOf({ object, line }: ChainProblem): string {
  return `${printable(object, 600)}${line === undefined ? '' : ` line ${line}`}`;
}

function anchorLines(
  chains: readonly VerifiedChain[],
  { cluster, source }: VerifiedWhat,
  { program, width }: Omit<JournalView, 'style'>,
): string[] {
  const anchors = chains.flatMap(({ cluster: id, end, problemCount }) =>
    end === undefined || problemCount > 0 ? [] : [{ id, ...end }],
  );
  if (anchors.length === 0) return [];
  const shown = anchors.slice(0, SHOWN_ANCHORS);
  const more = anchors.length - shown.length;
  const which = cluster === undefined ? '' : ` --cluster ${quote(printable(cluster))}`;
  return [
    '',
    ...hang(
      '',
      'Note down, outside of this account, where the unbroken chains end now. Later this finds them whole, or says which is not:',
      width,
    ),
    // Never wrapped: it is to be pasted.
    [
      `  ${program} journal verify ${source}${which}`,
      ...shown.map(({ id, seq, hash }) => `    --expect ${quote(printable(`${id}=${seq}:${hash}`, 600))}`),
    ].join(' \\\n'),
    ...(more > 0 ? [`  … ${more} more; --output json has all`] : []),
  ];
}

const text = (value: unknown, limit = 300): string =>
  typeof value === 'string' ? printable(value, limit) : typeof value === 'number' ? String(value) : '';
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Names that are shown of a line; JSON and CSV have all. */
const SHOWN_NAMES = 6;

/** Lines that were found, for people: the newest first. */
export function renderSearch(
  { lines, found, searched, unreadable }: SearchResult,
  { what, now }: { readonly what: string; readonly now: number },
  { style, width, program }: JournalView,
): string {
  const told = `${NUMBERS.format(found)} ${found === 1 ? 'decision' : 'decisions'} ${what} (${NUMBERS.format(searched)} ${searched === 1 ? 'line' : 'lines'} looked at)`;
  const out = hang('', told, width).map(style.strong);
  if (unreadable > 0)
    out.push(
      ...hang(
        '✖ ',
        `${counted(unreadable, 'line or object', 'lines or objects')} could not be read: ${program} journal verify says which`,
        width,
      ).map(style.bad),
    );
  if (lines.length > 0) {
    const rows = lines.map((line) => rowOf(line, now, style));
    out.push(
      '',
      ...table([['WHEN', 'CLUSTER', 'CSR OR OBJECT', 'VERDICT OR WRITE', 'OUTCOME', 'WHO, WHAT AND WHY'], ...rows], {
        width,
        stackBelow: 120,
      }),
    );
  }
  if (found > lines.length) out.push('', `The newest ${lines.length}; --limit shows more, --output json and csv too.`);
  return out.join('\n');
}

function rowOf(line: RawLine, now: number, style: Style): string[] {
  const { at, cluster, value, intact } = line;
  if (value['kind'] === 'rollout') return rolloutRowOf(line, now, style);
  const { verdict, reason, message, requester, names, nameCount, csr, outcome } = value;
  const all = listOf(names).map((name) => text(name, 100));
  const count = typeof nameCount === 'number' ? nameCount : all.length;
  const shown = all.slice(0, SHOWN_NAMES).join(', ') + (count > SHOWN_NAMES ? ` and ${count - SHOWN_NAMES} more` : '');
  const hostile = value['hostile'] === true ? 'hostile: ' : '';
  const asked =
    value['kind'] === 'recovery'
      ? `a client certificate${value['node'] === undefined ? '' : ` of ${text(value['node'])}`}, in recovery window ${text(value['window'])} that ${text(value['by'])} opened`
      : shown === ''
        ? 'no name that could be read'
        : shown;
  const why = `${changedOf(intact, style)}${text(requester)} asked for ${asked}: ${hostile}${text(message, 600)}  ${text(reason)}`;
  return [whenOf(at, now), printable(cluster, 150), text(csr), paint(verdict, style), text(outcome), why];
}

/** A write of a rollout: the object where a request has its name, and what was to be written where that has its verdict. */
function rolloutRowOf({ at, cluster, value, intact }: RawLine, now: number, style: Style): string[] {
  const { object, write, outcome, rollout, trigger, reason, message } = value;
  const which = rollout === undefined ? 'no rollout' : `rollout ${text(rollout)}`;
  const who = trigger === undefined ? '' : `, by ${trigger === 'person' ? 'a person' : 'the schedule'}`;
  const words = message === undefined ? '' : `: ${text(message, 600)}`;
  return [
    whenOf(at, now),
    printable(cluster, 150),
    text(object),
    write === 'hold' ? style.bad(`✖ ${text(write, 30)}`) : style.strong(text(write, 30)),
    text(outcome),
    `${changedOf(intact, style)}${which}${who}: ${text(reason)}${words}`,
  ];
}

function whenOf(at: string, now: number): string {
  return `${at.slice(0, 16).replace('T', ' ')} (${ago((now - Date.parse(at)) / 1000)})`;
}

function changedOf(intact: boolean, style: Style): string {
  return intact ? '' : `${style.bad('✖ this line was changed after it was written')}; `;
}

function paint(verdict: unknown, style: Style): string {
  if (verdict === 'approve') return style.good('✔ approve');
  return verdict === 'deny' ? style.bad('✖ deny') : style.warn(`◌ ${text(verdict, 20)}`);
}

const COLUMNS = [
  'at',
  'cluster',
  'csr',
  'uid',
  'requester',
  'names',
  'nameCount',
  'verdict',
  'reason',
  'message',
  'hostile',
  'outcome',
  'policy',
  'policyHash',
  'evidence',
  'requestHash',
  'program',
  'seq',
  'previous',
  'hash',
  // Of later versions: at the end, so that a column stays where it was.
  'kind',
  'node',
  'object',
  'write',
  'rollout',
  'start',
  'trigger',
  'window',
  'by',
  'until',
] as const;

/** One row a line under a row of names. Source: RFC 4180. */
export function searchCsv(lines: readonly RawLine[]): string {
  const rows = lines.map(({ value, intact }) => [...COLUMNS.map((name) => flat(value[name])), String(intact)]);
  return [[...COLUMNS, 'intact'], ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function flat(value: unknown): string {
  if (Array.isArray(value))
    return value
      .map((each: unknown) =>
        typeof each === 'object' && each !== null && 'object' in each ? text(each.object) : text(each),
      )
      .join(' ');
  return typeof value === 'boolean' ? String(value) : text(value, 600);
}

/** A spreadsheet takes what begins so for a formula, and runs it. */
const FORMULA = /^[=+\-@\t\r]/;

function cell(value: string): string {
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
