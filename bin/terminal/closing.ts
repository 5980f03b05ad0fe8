import { wrap } from './wrap.ts';

const EXIT_STATUS = /^(?<mark> {2}\d {2})(?<text>\S.*)$/;

/**
 * The text after the options of a help, in `width` columns. Paragraphs and what an exit status means are wrapped; other indented lines are commands to
 * be pasted, and stay as they are. Pure.
 */
export function closing(text: string, width: number): string {
  return blocksOf(text)
    .flatMap(({ mark, words }) =>
      mark === undefined
        ? [words]
        : wrap(words, Math.max(20, width - mark.length)).map(
            (line, index) => (index === 0 ? mark : ' '.repeat(mark.length)) + line,
          ),
    )
    .join('\n');
}

const USAGE = 'Usage: ';

/** What follows `Usage: ` in a help, in `width` columns. Pure. */
export function usage(text: string, width: number): string {
  return wrap(text, width - USAGE.length).join(`\n${' '.repeat(USAGE.length)}`);
}

/** What is wrapped has a mark, which may be empty. */
interface Block {
  readonly mark?: string;
  readonly words: string;
}

function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  for (const line of text.split('\n')) {
    const { mark, text: meaning } = EXIT_STATUS.exec(line)?.groups ?? {};
    const before = blocks.at(-1);
    if (mark !== undefined && meaning !== undefined) blocks.push({ mark, words: meaning });
    else if (line === '' || line.startsWith(' ')) blocks.push({ words: line });
    else if (before?.mark === '') blocks.splice(-1, 1, { mark: '', words: `${before.words} ${line}` });
    else blocks.push({ mark: '', words: line });
  }
  return blocks;
}
