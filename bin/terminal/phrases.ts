import { type NamedServer, serverWords } from '../target.ts';
import { hang, type Lines } from './draw.ts';
import { bad, faint, good, type Paint, strong, warn } from './paint.ts';

// What several commands print alike.

export const PROVIDER_NAMES = { eks: 'EKS', 'eks-anywhere': 'EKS Anywhere' } as const;

/** How bad something is, at a glance. */
export const MARKS: Readonly<
  Record<'critical' | 'warning' | 'info' | 'well', readonly [symbol: string, paint: Paint]>
> = {
  critical: ['✖', bad],
  warning: ['!', warn],
  info: ['·', faint],
  well: ['✔', good],
};

/** Which server what follows was read from. */
export function serverLine(server: NamedServer | undefined): Lines {
  return server && hang('  ', faint(serverWords(server)));
}

/** What is wrong, and what to do about it. */
export function problemLines(problem: string, remedy?: string): Lines {
  return [hang(`  ${bad('✖')} `, problem), remedy !== undefined && hang('    → ', remedy)];
}

/** Which program is run, and where its runbooks are. */
export interface Places {
  /** How the user starts this program. */
  readonly program: string;
  /** The URL at which `docs/runbooks` is published. */
  readonly runbooks?: string | undefined;
}

/** Where a person reads a runbook: the command that prints it, and its URL where there is one. @param name `certificate-expiring` */
export function runbookPlace(name: string, { program, runbooks }: Places): string {
  return `${program} runbook ${name}${runbooks === undefined ? '' : ` · ${runbooks}/${name}.md`}`;
}

/** The next command, which is never wrapped: it is to be pasted. */
export function nextLine(command: string): Lines {
  return `  ${strong('Next')}  ${command}`;
}

/** A spreadsheet takes what begins like this for a formula, and runs it. */
const FORMULA = /^[=+\-@\t\r]/;

/** A cell of CSV that no spreadsheet runs. Source: RFC 4180. */
export function csvCell(value: string, isQuoted: (harmless: string) => boolean): string {
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return isQuoted(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
