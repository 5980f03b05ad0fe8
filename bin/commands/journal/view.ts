import type { RawLine } from '../../../lambdas/journal/chain.ts';
import type { SearchResult } from '../../../lambdas/journal/search.ts';
import type { Verification } from '../../../lambdas/journal/verify.ts';
import type { ChainProblem, VerifiedChain } from '../../../lambdas/journal/verify-chain.ts';
import { printable } from '../../../lambdas/printable.ts';
import { list } from '../../../lambdas/resources/fields.ts';
import { counted } from '../../../lambdas/words.ts';
import { quote } from '../../target.ts';
import { hang, type Lines, table } from '../../terminal/draw.ts';
import { bad, faint, good, strong, warn } from '../../terminal/paint.ts';
import { csvCell } from '../../terminal/phrases.ts';
import { ago } from '../../terminal/words.ts';

export interface VerifiedWhat {
  readonly since: string | undefined;
  readonly cluster: string | undefined;
  /** `--bucket certmarshal-journal`. */
  readonly source: string;
  /** The command that starts this program. */
  readonly program: string;
}

/** Problems shown per chain. */
const SHOWN_PROBLEMS = 10;
/** Chain ends shown; JSON has all. */
const SHOWN_ANCHORS = 50;

const NUMBERS = new Intl.NumberFormat('en-US');

/** A verification for people: the first line sums it up. */
export function verificationLines({ chains, strays, strayCount }: Verification, what: VerifiedWhat): Lines {
  const broken = chains.filter(({ problemCount }) => problemCount > 0);
  const isFine = broken.length === 0 && strayCount === 0;
  const pending = chains.filter((chain) => chain.pending);
  return [
    hang(isFine ? '✔ ' : '✖ ', headline(chains, broken, strayCount), isFine ? good : bad),
    what.since !== undefined &&
      hang('  ', `Verified from ${what.since} on. Earlier lines are not verified; without --since, all are.`),
    broken.map((chain) => ['', brokenLines(chain)]),
    strayCount > 0 && [
      '',
      strong(`${counted(strayCount, 'object that does not', 'objects that do not')} belong to the journal`),
      strays.slice(0, SHOWN_PROBLEMS).map(({ object }) => hang('  ✖ ', printable(object, 300))),
      strays.slice(0, 1).map(({ remedy }) => hang('    → ', remedy)),
    ],
    pending.length > 0 && [
      '',
      hang(
        '  · ',
        `${counted(pending.length, 'chain')} with the last lines only in the head: a sweep was interrupted. Nothing is lost; the next decision completes the chain.`,
      ),
    ],
    anchorLines(chains, what),
  ];
}

function headline(chains: readonly VerifiedChain[], broken: readonly VerifiedChain[], strayCount: number): string {
  const lines = chains.reduce((sum, chain) => sum + chain.lines, 0);
  const all = `${counted(chains.length, 'chain')}, ${numbered(lines, 'line')}`;
  const [first] = broken;
  const [problem] = first?.problems ?? [];
  if (first !== undefined && problem !== undefined) {
    const which = `${broken.length} of ${counted(chains.length, 'chain')} ${broken.length === 1 ? 'is' : 'are'} broken`;
    return `${which}: ${printable(first.cluster)}, ${printable(problem.message, 300)}`;
  }
  if (chains.length === 0 && strayCount === 0) return 'the journal has no line yet (0 chains, 0 lines)';
  const others = strayCount > 0 ? `; ${counted(strayCount, 'object does', 'objects do')} not belong there` : '';
  return `${all}, unbroken${others}`;
}

/** `1,204 lines`. */
function numbered(count: number, thing: string): string {
  return `${NUMBERS.format(count)} ${thing}${count === 1 ? '' : 's'}`;
}

function brokenLines({ cluster, problems, problemCount }: VerifiedChain): Lines {
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  return [
    `${strong(printable(cluster))}  ${counted(problemCount, 'problem')}`,
    shown.map((problem) => [hang(`  ${bad('✖')} `, printable(problem.message, 300)), `    ${faint(placeOf(problem))}`]),
    problemCount > shown.length && `  … ${problemCount - shown.length} more`,
    [...new Set(shown.map(({ remedy }) => remedy))].map((remedy) => hang('  → ', remedy)),
  ];
}

function placeOf({ object, line }: ChainProblem): string {
  return `${printable(object, 600)}${line === undefined ? '' : ` line ${line}`}`;
}

function anchorLines(chains: readonly VerifiedChain[], { cluster, source, program }: VerifiedWhat): Lines {
  const anchors = chains.flatMap(({ cluster: id, end, problemCount }) =>
    end === undefined || problemCount > 0 ? [] : [{ id, ...end }],
  );
  const shown = anchors.slice(0, SHOWN_ANCHORS);
  const more = anchors.length - shown.length;
  const which = cluster === undefined ? '' : ` --cluster ${quote(printable(cluster))}`;
  return (
    anchors.length > 0 && [
      '',
      hang(
        '',
        'Note down, outside of this account, where the unbroken chains end now. Later, this says whether each is still whole:',
      ),
      // Never wrapped, so that it can be pasted.
      [
        `  ${program} journal verify ${source}${which}`,
        ...shown.map(({ id, seq, hash }) => `    --expect ${quote(printable(`${id}=${seq}:${hash}`, 600))}`),
      ].join(' \\\n'),
      more > 0 && `  … ${more} more; --output json has all`,
    ]
  );
}

const text = (value: unknown, limit = 300): string =>
  typeof value === 'string' ? printable(value, limit) : typeof value === 'number' ? String(value) : '';

/** Names shown per line; JSON and CSV have all. */
const SHOWN_NAMES = 6;

/**
 * Search results for people, newest first.
 *
 * @param what the search in words
 */
export function searchLines(
  { lines, found, searched, unreadable }: SearchResult,
  what: string,
  now: number,
  program: string,
): Lines {
  return [
    hang('', `${numbered(found, 'decision')} ${what} (${numbered(searched, 'line')} read)`, strong),
    unreadable > 0 &&
      hang(
        '✖ ',
        `${counted(unreadable, 'line or object', 'lines or objects')} could not be read: ${program} journal verify says which`,
        bad,
      ),
    lines.length > 0 && [
      '',
      table(
        [
          ['WHEN', 'CLUSTER', 'CSR OR OBJECT', 'VERDICT OR WRITE', 'OUTCOME', 'WHO, WHAT AND WHY'],
          ...lines.map((line) => rowOf(line, now)),
        ],
        120,
      ),
    ],
    found > lines.length && ['', `The newest ${lines.length}; --limit shows more, --output json and csv too.`],
  ];
}

function rowOf(line: RawLine, now: number): string[] {
  const { at, cluster, value, intact } = line;
  if (value['kind'] === 'rollout') return rolloutRowOf(line, now);
  const { verdict, reason, message, requester, names, nameCount, csr, outcome } = value;
  const all = list(names).map((name) => text(name, 100));
  const count = typeof nameCount === 'number' ? nameCount : all.length;
  const shown = all.slice(0, SHOWN_NAMES).join(', ') + (count > SHOWN_NAMES ? ` and ${count - SHOWN_NAMES} more` : '');
  const hostile = value['hostile'] === true ? 'hostile: ' : '';
  const asked = shown === '' ? 'no name that could be read' : shown;
  const person = value['kind'] === 'person' ? `; decided by ${text(value['by'])}: ${text(value['because'], 500)}` : '';
  const why = `${changedOf(intact)}${text(requester)} asked for ${asked}: ${hostile}${text(message, 600)}  ${text(reason)}${person}`;
  return [whenOf(at, now), printable(cluster, 150), text(csr), paint(verdict), text(outcome), why];
}

/** A write of a rollout. Its object is in the column of the request name, its write in that of the verdict. */
function rolloutRowOf({ at, cluster, value, intact }: RawLine, now: number): string[] {
  const { object, write, outcome, rollout, trigger, reason, message } = value;
  const which = rollout === undefined ? 'no rollout' : `rollout ${text(rollout)}`;
  const who = trigger === undefined ? '' : `, by ${trigger === 'person' ? 'a person' : 'the schedule'}`;
  const words = message === undefined ? '' : `: ${text(message, 600)}`;
  return [
    whenOf(at, now),
    printable(cluster, 150),
    text(object),
    write === 'hold' ? bad(`✖ ${text(write, 30)}`) : strong(text(write, 30)),
    text(outcome),
    `${changedOf(intact)}${which}${who}: ${text(reason)}${words}`,
  ];
}

function whenOf(at: string, now: number): string {
  return `${at.slice(0, 16).replace('T', ' ')} (${ago((now - Date.parse(at)) / 1000)})`;
}

function changedOf(intact: boolean): string {
  return intact ? '' : `${bad('✖ this line was changed after it was written')}; `;
}

function paint(verdict: unknown): string {
  if (verdict === 'approve') return good('✔ approve');
  return verdict === 'deny' ? bad('✖ deny') : warn(`◌ ${text(verdict, 20)}`);
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
  // Columns of later versions come last, so that earlier columns keep their position.
  'kind',
  'object',
  'write',
  'rollout',
  'start',
  'trigger',
  'by',
  'because',
  'judged',
  'failed',
] as const;

const isSpecial = (value: string) => /[",\r\n]/.test(value);

/** A header row, then one row per line. Source: RFC 4180. */
export function searchCsv(lines: readonly RawLine[]): string {
  const rows = lines.map(({ value, intact }) => [...COLUMNS.map((name) => flat(value[name])), String(intact)]);
  return [[...COLUMNS, 'intact'], ...rows]
    .map((row) => `${row.map((value) => csvCell(value, isSpecial)).join(',')}\r\n`)
    .join('');
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
