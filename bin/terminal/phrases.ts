import { type NamedServer, serverWords } from '../target.ts';
import { hang, type Lines } from './draw.ts';
import { bad, faint, good, type Paint, strong, warn } from './paint.ts';
import { visibleWidth } from './wrap.ts';

export const PROVIDER_NAMES = { eks: 'EKS', 'eks-anywhere': 'EKS Anywhere' } as const;

export const MARKS: Readonly<
  Record<'critical' | 'warning' | 'info' | 'well', readonly [symbol: string, paint: Paint]>
> = {
  critical: ['✖', bad],
  warning: ['!', warn],
  info: ['·', faint],
  well: ['✔', good],
};

export function serverLine(server: NamedServer | undefined): Lines {
  return server && hang('  ', faint(serverWords(server)));
}

export function problemLines(problem: string, remedy?: string): Lines {
  return [hang(`  ${bad('✖')} `, problem), remedy !== undefined && hang('    → ', remedy)];
}

/** The command that starts this program, and the place of its runbooks. */
export interface Places {
  readonly program: string;
  /** The URL at which `docs/runbooks` is published. */
  readonly runbooks?: string | undefined;
  /** Options that name the cluster in the commands of a runbook. */
  readonly repeatNames: string;
}

/**
 * Where to read a runbook: the command that prints it, and its URL if published.
 *
 * @param name `certificate-expiring`
 */
export function runbookPlace(name: string, { program, runbooks, repeatNames }: Places): string {
  return `${program} runbook ${name}${repeatNames}${runbooks === undefined ? '' : ` · ${runbooks}/${name}.md`}`;
}

/** The next command. It is never wrapped, so that it can be pasted. @param note after it, with its comma or semicolon */
export function nextLine(command: string, note = ''): Lines {
  const line = `  ${strong('Next')}  ${command}`;
  return (width = Infinity) =>
    note === '' || visibleWidth(line + note) <= width
      ? line + note
      : [line, hang(' '.repeat(8), note.replace(/^[,;] /, ''))];
}
