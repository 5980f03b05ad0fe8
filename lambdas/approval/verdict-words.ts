import type { SweepRow } from './report.ts';

/** How a verdict and what became of it are shown, in a terminal and on the report page. */
export interface VerdictWords {
  readonly tone: 'critical' | 'warning' | 'well' | 'soft';
  /** With its symbol: `✔ approved`, `◇ would approve`. */
  readonly words: string;
}

/** What a verdict says of a name that another node owns. */
export const NAME_OF_ANOTHER = /^(?:IP|DNS name) (?<name>\S{1,253}) belongs to (?<owner>.+)$/;

/** Pure. */
export function verdictWords({
  verdict,
  outcome,
  hostile,
}: Pick<SweepRow, 'verdict' | 'outcome'> & { readonly hostile?: boolean | undefined }): VerdictWords {
  if (verdict === 'leave')
    return hostile === true
      ? { tone: 'critical', words: '✖ not approved' }
      : { tone: 'warning', words: '◌ not approved' };
  if (verdict === 'ignore') return { tone: 'soft', words: '· ignored' };
  const tone = verdict === 'deny' ? 'critical' : 'well';
  if (outcome === 'written') return { tone, words: verdict === 'deny' ? '✖ denied' : '✔ approved' };
  if (outcome === 'observed') return { tone, words: `◇ would ${verdict}` };
  // Another writer was faster, or the write failed: then a problem says how.
  return outcome === 'overtaken'
    ? { tone: 'soft', words: `· ${verdict} (overtaken)` }
    : { tone: 'critical', words: `✖ ${verdict} (${outcome})` };
}
